#include "bridgemark/backend/cpu/cp/core_propagation.h"

#include <algorithm>

#include "bridgemark/backend/cpu/cp/rank_one_powers.h"
#include "bridgemark/backend/cpu/simd/gemm.h"
#include "bridgemark/backend/cpu/simd/training_math.h"

namespace bridgemark::backend::cpu {

template <typename T>
CorePropagation<T>::CorePropagation(const T* log_cores, std::size_t D, std::size_t S, std::size_t K,
                                    const ChainTables<T>& chain, CpWorkspace<T>& workspace)
    : log_cores_(log_cores),
      D_(D),
      S_(S),
      K_(K),
      chain_(chain),
      work_(workspace),
      exact_((K + kPropagationBlock - 1) / kPropagationBlock * D) {
  work_.scaled.resize(D * S * K);
  work_.product.resize(D * S * K);
  work_.log_product.resize(D * S * K);
  work_.high.resize(D * K);
}

// scaled = exp(cores - maximum over categories), product = Q scaled, log_product = its logarithm
// with the maximum back on.
template <typename T>
void CorePropagation<T>::propagate(std::size_t d, std::size_t first, std::size_t last) {
  const std::size_t width = last - first;
  T* high = work_.high.data() + d * K_ + first;
  T* scaled = work_.scaled.data() + core(d, 0) + first;
  T* product = work_.product.data() + core(d, 0) + first;
  exp_columns(log_cores_ + core(d, 0) + first, K_, S_, width, high, scaled, K_);
  multiply(scaled, width, false, product);
  T low = product[0];
  for (std::size_t s = 0; s < S_; ++s) {
    low = std::min(low, log_sum_with(product + s * K_, high, width,
                                     work_.log_product.data() + core(d, s) + first));
  }
  exact(d, first).clear();
  if (low < linear_floor<T>()) repair(d, first, last);
}

// out = Q in over rows of categories, or its transpose times them: by the cheapest of what there
// is.
template <typename T>
void CorePropagation<T>::multiply(const T* in, std::size_t width, bool transposed, T* out) const {
  const std::size_t rank = chain_.factors ? chain_.factors->rank() : 0;
  if (is_rank_one(chain_)) {
    multiply_rank_one(in, width, out);  // symmetric
  } else if (rank > 0 && (2 * rank < S_ || !chain_.has_tables())) {
    multiply_factors(in, width, transposed, out);
  } else {
    gemm(transposed ? Transpose::kYes : Transpose::kNo, Transpose::kNo, S_, width, S_, T(1), q(),
         S_, in, K_, T(0), out, K_);
  }
}

// The same by factors: Q = stay I + left right.
template <typename T>
void CorePropagation<T>::multiply_factors(const T* in, std::size_t width, bool transposed,
                                          T* out) const {
  const std::size_t r = chain_.factors->rank();
  const T *left = chain_.left.data(), *right = chain_.right.data();
  std::vector<T> at_factors(r * width);
  if (transposed) {
    gemm(Transpose::kYes, Transpose::kNo, r, width, S_, T(1), left, r, in, K_, T(0),
         at_factors.data(), width);
    gemm(Transpose::kYes, Transpose::kNo, S_, width, r, T(1), right, S_, at_factors.data(), width,
         T(0), out, K_);
  } else {
    gemm(Transpose::kNo, Transpose::kNo, r, width, S_, T(1), right, S_, in, K_, T(0),
         at_factors.data(), width);
    gemm(Transpose::kNo, Transpose::kNo, S_, width, r, T(1), left, r, at_factors.data(), width,
         T(0), out, K_);
  }
  for (std::size_t s = 0; s < S_; ++s) {
    add_scaled_into(in + s * K_, chain_.stay, width, out + s * K_);
  }
}

template <typename T>
const double* CorePropagation<T>::log_q_row(std::size_t s, std::vector<double>& scratch) const {
  if (chain_.has_tables()) return chain_.log_power(chain_.num_steps) + s * S_;
  scratch.resize(S_);
  chain_.factors->log_row(s, scratch.data());
  return scratch.data();
}

// out = (identity I + uniform 11^T) in, over rows of categories.
template <typename T>
void CorePropagation<T>::multiply_rank_one(const T* in, std::size_t width, T* out) const {
  T sum[kPropagationBlock] = {};
  for (std::size_t s = 0; s < S_; ++s) add_into(in + s * K_, width, sum);
  for (std::size_t k = 0; k < width; ++k) sum[k] *= chain_.uniform;
  for (std::size_t s = 0; s < S_; ++s) {
    std::copy_n(sum, width, out + s * K_);
    add_scaled_into(in + s * K_, chain_.identity, width, out + s * K_);
  }
}

// Entries whose product left its range: exact logarithms, and a product of 0 that the pull-back
// passes over.
template <typename T>
void CorePropagation<T>::repair(std::size_t d, std::size_t first, std::size_t last) {
  std::vector<double> scratch;
  for (std::size_t s = 0; s < S_; ++s) {
    const double* log_q = nullptr;
    for (std::size_t k = first; k < last; ++k) {
      T& product = work_.product[core(d, s) + k];
      if (product >= linear_floor<T>()) continue;
      if (log_q == nullptr) log_q = log_q_row(s, scratch);
      const double value = exact_log_dot(log_q, log_cores_ + core(d, 0) + k, K_, S_);
      product = T(0);
      work_.log_product[core(d, s) + k] = static_cast<T>(value);
      exact(d, first).push_back({s, k, value});
    }
  }
}

// scaled * (Q^T (gradient / product)).
template <typename T>
void CorePropagation<T>::pull_back(std::size_t d, std::size_t first, std::size_t last,
                                   T* gradient) {
  const std::size_t width = last - first;
  T* own = gradient + core(d, 0) + first;
  T* ratio = work_.product.data() + core(d, 0) + first;
  const T* scaled = work_.scaled.data() + core(d, 0) + first;
  std::vector<double> exact_weights, scratch;
  for (const ExactEntry& entry : exact(d, first)) {
    exact_weights.push_back(static_cast<double>(gradient[core(d, entry.row) + entry.component]));
  }
  for (std::size_t s = 0; s < S_; ++s) divide_into(own + s * K_, width, ratio + s * K_);
  multiply(ratio, width, true, own);
  for (std::size_t t = 0; t < S_; ++t) multiply_into(scaled + t * K_, width, own + t * K_);
  for (std::size_t i = 0; i < exact_weights.size(); ++i) {
    const ExactEntry& entry = exact(d, first)[i];
    if (exact_weights[i] == 0.0) continue;
    add_exact_shares(log_q_row(entry.row, scratch), log_cores_ + core(d, 0) + entry.component, K_,
                     S_, entry.log_value, exact_weights[i],
                     gradient + core(d, 0) + entry.component);
  }
}

template class CorePropagation<float>;
template class CorePropagation<double>;

}  // namespace bridgemark::backend::cpu
