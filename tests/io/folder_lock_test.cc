#include "bridgemark/io/disk/folder_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "bridgemark/io/disk/atomic_file.h"
#include "tests/io/io_testing.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

namespace fs = std::filesystem;
using testing::error_of;
using testing::put;
using testing::TempDir;

// Another folder under the same path.
void replace_folder(const fs::path& folder) {
  fs::remove_all(folder);
  fs::create_directory(folder);
}

TEST(FolderLock, IsHeldOnceAndLeavesNothing) {
  const TempDir dir;
  for (int i = 0; i < 3; ++i) {
    const FolderLock lock(dir.path());
    testing::contains(testing::error_of([&] { const FolderLock second(dir.path()); }),
                      "another bridgemark run is at work in this folder");
  }
  EXPECT_TRUE(is_empty(dir.path()));
  put(dir.path() / "lock", "");  // of a process that was killed
  { const FolderLock lock(dir.path()); }
  EXPECT_TRUE(is_empty(dir.path()));
  testing::contains(testing::error_of([&] { const FolderLock lock(dir.path() / "none"); }), "none");
}

// Where the folder's file system locks folders, whoever removes the file has not freed it.
TEST(FolderLock, HoldsWithoutItsFile) {
  const TempDir dir;
  {
    const FolderLock lock(dir.path());
    fs::remove(dir.path() / "lock");
    testing::contains(error_of([&] { const FolderLock second(dir.path()); }),
                      "another bridgemark run is at work in this folder");
    fs::remove(dir.path() / "lock");
    error_of<FolderLost>([&] { require_held(dir.path()); });
  }
  EXPECT_TRUE(is_empty(dir.path()));
}

TEST(FolderLock, WhatComesUnderItsPathIsLeftAlone) {
  const TempDir dir;
  const fs::path run = dir.path() / "run";
  fs::create_directory(run);
  {
    const FolderLock lock(run);
    write_file_atomically(run / "mine", "1");
    AtomicFile begun(run / "begun");
    begun.write("1", 1);
    replace_folder(run);
    const auto lost = [&](const auto& work) {
      testing::contains(error_of<FolderLost>(work), "was removed, moved or replaced");
    };
    lost([&] { require_held(run); });
    lost([&] { begun.commit(); });
    lost([&] { write_file_atomically(run / "config.toml", "1"); });
    lost([&] { write_file_atomically(run / "." / "config.toml", "1"); });
    EXPECT_TRUE(is_empty(run));
    put(run / "lock", "of another run");
    put(run / "config.toml", "of another run");
    lock.folder().remove("config.toml");
    write_file_atomically(dir.path() / "beside", "1");
  }
  EXPECT_TRUE(fs::exists(run / "lock") && fs::exists(run / "config.toml"));
  write_file_atomically(run / "mine", "2");  // nobody holds it any more
}

// What was begun in a folder goes with it, and never into the one that has its name.
TEST(FolderLock, AFolderThatMovesTakesItsFilesAlong) {
  const TempDir dir;
  const fs::path run = dir.path() / "run", moved = dir.path() / "moved";
  fs::create_directory(run);
  {
    const FolderLock lock(run);
    fs::rename(run, moved);
    error_of<FolderLost>([&] { write_file_atomically(run / "x", "1"); });
    fs::create_directory(run);
    error_of<FolderLost>([&] { write_file_atomically(run / "x", "1"); });
  }
  EXPECT_TRUE(is_empty(moved)) << "the lock's file goes where its folder is";
  EXPECT_TRUE(is_empty(run));
}

TEST(FolderLock, AFolderWithoutALockIsWatchedToo) {
  const TempDir dir;
  const fs::path run = dir.path() / "run";
  fs::create_directory(run);
  const HeldFolder held(run);
  write_file_atomically(run / "x", "1");
  replace_folder(run);
  error_of<FolderLost>([&] { write_file_atomically(run / "x", "1"); });
  EXPECT_TRUE(is_empty(run));
}

// A trainer with a lock forks a worker and is killed. The worker lives on, the lock does not.
TEST(FolderLock, AForkedWorkerDoesNotKeepIt) {
  const TempDir dir;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t trainer = ::fork();
  ASSERT_GE(trainer, 0);
  if (trainer == 0) {
    const FolderLock lock(dir.path());
    AtomicFile file(dir.path() / "x");
    const pid_t worker = ::fork();
    if (worker == 0) {
      for (;;) ::pause();
    }
    if (::write(ready[1], &worker, sizeof worker) != sizeof worker) ::_exit(1);
    for (;;) ::pause();
  }
  pid_t worker = 0;
  ASSERT_EQ(::read(ready[0], &worker, sizeof worker), static_cast<ssize_t>(sizeof worker));
  testing::contains(error_of([&] { const FolderLock lock(dir.path()); }), "is at work");
  ::kill(trainer, SIGKILL);
  ::waitpid(trainer, nullptr, 0);
  EXPECT_NO_THROW({ const FolderLock lock(dir.path()); });
  write_file_atomically(dir.path() / "x", "1");  // sweeps what the trainer left
  EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), {}), 1);
  EXPECT_EQ(::kill(worker, SIGKILL), 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

// A forked child that ends, or lets go of its copies, leaves the parent's lock as it is.
TEST(FolderLock, AForkedChildHoldsNothing) {
  const TempDir dir;
  auto lock = std::make_unique<FolderLock>(dir.path());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool none = lock->folder().fd() < 0;
    lock.reset();
    ::_exit(none && fs::exists(dir.path() / "lock") ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  require_held(dir.path());
  error_of<FolderBusy>([&] { const FolderLock second(dir.path()); });
}

TEST(UnsharedFd, MovesAndCloses) {
  UnsharedFd none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.close(), 0);
  UnsharedFd first(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY), second(AT_FDCWD, ".", O_RDONLY);
  ASSERT_TRUE(first && second);
  const int fd = second.get();
  first = std::move(second);
  EXPECT_EQ(first.get(), fd);
  EXPECT_FALSE(second);
  UnsharedFd third(std::move(first));
  EXPECT_EQ(::fcntl(fd, F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(third.close(), 0);
  EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
  EXPECT_FALSE(UnsharedFd(AT_FDCWD, "/none/none", O_RDONLY));
}

}  // namespace
}  // namespace bridgemark
