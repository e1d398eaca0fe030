#include "bridgemark/io/disk/unshared_fd.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <mutex>
#include <utility>

namespace bridgemark {

namespace {

// Held while a file is opened or closed and while the process forks, so that no child has one that
// is not yet in the list.
std::mutex unshared_mutex;
UnsharedFd* first_unshared = nullptr;

}  // namespace

// What a fork does with all of them.
class OpenUnshared {
 public:
  static void before_fork() { unshared_mutex.lock(); }
  static void in_parent() { unshared_mutex.unlock(); }
  static void in_child() {
    while (first_unshared != nullptr) {
      UnsharedFd& open = *first_unshared;
      ::close(std::exchange(open.fd_, -1));
      open.unlink();
    }
    unshared_mutex.unlock();
  }
};

UnsharedFd::UnsharedFd(int folder, const char* path, int flags, mode_t mode) {
  [[maybe_unused]] static const int watched =
      ::pthread_atfork(OpenUnshared::before_fork, OpenUnshared::in_parent, OpenUnshared::in_child);
  const std::lock_guard guard(unshared_mutex);
  fd_ = ::openat(folder, path, flags | O_CLOEXEC, mode);
  if (fd_ >= 0) link();
}

UnsharedFd::UnsharedFd(UnsharedFd&& other) noexcept { *this = std::move(other); }

UnsharedFd& UnsharedFd::operator=(UnsharedFd&& other) noexcept {
  if (this == &other) return *this;
  close();
  const std::lock_guard guard(unshared_mutex);
  if (other.fd_ < 0) return *this;
  other.unlink();
  fd_ = std::exchange(other.fd_, -1);
  link();
  return *this;
}

int UnsharedFd::close() noexcept {
  const std::lock_guard guard(unshared_mutex);
  if (fd_ < 0) return 0;
  unlink();
  return ::close(std::exchange(fd_, -1));
}

void UnsharedFd::link() noexcept {
  next_ = first_unshared;
  if (next_ != nullptr) next_->previous_ = this;
  first_unshared = this;
}

void UnsharedFd::unlink() noexcept {
  (previous_ != nullptr ? previous_->next_ : first_unshared) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
  previous_ = next_ = nullptr;
}

}  // namespace bridgemark
