#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace bridgemark {

// The arrays of a .npz file, which is a ZIP archive of .npy files, compressed or not. Every failure
// is a FileError; what an archive claims is not believed before its bytes are there.
class NpzFile {
 public:
  explicit NpzFile(const std::filesystem::path& path);

  const std::string& name() const { return name_; }

  // A one-dimensional array, from any integer dtype or from any dtype at all.
  std::vector<std::int32_t> read_int32(const std::string& array) const;
  std::vector<double> read_doubles(const std::string& array) const;

  // A text, such as the format that scipy keeps beside a sparse matrix, of one or four bytes a
  // character.
  std::string read_text(const std::string& array) const;

 private:
  template <typename T>
  std::vector<T> read(const std::string& array) const;
  const std::string& bytes(const std::string& array) const;

  std::string name_;
  std::map<std::string, std::string> arrays_;  // the bytes of each .npy file
};

}  // namespace bridgemark
