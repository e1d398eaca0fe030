#include "bridgemark/backend/cpu/cp/matching_weights.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "bridgemark/backend/cpu/simd/tile_product.h"
#include "bridgemark/backend/cpu/simd/training_math.h"

namespace bridgemark::backend::cpu {

template <typename T>
MatchingWeights<T>::MatchingWeights(const CpTensors<T>& parameters, const MatchingSource<T>& source,
                                    std::size_t rows, CpWorkspace<T>& workspace)
    : parameters_(parameters),
      source_(source),
      work_(workspace),
      D_(parameters.dim),
      S_(parameters.num_categories),
      K_(parameters.num_components),
      B_(rows),
      blocks_((K_ + kBlock - 1) / kBlock),
      block_scales_(blocks_ * B_),
      scales_(B_),
      levels_(blocks_ * D_),
      exact_(blocks_ * D_) {
  const std::size_t columns = whole_vectors<T>(K_);
  work_.scaled.resize(D_ * S_ * columns);
  work_.high.resize(D_ * K_);
  work_.inverse.resize(D_ * B_ * columns);
  for (auto* array : {&work_.mantissas, &work_.weights0, &work_.weights1}) {
    array->resize(B_ * columns);
  }
  work_.exponents.resize(B_ * columns);
}

template <typename T>
ComponentBlock MatchingWeights<T>::block(std::size_t index) const {
  const std::size_t first = index * kBlock, width = std::min(kBlock, K_ - first);
  return {index, first, width, whole_vectors<T>(width)};
}

template <typename T>
T* MatchingWeights<T>::scaled(const ComponentBlock& at, std::size_t d) const {
  return work_.scaled.data() + D_ * S_ * at.first + d * S_ * at.columns;
}

template <typename T>
T* MatchingWeights<T>::inverses(const ComponentBlock& at, std::size_t d) const {
  return work_.inverse.data() + D_ * B_ * at.first + d * B_ * at.columns;
}

template <typename T>
const T* MatchingWeights<T>::scaled_cores(const ComponentBlock& at, std::size_t d) const {
  return scaled(at, d);
}

template <typename T>
const T* MatchingWeights<T>::inverse(const ComponentBlock& at, std::size_t d) const {
  return inverses(at, d);
}

template <typename T>
typename MatchingBands<T>::Levels MatchingWeights<T>::levels(std::size_t d) const {
  typename MatchingBands<T>::Levels levels;
  for (std::size_t j = 0; j < blocks_; ++j) levels.set(levels_[j * D_ + d]);
  return levels;
}

template <typename T>
void MatchingWeights<T>::propagate(const ComponentBlock& at) {
  const std::size_t size = B_ * at.columns;
  // R of one dimension; what is kept is its inverse.
  const auto factors = std::make_unique_for_overwrite<T[]>(size);
  T *mantissas = part(work_.mantissas, at), smallest = T(1);
  Exponent<T>* exponents = part(work_.exponents, at);
  const auto normalise = [&] {
    if (smallest < T(1)) normalise_weights(size, mantissas, exponents);
    smallest = T(1);
  };
  for (std::size_t d = 0; d < D_; ++d) {
    exact_[at.index * D_ + d].clear();
    source_.multiply(d, level(at, d), scaled(at, d), at.columns, factors.get());
    const T lowest = MatchingBands<T>::kLowest[level(at, d)];  // no R is below it
    if (lowest > T(0)) {
      if (smallest * lowest < linear_floor<T>()) normalise();
      multiply_mantissas(factors.get(), size, mantissas, inverses(at, d));
      smallest *= lowest;
      continue;
    }
    normalise();
    const T low = multiply_weights(linear_floor<T>(), factors.get(), size, mantissas, exponents,
                                   inverses(at, d));
    if (low < linear_floor<T>()) multiply_exact(at, d);
  }
  normalise();
  for (std::size_t b = 0; b < B_; ++b) {
    block_scales_[at.index * B_ + b] = max_exponent<T>(part(work_.exponents, at, b), at.columns);
  }
}

// Scaled cores, and W = beta times what the cores were scaled by.
template <typename T>
void MatchingWeights<T>::start(const ComponentBlock& at) {
  std::vector<T> log_weights(at.width);
  std::copy_n(parameters_.log_beta.data() + at.first, at.width, log_weights.data());
  for (std::size_t d = 0; d < D_; ++d) {
    T* highs = work_.high.data() + d * K_ + at.first;
    T* out = scaled(at, d);
    const T lowest = exp_columns(parameters_.log_cores.data() + d * S_ * K_ + at.first, K_, S_,
                                 at.width, highs, out, at.columns);
    levels_[at.index * D_ + d] = MatchingBands<T>::level_of(lowest);
    for (std::size_t t = 0; t < S_; ++t) {
      std::fill(out + t * at.columns + at.width, out + (t + 1) * at.columns, T(1));
    }
    add_into(highs, at.width, log_weights.data());
  }
  std::fill_n(part(work_.mantissas, at), at.columns, T(1));
  std::fill_n(part(work_.exponents, at), at.columns, kZeroWeight<T>);
  for (std::size_t k = 0; k < at.width; ++k) {
    set_weight(at, 0, k, std::numbers::log2e * static_cast<double>(log_weights[k]));
  }
  for (std::size_t b = 1; b < B_; ++b) {
    std::copy_n(part(work_.mantissas, at), at.columns, part(work_.mantissas, at, b));
    std::copy_n(part(work_.exponents, at), at.columns, part(work_.exponents, at, b));
  }
}

// Sets component k's weight in row b to 2^log2_weight.
template <typename T>
void MatchingWeights<T>::set_weight(const ComponentBlock& at, std::size_t b, std::size_t k,
                                    double log2_weight) {
  log2_weight = std::clamp(log2_weight, -0x1p27, 0x1p27);
  const double exponent = std::floor(log2_weight);
  part(work_.mantissas, at, b)[k] = static_cast<T>(std::exp2(log2_weight - exponent));
  part(work_.exponents, at, b)[k] = static_cast<Exponent<T>>(exponent);
}

template <typename T>
double MatchingWeights<T>::log2_weight(const ComponentBlock& at, std::size_t b,
                                       std::size_t k) const {
  return static_cast<double>(part(work_.exponents, at, b)[k]) +
         std::log2(static_cast<double>(part(work_.mantissas, at, b)[k]));
}

// The factors of dimension d that left the range of T, whose inverse is 0 now.
template <typename T>
void MatchingWeights<T>::multiply_exact(const ComponentBlock& at, std::size_t d) {
  const T* cores = parameters_.log_cores.data() + d * S_ * K_ + at.first;
  for (std::size_t b = 0; b < B_; ++b) {
    for (std::size_t k = 0; k < at.width; ++k) {
      if (inverses(at, d)[b * at.columns + k] > T(0)) continue;
      const double value = exact_log_dot(source_.log_row(b, d), cores + k, K_, S_);
      set_weight(at, b, k, log2_weight(at, b, k) + std::numbers::log2e * (value - high(at, d, k)));
      exact_[at.index * D_ + d].push_back({b, k, value});
    }
  }
}

// log2 of W / R_d of an exact entry, relative to the row's scale.
template <typename T>
double MatchingWeights<T>::log2_others(const ComponentBlock& at, std::size_t d,
                                       const ExactEntry& entry) const {
  return log2_weight(at, entry.row, entry.component) -
         std::numbers::log2e * (entry.log_value - high(at, d, entry.component)) -
         static_cast<double>(scales_[entry.row]);
}

// The largest exponent of each row. Without dimension d a weight is at most 1 / linear_floor above
// it, but for exact entries: raises_ holds what they need.
template <typename T>
void MatchingWeights<T>::find_scales() {
  std::fill(scales_.begin(), scales_.end(), kZeroWeight<T>);
  for (std::size_t i = 0; i < block_scales_.size(); ++i) {
    scales_[i % B_] = std::max(scales_[i % B_], block_scales_[i]);
  }
  for (std::size_t j = 0; j < blocks_; ++j) {
    for (std::size_t d = 0; d < D_; ++d) {
      for (const ExactEntry& entry : exact(block(j), d)) {
        raises_.resize(D_ * B_);
        double& raise = raises_[d * B_ + entry.row];
        raise = std::max(raise, std::ceil(log2_others(block(j), d, entry)));
      }
    }
  }
}

template <typename T>
void MatchingWeights<T>::apply_scales(const ComponentBlock& at) {
  for (std::size_t b = 0; b < B_; ++b) {
    split_weights(part(work_.mantissas, at, b), part(work_.exponents, at, b), scales_[b],
                  at.columns, part(work_.weights0, at, b), part(work_.weights1, at, b));
  }
}

template <typename T>
void MatchingWeights<T>::divide_out(const ComponentBlock& at, std::size_t d,
                                    std::span<const std::uint32_t> rows, T* out) const {
  weights_of_others<T>(part(work_.weights0, at), part(work_.weights1, at), inverse(at, d),
                       at.columns, rows, out);
  if (raises_.empty()) return;
  std::vector<T*> place(B_, nullptr);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    place[rows[i]] = out + i * at.columns;
    lower(at, d, rows[i], place[rows[i]]);
  }
  for (const ExactEntry& entry : exact(at, d)) {
    if (place[entry.row]) place[entry.row][entry.component] = lowered(at, d, entry);
  }
}

