#include "bridgemark/io/archive/npz.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/io/archive/inflate.h"
#include "bridgemark/io/convert.h"
#include "bridgemark/io/disk/input_file.h"
#include "bridgemark/io/npy_header.h"
#include "bridgemark/io/shape.h"

namespace bridgemark {

namespace {

// Of 2 or 4 bytes, the lowest first.
std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(bytes[at + i])} << 8 * i;
  }
  return value;
}

std::uint32_t crc_of(std::string_view bytes) {
  static const auto kTable = [] {
    std::array<std::uint32_t, 256> table;
    for (std::uint32_t i = 0; i < 256; ++i) {
      table[i] = i;
      for (int bit = 0; bit < 8; ++bit) {
        table[i] = table[i] >> 1 ^ ((table[i] & 1) != 0 ? 0xedb88320u : 0u);
      }
    }
    return table;
  }();
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc = crc >> 8 ^ kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  }
  return ~crc;
}

std::string read_part(const InputFile& file, std::uint64_t offset, std::uint64_t size) {
  if (offset > file.size() || size > file.size() - offset) {
    throw_file(file.name(), "not a .npz file: {} bytes at {} lie behind its end", size, offset);
  }
  std::string part(static_cast<std::size_t>(size), '\0');
  file.read_at(offset, part.data(), part.size());
  return part;
}

// Where the archive's list of files is: the record at its end says so.
std::string read_directory(const InputFile& file) {
  constexpr std::uint64_t kRecord = 22, kMostComment = 65535;
  const std::uint64_t size = std::min(file.size(), kRecord + kMostComment);
  const std::string tail = read_part(file, file.size() - size, size);
  const std::size_t at = tail.rfind("PK\5\6");
  if (at == std::string::npos || tail.size() - at < kRecord) {
    throw_file(file.name(), "not a .npz file");
  }
  return read_part(file, number_at(tail, at + 16, 4), number_at(tail, at + 12, 4));
}

// One file of the archive, by its entry in the list.
std::string read_member(const InputFile& file, std::string_view entry, std::string_view name) {
  constexpr std::uint64_t kLocal = 30, kMostRatio = 1032, kStored = 0, kDeflated = 8;
  const std::uint64_t flags = number_at(entry, 8, 2), method = number_at(entry, 10, 2),
                      packed = number_at(entry, 20, 4), size = number_at(entry, 24, 4),
                      offset = number_at(entry, 42, 4);
  if ((flags & 1) != 0 || (method != kStored && method != kDeflated)) {
    throw_file(file.name(), "'{}' must be stored or deflated, got method {}{}", name, method,
               (flags & 1) != 0 ? ", encrypted" : "");
  }
  const std::string local = read_part(file, offset, kLocal);
  const std::uint64_t data = offset + kLocal + number_at(local, 26, 2) + number_at(local, 28, 2);
  std::string bytes = read_part(file, data, packed);
  if (method == kDeflated) {
    if (size > kMostRatio * packed) {
      throw_file(file.name(), "'{}' claims {} bytes in {}", name, size, packed);
    }
    bytes = inflate(bytes, static_cast<std::size_t>(size), file.name());
  }
  if (bytes.size() != size || crc_of(bytes) != number_at(entry, 16, 4)) {
    throw_file(file.name(), "'{}' is not what was written: size or checksum differ", name);
  }
  return bytes;
}

// Where the values of a .npy file begin, and its header's text.
std::pair<std::string_view, std::string_view> split_npy(std::string_view bytes,
                                                        const std::string& file) {
  constexpr std::size_t kPrefix = 8;
  const std::size_t length_bytes = bytes.size() > kPrefix && bytes[6] == 1 ? 2 : 4;
  if (!bytes.starts_with("\x93NUMPY") || bytes.size() < kPrefix + length_bytes) {
    throw_file(file, "not a .npz file of .npy arrays");
  }
  const std::uint64_t length = number_at(bytes, kPrefix, length_bytes);
  bytes.remove_prefix(kPrefix + length_bytes);
  if (length > bytes.size()) throw_file(file, "the header of an array is cut off");
  return {bytes.substr(0, static_cast<std::size_t>(length)),
          bytes.substr(static_cast<std::size_t>(length))};
}

}  // namespace

NpzFile::NpzFile(const std::filesystem::path& path) {
  const InputFile file(path);
  name_ = file.name();
  constexpr std::size_t kEntry = 46;
  constexpr std::string_view kSuffix = ".npy";
  const std::string directory = read_directory(file);
  std::string_view rest = directory;
  while (rest.size() >= kEntry && rest.starts_with("PK\1\2")) {
    const std::size_t named = number_at(rest, 28, 2),
                      size = kEntry + named + number_at(rest, 30, 2) + number_at(rest, 32, 2);
    if (size > rest.size()) break;
    std::string name(rest.substr(kEntry, named));
    if (name.ends_with(kSuffix)) {
      name.resize(name.size() - kSuffix.size());
      arrays_[name] = read_member(file, rest.substr(0, size), name);
    }
    rest.remove_prefix(size);
  }
  if (!rest.empty()) throw_file(name_, "not a .npz file: its list of arrays is broken");
}

const std::string& NpzFile::bytes(const std::string& array) const {
  const auto found = arrays_.find(array);
  if (found == arrays_.end()) throw_file(name_, "array '{}' is missing", array);
  return found->second;
}

template <typename T>
std::vector<T> NpzFile::read(const std::string& array) const {
  const auto [text, data] = split_npy(bytes(array), name_);
  const NpyHeader header = parse_npy_header(text, name_);
  if (std::is_integral_v<T> && is_floating(header.dtype)) {
    throw_file(name_, "array '{}' has dtype {}, expected an integer dtype", array,
               dtype_name(header.dtype));
  }
  const std::size_t item = dtype_size(header.dtype), count = data.size() / item;
  if (header.shape != std::vector{count} || count * item != data.size()) {
    throw_file(name_, "array '{}' must have one axis, of {} elements, got shape {}", array, count,
               format_shape(header.shape));
  }
  std::vector<T> values(count);
  const auto* first = reinterpret_cast<const std::byte*>(data.data());
  const std::size_t done = convert_values(header.dtype, first, std::span<T>(values));
  if (done < count) {
    throw_file(name_, "array '{}' holds {} at index {}, which does not fit {}", array,
               format_value(header.dtype, first + done * item), done, dtype_name(dtype_of<T>()));
  }
  return values;
}

std::vector<std::int32_t> NpzFile::read_int32(const std::string& array) const {
  return read<std::int32_t>(array);
}

std::vector<double> NpzFile::read_doubles(const std::string& array) const {
  return read<double>(array);
}

std::string NpzFile::read_text(const std::string& array) const {
  std::string text(split_npy(bytes(array), name_).second);
  std::erase(text, '\0');
  return text;
}

}  // namespace bridgemark
