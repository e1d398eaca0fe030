#include "bridgemark/backend/cpu/cp/matching_source.h"

#include <algorithm>

#include "bridgemark/backend/cpu/cp/rank_one_powers.h"
#include "bridgemark/backend/cpu/cp/rank_one_product.h"
#include "bridgemark/backend/cpu/simd/training_math.h"

namespace bridgemark::backend::cpu {

template <typename T>
MatchingSource<T>::MatchingSource(const ChainTables<T>& chain, const MatchingBands<T>& bands,
                                  StatesView x_n, std::span<const std::int32_t> n,
                                  CpWorkspace<T>& workspace)
    : chain_(chain),
      x_(x_n),
      n_(n),
      S_(chain.num_categories),
      B_(x_n.rows),
      rows_(bands, workspace.source_by_row, workspace.source_by_category),
      rank_one_(x_n.cols) {}

template <typename T>
void MatchingSource<T>::gather(std::size_t d) {
  if (is_rank_one(chain_)) {
    RankOne& rows = rank_one_[d];
    for (std::size_t b = 0; b < B_; ++b) {
      rows.states.push_back(state(b, d));
      rows.identity.push_back(identity_part(chain_, rest(b)));
      rows.uniform.push_back(uniform_part(chain_, rest(b)));
    }
    return;
  }
  std::vector<T> rows(B_ * S_);
  for (std::size_t b = 0; b < B_; ++b) {
    std::copy_n(chain_.linear_power(rest(b)) + state(b, d) * S_, S_, rows.data() + b * S_);
  }
  rows_.pack(d, rows.data(), S_);
}

template <typename T>
RankOneRows<T> MatchingSource<T>::rank_one(std::size_t d) const {
  const RankOne& rows = rank_one_[d];
  return {B_, rows.states.data(), rows.identity.data(), rows.uniform.data()};
}

template <typename T>
void MatchingSource<T>::multiply(std::size_t d, std::size_t level, const T* cores,
                                 std::size_t columns, T* out) const {
  if (is_rank_one(chain_)) {
    multiply_rank_one<T>(rank_one(d), cores, S_, columns, out);
    return;
  }
  rows_.multiply_cores(d, level, cores, columns, out, Into::kStore);
}

template <typename T>
void MatchingSource<T>::multiply_back(std::size_t d, std::size_t level, const T* terms, T* addend,
                                      const T* cores, std::size_t columns, std::size_t width,
                                      T* gradient, std::size_t gradient_stride) const {
  if (is_rank_one(chain_)) {
    multiply_rank_one_back<T>(rank_one(d), terms, S_, columns, addend);
    for (std::size_t t = 0; t < S_; ++t) {
      T* row = gradient + t * gradient_stride;
      std::copy_n(addend + t * columns, width, row);
      multiply_into(cores + t * columns, width, row);
    }
    return;
  }
  rows_.multiply_rows(d, level, terms, columns, addend, cores, width, gradient, gradient_stride);
}

template <typename T>
const double* MatchingSource<T>::log_row(std::size_t b, std::size_t d) const {
  return chain_.log_power(rest(b)) + state(b, d) * S_;
}

template class MatchingSource<float>;
template class MatchingSource<double>;

}  // namespace bridgemark::backend::cpu
