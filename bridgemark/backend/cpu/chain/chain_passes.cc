#include "bridgemark/backend/cpu/chain/chain_passes.h"

#include <algorithm>
#include <cmath>

#include "bridgemark/backend/cpu/simd/gemm.h"
#include "bridgemark/backend/cpu/simd/training_math.h"
#include "bridgemark/math/exact_log_dot.h"
#include "bridgemark/math/hidden_chain.h"

namespace bridgemark::backend::cpu {

namespace {

// Weights lost to underflow are below 1e-37 (float) of a maximum of 1. Emissions may shrink what is
// left to kEmissionFloor, and a product of it to kProductFloor, before the loss shows.
template <typename T>
constexpr T kEmissionFloor = sizeof(T) == 4 ? T(1e-10f) : T(1e-60);
template <typename T>
constexpr T kProductFloor = sizeof(T) == 4 ? T(1e-18f) : T(1e-180);

// The passes of a block of rows.
template <typename T>
class BlockPasses {
 public:
  BlockPasses(const HiddenTables<T>& tables, StatesView x, std::size_t first, std::size_t last)
      : tables_(tables),
        x_(x),
        first_(first),
        rows_(last - first),
        K_(tables.K),
        message_(rows_ * K_),
        log_message_(rows_ * K_),
        log_next_(rows_ * K_),
        log_scale_(rows_),
        shift_(rows_),
        log_largest_(rows_),
        largest_(rows_),
        log_terms_(K_) {}

  void forward(ChainPassArrays<T>& out, std::span<double> log_total) {
    const T high = max_of(tables_.log_start, K_);
    for (std::size_t r = 0; r < rows_; ++r) {
      for (std::size_t k = 0; k < K_; ++k) log_message(r)[k] = tables_.log_start[k] - high;
      exp_shifted(log_message(r), T(0), K_, message(r));
      log_scale_[r] = static_cast<double>(high);
    }
    for (std::size_t d = 0; d < tables_.D; ++d) {
      T* before = at(out.before, d);
      emit(d, before);
      for (std::size_t r = 0; r < rows_; ++r) {
        log_scale_[r] += shift_[r] + tables_.log_emission_high[row_of(r, d)];
      }
      if (d + 1 == tables_.D) break;
      move(d, before, Transpose::kNo);
      for (std::size_t r = 0; r < rows_; ++r) {
        log_scale_[r] += log_largest_[r] + tables_.log_moves_high[d];
      }
    }
    const T* before = at(out.before, tables_.D - 1);
    for (std::size_t r = 0; r < rows_; ++r) {
      double sum = 0.0;
      for (std::size_t k = 0; k < K_; ++k) sum += static_cast<double>(before[r * K_ + k]);
      log_total[first_ + r] = log_scale_[r] + std::log(sum);
    }
  }

  void backward(T weight, ChainPassArrays<T>& out, std::span<std::uint8_t> exact) {
    std::fill(message_.begin(), message_.end(), T(1));
    std::fill(log_message_.begin(), log_message_.end(), T(0));
    std::vector<T> sums(rows_);
    set_posterior(tables_.D - 1, weight, out, sums);
    for (std::size_t d = tables_.D - 1; d > 0; --d) {
      mark(sums, exact);
      T* after = at(out.after, d);
      emit(d, after);
      move(d - 1, after, Transpose::kYes);
      mark(largest_, exact);
      set_posterior(d - 1, weight, out, sums);
      for (std::size_t r = 0; r < rows_; ++r) {
        const T factor = weight / (sums[r] * largest_[r]);
        for (std::size_t k = 0; k < K_; ++k) after[r * K_ + k] *= factor;
      }
    }
    mark(sums, exact);
    for (std::size_t r = 0; r < rows_; ++r) {
      if (exact[first_ + r] == 0) continue;
      for (std::size_t d = 0; d < tables_.D; ++d) {
        std::fill_n(at(out.posterior, d) + r * K_, K_, T(0));
        std::fill_n(at(out.after, d) + r * K_, K_, T(0));
      }
    }
  }

