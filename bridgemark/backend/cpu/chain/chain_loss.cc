#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "bridgemark/backend/cpu/chain/chain_passes.h"
#include "bridgemark/backend/cpu/cp/core_propagation.h"
#include "bridgemark/backend/cpu/cpu_backend.h"
#include "bridgemark/backend/cpu/simd/gemm.h"
#include "bridgemark/backend/cpu/simd/training_math.h"
#include "bridgemark/backend/plan/chain_workspace.h"
#include "bridgemark/core/parallel.h"

// The gradient of the logarithm of a sum over paths is the posterior of the event that a parameter
// weighs: a state, a move, a state that emits x. Passes run over blocks of rows; then each
// coordinate collects the posteriors of all rows, in their order, whatever the number of threads.
namespace bridgemark::backend::cpu {

namespace {

constexpr std::size_t kRows = 32;  // of a block of the passes

template <typename T>
class ChainLoss {
 public:
  ChainLoss(const CpTensors<T>& parameters, const ChainTables<T>& reference, StatesView x0,
            StatesView x1, CpTensors<T>& gradient, ChainWorkspace<T>& workspace)
      : parameters_(parameters),
        x_{x0, x1},
        gradient_(gradient),
        work_(workspace),
        D_(parameters.dim),
        S_(parameters.num_categories),
        K_(parameters.num_components),
        B_(x0.rows),
        propagation_(parameters.log_cores.data(), D_, S_, K_, reference, workspace.cores) {
    work_.moves.resize((D_ - 1) * K_ * K_);
    work_.log_moves_high.resize(D_ - 1);
    for (std::size_t side = 0; side < 2; ++side) {
      work_.emissions[side].resize(D_ * S_ * K_);
      work_.log_emissions_high[side].resize(D_ * S_);
      ChainPassArrays<T>& passes = work_.passes[side];
      for (auto* array : {&passes.before, &passes.posterior, &passes.after}) {
        array->resize(D_ * B_ * K_);
      }
      log_totals_[side].resize(B_);
      exact_[side].resize(B_);
    }
  }

  double run(const Context& context, std::span<double> log_c, std::span<double> log_v) {
    parallel_blocks(context, D_, 1, [&](std::size_t d, std::size_t) { make_tables(d); });
    const std::size_t blocks = (B_ + kRows - 1) / kRows;
    parallel_blocks(context, 2 * blocks, 1, [&](std::size_t i, std::size_t) {
      const std::size_t side = i / blocks, first = i % blocks * kRows;
      run_chain_passes<T>(tables(side), x_[side], weight(side), first, std::min(B_, first + kRows),
                          work_.passes[side], log_totals_[side], exact_[side]);
    });
    find_exact_posteriors(context);
    parallel_blocks(context, D_, 1, [&](std::size_t d, std::size_t) { collect(d); });
    if (!log_c.empty()) std::ranges::copy(log_totals_[0], log_c.begin());
    if (!log_v.empty()) std::ranges::copy(log_totals_[1], log_v.begin());
    double loss = 0.0;
    for (std::size_t b = 0; b < B_; ++b) loss += log_totals_[0][b] - log_totals_[1][b];
    return loss / static_cast<double>(B_);
  }

 private:
  struct ExactRow {
    std::size_t side, row;
    ExactPosterior posterior;
  };

  T weight(std::size_t side) const { return (side == 0 ? T(1) : T(-1)) / static_cast<T>(B_); }
  const T* log_emission(std::size_t side) const {
    return side == 0 ? propagation_.log_u() : parameters_.log_cores.data();
  }
  HiddenTables<T> tables(std::size_t side) const {
    return {D_,
            S_,
            K_,
            parameters_.log_beta.data(),
            parameters_.log_moves.data(),
            work_.moves.data(),
            log_emission(side),
            work_.emissions[side].data(),
            work_.log_moves_high,
            work_.log_emissions_high[side]};
  }

  // out = exp(in - maximum); returns the maximum.
  static double scale(const T* in, std::size_t count, T* out) {
    const T high = max_of(in, count);
    exp_shifted(in, high, count, out);
    return static_cast<double>(high);
  }

  void make_tables(std::size_t d) {
    propagation_.propagate(d);
    for (std::size_t side = 0; side < 2; ++side) {
      for (std::size_t i = d * S_; i < (d + 1) * S_; ++i) {
        work_.log_emissions_high[side][i] =
            scale(log_emission(side) + i * K_, K_, work_.emissions[side].data() + i * K_);
      }
    }
    if (d + 1 == D_) return;
    const std::size_t size = K_ * K_;
    work_.log_moves_high[d] =
        scale(parameters_.log_moves.data() + d * size, size, work_.moves.data() + d * size);
  }

