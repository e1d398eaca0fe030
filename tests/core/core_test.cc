#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/core/states.h"
#include "bridgemark/core/suggest.h"
#include "tests/io/io_testing.h"

namespace bridgemark {
namespace {

using testing::error_of;

TEST(ParallelBlocks, CoverEachItemOnce) {
  for (const int threads : {1, 2, 5}) {
    for (const std::size_t count : {0u, 1u, 7u, 64u, 1000u}) {
      for (const std::size_t grain : {0u, 1u, 3u, 64u, 5000u}) {
        std::vector<std::atomic<int>> visits(count);
        std::atomic<bool> sized = true;
        parallel_blocks({.num_threads = threads}, count, grain,
                        [&](std::size_t first, std::size_t last) {
                          const std::size_t size = std::max<std::size_t>(grain, 1);
                          // Blocks do not depend on the number of threads.
                          if (first % size != 0 || last != std::min(count, first + size)) {
                            sized = false;
                          }
                          for (std::size_t i = first; i < last; ++i) ++visits[i];
                        });
        EXPECT_TRUE(sized);
        for (const auto& visit : visits) EXPECT_EQ(visit, 1);
      }
    }
  }
}

TEST(ParallelBlocks, RethrowTheFirstException) {
  for (const int threads : {1, 2, 5}) {
    EXPECT_THROW(parallel_blocks({.num_threads = threads}, 100, 1,
                                 [](std::size_t first, std::size_t) {
                                   if (first % 10 == 3) throw std::out_of_range("block");
                                 }),
                 std::out_of_range);
  }
}

// Counts the blocks that begin once it is set. Those take a while, so that they stay few however
// long the thread that set it waits for its turn.
class LateBlocks {
 public:
  void begin() {
    if (!set_) return;
    ++late_;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void set() { set_ = true; }
  bool is_set() const { return set_; }
  int count() const { return late_; }

 private:
  std::atomic<bool> set_ = false;
  std::atomic<int> late_ = 0;
};

constexpr std::size_t kManyBlocks = 10'000;

TEST(ParallelBlocks, LeaveTheRestUndoneAfterAnException) {
  for (const int threads : {1, 2, 5}) {
    LateBlocks late;
    EXPECT_THROW(parallel_blocks({.num_threads = threads}, kManyBlocks, 1,
                                 [&](std::size_t first, std::size_t) {
                                   late.begin();
                                   if (first != 10) return;
                                   late.set();
                                   throw std::out_of_range("block");
                                 }),
                 std::out_of_range);
    EXPECT_LT(late.count(), static_cast<int>(kManyBlocks / 2)) << threads;
  }
}

TEST(ParallelBlocks, EndWhereTheContextIsInterrupted) {
  for (const int threads : {1, 2, 5}) {
    LateBlocks late;
    Context context{.num_threads = threads};
    context.interrupt = [&] { return late.is_set(); };
    const auto work = [&] {
      parallel_blocks(context, kManyBlocks, 1, [&](std::size_t first, std::size_t) {
        late.begin();
        if (first == 10) late.set();
      });
    };
    EXPECT_EQ(error_of<Interrupted>(work), "interrupted before it was done");
    EXPECT_LT(late.count(), threads) << "more than had looked before";
    EXPECT_THROW(work(), Interrupted) << "before its first block";
  }
}

TEST(ParallelBlocks, GrainIsPromptForItemsThatTakeLong) {
  EXPECT_EQ(prompt_grain(512, 0), 512u);
  EXPECT_EQ(prompt_grain(512, 64'000), 512u);
  EXPECT_EQ(prompt_grain(512, 6'400'000), 10u);
  EXPECT_EQ(prompt_grain(512, std::size_t{1} << 40), 1u);
}

TEST(NearestName, HasTheSmallestEditDistance) {
  const std::vector<std::string> names{"d2-gaussian-0.02", "d2-gaussian-0.05", "d16-uniform-0.01"};
  const auto near = [&](std::string_view word) { return near_name(word, names).value_or("none"); };
  EXPECT_EQ(near("d2-gaussian-0.05"), "d2-gaussian-0.05");
  EXPECT_EQ(near("d2-gausian-0.2"), "d2-gaussian-0.02");
  EXPECT_EQ(near("d16-unifrom-0.01"), "d16-uniform-0.01");
  for (const char* far : {"", "d2", "nodir", "nodir/config.toml", "unifrm"}) {
    EXPECT_EQ(near(far), "none") << far;
  }
  EXPECT_EQ(near_name("anything", {}), std::nullopt);
}

TEST(NearestName, IsTheOneThatAWordBegins) {
  const std::vector<std::string> names{"evaluate", "check-submission", "challenge", "--output"};
  EXPECT_EQ(near_name("eval", names), "evaluate");
  EXPECT_EQ(near_name("--out", names), "--output");
  EXPECT_EQ(near_name("check", names), "check-submission");
  EXPECT_EQ(near_name("che", names), "check-submission");
  EXPECT_EQ(near_name("ch", names), std::nullopt);
  EXPECT_EQ(near_name("", names), std::nullopt);
  const std::vector<std::string> two{"sample", "samples"};
  EXPECT_EQ(near_name("sam", two), std::nullopt);
}

TEST(Suggest, CountsASwapOnceAndEndsAMessage) {
  const std::vector<std::string> names = {"seeds", "name"};
  EXPECT_EQ(meant_hint("nmae", names), "; did you mean 'name'?");
  EXPECT_EQ(meant_hint("noun", names), "");
  EXPECT_EQ(nearest_hint("seed", names), "; the nearest is seeds");
  EXPECT_EQ(nearest_hint("seed", names, "the nearest key"), "; the nearest key is seeds");
}

TEST(CheckStates, NameTheOffender) {
  const States good(2, 3, {0, 1, 2, 4, 3, 0});
  check_states("x0", good, 3, 5);
  check_states("x0", States(0, 3), 3, 5);
  const auto message = [](const States& states) {
    return error_of<InvalidArgument>([&] { check_states("x0", states, 3, 5); });
  };
  EXPECT_EQ(message(States(2, 2, 0)), "[states] x0 must have 3 columns, got shape [2, 2]");
  EXPECT_EQ(message(States(2, 3, {0, 1, 2, 0, 5, 1})),
            "[states] x0 must hold categories 0..4, got 5 at row 1, column 1");
  EXPECT_EQ(message(States(1, 3, {-1, 0, 0})),
            "[states] x0 must hold categories 0..4, got -1 at row 0, column 0");
}

TEST(Device, NamesRoundTrip) {
  for (const Device device : {Device::kCpu, Device::kCuda}) {
    EXPECT_EQ(parse_device(device_name(device)), device);
  }
  EXPECT_EQ(error_of<InvalidArgument>([] { parse_device("tpu"); }),
            "[context] device must be cpu or cuda, got 'tpu'");
}

TEST(Context, ThreadsAndProgress) {
  EXPECT_EQ((Context{.num_threads = 3}).threads(), 3);
  EXPECT_GE(Context{}.threads(), 1);
  Context{}.report("nothing", 1, 2);  // no callback is fine
  std::string seen;
  Context context;
  context.progress = [&](std::string_view what, std::uint64_t done, std::uint64_t total,
                         std::string_view detail) {
    seen = fmt::format("{} {}/{} {}", what, done, total, detail);
  };
  context.report("rows", 3, 4, "fast");
  EXPECT_EQ(seen, "rows 3/4 fast");
  EXPECT_FALSE(context.should_stop());
  context.stop = [] { return true; };
  EXPECT_TRUE(context.should_stop());
}

TEST(Context, PartsOnOneThreadAreInterruptedWithTheWhole) {
  bool interrupted = false;
  Context context{.num_threads = 3};
  context.throw_if_interrupted();  // nobody to ask is fine
  context.interrupt = [&] { return interrupted; };
  const Context part = context.on_one_thread();
  EXPECT_EQ(part.threads(), 1);
  part.throw_if_interrupted();
  interrupted = true;
  EXPECT_THROW(part.throw_if_interrupted(), Interrupted);
}

TEST(Errors, SayWhereAndWhat) {
  EXPECT_EQ(error_of<InvalidArgument>([] { throw_invalid("area", "x must be {}, got {}", 1, 2); }),
            "[area] x must be 1, got 2");
  EXPECT_EQ(error_of<FileError>([] { throw_file("a/b.npy", "bad {}", "magic"); }),
            "a/b.npy: bad magic");
}

TEST(Matrix, ViewsAreRowMajor) {
  Matrix<int> matrix(2, 3, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(matrix(1, 0), 4);
  EXPECT_EQ(matrix.view().slice(1, 1)(0, 2), 6);
  matrix.view().row_span(0)[1] = 9;
  EXPECT_EQ(matrix(0, 1), 9);
  Array3<int> array(2, 2, 2, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(array(1, 0, 1), 6);
  EXPECT_EQ(array.row(1, 1)[0], 7);
  EXPECT_EQ(array.extent(0) * array.extent(1) * array.extent(2), array.size());
}

}  // namespace
}  // namespace bridgemark
