#include <algorithm>
#include <cmath>
#include <vector>

#include "bridgemark/backend/cpu/cp/core_propagation.h"
#include "bridgemark/backend/cpu/cpu_backend.h"
#include "bridgemark/backend/cpu/simd/gemm.h"
#include "bridgemark/backend/cpu/simd/training_math.h"
#include "bridgemark/backend/plan/cp_tensors.h"
#include "bridgemark/backend/ranks/component_share.h"
#include "bridgemark/backend/ranks/rank_sums.h"
#include "bridgemark/core/parallel.h"

// Components are independent but for one sum over them for each row of the batch. So they are cut
// in blocks that stay in the cache, and a block does everything: propagate its cores, gather and
// add over dimensions, and, once the sums over all blocks are known, scatter back and pull through
// the reference. Ranks hold blocks of their own and exchange the maximum and the sum of each row.
// No result depends on the number of threads or ranks.
namespace bridgemark::backend::cpu {

namespace {

constexpr std::size_t kBlock = kPropagationBlock;
static_assert(kShareGrain % kBlock == 0, "blocks are the same on any number of ranks");

template <typename T>
class StaticLoss {
 public:
  StaticLoss(const CpTensors<T>& parameters, const ChainTables<T>& chain, StatesView x0,
             StatesView x1, CpTensors<T>& gradient, CpWorkspace<T>& workspace)
      : parameters_(parameters),
        propagation_(parameters.log_cores.data(), parameters.dim, parameters.num_categories,
                     parameters.num_components, chain, workspace),
        x0_(x0),
        x1_(x1),
        gradient_(gradient),
        work_(workspace),
        D_(parameters.dim),
        S_(parameters.num_categories),
        K_(parameters.num_components),
        B_(x0.rows),
        blocks_((K_ + kBlock - 1) / kBlock) {
    work_.weights0.resize(B_ * K_);
    work_.weights1.resize(B_ * K_);
    work_.partial.resize(4 * blocks_ * B_);
  }

  double run(const Context& context, std::span<double> log_c, std::span<double> log_v) {
    parallel_blocks(context, K_, kBlock, [&](std::size_t first, std::size_t last) {
      for (std::size_t d = 0; d < D_; ++d) propagation_.propagate(d, first, last);
      gather(propagation_.log_u(), x0_, 0, first, last);
      gather(parameters_.log_cores.data(), x1_, 1, first, last);
    });
    const std::vector<double> log_sums = combine(context);
    double loss = 0.0;
    for (std::size_t b = 0; b < B_; ++b) {
      const double c = log_sums[b], v = log_sums[B_ + b];
      if (!log_c.empty()) log_c[b] = c;
      if (!log_v.empty()) log_v[b] = v;
      loss += c - v;
    }
    parallel_blocks(context, K_, kBlock, [&](std::size_t first, std::size_t last) {
      finish_weights(first, last);
      scatter_source(first, last);
      for (std::size_t d = 0; d < D_; ++d) {
        propagation_.pull_back(d, first, last, gradient_.log_cores.data());
      }
      scatter_target(first, last);
    });
    return loss / static_cast<double>(B_);
  }

 private:
  std::size_t core(std::size_t d, std::size_t s) const { return (d * S_ + s) * K_; }
  T& partial_high(int side, std::size_t b, std::size_t block) {
    return work_.partial[(2 * static_cast<std::size_t>(side) * B_ + b) * blocks_ + block];
  }
  T& partial_sum(int side, std::size_t b, std::size_t block) {
    return work_.partial[((2 * static_cast<std::size_t>(side) + 1) * B_ + b) * blocks_ + block];
  }
  T* weights(int side) { return side == 0 ? work_.weights0.data() : work_.weights1.data(); }

  // weights[b,k] = exp(log_beta + sum_d table[d, x[b,d], k] - maximum over the block), with the
  // maximum and the sum over the block.
  void gather(const T* table, StatesView x, int side, std::size_t first, std::size_t last) {
    const std::size_t width = last - first, block = first / kBlock;
    for (std::size_t b = 0; b < B_; ++b) {
      T* row = weights(side) + b * K_ + first;
      std::copy_n(parameters_.log_beta.data() + first, width, row);
      for (std::size_t d = 0; d < D_; ++d) {
        add_into(table + core(d, static_cast<std::size_t>(x(b, d))) + first, width, row);
      }
      const T high = max_of(row, width);
      partial_high(side, b, block) = high;
      partial_sum(side, b, block) = exp_shifted(row, high, width, row);
    }
  }

