#include "bridgemark/io/disk/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "tests/io/io_testing.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

namespace fs = std::filesystem;
using testing::contains;
using testing::error_of;
using testing::put;
using testing::slurp;
using testing::TempDir;

std::size_t count_entries(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(AtomicFile, WritesPiecesOfEverySizeAroundTheBuffer) {
  const TempDir dir;
  const fs::path path = dir.path() / "out.bin";
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  std::string expected;
  AtomicFile file(path);
  char fill = 'a';
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, kMiB - 1, kMiB, kMiB + 1, std::size_t{7}, 3 * kMiB}) {
    const std::string piece(bytes, fill++);
    file.write(piece.data(), piece.size());
    expected += piece;
  }
  EXPECT_FALSE(fs::exists(path));
  file.commit();
  EXPECT_EQ(slurp(path), expected);
  EXPECT_EQ(count_entries(dir.path()), 1u);
}

TEST(AtomicFile, ReplacesOldContentOnlyAtCommit) {
  const TempDir dir;
  const fs::path path = dir.path() / "out";
  put(path, "old");
  AtomicFile file(path);
  file.write("new", 3);
  EXPECT_EQ(slurp(path), "old");
  file.commit();
  EXPECT_EQ(slurp(path), "new");
}

TEST(AtomicFile, WithoutCommitLeavesNoTrace) {
  const TempDir dir;
  const fs::path path = dir.path() / "out";
  put(path, "old");
  {
    AtomicFile file(path);
    const std::string large(std::size_t{2} << 20, 'x');
    file.write(large.data(), large.size());
    EXPECT_EQ(count_entries(dir.path()), 2u);
  }
  EXPECT_EQ(slurp(path), "old");
  EXPECT_EQ(count_entries(dir.path()), 1u);
}

TEST(AtomicFile, TwoWritersOfOnePathDoNotMix) {
  const TempDir dir;
  AtomicFile first(dir.path() / "out");
  AtomicFile second(dir.path() / "out");
  first.write("first", 5);
  second.write("second", 6);
  first.commit();
  second.commit();
  EXPECT_EQ(slurp(dir.path() / "out"), "second");
  EXPECT_EQ(count_entries(dir.path()), 1u);
}

TEST(AtomicFile, KeepsOldContentWhenTheDiskIsFull) {
  const TempDir dir;
  const fs::path path = dir.path() / "out";
  put(path, "old");
  rlimit saved{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &saved), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = saved;
  small.rlim_cur = 4096;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string message;
  std::string again;
  {
    AtomicFile file(path);
    const std::string large(std::size_t{2} << 20, 'x');
    message = error_of([&] { file.write(large.data(), large.size()); });
    again = error_of([&] { file.commit(); });
  }
  ::setrlimit(RLIMIT_FSIZE, &saved);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(contains(message, path.string() + ": cannot write the file: File too large"));
  EXPECT_TRUE(contains(again, "an earlier write failed"));
  EXPECT_EQ(slurp(path), "old");
  EXPECT_EQ(count_entries(dir.path()), 1u);
}

TEST(AtomicFile, UseAfterCommitIsAnError) {
  const TempDir dir;
  AtomicFile file(dir.path() / "out");
  file.commit();
  error_of([&] { file.write("x", 1); });
  error_of([&] { file.commit(); });
  EXPECT_EQ(slurp(dir.path() / "out"), "");
}

TEST(AtomicFile, ModeFollowsTheUmask) {
  const TempDir dir;
  const mode_t saved = ::umask(027);
  write_file_atomically(dir.path() / "out", "x");
  ::umask(saved);
  EXPECT_EQ(fs::status(dir.path() / "out").permissions(), static_cast<fs::perms>(0640));
}

