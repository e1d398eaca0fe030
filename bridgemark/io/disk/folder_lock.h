#pragma once

#include <filesystem>

#include "bridgemark/core/error.h"

namespace bridgemark {

// Another process, or another object of this one, works in the folder.
class FolderBusy : public FileError {
 public:
  using FileError::FileError;
};

// A process that works in a folder holds the file `lock` in it. The kernel releases the lock
// however the process ends; the destructor removes the file.
class FolderLock {
 public:
  enum class Holders { kOne, kMany };

  // Throws FolderBusy where another lock is held for more than two seconds, unless both are for
  // many holders.
  explicit FolderLock(const std::filesystem::path& folder, Holders holders = Holders::kOne);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  std::filesystem::path path_;
  int fd_ = -1;
};

}  // namespace bridgemark
