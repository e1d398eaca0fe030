#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "bridgemark/io/dtype.h"

namespace bridgemark {

// Converts out.size() elements of `dtype`, stored at `bytes` with any alignment. T is double, float
// or int32. Returns how many were converted: fewer than asked means that T cannot hold the next one
// (an integer outside int32, a finite double beyond float; for int32 any floating dtype).
// Rounding is to nearest; a BOOL is 0 or 1.
template <typename T>
std::size_t convert_values(DType dtype, const std::byte* bytes, std::span<T> out);

// The element at `bytes` as text, for messages.
std::string format_value(DType dtype, const std::byte* bytes);

}  // namespace bridgemark
