#include "bridgemark/io/read_values.h"

#include <algorithm>
#include <new>
#include <span>
#include <stdexcept>
#include <type_traits>

#include "bridgemark/core/error.h"
#include "bridgemark/io/convert.h"

namespace bridgemark {

namespace {

constexpr std::size_t kChunkElements = std::size_t{1} << 16;

template <typename T>
std::vector<T> allocate(const InputFile& file, std::size_t count, std::string_view what) {
  try {
    return std::vector<T>(count);
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  throw_file(file.name(), "{} has {} elements, too many for the memory of this machine", what,
             count);
}

}  // namespace

template <typename T>
std::vector<T> read_values(const InputFile& file, std::uint64_t offset, DType dtype,
                           std::size_t count, std::string_view what) {
  if (std::is_integral_v<T> && is_floating(dtype)) {
    throw_file(file.name(), "{} has dtype {}, expected an integer dtype", what, dtype_name(dtype));
  }
  std::vector<T> values = allocate<T>(file, count, what);
  if (dtype == dtype_of<T>()) {
    file.read_at(offset, values.data(), count * sizeof(T));
    return values;
  }
  const std::size_t item = dtype_size(dtype);
  std::vector<std::byte> chunk(std::min(count, kChunkElements) * item);
  for (std::size_t first = 0; first < count; first += kChunkElements) {
    const std::size_t now = std::min(kChunkElements, count - first);
    file.read_at(offset + first * item, chunk.data(), now * item);
    const std::size_t done =
        convert_values(dtype, chunk.data(), std::span<T>(values.data() + first, now));
    if (done < now) {
      throw_file(file.name(), "{} holds {} at index {}, which does not fit {}", what,
                 format_value(dtype, chunk.data() + done * item), first + done,
                 dtype_name(dtype_of<T>()));
    }
  }
  return values;
}

template std::vector<double> read_values(const InputFile&, std::uint64_t, DType, std::size_t,
                                         std::string_view);
template std::vector<float> read_values(const InputFile&, std::uint64_t, DType, std::size_t,
                                        std::string_view);
template std::vector<std::int32_t> read_values(const InputFile&, std::uint64_t, DType, std::size_t,
                                               std::string_view);

}  // namespace bridgemark
