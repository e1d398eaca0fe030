#include "bridgemark/io/npy.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/io/npy_header.h"
#include "bridgemark/io/read_values.h"
#include "bridgemark/io/shape.h"

namespace bridgemark {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kVersionBytes = 2;
// A header of numbers takes at most some 1500 bytes; numpy itself refuses more than 10,000.
constexpr std::uint64_t kMaxNpyHeaderBytes = 65536;

NpyArray load_npy_of_rank(const std::filesystem::path& path, std::size_t rank) {
  NpyArray array = load_npy(path);
  if (array.shape.size() != rank) {
    throw_file(array.file->name(), "array has shape {}, expected {} axes",
               format_shape(array.shape), rank);
  }
  return array;
}

std::size_t checked_bytes(DType dtype, std::span<const std::size_t> shape) {
  if (npy_descr(dtype).empty()) {
    throw_invalid("npy", "dtype must be one that numpy has, got {}", dtype_name(dtype));
  }
  const std::optional<std::size_t> count = element_count(shape, dtype_size(dtype));
  if (!count || shape.size() > kMaxRank) {
    throw_invalid("npy", "shape must have at most {} axes and 2^63 - 1 bytes, got {}", kMaxRank,
                  format_shape(shape));
  }
  return *count * dtype_size(dtype);
}

template <typename T>
void save(const std::filesystem::path& path, const std::vector<std::size_t>& shape,
          std::span<const T> values) {
  NpyWriter writer(path, dtype_of<T>(), shape);
  writer.append(values.data(), values.size_bytes());
  writer.commit();
}

}  // namespace

NpyArray load_npy(const std::filesystem::path& path) {
  const auto file = std::make_shared<const InputFile>(path);
  std::array<unsigned char, 12> prefix{};  // magic, version, header length of 2 or 4 bytes
  const std::size_t got = file->read_some(0, prefix.data(), prefix.size());
  if (got < prefix.size() ||
      !std::equal(kMagic.begin(), kMagic.end(), prefix.begin(),
                  [](char a, unsigned char b) { return static_cast<unsigned char>(a) == b; })) {
    throw_file(file->name(), "not a .npy file");
  }
  const int major = prefix[6];
  const int minor = prefix[7];
  if (major < 1 || major > 3 || minor != 0) {
    throw_file(file->name(), ".npy version must be 1.0, 2.0 or 3.0, got {}.{}", major, minor);
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) {
    length |= std::uint64_t{prefix[kMagic.size() + kVersionBytes + i]} << (8 * i);
  }
  const std::uint64_t header_offset = kMagic.size() + kVersionBytes + length_bytes;
  const std::uint64_t available = file->size() - std::min(file->size(), header_offset);
  if (length > std::min(available, kMaxNpyHeaderBytes)) {
    throw_file(file->name(), "its header claims {} bytes, {} follow and at most {} are allowed",
               length, available, kMaxNpyHeaderBytes);
  }
  std::string text(static_cast<std::size_t>(length), '\0');
  file->read_at(header_offset, text.data(), text.size());
  NpyHeader header = parse_npy_header(text, file->name());

  const std::optional<std::size_t> count = element_count(header.shape, dtype_size(header.dtype));
  if (!count) {
    throw_file(file->name(), "array has shape {}, which is too large", format_shape(header.shape));
  }
  const std::uint64_t needed = *count * dtype_size(header.dtype);
  if (needed != available - length) {
    throw_file(file->name(), "{}: dtype {} and shape {} need {} bytes of data, found {}",
               needed > available - length ? "truncated" : "trailing bytes",
               dtype_name(header.dtype), format_shape(header.shape), needed, available - length);
  }
  return {std::move(header.shape), header.dtype, *count, file, header_offset + length};
}

std::vector<std::int32_t> NpyArray::to_int32() const {
  return read_values<std::int32_t>(*file, offset, dtype, count, "array");
}

std::vector<double> NpyArray::to_doubles() const {
  return read_values<double>(*file, offset, dtype, count, "array");
}

std::vector<std::int32_t> load_integers(const std::filesystem::path& path) {
  return load_npy_of_rank(path, 1).to_int32();
}

States load_states(const std::filesystem::path& path) {
  const NpyArray array = load_npy_of_rank(path, 2);
  return {array.shape[0], array.shape[1], array.to_int32()};
}

Array3<std::int32_t> load_states3(const std::filesystem::path& path) {
  const NpyArray array = load_npy_of_rank(path, 3);
  return {array.shape[0], array.shape[1], array.shape[2], array.to_int32()};
}

NpyWriter::NpyWriter(const std::filesystem::path& path, DType dtype,
                     const std::vector<std::size_t>& shape)
    : expected_bytes_(checked_bytes(dtype, shape)), file_(path) {
  const std::string header = format_npy_header(dtype, shape);
  file_.write(header.data(), header.size());
}

void NpyWriter::append(const void* data, std::size_t bytes) {
  if (bytes > expected_bytes_ - written_bytes_) {
    throw_invalid("npy", "the shape needs {} bytes, got {} after {}", expected_bytes_, bytes,
                  written_bytes_);
  }
  file_.write(data, bytes);
  written_bytes_ += bytes;
}

void NpyWriter::commit() {
  if (written_bytes_ != expected_bytes_) {
    throw_invalid("npy", "the shape needs {} bytes, got {}", expected_bytes_, written_bytes_);
  }
  file_.commit();
}

void save_npy(const std::filesystem::path& path, const std::vector<std::size_t>& shape,
              std::span<const std::int32_t> values) {
  save(path, shape, values);
}

void save_npy(const std::filesystem::path& path, const std::vector<std::size_t>& shape,
              std::span<const double> values) {
  save(path, shape, values);
}

}  // namespace bridgemark