 private:
  T* message(std::size_t r) { return message_.data() + r * K_; }
  T* log_message(std::size_t r) { return log_message_.data() + r * K_; }
  T* at(LargeArray<T>& array, std::size_t d) { return array.data() + (d * x_.rows + first_) * K_; }
  std::size_t row_of(std::size_t r, std::size_t d) const {
    return d * tables_.S + static_cast<std::size_t>(x_(first_ + r, d));
  }

  // out = message * emission, scaled to a maximum of 1; shift = the logarithm of what scales it.
  void emit(std::size_t d, T* out) {
    for (std::size_t r = 0; r < rows_; ++r) {
      T* row = out + r * K_;
      std::copy_n(message(r), K_, row);
      multiply_into(tables_.emission + row_of(r, d) * K_, K_, row);
      const T high = max_of(row, K_);
      if (high >= kEmissionFloor<T>) {
        shift_[r] = std::log(static_cast<double>(high));
        for (std::size_t k = 0; k < K_; ++k) row[k] /= high;
        continue;
      }
      set_log_terms(r, d);
      shift_[r] = *std::max_element(log_terms_.begin(), log_terms_.end());
      for (std::size_t k = 0; k < K_; ++k) {
        row[k] = static_cast<T>(std::exp(log_terms_[k] - shift_[r]));
      }
    }
    dimension_ = d;
  }

  // The logarithms of message * emission, not yet shifted.
  void set_log_terms(std::size_t r, std::size_t d) {
    const T* log_emission = tables_.log_emission + row_of(r, d) * K_;
    const double high = tables_.log_emission_high[row_of(r, d)];
    for (std::size_t k = 0; k < K_; ++k) {
      log_terms_[k] =
          static_cast<double>(log_message(r)[k]) + static_cast<double>(log_emission[k]) - high;
    }
  }

  // message = in x moves[d], or its transpose, divided by its largest entry; `in` comes from emit.
  void move(std::size_t d, const T* in, Transpose transpose) {
    gemm(Transpose::kNo, transpose, rows_, K_, K_, T(1), in, K_, tables_.moves + d * K_ * K_, K_,
         T(0), message_.data(), K_);
    for (std::size_t r = 0; r < rows_; ++r) {
      T* log_next = log_next_.data() + r * K_;
      const bool in_range = log_each(message(r), K_, log_next) >= kProductFloor<T>;
      if (!in_range) repair(r, d, transpose, log_next);
      const T high = max_of(log_next, K_);
      for (std::size_t k = 0; k < K_; ++k) log_next[k] -= high;
      log_largest_[r] = static_cast<double>(high);
      largest_[r] = std::exp(high);
      if (in_range) {
        for (std::size_t k = 0; k < K_; ++k) message(r)[k] /= largest_[r];
      } else {
        exp_shifted(log_next, T(0), K_, message(r));
      }
    }
    log_message_.swap(log_next_);
  }

  // Sums what left its range again, from the logarithms.
  void repair(std::size_t r, std::size_t d, Transpose transpose, T* log_next) {
    set_log_terms(r, dimension_);
    const T* log_moves = tables_.log_moves + d * K_ * K_;
    const bool across = transpose == Transpose::kYes;
    for (std::size_t k = 0; k < K_; ++k) {
      if (message(r)[k] >= kProductFloor<T>) continue;
      const double sum =
          exact_log_dot(log_terms_.data(), log_moves + (across ? k * K_ : k), across ? 1 : K_, K_);
      log_next[k] = static_cast<T>(sum - shift_[r] - tables_.log_moves_high[d]);
    }
  }

