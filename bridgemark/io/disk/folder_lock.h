#pragma once

#include <chrono>
#include <filesystem>
#include <functional>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/unshared_fd.h"

namespace bridgemark {

// Another process, or another object of this one, works in the folder.
class FolderBusy : public FileError {
 public:
  using FileError::FileError;
};

// The folder that this process works in was removed, moved or replaced meanwhile.
class FolderLost : public FileError {
 public:
  using FileError::FileError;
};

// The folder that is under a path now, as the one that this process works in. As long as the object
// is there, require_held() and each AtomicFile of this process refuse to touch any other folder
// that comes under that path, so files of two runs never mix.
class HeldFolder {
 public:
  // Throws FileError where there is no folder.
  explicit HeldFolder(const std::filesystem::path& folder);
  ~HeldFolder();
  HeldFolder(const HeldFolder&) = delete;
  HeldFolder& operator=(const HeldFolder&) = delete;

  int fd() const { return fd_.get(); }
  const std::filesystem::path& path() const { return path_; }

  // Whether it is still under its path, with the file that expect_lock() was told of.
  bool is_there() const;
  bool is_same(int folder) const;

  // The file `lock`, open, that the folder must have from now on; -1: none.
  void expect_lock(int lock);

  // Removes a file of this very folder, wherever it is.
  void remove(const char* name) const noexcept;

 private:
  std::filesystem::path path_;
  UnsharedFd fd_;
  int lock_ = -1;
};

// Throws FolderLost where this process holds the folder of this path and another one, or none, is
// there now. `fd`, where it is not -1, is an open folder that must be the held one.
void require_held(const std::filesystem::path& folder, int fd = -1);

// A process that was just killed lets go of its lock a moment later, when the kernel has ended it,
// so nobody is refused before that.
inline constexpr std::chrono::milliseconds kTimeToEnd{2000};

// How long to wait for others' locks.
struct LockPatience {
  std::chrono::milliseconds longest = kTimeToEnd;
  // Called between tries, once kTimeToEnd is over; what it throws ends the wait.
  std::function<void()> while_waiting = {};
};

// A process that works in a folder holds a lock on it and on the file `lock` in it: the folder's
// own lock holds where somebody removes the file, and the file's on file systems that lock files
// alone (NFS). The kernel releases both however the process ends; the destructor removes the file.
class FolderLock {
 public:
  enum class Holders { kOne, kMany };

  // Throws FolderBusy where another lock is held for longer than that, unless both are for many
  // holders.
  explicit FolderLock(const std::filesystem::path& folder, Holders holders = Holders::kOne,
                      const LockPatience& patience = {});
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  const HeldFolder& folder() const { return folder_; }

 private:
  HeldFolder folder_;
  UnsharedFd file_;
};

}  // namespace bridgemark
