#include "bridgemark/io/disk/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/paths.h"

namespace bridgemark {

namespace {

// The outermost of the folders above a path that is not there; empty where all are.
std::filesystem::path missing_folder(const std::filesystem::path& path) {
  std::filesystem::path missing;
  for (auto at = path.parent_path(); !at.empty() && !path_exists(at); at = at.parent_path()) {
    missing = at;
  }
  return missing;
}

[[noreturn]] void throw_no_file(const std::filesystem::path& path) {
  if (path.empty()) throw_file("''", "a file must have a name");
  const std::filesystem::path folder = missing_folder(path);
  if (!folder.empty()) throw_file(folder.string(), "no such folder, looked for {}", path.string());
  throw_file(path.string(), "no such file");
}

}  // namespace

InputFile::InputFile(const std::filesystem::path& path) : name_(path.string()) {
  // O_NONBLOCK: opening a pipe that nobody writes to must fail below, not hang here.
  fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0) {
    if (errno == ENOENT) throw_no_file(path);
    throw_file(name_, "cannot open: {}", std::generic_category().message(errno));
  }
  struct stat status {};
  const int error = ::fstat(fd_, &status) == 0 ? 0 : errno;
  if (error != 0 || !S_ISREG(status.st_mode)) {
    ::close(fd_);
    if (error != 0) throw_file(name_, "cannot open: {}", std::generic_category().message(error));
    throw_file(name_, "is {}, expected a file",
               S_ISDIR(status.st_mode) ? "a folder" : "not a regular file");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::~InputFile() { ::close(fd_); }

void InputFile::read_at(std::uint64_t offset, void* data, std::size_t bytes) const {
  const std::size_t got = read_some(offset, data, bytes);
  if (got != bytes) {
    throw_file(name_, "truncated: expected {} bytes at offset {}, found {}", bytes, offset, got);
  }
}

std::size_t InputFile::read_some(std::uint64_t offset, void* data, std::size_t bytes) const {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::pread(fd_, static_cast<char*>(data) + done, bytes - done,
                                static_cast<off_t>(offset + done));
    if (got < 0) {
      if (errno == EINTR) continue;
      throw_file(name_, "cannot read: {}", std::generic_category().message(errno));
    }
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace bridgemark
