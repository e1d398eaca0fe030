#pragma once

#include <cstddef>

// Dense products of the training kernels whose long side is the components, on the calling thread.
// The other sides are a batch and the categories, some 50 to 130: at these sizes a general product
// spends a third of its time on packing and on writing what the next pass reads again.
namespace bridgemark::backend::cpu {

// A left factor is read 16 bytes at a time: so many elements must be readable behind its last one.
template <typename T>
constexpr std::size_t kReadAhead = 16 / sizeof(T);

// What becomes of an element of a product.
enum class Into {
  kStore,           // out = product
  kMultiply,        // out = out * product
  kAddAndMultiply,  // out = (out + product) * factor
};

// out[i,k] <- sum_j a[j,i] x[j,k]; a is [inner, rows], x [inner, columns], out and factor
// [rows, columns], all dense. factor is for kAddAndMultiply alone.
template <typename T>
void multiply_transposed(const T* a, const T* x, std::size_t rows, std::size_t inner,
                         std::size_t columns, Into into, T* out, const T* factor = nullptr);

// out[i,j] = sum_k a[i,k] x[j,k]; a is [rows, inner], x [columns, inner], out [rows, columns].
template <typename T>
void multiply_rows(const T* a, const T* x, std::size_t rows, std::size_t columns, std::size_t inner,
                   T* out);

}  // namespace bridgemark::backend::cpu
