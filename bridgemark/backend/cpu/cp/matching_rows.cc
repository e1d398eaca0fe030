#include "bridgemark/backend/cpu/cp/matching_rows.h"

#include <algorithm>
#include <cmath>

#include "bridgemark/backend/cpu/cp/exact_column.h"
#include "bridgemark/backend/cpu/cp/rank_one_powers.h"
#include "bridgemark/backend/cpu/cp/transition_loss.h"
#include "bridgemark/backend/cpu/simd/tile_product.h"
#include "bridgemark/backend/cpu/simd/transpose.h"

namespace bridgemark::backend::cpu {

template <typename T>
MatchingRows<T>::MatchingRows(const ChainTables<T>& chain, const MatchingBands<T>& bands,
                              MatchingLoss kind, StatesView x_n, StatesView x1,
                              std::span<const std::int32_t> n, std::span<double> log_model,
                              std::span<double> target)
    : chain_(chain),
      bands_(bands),
      kind_(kind),
      x_(x_n),
      x1_(x1),
      n_(n),
      log_model_(log_model),
      target_out_(target),
      D_(x_n.cols),
      S_(chain.num_categories),
      stride_(whole_vectors<T>(S_)),
      inner_((S_ * sizeof(T) + 15) / 16 * 16 / sizeof(T)),
      all_categories_(num_groups(D_), Band{0, static_cast<std::uint32_t>(S_)}),
      log_one_(S_ * stride_, kLogNothing<T>) {
  for (std::size_t x = 0; x < S_; ++x) {
    const double* row = chain.log_power(1) + x * S_;
    for (std::size_t s = 0; s < S_; ++s) log_one_[x * stride_ + s] = static_cast<T>(row[s]);
  }
}

// Behind the last category the logarithms are those of nothing.
template <typename T>
MatchingRows<T>::Scratch::Scratch(const MatchingRows& rows)
    : power(rows.stride_ * rows.stride_),
      power_transposed(power.size()),
      y(rows.D_ * rows.stride_),
      ratio(y.size()),
      log_weights(rows.stride_),
      log_target(rows.stride_, kLogNothing<T>),
      target(rows.stride_),
      flow(rows.stride_) {}

// The pinned reference: log q_ref(s | x_n, x_1).
template <typename T>
template <typename U>
void MatchingRows<T>::log_target(std::size_t b, std::size_t d, Band of, U* out) const {
  const PinnedStep<double> pinned = chain_.log_pinned(rest(b), static_cast<std::size_t>(x_(b, d)),
                                                      static_cast<std::size_t>(x1_(b, d)));
  for (std::size_t s = of.first; s < of.last; ++s) {
    out[s] = static_cast<U>(pinned.log_probability(s));
  }
}

// The categories that count, in whole vectors.
template <typename T>
Band MatchingRows<T>::counted(const T* log_one, T counts_from) const {
  std::size_t first = 0, last = S_;
  while (first + 1 < last && log_one[first] < counts_from) ++first;
  while (first + 1 < last && log_one[last - 1] < counts_from) --last;
  first = first / kWholeVectors<T> * kWholeVectors<T>;
  last = std::min(S_, whole_vectors<T>(last));
  return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last)};
}

template <typename T>
template <typename U>
void MatchingRows<T>::keep(std::size_t b, std::size_t d, const U* log_model, const U* target) {
  const std::size_t at = (b * D_ + d) * S_;
  if (!log_model_.empty()) std::copy_n(log_model, S_, log_model_.data() + at);
  if (!target_out_.empty()) std::copy_n(target, S_, target_out_.data() + at);
}

template <typename T>
bool MatchingRows<T>::needs_product(std::size_t b) const {
  return rest(b) > 1 && !is_rank_one(chain_);
}

template <typename T>
void MatchingRows<T>::load_power(std::size_t b, Scratch& scratch) const {
  if (!needs_product(b) || scratch.power_rest == rest(b)) return;
  scratch.power_rest = rest(b);
  const T* power = chain_.linear_power(rest(b) - 1);
  for (std::size_t s = 0; s < S_; ++s) {
    std::copy_n(power + s * S_, S_, scratch.power.data() + s * stride_);
  }
  transpose(power, S_, S_, S_, scratch.power_transposed.data(), stride_);
}

// out[d,:] = in[d,:] times `power`, which is Q_{rest-1} or its transpose.
template <typename T>
void MatchingRows<T>::multiply_after(std::size_t b, const T* power, const T* in, T* out) const {
  if (needs_product(b)) {
    multiply_rows<T>({.rows = D_,
                      .inner = inner_,
                      .a = in,
                      .a_stride = stride_,
                      .x = power,
                      .x_stride = stride_,
                      .out = out,
                      .out_stride = stride_,
                      .columns = all_categories_.data()},
                     Into::kStore);
    return;
  }
  for (std::size_t d = 0; d < D_; ++d) {  // such a power is symmetric
    multiply_rank_one_power(chain_, rest(b) - 1, in + d * stride_, out + d * stride_);
  }
}

