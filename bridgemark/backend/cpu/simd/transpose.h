#pragma once

#include <cstddef>

namespace bridgemark::backend::cpu {

// out[j,i] = in[i,j] for in [rows, columns]; rows of each are its stride apart.
template <typename T>
void transpose(const T* in, std::size_t in_stride, std::size_t rows, std::size_t columns, T* out,
               std::size_t out_stride);

}  // namespace bridgemark::backend::cpu