  // The log-sums over the components of all ranks, [2,B]; leaves in partial_sum the factor that
  // turns a block's weights into its share of the batch mean.
  std::vector<double> combine(const Context& context) {
    std::vector<double> high(2 * B_, kLogZero);
    each_partial([&](std::size_t row, T block_high, T&) {
      high[row] = std::max(high[row], static_cast<double>(block_high));
    });
    max_over_ranks(context, high);
    std::vector<ReproducibleSum> sums(2 * B_);
    each_partial([&](std::size_t row, T block_high, T& block_sum) {
      sums[row].add(std::exp(static_cast<double>(block_high) - high[row]) *
                    static_cast<double>(block_sum));
    });
    sum_over_ranks(context, sums);
    each_partial([&](std::size_t row, T block_high, T& block_sum) {
      block_sum = static_cast<T>(std::exp(static_cast<double>(block_high) - high[row]) /
                                 (sums[row].value() * static_cast<double>(B_)));
    });
    for (std::size_t row = 0; row < 2 * B_; ++row) high[row] += std::log(sums[row].value());
    return high;
  }

  // visit(row of [2,B], maximum, sum) for each block.
  template <typename Visit>
  void each_partial(Visit&& visit) {
    for (int side = 0; side < 2; ++side) {
      for (std::size_t b = 0; b < B_; ++b) {
        const std::size_t row = static_cast<std::size_t>(side) * B_ + b;
        for (std::size_t j = 0; j < blocks_; ++j) {
          visit(row, partial_high(side, b, j), partial_sum(side, b, j));
        }
      }
    }
  }

  void finish_weights(std::size_t first, std::size_t last) {
    const std::size_t width = last - first, block = first / kBlock;
    T* beta = gradient_.log_beta.data() + first;
    std::fill_n(beta, width, T(0));
    for (std::size_t b = 0; b < B_; ++b) {
      for (int side = 0; side < 2; ++side) {
        T* row = weights(side) + b * K_ + first;
        const T factor = partial_sum(side, b, block);
        for (std::size_t k = 0; k < width; ++k) row[k] *= factor;
        add_scaled_into(row, side == 0 ? T(1) : T(-1), width, beta);
      }
    }
  }

  // The gradient holds d loss / d log u until it is pulled back.
  void scatter_source(std::size_t first, std::size_t last) {
    const std::size_t width = last - first;
    T* gradient = gradient_.log_cores.data();
    for (std::size_t row = 0; row < D_ * S_; ++row) {
      std::fill_n(gradient + row * K_ + first, width, T(0));
    }
    for (std::size_t b = 0; b < B_; ++b) {
      const T* row = weights(0) + b * K_ + first;
      for (std::size_t d = 0; d < D_; ++d) {
        add_into(row, width, gradient + core(d, static_cast<std::size_t>(x0_(b, d))) + first);
      }
    }
  }

  void scatter_target(std::size_t first, std::size_t last) {
    const std::size_t width = last - first;
    for (std::size_t b = 0; b < B_; ++b) {
      const T* row = weights(1) + b * K_ + first;
      for (std::size_t d = 0; d < D_; ++d) {
        add_scaled_into(
            row, T(-1), width,
            gradient_.log_cores.data() + core(d, static_cast<std::size_t>(x1_(b, d))) + first);
      }
    }
  }

  const CpTensors<T>& parameters_;
  CorePropagation<T> propagation_;
  StatesView x0_;
  StatesView x1_;
  CpTensors<T>& gradient_;
  CpWorkspace<T>& work_;
  std::size_t D_, S_, K_, B_, blocks_;
};

}  // namespace

double CpuBackend::static_loss(const Context& context, const CpTensors<float>& parameters,
                               const ChainTables<float>& chain, StatesView x0, StatesView x1,
                               CpTensors<float>& gradient, CpWorkspace<float>& workspace,
                               std::span<double> log_c, std::span<double> log_v) const {
  const OneBlasThread one_blas_thread;
  return StaticLoss<float>(parameters, chain, x0, x1, gradient, workspace)
      .run(context, log_c, log_v);
}

double CpuBackend::static_loss(const Context& context, const CpTensors<double>& parameters,
                               const ChainTables<double>& chain, StatesView x0, StatesView x1,
                               CpTensors<double>& gradient, CpWorkspace<double>& workspace,
                               std::span<double> log_c, std::span<double> log_v) const {
  const OneBlasThread one_blas_thread;
  return StaticLoss<double>(parameters, chain, x0, x1, gradient, workspace)
      .run(context, log_c, log_v);
}

}  // namespace bridgemark::backend::cpu
