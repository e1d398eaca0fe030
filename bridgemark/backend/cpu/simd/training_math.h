#pragma once

#include <cstddef>

#include "bridgemark/math/adamw.h"

// The inner loops of training over rows of components, through Highway. T is float or double.
namespace bridgemark::backend::cpu {

// out += in, out += scale * in.
template <typename T>
void add_into(const T* in, std::size_t count, T* out);
template <typename T>
void add_scaled_into(const T* in, T scale, std::size_t count, T* out);

// high = maximum over rows of in [rows, columns], out = exp(in - high), 0 where it would leave the
// range of T; rows of `in` and `out` are their strides apart. Returns the lowest of `out`.
template <typename T>
T exp_columns(const T* in, std::size_t in_stride, std::size_t rows, std::size_t columns, T* high,
              T* out, std::size_t out_stride);

// out = exp(in - shift); returns the sum.
template <typename T>
T exp_shifted(const T* in, T shift, std::size_t count, T* out);

// out = log(in) + shift; returns the smallest `in`.
template <typename T>
T log_sum_with(const T* in, const T* shift, std::size_t count, T* out);

// out = log(in); returns the smallest `in`.
template <typename T>
T log_each(const T* in, std::size_t count, T* out);

template <typename T>
T max_of(const T* in, std::size_t count);

// out = in / out, and 0 where out is 0.
template <typename T>
void divide_into(const T* in, std::size_t count, T* out);

// out *= in.
template <typename T>
void multiply_into(const T* in, std::size_t count, T* out);

// math/adamw.h.
void adamw_row(AdamWStep step, const float* gradient, std::size_t count, float* parameters,
               float* first, float* second);

}  // namespace bridgemark::backend::cpu