template <typename T>
double MatchingRows<T>::match(std::size_t b, const T* mixed, T* back, Scratch& scratch,
                              std::vector<std::size_t>& exact) {
  load_power(b, scratch);
  multiply_after(b, scratch.power_transposed.data(), mixed, scratch.y.data());
  const T weight = chain_.step_weight(n_[b]), scale = weight / static_cast<T>(x_.rows);
  std::ranges::fill(scratch.ratio, T(0));
  double loss = 0.0;
  for (std::size_t d = 0; d < D_; ++d) {
    const T* log_one = log_one_.data() + static_cast<std::size_t>(x_(b, d)) * stride_;
    const T counts_from = bands_.counts_from(d, b);
    const Band of = counted(log_one, counts_from);
    const std::size_t count = of.last - of.first, at = d * stride_ + of.first;
    T *y = scratch.y.data() + at, *log_weights = scratch.log_weights.data() + of.first,
      *log_targets = scratch.log_target.data() + of.first,
      *target = scratch.target.data() + of.first, *flow = scratch.flow.data() + of.first;
    if (!log_weights_of(log_one + of.first, counts_from, count, linear_floor<T>(), y,
                        log_weights)) {
      exact.push_back(d);
      continue;
    }
    log_target(b, d, of, scratch.log_target.data());
    for (std::size_t s = 0; s < count; ++s) {
      if (log_one[of.first + s] < counts_from) log_targets[s] = kLogNothing<T>;
    }
    loss += transition_loss(kind_, scale, log_targets, count, log_weights, target, flow);
    divide_rows(flow, y, count, scratch.ratio.data() + at);
    keep(b, d, scratch.log_weights.data(), scratch.target.data());
  }
  multiply_after(b, scratch.power.data(), scratch.ratio.data(), back);
  return static_cast<double>(weight) * loss;
}

template <typename T>
double MatchingRows<T>::match_exactly(std::size_t b, std::size_t d,
                                      std::span<const double> log_others, const T* log_cores,
                                      T* gradient, T* pulled) {
  const std::size_t K = log_others.size();
  const double* log_one = chain_.log_power(1) + static_cast<std::size_t>(x_(b, d)) * S_;
  const double* log_after = chain_.log_power(rest(b) - 1);
  std::vector<double> log_v(S_), log_y(S_), terms(K), sums(S_);
  for (std::size_t t = 0; t < S_; ++t) {
    for (std::size_t k = 0; k < K; ++k) {
      terms[k] = log_others[k] + static_cast<double>(log_cores[t * K + k]);
    }
    log_v[t] = log_sum(terms.data(), K);
  }
  std::vector<double> log_weights(whole_vectors<double>(S_), kLogNothing<double>);
  std::vector<double> log_targets = log_weights, target = log_weights, flow = log_weights;
  for (std::size_t s = 0; s < S_; ++s) {
    for (std::size_t t = 0; t < S_; ++t) sums[t] = log_after[s * S_ + t] + log_v[t];
    log_y[s] = log_sum(sums.data(), S_);
    log_weights[s] = log_one[s] + log_y[s];
  }
  log_target(b, d, all_categories_[0], log_targets.data());
  const auto weight = static_cast<double>(chain_.step_weight(n_[b]));
  const double loss =
      transition_loss(kind_, weight / static_cast<double>(x_.rows), log_targets.data(),
                      log_weights.size(), log_weights.data(), target.data(), flow.data());
  keep(b, d, log_weights.data(), target.data());
  std::vector<double> sum(K, 0.0);
  for (std::size_t t = 0; t < S_; ++t) {
    double to_v = 0.0;  // d loss / d log V[t]
    for (std::size_t s = 0; s < S_; ++s) {
      const double log_share = log_after[s * S_ + t] + log_v[t] - log_y[s];
      if (log_share > -745.0) to_v += flow[s] * std::exp(log_share);
    }
    for (std::size_t k = 0; k < K; ++k) {
      const double share =
          to_v * std::exp(log_others[k] + static_cast<double>(log_cores[t * K + k]) - log_v[t]);
      gradient[t * K + k] += static_cast<T>(share);
      sum[k] += share;
    }
  }
  for (std::size_t k = 0; k < K; ++k) pulled[k] = static_cast<T>(sum[k]);
  return weight * loss;
}

template class MatchingRows<float>;
template class MatchingRows<double>;

}  // namespace bridgemark::backend::cpu
