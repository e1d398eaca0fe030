#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "bridgemark/backend/cpu/cp/core_propagation.h"
#include "bridgemark/backend/cpu/cpu_backend.h"
#include "bridgemark/backend/cpu/simd/gemm.h"
#include "bridgemark/backend/cpu/simd/training_math.h"
#include "bridgemark/backend/cpu/tree/tree_passes.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/math/log_domain.h"

// The gradient of the logarithm of a sum over hidden states is the posterior of the event that a
// parameter weighs: the root's state, a move, a state that emits x. Passes run over blocks of rows;
// then each coordinate and each node collects the posteriors of all rows, in their order, whatever
// the number of threads.
namespace bridgemark::backend::cpu {

namespace {

constexpr std::size_t kTreeRows = 32;  // of a block of the passes

template <typename T>
class TreeLoss {
 public:
  TreeLoss(const CpTensors<T>& parameters, const ChainTables<T>& reference, StatesView x0,
           StatesView x1, CpTensors<T>& gradient, TreeWorkspace<T>& workspace)
      : parameters_(parameters),
        shape_(*parameters.tree),
        x_{x0, x1},
        gradient_(gradient),
        work_(workspace),
        D_(parameters.dim),
        S_(parameters.num_categories),
        K_(parameters.num_components),
        M_(shape_.num_nodes()),
        B_(x0.rows),
        propagation_(parameters.log_cores.data(), D_, S_, K_, reference, workspace.cores) {
    work_.moves.resize((M_ - 1) * K_ * K_);
    work_.log_moves_high.resize(M_ - 1);
    for (std::size_t side = 0; side < 2; ++side) {
      TreePassArrays<T>& passes = work_.passes[side];
      for (auto* array :
           {&passes.below, &passes.beside, &passes.posterior, &passes.from, &passes.to}) {
        array->resize(M_ * B_ * K_);
      }
      passes.exact.resize(M_ * B_);
      log_totals_[side].resize(B_);
    }
  }

  double run(const Context& context, std::span<double> log_c, std::span<double> log_v) {
    parallel_blocks(context, D_, 1, [&](std::size_t d, std::size_t) { propagation_.propagate(d); });
    parallel_blocks(context, M_ - 1, 1, [&](std::size_t i, std::size_t) { scale_moves(i); });
    const std::size_t blocks = (B_ + kTreeRows - 1) / kTreeRows;
    parallel_blocks(context, 2 * blocks, 1, [&](std::size_t i, std::size_t) {
      const std::size_t side = i / blocks, first = i % blocks * kTreeRows;
      run_tree_passes<T>(tables(side), x_[side], weight(side), first,
                         std::min(B_, first + kTreeRows), work_.passes[side], log_totals_[side]);
    });
    parallel_blocks(context, D_, 1, [&](std::size_t d, std::size_t) { collect(d); });
    parallel_blocks(context, M_ - 1, 1, [&](std::size_t i, std::size_t) { collect_moves(i + 1); });
    collect_root();
    if (!log_c.empty()) std::ranges::copy(log_totals_[0], log_c.begin());
    if (!log_v.empty()) std::ranges::copy(log_totals_[1], log_v.begin());
    double loss = 0.0;
    for (std::size_t b = 0; b < B_; ++b) loss += log_totals_[0][b] - log_totals_[1][b];
    return loss / static_cast<double>(B_);
  }

 private:
  T weight(std::size_t side) const { return (side == 0 ? T(1) : T(-1)) / static_cast<T>(B_); }
  HiddenTreeTables<T> tables(std::size_t side) const {
    return {shape_,
            S_,
            K_,
            parameters_.log_beta.data(),
            parameters_.log_moves.data(),
            work_.moves.data(),
            work_.log_moves_high,
            side == 0 ? propagation_.log_u() : parameters_.log_cores.data()};
  }

  void scale_moves(std::size_t edge) {
    const std::size_t size = K_ * K_;
    const T* log_moves = parameters_.log_moves.data() + edge * size;
    const T high = max_of(log_moves, size);
    exp_shifted(log_moves, high, size, work_.moves.data() + edge * size);
    work_.log_moves_high[edge] = static_cast<double>(high);
  }

