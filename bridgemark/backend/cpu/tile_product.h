#pragma once

#include <cstddef>

// Dense products of the training kernels, on the calling thread. Their sides are a batch, the
// categories and a block of components, some 50 to 130: the factors mostly lie in the nearest cache
// and are read where they are; a left factor that many products read is better packed once.
namespace bridgemark::backend::cpu {

// A left factor is read 16 bytes at a time: so many elements must be readable behind its last one.
template <typename T>
constexpr std::size_t kReadAhead = 16 / sizeof(T);

// A right factor is read in whole vectors: its rows are readable up to a multiple of this.
template <typename T>
constexpr std::size_t kWholeVectors = 64 / sizeof(T);

template <typename T>
constexpr std::size_t whole_vectors(std::size_t count) {
  return (count + kWholeVectors<T> - 1) / kWholeVectors<T> * kWholeVectors<T>;
}

// What becomes of an element of a product.
enum class Into {
  kStore,           // out = product
  kAdd,             // out = out + product
  kMultiply,        // out = out * product
  kAddAndMultiply,  // out = (out + product) * factor
};

// Factors and result; rows of each are its stride apart.
template <typename T>
struct Product {
  std::size_t rows, inner, columns;
  const T* a;  // [inner, rows]
  std::size_t a_stride;
  const T* x;  // [inner, columns]
  std::size_t x_stride;
  T* out;  // [rows, columns]
  std::size_t out_stride;
  bool packed = false;        // a comes from pack_left; a_stride has no meaning
  const T* factor = nullptr;  // [rows, columns], for kAddAndMultiply alone
  std::size_t factor_stride = 0;
};

// Elements of a left factor in the order in which the products read it, for one that lies beyond
// the nearest cache: a [inner, rows], its rows `stride` apart, into packed_size elements.
template <typename T>
void pack_left(const T* a, std::size_t stride, std::size_t rows, std::size_t inner, T* out);

constexpr std::size_t packed_size(std::size_t rows, std::size_t inner) {
  return (rows + 15) * inner;  // no tile has more than 16 rows
}

// out[i,k] <- sum_j a[j,i] x[j,k].
template <typename T>
void multiply_transposed(const Product<T>& product, Into into);

}  // namespace bridgemark::backend::cpu
