#include "bridgemark/io/disk/folder_lock.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace bridgemark {

namespace {

using LockClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenTries{5};

constexpr char kLockFile[] = "lock";

std::mutex held_mutex;
std::vector<const HeldFolder*> held_folders;  // of this process, whichever thread holds them

// A forked process holds none of them: its copies of the locks are closed.
void watch_forks() {
  [[maybe_unused]] static const int watched =
      ::pthread_atfork([] { held_mutex.lock(); }, [] { held_mutex.unlock(); },
                       [] {
                         held_folders.clear();
                         held_mutex.unlock();
                       });
}

std::filesystem::path full_path(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::filesystem::path full = std::filesystem::absolute(folder, ignored).lexically_normal();
  return full.has_filename() ? full : full.parent_path();
}

// Whether the open file is what is under a path that begins at the folder `at`.
bool is_under(int fd, int at, const char* path) {
  struct stat open {
  }, named{};
  return ::fstat(fd, &open) == 0 && ::fstatat(at, path, &named, 0) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

bool would_block(int fd, int kind) {
  while (::flock(fd, kind | LOCK_NB) != 0) {
    if (errno != EINTR) return errno == EWOULDBLOCK;
    errno = 0;
  }
  errno = 0;
  return false;
}

}  // namespace

HeldFolder::HeldFolder(const std::filesystem::path& folder)
    : path_(full_path(folder)), fd_(AT_FDCWD, path_.c_str(), O_RDONLY | O_DIRECTORY) {
  if (!fd_) {
    throw_file(folder.string(), "cannot be opened: {}", std::generic_category().message(errno));
  }
  watch_forks();
  const std::lock_guard guard(held_mutex);
  held_folders.push_back(this);
}

HeldFolder::~HeldFolder() {
  const std::lock_guard guard(held_mutex);
  std::erase(held_folders, this);
}

bool HeldFolder::is_there() const {
  return is_under(fd(), AT_FDCWD, path_.c_str()) && (lock_ < 0 || is_under(lock_, fd(), kLockFile));
}

bool HeldFolder::is_same(int folder) const { return is_under(fd(), folder, "."); }

void HeldFolder::expect_lock(int lock) {
  const std::lock_guard guard(held_mutex);
  lock_ = lock;
}

void HeldFolder::remove(const char* name) const noexcept { ::unlinkat(fd(), name, 0); }

void require_held(const std::filesystem::path& folder, int fd) {
  const std::filesystem::path path = full_path(folder);
  const std::lock_guard guard(held_mutex);
  for (const HeldFolder* held : held_folders) {
    if (held->path() != path || (held->is_there() && (fd < 0 || held->is_same(fd)))) continue;
    throw FolderLost(message_text(fmt::format(
        "{}: was removed, moved or replaced while this run worked in it; the run has ended and "
        "wrote nothing more there",
        folder.string())));
  }
}

FolderLock::FolderLock(const std::filesystem::path& folder, Holders holders,
                       const LockPatience& patience)
    : folder_(folder) {
  const int kind = holders == Holders::kOne ? LOCK_EX : LOCK_SH;
  const LockClock::time_point started = LockClock::now();
  for (;; std::this_thread::sleep_for(kBetweenTries)) {
    file_ = UnsharedFd(folder_.fd(), kLockFile, O_RDWR | O_CREAT | O_NOFOLLOW, 0644);
    if (!file_) {
      throw_file((folder / kLockFile).string(), "cannot be opened: {}",
                 std::generic_category().message(errno));
    }
    // Another error than that it is held: the file system locks no folders.
    const bool busy = would_block(folder_.fd(), kind) || would_block(file_.get(), kind);
    const auto waited = LockClock::now() - started;
    if (busy && waited >= patience.longest) {
      throw FolderBusy(message_text(
          fmt::format("{}: another bridgemark run is at work in this folder", folder.string())));
    }
    if (busy && waited >= kTimeToEnd && patience.while_waiting) patience.while_waiting();
    if (busy) continue;
    if (errno != 0) {
      throw_file((folder / kLockFile).string(), "cannot be locked: {}",
                 std::generic_category().message(errno));
    }
    // The holder before may have removed the file between our open and our lock.
    if (is_under(file_.get(), folder_.fd(), kLockFile)) break;
  }
  folder_.expect_lock(file_.get());
}

FolderLock::~FolderLock() {
  folder_.expect_lock(-1);
  // The last of many takes the file along.
  if (!would_block(file_.get(), LOCK_EX) && errno == 0 &&
      is_under(file_.get(), folder_.fd(), kLockFile)) {
    folder_.remove(kLockFile);
  }
}

}  // namespace bridgemark
