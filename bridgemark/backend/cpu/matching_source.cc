#include "bridgemark/backend/cpu/matching_source.h"

#include <algorithm>

#include "bridgemark/backend/cpu/rank_one_powers.h"
#include "bridgemark/backend/cpu/rank_one_product.h"
#include "bridgemark/backend/cpu/training_math.h"

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
      rows_(bands, workspace.source_by_row, workspace.source_by_category) {}

template <typename T>
void MatchingSource<T>::gather(std::size_t d) {
  if (is_rank_one(chain_)) return;
  std::vector<T> rows(B_ * S_);
  for (std::size_t b = 0; b < B_; ++b) {
    std::copy_n(chain_.linear_power(rest(b)) + state(b, d) * S_, S_, rows.data() + b * S_);
  }
  rows_.pack(d, rows.data(), S_);
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
void MatchingSource<T>::multiply(std::size_t d, std::size_t level, const T* cores,
                                 std::size_t columns, T* out) const {
  if (is_rank_one(chain_)) {
    const RankOne rows = rank_one(d);
    multiply_rank_one<T>({B_, rows.states.data(), rows.identity.data(), rows.uniform.data()}, cores,
                         S_, columns, out);
    return;
  }
  rows_.multiply_cores(d, level, cores, columns, out, Into::kStore);
}

template <typename T>
void MatchingSource<T>::multiply_back(std::size_t d, std::size_t level, const T* terms,
                                      const T* addend, const T* cores, std::size_t columns,
                                      std::size_t width, T* gradient,
                                      std::size_t gradient_stride) const {
  if (is_rank_one(chain_)) {
    const RankOne rows = rank_one(d);
    std::vector<T> sums(addend, addend + S_ * columns);
    multiply_rank_one_back<T>({B_, rows.states.data(), rows.identity.data(), rows.uniform.data()},
                              terms, S_, columns, sums.data());
    multiply_into(cores, S_ * columns, sums.data());
    for (std::size_t t = 0; t < S_; ++t) {
      std::copy_n(sums.data() + t * columns, width, gradient + t * gradient_stride);
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
