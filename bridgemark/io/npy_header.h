#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bridgemark/io/dtype.h"

namespace bridgemark {

struct NpyHeader {
  DType dtype = DType::kF64;
  std::vector<std::size_t> shape;
};

// Parses the dictionary of a .npy header: {'descr': '<i4', 'fortran_order': False, 'shape': (3, 4)}
// with each key once, in any order. Throws FileError for anything else, and for what the library
// does not read: Fortran order, big-endian, object and structured dtypes.
NpyHeader parse_npy_header(std::string_view text, std::string_view file);

// The bytes before the data, as numpy.save writes them: version 1.0, padded to 64.
std::string format_npy_header(DType dtype, std::span<const std::size_t> shape);

}  // namespace bridgemark
