#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/input_file.h"
#include "bridgemark/io/dtype.h"

namespace bridgemark {

// An array in a .npy file (versions 1.0 to 3.0, C order, little-endian). The header was checked
// against the file's size; the values are read when asked for. Every failure is a FileError.
struct NpyArray {
  std::vector<std::size_t> shape;
  DType dtype = DType::kF64;
  std::size_t count = 0;  // elements

  // Row-major values, from any integer dtype or bool; one outside int32 is an error.
  std::vector<std::int32_t> to_int32() const;
  // From any dtype, rounded.
  std::vector<double> to_doubles() const;

  std::shared_ptr<const InputFile> file;
  std::uint64_t offset = 0;  // of the values
};

NpyArray load_npy(const std::filesystem::path& path);

// Integers of shape [n], [rows, cols] or [n0, n1, n2].
std::vector<std::int32_t> load_integers(const std::filesystem::path& path);
States load_states(const std::filesystem::path& path);
Array3<std::int32_t> load_states3(const std::filesystem::path& path);

// Writes an array piece by piece, so that it may exceed memory; nothing appears before commit().
// Throws InvalidArgument if the bytes appended are not what the shape needs.
class NpyWriter {
 public:
  NpyWriter(const std::filesystem::path& path, DType dtype, const std::vector<std::size_t>& shape);

  void append(const void* data, std::size_t bytes);
  void commit();

 private:
  std::size_t expected_bytes_;  // first: a bad shape must throw before the file is opened
  std::size_t written_bytes_ = 0;
  AtomicFile file_;
};

void save_npy(const std::filesystem::path& path, const std::vector<std::size_t>& shape,
              std::span<const std::int32_t> values);
void save_npy(const std::filesystem::path& path, const std::vector<std::size_t>& shape,
              std::span<const double> values);

}  // namespace bridgemark
