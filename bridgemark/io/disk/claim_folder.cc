#include "bridgemark/io/disk/claim_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <random>
#include <system_error>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/io/disk/unshared_fd.h"

namespace bridgemark {

namespace {

constexpr char kLock[] = ".lock";
constexpr char kWorker[] = ".worker-";

std::string reason(int error) { return std::generic_category().message(error); }

// What the file under a path is and when it was last touched, by the clock of its file system;
// empty where there is none. It is opened for that: on NFS a plain stat may answer from what the
// machine remembers, which can be a minute old.
std::optional<struct stat> look_at(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  struct stat found {};
  const bool known = ::fstat(fd, &found) == 0;
  ::close(fd);
  if (!known) return std::nullopt;
  return found;
}

std::chrono::nanoseconds touched(const struct stat& file) {
  return std::chrono::seconds(file.st_mtim.tv_sec) + std::chrono::nanoseconds(file.st_mtim.tv_nsec);
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

// No two workers have the same, on whatever machine.
std::string worker_name() {
  std::random_device entropy;
  std::array<char, 64> host{};
  ::gethostname(host.data(), host.size() - 1);
  return fmt::format("{}{}-{}-{:08x}{:08x}", kWorker, host.data(), ::getpid(), entropy(),
                     entropy());
}

}  // namespace

ClaimFolder::ClaimFolder(const std::filesystem::path& folder, std::chrono::milliseconds stale_after)
    : folder_(folder), stale_after_(stale_after), own_(folder / worker_name()) {
  create_folder(folder);
  touch();
  // Found out before any work: a file system without hard links or locks has no claims.
  const std::filesystem::path trial = own_.string() + "-trial";
  if (::link(own_.c_str(), trial.c_str()) != 0) {
    const int error = errno;
    ::unlink(own_.c_str());
    throw_file(folder.string(), "cannot hold claims, which are hard links: {}", reason(error));
  }
  ::unlink(trial.c_str());
  try {
    alone([&] { sweep_the_dead(); });
  } catch (...) {
    ::unlink(own_.c_str());
    throw;
  }
}

// Files of workers that died: their claims, which are links to them, stay until taken over.
void ClaimFolder::sweep_the_dead() const {
  for (const std::filesystem::path& path : list_folder(folder_)) {
    const bool worker = path.filename().string().starts_with(kWorker);
    if (worker && path != own_ && is_stale(path)) ::unlink(path.c_str());
  }
}

ClaimFolder::~ClaimFolder() {
  try {
    while (!held_.empty()) release(std::string(*held_.begin()));
  } catch (const FileError&) {
    // What is left grows stale.
  }
  ::unlink(own_.c_str());
}

void ClaimFolder::touch() const {
  if (::utimensat(AT_FDCWD, own_.c_str(), nullptr, 0) == 0) return;
  // Not there at first, nor where another worker has taken this one for dead.
  const int fd = ::open(own_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) throw_file(own_.string(), "cannot be written: {}", reason(errno));
  ::close(fd);
}

std::chrono::nanoseconds ClaimFolder::silence_of(const std::filesystem::path& path) const {
  const auto file = look_at(path), own = look_at(own_);
  return file && own ? touched(*own) - touched(*file) : std::chrono::nanoseconds(0);
}

bool ClaimFolder::is_stale(const std::filesystem::path& path) const {
  return silence_of(path) > stale_after_;
}

bool ClaimFolder::link_to(const std::string& name) const {
  const std::filesystem::path claim = path_of(name);
  int error = ::link(own_.c_str(), claim.c_str()) == 0 ? 0 : errno;
  if (error == ENOENT) {  // another worker has taken this one for dead
    touch();
    error = ::link(own_.c_str(), claim.c_str()) == 0 ? 0 : errno;
  }
  if (error == 0) return true;
  if (error == EEXIST) return holds(name);  // also where a server made it and its answer was lost
  throw_file(claim.string(), "cannot be claimed: {}", reason(error));
}

bool ClaimFolder::take(const std::string& name) {
  if (held_.contains(name) && holds(name)) return true;
  held_.erase(name);
  bool taken = link_to(name);
  if (!taken && is_stale(path_of(name))) {
    // One worker at a time takes over, or a second one could remove the claim of the first.
    alone([&] {
      if (is_stale(path_of(name))) ::unlink(path_of(name).c_str());
      taken = link_to(name);
    });
  }
  if (taken) held_.insert(name);
  return taken;
}

bool ClaimFolder::holds(const std::string& name) const {
  const auto own = look_at(own_), claim = look_at(path_of(name));
  return own && claim && same_file(*own, *claim);
}

void ClaimFolder::release(const std::string& name) {
  if (held_.erase(name) == 0) return;
  alone([&] {
    if (holds(name)) ::unlink(path_of(name).c_str());
  });
}

void ClaimFolder::remove_settled(const std::function<bool(const std::string&)>& settled) const {
  alone([&] {
    for (const std::filesystem::path& path : list_folder(folder_)) {
      const std::string name = path.filename().string();
      if (name != kLock && !name.starts_with(kWorker) && settled(name)) ::unlink(path.c_str());
    }
  });
}

void ClaimFolder::alone(const std::function<void()>& work) const {
  const std::filesystem::path path = path_of(kLock);
  const UnsharedFd file(AT_FDCWD, path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW, 0644);
  if (!file) throw_file(path.string(), "cannot be opened: {}", reason(errno));
  while (::flock(file.get(), LOCK_EX) != 0) {  // until it is closed
    if (errno != EINTR) throw_file(path.string(), "cannot be locked: {}", reason(errno));
  }
  work();
}

}  // namespace bridgemark