  void find_exact_posteriors(const Context& context) {
    std::vector<std::pair<std::size_t, std::size_t>> rows;
    for (std::size_t side = 0; side < 2; ++side) {
      for (std::size_t b = 0; b < B_; ++b) {
        if (exact_[side][b] != 0) rows.emplace_back(side, b);
      }
    }
    exact_rows_.resize(rows.size());
    parallel_blocks(context, rows.size(), 1, [&](std::size_t i, std::size_t) {
      const auto [side, b] = rows[i];
      exact_rows_[i] = ExactRow{side, b, ExactPosterior(tables(side), x_[side].row(b))};
    });
  }

  // All gradients of coordinate d, and of the move behind it.
  void collect(std::size_t d) {
    T* cores = gradient_.log_cores.data() + d * S_ * K_;
    std::fill_n(cores, S_ * K_, T(0));
    scatter(0, d, cores);
    propagation_.pull_back(d, gradient_.log_cores.data());
    scatter(1, d, cores);
    if (d == 0) collect_start();
    if (d + 1 < D_) collect_moves(d);
  }

  // Adds the posteriors of the states that emit x.
  void scatter(std::size_t side, std::size_t d, T* cores) const {
    const StatesView x = x_[side];
    const auto own = [&](std::size_t b) { return cores + static_cast<std::size_t>(x(b, d)) * K_; };
    const T* posterior = work_.passes[side].posterior.data() + d * B_ * K_;
    for (std::size_t b = 0; b < B_; ++b) add_into(posterior + b * K_, K_, own(b));
    for (const auto& row : exact_rows_) {
      if (row->side != side) continue;
      for (std::size_t k = 0; k < K_; ++k) {
        own(row->row)[k] += weight(side) * static_cast<T>(row->posterior.of(d, k));
      }
    }
  }

  void collect_start() {
    std::fill(gradient_.log_beta.begin(), gradient_.log_beta.end(), T(0));
    for (const ChainPassArrays<T>& passes : work_.passes) {
      for (std::size_t b = 0; b < B_; ++b) {
        add_into(passes.posterior.data() + b * K_, K_, gradient_.log_beta.data());
      }
    }
    for (const auto& row : exact_rows_) {
      for (std::size_t k = 0; k < K_; ++k) {
        gradient_.log_beta[k] += weight(row->side) * static_cast<T>(row->posterior.of(0, k));
      }
    }
  }

  void collect_moves(std::size_t d) {
    T* moves = gradient_.log_moves.data() + d * K_ * K_;
    for (std::size_t side = 0; side < 2; ++side) {
      const ChainPassArrays<T>& passes = work_.passes[side];
      gemm(Transpose::kYes, Transpose::kNo, K_, K_, B_, T(1), passes.before.data() + d * B_ * K_,
           K_, passes.after.data() + (d + 1) * B_ * K_, K_, side == 0 ? T(0) : T(1), moves, K_);
    }
    multiply_into(work_.moves.data() + d * K_ * K_, K_ * K_, moves);
    for (const auto& row : exact_rows_) {
      for (std::size_t i = 0; i < K_ * K_; ++i) {
        moves[i] += weight(row->side) * static_cast<T>(row->posterior.of_pair(d, i / K_, i % K_));
      }
    }
  }

  const CpTensors<T>& parameters_;
  StatesView x_[2];
  CpTensors<T>& gradient_;
  ChainWorkspace<T>& work_;
  std::size_t D_, S_, K_, B_;
  CorePropagation<T> propagation_;
  std::vector<double> log_totals_[2];
  std::vector<std::uint8_t> exact_[2];
  std::vector<std::optional<ExactRow>> exact_rows_;
};

}  // namespace

double CpuBackend::chain_loss(const Context& context, const CpTensors<float>& parameters,
                              const ChainTables<float>& reference, StatesView x0, StatesView x1,
                              CpTensors<float>& gradient, ChainWorkspace<float>& workspace,
                              std::span<double> log_c, std::span<double> log_v) const {
  const OneBlasThread one_blas_thread;
  return ChainLoss<float>(parameters, reference, x0, x1, gradient, workspace)
      .run(context, log_c, log_v);
}

double CpuBackend::chain_loss(const Context& context, const CpTensors<double>& parameters,
                              const ChainTables<double>& reference, StatesView x0, StatesView x1,
                              CpTensors<double>& gradient, ChainWorkspace<double>& workspace,
                              std::span<double> log_c, std::span<double> log_v) const {
  const OneBlasThread one_blas_thread;
  return ChainLoss<double>(parameters, reference, x0, x1, gradient, workspace)
      .run(context, log_c, log_v);
}

}  // namespace bridgemark::backend::cpu