  // posterior[d] of the present message, and the sums that divide it.
  void set_posterior(std::size_t d, T weight, ChainPassArrays<T>& out, std::vector<T>& sums) {
    const T* before = at(out.before, d);
    T* posterior = at(out.posterior, d);
    for (std::size_t r = 0; r < rows_; ++r) {
      T sum = T(0);
      for (std::size_t k = 0; k < K_; ++k) {
        posterior[r * K_ + k] = before[r * K_ + k] * message(r)[k];
        sum += posterior[r * K_ + k];
      }
      sums[r] = sum;
      for (std::size_t k = 0; k < K_; ++k) posterior[r * K_ + k] *= weight / sum;
    }
  }

  void mark(const std::vector<T>& values, std::span<std::uint8_t> exact) const {
    for (std::size_t r = 0; r < rows_; ++r) {
      if (!(values[r] >= kProductFloor<T>)) exact[first_ + r] = 1;
    }
  }

  const HiddenTables<T>& tables_;
  StatesView x_;
  std::size_t first_, rows_, K_;
  std::vector<T> message_, log_message_, log_next_;  // [rows,K]
  std::vector<double> log_scale_;                    // [rows], of the message in the forward pass
  std::vector<double> shift_;                        // [rows], of the last emit
  std::vector<double> log_largest_;                  // [rows], of the last move
  std::vector<T> largest_;                           // [rows], its exponential, which may be 0
  std::vector<double> log_terms_;                    // [K]
  std::size_t dimension_ = 0;                        // of the last emit
};

}  // namespace

template <typename T>
void run_chain_passes(const HiddenTables<T>& tables, StatesView x, T weight, std::size_t first,
                      std::size_t last, ChainPassArrays<T>& out, std::span<double> log_total,
                      std::span<std::uint8_t> exact) {
  BlockPasses<T> block(tables, x, first, last);
  block.forward(out, log_total);
  block.backward(weight, out, exact);
}

template <typename T>
ExactPosterior::ExactPosterior(const HiddenTables<T>& tables, const std::int32_t* x)
    : K_(tables.K),
      moves_(tables.log_moves, tables.log_moves + (tables.D - 1) * K_ * K_),
      emission_(tables.D * K_),
      before_(tables.D * K_),
      after_(tables.D * K_) {
  const std::size_t D = tables.D;
  for (std::size_t d = 0; d < D; ++d) {
    const T* row = tables.log_emission + (d * tables.S + static_cast<std::size_t>(x[d])) * K_;
    std::copy_n(row, K_, emission_.data() + d * K_);
  }
  const std::vector<double> start(tables.log_start, tables.log_start + K_);
  const std::vector<std::int32_t> zeros(D);
  const HiddenChain chain =
      log_hidden_chain(D, 1, K_, start.data(), moves_.data(), emission_.data());
  log_paths_before(chain, zeros.data(), before_.data());
  log_paths_after(chain, zeros.data(), after_.data());
  log_total_ = log_sum_of_sums(before_.data(), 1, emission_.data(), after_.data(), K_);
}

double ExactPosterior::of(std::size_t d, std::size_t k) const {
  const std::size_t i = d * K_ + k;
  return std::exp(before_[i] + emission_[i] + after_[i] - log_total_);
}

double ExactPosterior::of_pair(std::size_t d, std::size_t from, std::size_t to) const {
  const std::size_t i = d * K_ + from, j = (d + 1) * K_ + to;
  return std::exp(before_[i] + emission_[i] + moves_[i * K_ + to] + emission_[j] + after_[j] -
                  log_total_);
}

template void run_chain_passes<float>(const HiddenTables<float>&, StatesView, float, std::size_t,
                                      std::size_t, ChainPassArrays<float>&, std::span<double>,
                                      std::span<std::uint8_t>);
template void run_chain_passes<double>(const HiddenTables<double>&, StatesView, double, std::size_t,
                                       std::size_t, ChainPassArrays<double>&, std::span<double>,
                                       std::span<std::uint8_t>);
template ExactPosterior::ExactPosterior(const HiddenTables<float>&, const std::int32_t*);
template ExactPosterior::ExactPosterior(const HiddenTables<double>&, const std::int32_t*);

}  // namespace bridgemark::backend::cpu
