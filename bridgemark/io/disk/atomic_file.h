#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "bridgemark/io/disk/temporaries.h"
#include "bridgemark/io/disk/unshared_fd.h"

namespace bridgemark {

// A file that appears whole or not at all: bytes go to a temporary file in the same folder, and
// commit() syncs it and renames it over the path. Without commit(), or after a failure, the
// temporary goes and the old content stays. Every failure is a FileError; in a folder that this
// process holds (folder_lock.h) and that is another by now, FolderLost.
class AtomicFile {
 public:
  // A symbolic link is followed; a path that is no regular file (/dev/null) is refused, because
  // the rename would replace it.
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void commit();

 private:
  void open_temporary();
  void flush();
  void write_through(const char* data, std::size_t bytes);
  void require_open() const;
  void discard() noexcept;
  [[noreturn]] void fail(std::string_view action, int error);

  std::string name_;  // as the caller called it, for messages
  std::filesystem::path path_;
  std::filesystem::path folder_;
  UnsharedFd folder_fd_;  // names below are in this very folder, whatever comes under its path
  std::filesystem::path temporary_;  // its name
  RegisteredTemporary registered_;
  UnsharedFd fd_;
  std::string buffer_;
};

void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

// The whole content; throws FileError if it is longer than max_bytes.
std::string read_file(const std::filesystem::path& path, std::size_t max_bytes);

// Creates the folder and its parents; a folder that exists is left as it is.
void create_folder(const std::filesystem::path& path);

}  // namespace bridgemark
