#include "bridgemark/backend/cpu/matching_source.h"

#include <algorithm>

#include "bridgemark/backend/cpu/rank_one_powers.h"
#include "bridgemark/backend/cpu/rank_one_product.h"
#include "bridgemark/backend/cpu/tile_product.h"
#include "bridgemark/backend/cpu/training_math.h"
#include "bridgemark/backend/cpu/transpose.h"

namespace bridgemark::backend::cpu {

template <typename T>
void pack_both(const T* rows, std::size_t stride, std::size_t B, std::size_t S, T* by_row,
               T* by_category) {
  std::vector<T> columns(S * B);
  transpose(rows, stride, B, S, columns.data(), B);
  pack_left(columns.data(), B, B, S, by_row);
  pack_left(rows, stride, S, B, by_category);
}

template <typename T>
MatchingSource<T>::MatchingSource(const ChainTables<T>& chain, StatesView x_n,
                                  std::span<const std::int32_t> n, CpWorkspace<T>& workspace)
    : chain_(chain), x_(x_n), n_(n), work_(workspace), S_(chain.num_categories), B_(x_n.rows) {
  work_.source_by_row.resize(x_n.cols * packed_size(B_, S_) + kReadAhead<T>);
  work_.source_by_category.resize(x_n.cols * packed_size(S_, B_) + kReadAhead<T>);
}

template <typename T>
void MatchingSource<T>::gather(std::size_t d) {
  if (is_rank_one(chain_)) return;
  std::vector<T> rows(B_ * S_);
  for (std::size_t b = 0; b < B_; ++b) {
    std::copy_n(chain_.linear_power(rest(b)) + state(b, d) * S_, S_, rows.data() + b * S_);
  }
  pack_both(rows.data(), S_, B_, S_, work_.source_by_row.data() + d * packed_size(B_, S_),
            work_.source_by_category.data() + d * packed_size(S_, B_));
}

template <typename T>
typename MatchingSource<T>::RankOne MatchingSource<T>::rank_one(std::size_t d) const {
  RankOne rows{std::vector<std::size_t>(B_), std::vector<T>(B_), std::vector<T>(B_)};
  for (std::size_t b = 0; b < B_; ++b) {
    rows.states[b] = state(b, d);
    rows.identity[b] = identity_part(chain_, rest(b));
    rows.uniform[b] = uniform_part(chain_, rest(b));
  }
  return rows;
}

template <typename T>
void MatchingSource<T>::multiply(std::size_t d, const T* cores, std::size_t columns, T* out) const {
  if (is_rank_one(chain_)) {
    const RankOne rows = rank_one(d);
    multiply_rank_one<T>({B_, rows.states.data(), rows.identity.data(), rows.uniform.data()}, cores,
                         S_, columns, out);
    return;
  }
  multiply_transposed<T>({.rows = B_,
                          .inner = S_,
                          .columns = columns,
                          .a = work_.source_by_row.data() + d * packed_size(B_, S_),
                          .a_stride = 0,
                          .x = cores,
                          .x_stride = columns,
                          .out = out,
                          .out_stride = columns,
                          .packed = true},
                         Into::kStore);
}

template <typename T>
void MatchingSource<T>::multiply_back(std::size_t d, const T* terms, const T* cores,
                                      std::size_t columns, std::size_t width, T* gradient,
                                      std::size_t gradient_stride) const {
  if (is_rank_one(chain_)) {
    const RankOne rows = rank_one(d);
    std::vector<T> sums(S_ * columns, T(0));
    multiply_rank_one_back<T>({B_, rows.states.data(), rows.identity.data(), rows.uniform.data()},
                              terms, S_, columns, sums.data());
    for (std::size_t t = 0; t < S_; ++t) {
      add_into(sums.data() + t * columns, width, gradient + t * gradient_stride);
      multiply_into(cores + t * columns, width, gradient + t * gradient_stride);
    }
    return;
  }
  multiply_transposed<T>({.rows = S_,
                          .inner = B_,
                          .columns = width,
                          .a = work_.source_by_category.data() + d * packed_size(S_, B_),
                          .a_stride = 0,
                          .x = terms,
                          .x_stride = columns,
                          .out = gradient,
                          .out_stride = gradient_stride,
                          .packed = true,
                          .factor = cores,
                          .factor_stride = columns},
                         Into::kAddAndMultiply);
}

template <typename T>
const double* MatchingSource<T>::log_row(std::size_t b, std::size_t d) const {
  return chain_.log_power(rest(b)) + state(b, d) * S_;
}

template class MatchingSource<float>;
template class MatchingSource<double>;
template void pack_both<float>(const float*, std::size_t, std::size_t, std::size_t, float*, float*);
template void pack_both<double>(const double*, std::size_t, std::size_t, std::size_t, double*,
                                double*);

}  // namespace bridgemark::backend::cpu
