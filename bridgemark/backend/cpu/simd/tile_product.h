#pragma once

#include <cstddef>
#include <cstdint>

// Dense products of the training kernels, on the calling thread. Their sides are a batch, the
// categories and a block of components, some 50 to 130: the factors mostly lie in the nearest
// caches. Groups of rows may leave out what is negligible to them.
namespace bridgemark::backend::cpu {

// Rows of arrays are read and written in whole vectors: they are there up to a multiple of this.
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
  kAddAndMultiply,  // out = (addend + product) * factor
};

// Rows of a product that are computed together.
constexpr std::size_t kGroupRows = 6;

constexpr std::size_t num_groups(std::size_t rows) { return (rows + kGroupRows - 1) / kGroupRows; }

// Columns [first, last).
struct Band {
  std::uint32_t first, last;
};

// Factors and result as they are; rows of each are its stride apart.
template <typename T>
struct RowProduct {
  std::size_t rows, inner;  // inner: whole vectors of 16 bytes
  const T* a;               // [rows, inner]
  std::size_t a_stride;
  const T* x;  // [inner, columns]
  std::size_t x_stride;
  T* out;
  std::size_t out_stride;
  const Band* columns;  // [num_groups(rows)], those that are wanted
  // Row i is of these rows of a and out; else of row i.
  const std::uint32_t* a_rows = nullptr;
  const std::uint32_t* out_rows = nullptr;
};

// out[out_rows[i],k] <- sum_j a[a_rows[i],j] x[j,k] for k in the band of row i's group; others of
// the row's whole vectors may change too. kStore or kAdd.
template <typename T>
void multiply_rows(const RowProduct<T>& product, Into into);

// The terms j of the inner sum that a group of rows takes, at least one. One more index must be
// readable behind them, of any row of x.
struct Terms {
  const std::uint32_t* indices;
  std::size_t count;
};

// Elements of a packed left factor: for each group, for each of its terms, its kGroupRows elements
// and some that are read and not used.
constexpr std::size_t kGroupStride = 8;

template <typename T>
struct GroupedProduct {
  std::size_t rows, columns;
  const T* a;          // packed
  const Terms* terms;  // [num_groups(rows)]
  const T* x;          // [inner, columns]
  std::size_t x_stride;
  T* out;
  std::size_t out_stride;
  const std::uint32_t* out_rows = nullptr;  // row i of the product is this row of out; else row i
  // For kAddAndMultiply alone, rows as out has.
  const T* addend = nullptr;
  const T* factor = nullptr;
  std::size_t factor_stride = 0;  // of both
};

// out[out_rows[i],k] <- sum_j a[j,i] x[j,k] over the terms j of row i's group. kStore,
// kMultiply or kAddAndMultiply.
template <typename T>
void multiply_grouped(const GroupedProduct<T>& product, Into into);

}  // namespace bridgemark::backend::cpu
