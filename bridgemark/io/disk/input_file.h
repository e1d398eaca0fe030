#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace bridgemark {

// A regular file open for reading at any offset. Reads go through pread rather than a mapping, so
// a file that shrinks under us is a FileError and not a SIGBUS.
class InputFile {
 public:
  // Throws FileError if the file is missing, unreadable or not a regular file.
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& name() const { return name_; }
  std::uint64_t size() const { return size_; }

  // Throws FileError if fewer than `bytes` lie at `offset`.
  void read_at(std::uint64_t offset, void* data, std::size_t bytes) const;

  // Stops at the end of the file; returns how many bytes were read.
  std::size_t read_some(std::uint64_t offset, void* data, std::size_t bytes) const;

 private:
  std::string name_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace bridgemark
