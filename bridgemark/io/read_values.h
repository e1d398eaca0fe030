#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bridgemark/io/disk/input_file.h"
#include "bridgemark/io/dtype.h"

namespace bridgemark {

// Reads `count` elements of `dtype` that start at `offset`, as double, float or int32. The caller
// has checked that the file is long enough, so the file's size bounds the allocation. `what` is how
// messages call the array: "tensor 'x'".
template <typename T>
std::vector<T> read_values(const InputFile& file, std::uint64_t offset, DType dtype,
                           std::size_t count, std::string_view what);

}  // namespace bridgemark