  // The gradient of the cores of coordinate d.
  void collect(std::size_t d) {
    T* cores = gradient_.log_cores.data() + d * S_ * K_;
    std::fill_n(cores, S_ * K_, T(0));
    scatter(0, d, cores);
    propagation_.pull_back(d, gradient_.log_cores.data());
    scatter(1, d, cores);
  }

  // Adds the posteriors of the states that emit x.
  void scatter(std::size_t side, std::size_t d, T* cores) const {
    const auto node = static_cast<std::size_t>(shape_.node_of()[d]);
    const T* posterior = work_.passes[side].posterior.data() + node * B_ * K_;
    for (std::size_t b = 0; b < B_; ++b) {
      add_into(posterior + b * K_, K_, cores + static_cast<std::size_t>(x_[side](b, d)) * K_);
    }
  }

  void collect_root() {
    std::fill(gradient_.log_beta.begin(), gradient_.log_beta.end(), T(0));
    for (const TreePassArrays<T>& passes : work_.passes) {
      for (std::size_t b = 0; b < B_; ++b) {
        add_into(passes.posterior.data() + b * K_, K_, gradient_.log_beta.data());
      }
    }
  }

  // The gradient of the moves to node i.
  void collect_moves(std::size_t i) {
    const std::size_t matrix = (i - 1) * K_ * K_;
    T* moves = gradient_.log_moves.data() + matrix;
    for (std::size_t side = 0; side < 2; ++side) {
      const TreePassArrays<T>& passes = work_.passes[side];
      gemm(Transpose::kYes, Transpose::kNo, K_, K_, B_, T(1), passes.from.data() + i * B_ * K_, K_,
           passes.to.data() + i * B_ * K_, K_, side == 0 ? T(0) : T(1), moves, K_);
    }
    multiply_into(work_.moves.data() + matrix, K_ * K_, moves);
    for (std::size_t side = 0; side < 2; ++side) {
      for (std::size_t b = 0; b < B_; ++b) {
        if (work_.passes[side].exact[i * B_ + b] != 0) add_exact_moves(side, i, b, moves);
      }
    }
  }

  // Adds a row's posterior of both states by their logarithms.
  void add_exact_moves(std::size_t side, std::size_t i, std::size_t b, T* moves) const {
    const TreePassArrays<T>& passes = work_.passes[side];
    const T *beside = passes.beside.data() + (i * B_ + b) * K_,
            *below = passes.below.data() + (i * B_ + b) * K_,
            *log_moves = parameters_.log_moves.data() + (i - 1) * K_ * K_;
    std::vector<double> log_terms(K_ * K_);
    for (std::size_t j = 0; j < K_ * K_; ++j) {
      log_terms[j] = static_cast<double>(beside[j / K_]) + static_cast<double>(log_moves[j]) +
                     static_cast<double>(below[j % K_]);
    }
    const double log_total = log_sum(log_terms.data(), log_terms.size());
    for (std::size_t j = 0; j < K_ * K_; ++j) {
      moves[j] += weight(side) * static_cast<T>(std::exp(log_terms[j] - log_total));
    }
  }

  const CpTensors<T>& parameters_;
  const TreeShape& shape_;
  StatesView x_[2];
  CpTensors<T>& gradient_;
  TreeWorkspace<T>& work_;
  std::size_t D_, S_, K_, M_, B_;
  CorePropagation<T> propagation_;
  std::vector<double> log_totals_[2];
};

}  // namespace

double CpuBackend::tree_loss(const Context& context, const CpTensors<float>& parameters,
                             const ChainTables<float>& reference, StatesView x0, StatesView x1,
                             CpTensors<float>& gradient, TreeWorkspace<float>& workspace,
                             std::span<double> log_c, std::span<double> log_v) const {
  const OneBlasThread one_blas_thread;
  return TreeLoss<float>(parameters, reference, x0, x1, gradient, workspace)
      .run(context, log_c, log_v);
}

double CpuBackend::tree_loss(const Context& context, const CpTensors<double>& parameters,
                             const ChainTables<double>& reference, StatesView x0, StatesView x1,
                             CpTensors<double>& gradient, TreeWorkspace<double>& workspace,
                             std::span<double> log_c, std::span<double> log_v) const {
  const OneBlasThread one_blas_thread;
  return TreeLoss<double>(parameters, reference, x0, x1, gradient, workspace)
      .run(context, log_c, log_v);
}

}  // namespace bridgemark::backend::cpu
