#pragma once

#include <filesystem>

namespace bridgemark {

// Held by what works in a folder, as the file `lock` in it. The kernel lets go of it however the
// process ends; the file goes with the object.
class FolderLock {
 public:
  // Throws FileError where another process, or another object of this one, holds it.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  std::filesystem::path path_;
  int fd_ = -1;
};

}  // namespace bridgemark
