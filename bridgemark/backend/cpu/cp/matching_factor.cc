#include "bridgemark/backend/cpu/cp/matching_factor.h"

#include <algorithm>

namespace bridgemark::backend::cpu {

namespace {

std::size_t packed_size(std::span<const Terms> terms) {
  std::size_t count = 0;
  for (const Terms& group : terms) count += group.count;
  return count * kGroupStride;
}

}  // namespace

template <typename T>
void MatchingFactor<T>::make_room(std::size_t dim) {
  std::size_t rows = 0, categories = 0;
  for (std::size_t d = 0; d < dim; ++d) {
    for (std::size_t level = 0; level < MatchingBands<T>::kLevels; ++level) {
      row_offsets_.push_back(rows);
      category_offsets_.push_back(categories);
      if (!bands_.uses(d, level)) continue;
      rows += packed_size(bands_.categories_of_rows(d, level));
      categories += packed_size(bands_.rows_of_categories(d, level));
    }
  }
  by_row_.resize(rows);
  by_category_.resize(categories);
}

template <typename T>
void MatchingFactor<T>::pack(std::size_t d, const T* matrix, std::size_t stride) {
  const auto order = bands_.order(d);
  for (std::size_t level = 0; level < MatchingBands<T>::kLevels; ++level) {
    const std::size_t at = d * MatchingBands<T>::kLevels + level;
    if (!bands_.uses(d, level)) continue;
    T* out = by_row_.data() + row_offsets_[at];
    std::size_t first = 0;
    for (const Terms& group : bands_.categories_of_rows(d, level)) {
      const std::size_t last = std::min(order.size(), first + kGroupRows);
      for (std::size_t i = first; i < last; ++i) {
        const T* row = matrix + order[i] * stride + group.indices[0];
        T* place = out + (i - first);
        for (std::size_t t = 0; t < group.count; ++t) place[t * kGroupStride] = row[t];
      }
      first = last;
      out += group.count * kGroupStride;
    }
    out = by_category_.data() + category_offsets_[at];
    first = 0;
    for (const Terms& group : bands_.rows_of_categories(d, level)) {
      const std::size_t count = std::min(kGroupRows, bands_.num_categories() - first);
      for (std::size_t j = 0; j < group.count; ++j, out += kGroupStride) {
        const T* elements = matrix + group.indices[j] * stride + first;
        if (count == kGroupRows) {
          std::copy_n(elements, kGroupRows, out);  // a constant: no call
        } else {
          std::copy_n(elements, count, out);
        }
      }
      first += count;
    }
  }
}

template <typename T>
void MatchingFactor<T>::multiply_cores(std::size_t d, std::size_t level, const T* cores,
                                       std::size_t columns, T* out, Into into) const {
  multiply_grouped<T>({.rows = bands_.num_rows(),
                       .columns = columns,
                       .a = by_row_.data() + row_offsets_[d * MatchingBands<T>::kLevels + level],
                       .terms = bands_.categories_of_rows(d, level).data(),
                       .x = cores,
                       .x_stride = columns,
                       .out = out,
                       .out_stride = columns,
                       .out_rows = bands_.order(d).data()},
                      into);
}

template <typename T>
GroupedProduct<T> MatchingFactor<T>::by_category(std::size_t d, std::size_t level, const T* rows,
                                                 std::size_t columns) const {
  return {.rows = bands_.num_categories(),
          .columns = columns,
          .a = by_category_.data() + category_offsets_[d * MatchingBands<T>::kLevels + level],
          .terms = bands_.rows_of_categories(d, level).data(),
          .x = rows,
          .x_stride = columns,
          .out = nullptr,
          .out_stride = columns};
}

template <typename T>
void MatchingFactor<T>::multiply_rows(std::size_t d, std::size_t level, const T* rows,
                                      std::size_t columns, T* out) const {
  GroupedProduct<T> product = by_category(d, level, rows, columns);
  product.out = out;
  multiply_grouped(product, Into::kStore);
}

template <typename T>
void MatchingFactor<T>::multiply_rows(std::size_t d, std::size_t level, const T* rows,
                                      std::size_t columns, const T* addend, const T* factor,
                                      std::size_t width, T* out, std::size_t out_stride) const {
  GroupedProduct<T> product = by_category(d, level, rows, columns);
  product.columns = width;
  product.out = out;
  product.out_stride = out_stride;
  product.addend = addend;
  product.factor = factor;
  product.factor_stride = columns;
  multiply_grouped(product, Into::kAddAndMultiply);
}

template class MatchingFactor<float>;
template class MatchingFactor<double>;

}  // namespace bridgemark::backend::cpu