TEST(AtomicFile, RefusesWhatItCannotReplace) {
  const TempDir dir;
  put(dir.path() / "file", "x");
  EXPECT_TRUE(contains(error_of([&] { AtomicFile(dir.path() / "no" / "out"); }),
                       "folder '" + (dir.path() / "no").string() + "' does not exist"));
  EXPECT_TRUE(contains(error_of([&] { AtomicFile(dir.path() / "file" / "out"); }), "not a folder"));
  EXPECT_TRUE(contains(error_of([&] { AtomicFile{dir.path()}; }), "is a folder"));
  EXPECT_TRUE(contains(error_of([&] { AtomicFile{fs::path("/dev/null")}; }), "regular file"));
  EXPECT_TRUE(contains(error_of([&] { AtomicFile{fs::path("/proc/bridgemark")}; }), "cannot"));
  error_of([&] { AtomicFile{fs::path()}; });
  error_of([&] { AtomicFile{dir.path() / ""}; });
  EXPECT_EQ(count_entries(dir.path()), 1u);
}

TEST(AtomicFile, UnwritableFolder) {
  if (::geteuid() == 0) GTEST_SKIP() << "root writes everywhere";
  const TempDir dir;
  fs::permissions(dir.path(), static_cast<fs::perms>(0555));
  EXPECT_TRUE(contains(error_of([&] { AtomicFile(dir.path() / "out"); }), "Permission denied"));
  fs::permissions(dir.path(), static_cast<fs::perms>(0755));
}

TEST(AtomicFile, LongNamesAndLinks) {
  const TempDir dir;
  const fs::path path = dir.path() / std::string(255, 'n');
  write_file_atomically(path, "long");
  EXPECT_EQ(slurp(path), "long");
  fs::create_directory(dir.path() / "sub");
  put(dir.path() / "sub" / "target", "old");
  fs::create_symlink("sub/target", dir.path() / "link");
  write_file_atomically(dir.path() / "link", "new");
  EXPECT_TRUE(fs::is_symlink(dir.path() / "link"));
  EXPECT_EQ(slurp(dir.path() / "sub" / "target"), "new");
}

TEST(AtomicFile, RelativePathWithoutFolder) {
  const TempDir dir;
  const fs::path saved = fs::current_path();
  fs::current_path(dir.path());
  write_file_atomically("out", "x");
  fs::current_path(saved);
  EXPECT_EQ(slurp(dir.path() / "out"), "x");
}

TEST(ReadFile, ReturnsBytesWithinTheLimit) {
  const TempDir dir;
  const fs::path path = dir.path() / "in";
  const std::string bytes("a\0b\n\xff", 5);
  put(path, bytes);
  EXPECT_EQ(read_file(path, 5), bytes);
  EXPECT_TRUE(contains(error_of([&] { read_file(path, 4); }), "holds 5 bytes, at most 4"));
  put(path, "");
  EXPECT_EQ(read_file(path, 0), "");
}

TEST(ReadFile, NamesWhatIsWrong) {
  const TempDir dir;
  EXPECT_EQ(error_of([&] { read_file(dir.path() / "no", 9); }),
            (dir.path() / "no").string() + ": no such file");
  const std::filesystem::path below = dir.path() / "no" / "such" / "file";
  EXPECT_EQ(error_of([&] { read_file(below, 9); }),
            (dir.path() / "no").string() + ": no such folder, looked for " + below.string());
  EXPECT_TRUE(contains(error_of([&] { read_file(dir.path(), 9); }), "is a folder"));
  ASSERT_EQ(::mkfifo((dir.path() / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(contains(error_of([&] { read_file(dir.path() / "pipe", 9); }), "regular file"));
}

TEST(CreateFolder, CreatesParentsAndAcceptsExisting) {
  const TempDir dir;
  const fs::path path = dir.path() / "a" / "b";
  create_folder(path);
  create_folder(path);
  create_folder(path / "");
  EXPECT_TRUE(fs::is_directory(path));
  put(dir.path() / "file", "");
  EXPECT_TRUE(contains(error_of([&] { create_folder(dir.path() / "file"); }), "not a folder"));
  EXPECT_TRUE(
      contains(error_of([&] { create_folder(dir.path() / "file" / "x"); }), "cannot create"));
  EXPECT_TRUE(contains(error_of([&] { create_folder("/proc/bridgemark"); }), "cannot create"));
  error_of([&] { create_folder(""); });
}

}  // namespace
}  // namespace bridgemark
