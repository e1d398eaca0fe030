#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bridgemark/backend/cpu/cp/matching_bands.h"
#include "bridgemark/backend/cpu/simd/tile_product.h"

// A matrix [B,S] for each dimension, of which each row has its band, as the left factor of products
// with a block of components.
namespace bridgemark::backend::cpu {

template <typename T>
class MatchingFactor {
 public:
  // The vectors hold the packed matrices.
  MatchingFactor(const MatchingBands<T>& bands, LargeArray<T>& by_row, LargeArray<T>& by_category)
      : bands_(bands), by_row_(by_row), by_category_(by_category) {}

  // Makes room for `dim` dimensions, once all their bands are found.
  void make_room(std::size_t dim);

  // Takes the matrix of dimension d; rows are `stride` apart.
  void pack(std::size_t d, const T* matrix, std::size_t stride);

  // out[b,:] <- sum_t matrix[b,t] cores[t,:]; rows of cores and out are `columns` apart.
  void multiply_cores(std::size_t d, std::size_t level, const T* cores, std::size_t columns, T* out,
                      Into into) const;

  // out[t,:] = sum_b matrix[b,t] rows[b,:]; rows of both are `columns` apart.
  void multiply_rows(std::size_t d, std::size_t level, const T* rows, std::size_t columns,
                     T* out) const;
  // The same for `width` of the columns, as out[t,:] = (addend[t,:] + sum) * factor[t,:]; rows of
  // out are out_stride apart.
  void multiply_rows(std::size_t d, std::size_t level, const T* rows, std::size_t columns,
                     const T* addend, const T* factor, std::size_t width, T* out,
                     std::size_t out_stride) const;

 private:
  GroupedProduct<T> by_category(std::size_t d, std::size_t level, const T* rows,
                                std::size_t columns) const;

  const MatchingBands<T>& bands_;
  LargeArray<T>& by_row_;
  LargeArray<T>& by_category_;
  std::vector<std::size_t> row_offsets_, category_offsets_;  // [D,levels]
};

}  // namespace bridgemark::backend::cpu
