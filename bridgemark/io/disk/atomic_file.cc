#include "bridgemark/io/disk/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/folder_lock.h"
#include "bridgemark/io/disk/input_file.h"

namespace bridgemark {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
constexpr int kMaxNameTries = 100;

// Makes the rename durable. Best effort where a folder cannot be opened or synced as a file.
int sync_folder(int folder) {
  const int fd = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return 0;
  const int error = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  return error == EINVAL || error == ENOTSUP ? 0 : error;
}

// Marks a new temporary as written to, by a lock that ends with the process. False where somebody
// who cleans up has taken it meanwhile; where files cannot be locked nobody can.
bool hold(int fd) {
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
  struct stat status {};
  return ::fstat(fd, &status) != 0 || status.st_nlink > 0;
}

}  // namespace

AtomicFile::AtomicFile(fs::path path) : name_(path.string()), path_(std::move(path)) {
  std::error_code error;
  if (fs::is_symlink(path_, error)) {
    fs::path target = fs::weakly_canonical(path_, error);
    if (error) throw_file(name_, "cannot follow the link: {}", error.message());
    path_ = std::move(target);
  }
  if (!path_.has_filename()) throw_file(name_, "names no file");
  folder_ = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
  require_held(folder_);
  const fs::file_status folder_status = fs::status(folder_, error);
  if (folder_status.type() == fs::file_type::not_found) {
    throw_file(name_, "folder '{}' does not exist", folder_.string());
  }
  if (!fs::is_directory(folder_status)) {
    throw_file(name_, "folder '{}' cannot be used: {}", folder_.string(),
               error ? error.message() : "not a folder");
  }
  const fs::file_status status = fs::status(path_, error);
  if (fs::is_directory(status)) throw_file(name_, "is a folder, expected a file");
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw_file(name_, "is not a regular file");
  }
  folder_fd_ = UnsharedFd(AT_FDCWD, folder_.c_str(), O_PATH | O_DIRECTORY);
  if (!folder_fd_) fail("create", errno);
  require_held(folder_, folder_fd_.get());
  open_temporary();
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::open_temporary() {
  sweep_unheld_temporaries(folder_, path_.filename().string());
  int error = EEXIST;
  for (int i = 0; i < kMaxNameTries && (error == EEXIST || error == EINTR); ++i) {
    const fs::path candidate = folder_ / temporary_name(path_.filename().string());
    registered_ = RegisteredTemporary(candidate);  // before it is there, so that no end misses it
    // Unlike mkstemp, open applies the umask to the mode that the final file should have.
    const fs::path name = candidate.filename();
    fd_ = UnsharedFd(folder_fd_.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0644);
    if (!fd_) {
      error = errno;
    } else if (hold(fd_.get())) {
      temporary_ = name;
      return;
    } else {
      fd_.close();
      ::unlinkat(folder_fd_.get(), name.c_str(), 0);
      error = EEXIST;
    }
  }
  fail("create", error);
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  require_open();
  const char* const first = static_cast<const char*>(data);
  if (bytes > kBufferBytes - buffer_.size()) flush();
  if (bytes >= kBufferBytes) {
    write_through(first, bytes);
  } else if (bytes > 0) {
    buffer_.append(first, bytes);
  }
}

void AtomicFile::commit() {
  require_open();
  flush();
  if (::fsync(fd_.get()) != 0) fail("sync", errno);
  if (fd_.close() != 0) fail("close", errno);
  require_held(folder_, folder_fd_.get());
  const int folder = folder_fd_.get();
  if (::renameat(folder, temporary_.c_str(), folder, path_.filename().c_str()) != 0) {
    fail("rename", errno);
  }
  temporary_.clear();
  registered_ = {};
  if (const int error = sync_folder(folder)) fail("sync the folder of", error);
}

void AtomicFile::flush() {
  write_through(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void AtomicFile::write_through(const char* data, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t written = ::write(fd_.get(), data, bytes);
    if (written < 0) {
      if (errno == EINTR) continue;
      fail("write", errno);
    }
    data += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::require_open() const {
  if (!fd_) throw_file(name_, "cannot write: already committed, or an earlier write failed");
}

void AtomicFile::discard() noexcept {
  fd_.close();
  if (!temporary_.empty()) ::unlinkat(folder_fd_.get(), temporary_.c_str(), 0);
  temporary_.clear();
  registered_ = {};
}

void AtomicFile::fail(std::string_view action, int error) {
  discard();
  require_held(folder_);  // else that is why
  throw_file(name_, "cannot {} the file: {}", action, std::generic_category().message(error));
}

void write_file_atomically(const fs::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

std::string read_file(const fs::path& path, std::size_t max_bytes) {
  const InputFile file(path);
  if (file.size() > max_bytes) {
    throw_file(file.name(), "holds {} bytes, at most {} are allowed", file.size(), max_bytes);
  }
  std::string bytes(static_cast<std::size_t>(file.size()), '\0');
  bytes.resize(file.read_some(0, bytes.data(), bytes.size()));
  return bytes;
}

void create_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::is_directory(status)) return;
  if (fs::exists(status)) throw_file(path.string(), "exists and is not a folder");
  throw_file(path.string(), "cannot create the folder: {}", error.message());
}

}  // namespace bridgemark
