#pragma once

#include <filesystem>

#include "bridgemark/core/error.h"

namespace bridgemark {

// Another process, or another object of this one, works in the folder.
class FolderBusy : public FileError {
 public:
  using FileError::FileError;
};

// Held by what works in a folder, as the file `lock` in it. The kernel lets go of it however the
// process ends; the file goes with the object.
class FolderLock {
 public:
  enum class Holders { kOne, kMany };

  // Throws FolderBusy where another one is held and still is two seconds later, but where both are
  // for many holders.
  explicit FolderLock(const std::filesystem::path& folder, Holders holders = Holders::kOne);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  std::filesystem::path path_;
  int fd_ = -1;
};

}  // namespace bridgemark
