#include "bridgemark/io/disk/claim_folder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bridgemark/core/error.h"
#include "tests/io/io_testing.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

using namespace std::chrono_literals;
using testing::TempDir;

TEST(ClaimFolder, ANameIsOneWorkersAtATime) {
  const TempDir dir;
  ClaimFolder first(dir.path(), 60s), second(dir.path(), 60s);
  EXPECT_TRUE(first.take("a"));
  EXPECT_TRUE(first.take("a"));  // still
  EXPECT_FALSE(second.take("a"));
  EXPECT_TRUE(second.take("b"));
  EXPECT_TRUE(first.holds("a"));
  EXPECT_FALSE(first.holds("b"));
  first.release("a");
  EXPECT_TRUE(second.take("a"));
  first.release("a");  // no longer its own: nothing happens
  EXPECT_TRUE(second.holds("a"));
}

TEST(ClaimFolder, AWorkersEndLetsGo) {
  const TempDir dir;
  auto first = std::make_unique<ClaimFolder>(dir.path(), 60s);
  ClaimFolder second(dir.path(), 60s);
  ASSERT_TRUE(first->take("a"));
  ASSERT_TRUE(first->take("b"));
  first.reset();
  EXPECT_TRUE(second.take("a"));
  EXPECT_TRUE(second.take("b"));
}

// As if the holder of a claim had not been heard of for an hour.
void silence(const std::filesystem::path& claim) {
  std::filesystem::last_write_time(claim, std::filesystem::file_time_type::clock::now() - 1h);
}

TEST(ClaimFolder, StaleClaimsAreTakenOver) {
  const TempDir dir;
  ClaimFolder silent(dir.path(), 60s), other(dir.path(), 60s);
  ASSERT_TRUE(silent.take("a"));
  EXPECT_FALSE(other.take("a"));
  silence(dir.path() / "a");
  EXPECT_TRUE(other.take("a"));
  EXPECT_TRUE(other.holds("a"));
  EXPECT_FALSE(silent.holds("a"));
  silent.release("a");  // it was not dead, and finds out
  EXPECT_TRUE(other.holds("a"));
}

TEST(ClaimFolder, ASignOfLifeKeepsAllClaims) {
  const TempDir dir;
  ClaimFolder living(dir.path(), 60s), other(dir.path(), 60s);
  ASSERT_TRUE(living.take("a"));
  ASSERT_TRUE(living.take("b"));
  silence(dir.path() / "a");
  living.touch();
  EXPECT_FALSE(other.take("a"));
  EXPECT_FALSE(other.take("b"));
}

// A worker that has died leaves no more than its claims, and those until they are taken over.
TEST(ClaimFolder, FilesOfTheDeadAreSwept) {
  const TempDir dir;
  ClaimFolder silent(dir.path(), 60s);
  ASSERT_TRUE(silent.take("a"));
  silence(dir.path() / "a");
  ClaimFolder other(dir.path(), 60s);
  const auto names = [&] {
    std::size_t workers = 0;
    for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
      workers += entry.path().filename().string().starts_with(".worker-");
    }
    return workers;
  };
  EXPECT_EQ(names(), 1u);
  EXPECT_TRUE(std::filesystem::exists(dir.path() / "a"));
  // It was not dead: it goes on under a new file, without what it had.
  EXPECT_TRUE(silent.take("b"));
  EXPECT_EQ(names(), 2u);
  EXPECT_FALSE(silent.holds("a"));
  EXPECT_TRUE(other.take("a"));
  EXPECT_FALSE(silent.take("a"));
}

TEST(ClaimFolder, SettledClaimsGo) {
  const TempDir dir;
  ClaimFolder worker(dir.path(), 60s);
  ASSERT_TRUE(worker.take("a"));
  ASSERT_TRUE(worker.take("b"));
  ClaimFolder(dir.path(), 60s).remove_settled([](const std::string& name) { return name != "b"; });
  EXPECT_FALSE(worker.holds("a"));
  EXPECT_TRUE(worker.holds("b"));
  EXPECT_TRUE(worker.take("a"));
}

TEST(ClaimFolder, TellsAgesByTheFileSystem) {
  const TempDir dir;
  const ClaimFolder worker(dir.path(), 60s);
  testing::put(dir.path() / "file", "x");
  silence(dir.path() / "file");
  EXPECT_GT(worker.silence_of(dir.path() / "file"), 59min);
  EXPECT_LT(worker.silence_of(dir.path() / "file"), 61min);
  EXPECT_EQ(worker.silence_of(dir.path() / "none"), 0ns);
}

// Workers that all look at once at what a dead one has left.
TEST(ClaimFolder, OneWorkerTakesOver) {
  const TempDir dir;
  constexpr std::size_t kNames = 60, kWorkers = 8;
  ClaimFolder silent(dir.path(), 60s);
  for (std::size_t i = 0; i < kNames; ++i) ASSERT_TRUE(silent.take(std::to_string(i)));
  silence(dir.path() / "0");
  std::vector<std::unique_ptr<ClaimFolder>> workers;
  for (std::size_t w = 0; w < kWorkers; ++w) {
    workers.push_back(std::make_unique<ClaimFolder>(dir.path(), 60s));
  }
  std::vector<std::atomic<int>> takers(kNames);
  std::vector<std::thread> threads;
  for (const auto& worker : workers) {
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < kNames; ++i) takers[i] += worker->take(std::to_string(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < kNames; ++i) EXPECT_EQ(takers[i], 1) << i;
}

TEST(ClaimFolder, RefusesAFolderThatCannotBe) {
  const TempDir dir;
  testing::put(dir.path() / "file", "x");
  EXPECT_THROW(ClaimFolder(dir.path() / "file" / "claims", 1s), FileError);
}

}  // namespace
}  // namespace bridgemark
