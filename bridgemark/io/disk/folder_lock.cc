#include "bridgemark/io/disk/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

namespace bridgemark {

namespace {

// A process that was just killed lets go of its lock a moment later, when the kernel has ended it.
constexpr std::chrono::milliseconds kTimeToEnd{2000}, kBetweenTries{5};

// Whether the file behind the descriptor is still the one under the path: the holder before may
// have removed it between our open and our lock.
bool is_at(int fd, const std::filesystem::path& path) {
  struct stat held {
  }, named{};
  return ::fstat(fd, &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder, Holders holders)
    : path_(folder / "lock") {
  const int kind = holders == Holders::kOne ? LOCK_EX : LOCK_SH;
  const auto last_try = std::chrono::steady_clock::now() + kTimeToEnd;
  for (;;) {
    fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd_ < 0) {
      throw_file(path_.string(), "cannot be opened: {}", std::generic_category().message(errno));
    }
    if (::flock(fd_, kind | LOCK_NB) != 0) {
      const int error = errno;
      ::close(fd_);
      if (error == EINTR) continue;
      if (error == EWOULDBLOCK && std::chrono::steady_clock::now() < last_try) {
        std::this_thread::sleep_for(kBetweenTries);
        continue;
      }
      if (error == EWOULDBLOCK) {
        throw FolderBusy(message_text(
            fmt::format("{}: another bridgemark run is at work in this folder", folder.string())));
      }
      throw_file(path_.string(), "cannot be locked: {}", std::generic_category().message(error));
    }
    if (is_at(fd_, path_)) return;
    ::close(fd_);
  }
}

FolderLock::~FolderLock() {
  // The last of many takes the file along.
  if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) ::unlink(path_.c_str());
  ::close(fd_);
}

}  // namespace bridgemark