// What exact entries need: a row's weights 2^raise lower, in two factors, as the weights are.
template <typename T>
void MatchingWeights<T>::lower(const ComponentBlock& at, std::size_t d, std::size_t b,
                               T* row) const {
  const double raise = raises_[d * B_ + b];
  if (raise == 0.0) return;
  const T half = static_cast<T>(std::exp2(-0.5 * raise));
  for (std::size_t k = 0; k < at.columns; ++k) row[k] = row[k] * half * half;
}

// W / R_d of an exact entry, likewise.
template <typename T>
T MatchingWeights<T>::lowered(const ComponentBlock& at, std::size_t d,
                              const ExactEntry& entry) const {
  return static_cast<T>(std::exp2(log2_others(at, d, entry) - raises_[d * B_ + entry.row]));
}

template <typename T>
void MatchingWeights<T>::log_others(std::size_t b, std::size_t d, std::span<double> out) const {
  for (std::size_t j = 0; j < blocks_; ++j) {
    const ComponentBlock at = block(j);
    const T* row = inverse(at, d) + b * at.columns;
    for (std::size_t k = 0; k < at.width; ++k) {
      out[at.first + k] = std::numbers::ln2 * log2_weight(at, b, k) +
                          std::log(static_cast<double>(row[k])) - high(at, d, k);
    }
    for (const ExactEntry& entry : exact(at, d)) {
      if (entry.row != b) continue;
      out[at.first + entry.component] =
          std::numbers::ln2 * log2_weight(at, b, entry.component) - entry.log_value;
    }
  }
}

template class MatchingWeights<float>;
template class MatchingWeights<double>;

}  // namespace bridgemark::backend::cpu
