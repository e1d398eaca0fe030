#pragma once

#include <sys/types.h>

namespace bridgemark {

// An open file that is this process's alone: it is closed in what the process starts and in what it
// forks. A lock on it therefore ends with the process; one that a forked child shared would outlive
// it.
class UnsharedFd {
 public:
  UnsharedFd() noexcept = default;
  // As openat(), with O_CLOEXEC; errno says why there is none.
  UnsharedFd(int folder, const char* path, int flags, mode_t mode = 0);
  ~UnsharedFd() { close(); }
  UnsharedFd(UnsharedFd&& other) noexcept;
  UnsharedFd& operator=(UnsharedFd&& other) noexcept;

  // -1 where there is none, as in a forked child.
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

  // The result of close(); 0 where there is none.
  int close() noexcept;

 private:
  friend class OpenUnshared;

  void link() noexcept;
  void unlink() noexcept;

  int fd_ = -1;
  UnsharedFd* previous_ = nullptr;  // all that are open are a list, which a fork walks
  UnsharedFd* next_ = nullptr;
};

}  // namespace bridgemark
