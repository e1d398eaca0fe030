#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "bridgemark/backend/cpu/cp/exact_column.h"
#include "bridgemark/backend/cpu/cp/matching_bands.h"
#include "bridgemark/backend/cpu/cp/matching_factor.h"
#include "bridgemark/backend/cpu/cp/matching_rows.h"
#include "bridgemark/backend/cpu/cp/matching_source.h"
#include "bridgemark/backend/cpu/cp/matching_weights.h"
#include "bridgemark/backend/cpu/cpu_backend.h"
#include "bridgemark/backend/cpu/simd/tile_product.h"
#include "bridgemark/backend/cpu/simd/training_math.h"
#include "bridgemark/backend/cpu/simd/transpose.h"
#include "bridgemark/backend/plan/cp_tensors.h"
#include "bridgemark/core/parallel.h"

// For dimension d and row b at step n in state x, with cores r and rest = num_steps - n:
//   R[b,k]  = sum_t Q_rest[x,t] r[t,k]                              product [B,S] x [S,K]
//   W[b,k]  = beta[k] prod_d R_d[b,k]
//   V[b,t]  = sum_k (W / R_d)[b,k] r[t,k]                           product [B,K] x [K,S]
//   y[b,s]  = sum_t Q_{rest-1}[s,t] V[b,t]
//   model   = Q_1[x,s] y[b,s], normalised over s
// R and W are in matching_weights.h, from V to the loss and back in matching_rows.h. Components are
// cut in blocks that are narrow enough for the nearest caches, and a block does all of its
// dimensions: sums over them stay where they are. V alone adds over blocks, for one dimension and
// some rows of the batch at a time. Products leave out the categories that are negligible to a row
// (matching_bands.h), unless somebody asks for the model's transitions. No sum depends on the
// number of threads.
namespace bridgemark::backend::cpu {

namespace {

// The fewest rows of the batch in one product of V: whole groups.
constexpr std::size_t kMixedRows = 22 * kGroupRows;
// Rows that are matched together.
constexpr std::size_t kMatchedRows = 16;

template <typename T>
class MatchingStep {
 public:
  MatchingStep(const CpTensors<T>& parameters, const ChainTables<T>& chain, MatchingLoss kind,
               StatesView x_n, StatesView x1, std::span<const std::int32_t> n,
               CpTensors<T>& gradient, CpWorkspace<T>& workspace, std::span<double> log_model,
               std::span<double> target)
      : parameters_(parameters),
        gradient_(gradient),
        work_(workspace),
        bands_(chain, x_n, x1, n, !log_model.empty() || !target.empty()),
        source_(chain, bands_, x_n, n, workspace),
        weights_(parameters, source_, x_n.rows, workspace),
        rows_(chain, bands_, kind, x_n, x1, n, log_model, target),
        back_(bands_, workspace.back_by_row, workspace.back_by_category),
        n_(n),
        D_(parameters.dim),
        S_(parameters.num_categories),
        K_(parameters.num_components),
        B_(x_n.rows),
        row_stride_(rows_.stride()),
        all_rows_(B_),
        exact_rows_(D_),
        exact_terms_(D_),
        exact_gradient_(D_) {
    work_.mixed.resize(B_ * D_ * row_stride_);
    std::iota(all_rows_.begin(), all_rows_.end(), 0u);
  }

  double run(const Context& context) {
    const auto each_dimension = [&](auto&& body) {
      parallel_blocks(context, D_, 1, [&](std::size_t d, std::size_t) { body(d); });
    };
    const auto each_block = [&](auto&& body) {
      parallel_blocks(context, weights_.num_blocks(), 1,
                      [&](std::size_t j, std::size_t) { body(weights_.block(j)); });
    };
    each_block([&](const Block& at) { weights_.start(at); });
    each_dimension([&](std::size_t d) { bands_.find(d, weights_.levels(d)); });
    source_.make_room();
    back_.make_room(D_);
    each_dimension([&](std::size_t d) { source_.gather(d); });
    each_block([&](const Block& at) { weights_.propagate(at); });
    weights_.find_scales();
    each_block([&](const Block& at) { weights_.apply_scales(at); });
    const std::size_t count = mixed_rows(context), parts = (B_ + count - 1) / count;
    parallel_blocks(context, parts * D_, 1, [&](std::size_t task, std::size_t) {
      mix(task % D_, task / D_ * count, count);
    });
    // Rows at the same step beside each other: they share a power of the reference.
    std::vector<std::size_t> by_step(B_);
    std::iota(by_step.begin(), by_step.end(), std::size_t{0});
    std::stable_sort(by_step.begin(), by_step.end(),
                     [&](std::size_t i, std::size_t j) { return n_[i] < n_[j]; });
    std::vector<double> losses(B_), exact_losses(D_);
    std::vector<std::vector<std::size_t>> exact(B_);
    parallel_blocks(context, B_, kMatchedRows, [&](std::size_t first, std::size_t last) {
      match(std::span(by_step).subspan(first, last - first), losses, exact);
    });
    for (std::size_t b = 0; b < B_; ++b) {
      for (const std::size_t d : exact[b]) exact_rows_[d].push_back(b);
    }
    each_dimension([&](std::size_t d) {
      exact_losses[d] = match_exactly(d);
      back_.pack(d, work_.mixed.data() + d * row_stride_, D_ * row_stride_);
    });
    each_block([&](const Block& at) { pull_back(at); });
    double loss = 0.0;
    for (const double value : losses) loss += value;
    for (const double value : exact_losses) loss += value;
    return loss / static_cast<double>(B_);
  }

 private:
  using Block = ComponentBlock;

  std::size_t core(std::size_t d) const { return d * S_ * K_; }

  // Rows in one product of V: the more, the less scattered they lie, as long as all threads have
  // some.
  std::size_t mixed_rows(const Context& context) const {
    const std::size_t tasks = 4 * static_cast<std::size_t>(context.threads());
    const std::size_t groups = (B_ * D_ / tasks + kGroupRows - 1) / kGroupRows;
    return std::max(kMixedRows, groups * kGroupRows);
  }

  // V of dimension d for `count` rows from `first` on, in the order of the bands.
  void mix(std::size_t d, std::size_t first, std::size_t count) {
    const auto order = bands_.order(d).subspan(first, std::min(B_ - first, count));
    // W / R_d is computed in the order in which it lies in memory.
    std::vector<std::uint32_t> rows(order.begin(), order.end()), places;
    std::ranges::sort(rows);
    for (const std::uint32_t b : order) {
      places.push_back(
          static_cast<std::uint32_t>(std::ranges::lower_bound(rows, b) - rows.begin()));
    }
    constexpr std::size_t kBlock = MatchingWeights<T>::kBlock;
    const auto others = std::make_unique_for_overwrite<T[]>(rows.size() * kBlock);
    std::vector<T> cores(kBlock * row_stride_);
    T* mixed = work_.mixed.data() + d * row_stride_;
    for (const std::uint32_t b : rows) {
      std::fill_n(mixed + b * D_ * row_stride_, row_stride_, T(0));
    }
    for (std::size_t j = 0; j < weights_.num_blocks(); ++j) {
      const Block at = weights_.block(j);
      weights_.divide_out(at, d, rows, others.get());
      transpose(weights_.scaled_cores(at, d), at.columns, S_, at.columns, cores.data(),
                row_stride_);
      const auto bands = bands_.bands_of_rows(d, weights_.level(at, d));
      multiply_rows<T>({.rows = order.size(),
                        .inner = at.columns,
                        .a = others.get(),
                        .a_stride = at.columns,
                        .x = cores.data(),
                        .x_stride = row_stride_,
                        .out = mixed,
                        .out_stride = D_ * row_stride_,
                        .columns = bands.data() + first / kGroupRows,
                        .a_rows = places.data(),
                        .out_rows = order.data()},
                       Into::kAdd);
    }
  }

  // Losses and d loss / d V of some rows; the dimensions of each that need the exact path.
  void match(std::span<const std::size_t> rows, std::vector<double>& losses,
             std::vector<std::vector<std::size_t>>& exact) {
    typename MatchingRows<T>::Scratch scratch(rows_);
    for (const std::size_t b : rows) {
      // The gradient takes the place of V.
      T* mixed = work_.mixed.data() + b * D_ * row_stride_;
      losses[b] = rows_.match(b, mixed, mixed, scratch, exact[b]);
    }
  }

  double match_exactly(std::size_t d) {
    double loss = 0.0;
    std::vector<double> log_others(K_);
    for (const std::size_t b : exact_rows_[d]) {
      weights_.log_others(b, d, log_others);
      exact_gradient_[d].resize(S_ * K_);
      exact_terms_[d].emplace_back(K_);
      loss += rows_.match_exactly(b, d, log_others, parameters_.log_cores.data() + core(d),
                                  exact_gradient_[d].data(), exact_terms_[d].back().data());
    }
    return loss;
  }

  // Gradients of a block: of the cores through V, of W, and of the cores through each R_d.
  void pull_back(const Block& at) {
    const std::size_t size = B_ * at.columns;
    const auto all_terms = std::make_unique_for_overwrite<T[]>(D_ * size);
    // Of the scaled cores through V, before it is multiplied with them.
    const auto through_mixed = std::make_unique_for_overwrite<T[]>(D_ * S_ * at.columns);
    std::vector<T> total(size, T(0));  // d loss / d log W
    for (std::size_t d = 0; d < D_; ++d) {
      T* terms = all_terms.get() + d * size;
      pull_through_mixed(at, d, terms, through_mixed.get() + d * S_ * at.columns);
      add_into(terms, size, total.data());
    }
    T* beta = gradient_.log_beta.data() + at.first;
    std::fill_n(beta, at.width, T(0));
    for (std::size_t b = 0; b < B_; ++b) {
      add_into(total.data() + b * at.columns, at.width, beta);
    }
    for (std::size_t d = 0; d < D_; ++d) {
      pull_through_source(at, d, total.data(), through_mixed.get() + d * S_ * at.columns,
                          all_terms.get() + d * size);
    }
  }

  // Leaves in `terms` the gradient with respect to log (W / R_d), and in `through_mixed` that of
  // the scaled cores through V.
  void pull_through_mixed(const Block& at, std::size_t d, T* terms, T* through_mixed) {
    weights_.divide_out(at, d, all_rows_, terms);
    const std::size_t level = weights_.level(at, d);
    back_.multiply_rows(d, level, terms, at.columns, through_mixed);
    back_.multiply_cores(d, level, weights_.scaled_cores(at, d), at.columns, terms,
                         Into::kMultiply);
    for (std::size_t i = 0; i < exact_rows_[d].size(); ++i) {
      std::copy_n(exact_terms_[d][i].data() + at.first, at.width,
                  terms + exact_rows_[d][i] * at.columns);
    }
  }

  // Through log R_d: every other dimension's term, divided by R, times the source rows.
  void pull_through_source(const Block& at, std::size_t d, const T* total, T* through_mixed,
                           T* terms) {
    const std::vector<ExactEntry>& exact = weights_.exact(at, d);
    T* gradient = gradient_.log_cores.data() + core(d) + at.first;
    std::vector<double> exact_weights;
    for (const ExactEntry& entry : exact) {
      const std::size_t place = entry.row * at.columns + entry.component;
      exact_weights.push_back(static_cast<double>(total[place] - terms[place]));
    }
    pull_through_log(total, weights_.inverse(at, d), B_ * at.columns, terms);
    source_.multiply_back(d, weights_.level(at, d), terms, through_mixed,
                          weights_.scaled_cores(at, d), at.columns, at.width, gradient, K_);
    if (!exact_gradient_[d].empty()) {
      for (std::size_t t = 0; t < S_; ++t) {
        add_into(exact_gradient_[d].data() + t * K_ + at.first, at.width, gradient + t * K_);
      }
    }
    for (std::size_t i = 0; i < exact.size(); ++i) {
      if (exact_weights[i] == 0.0) continue;
      add_exact_shares(source_.log_row(exact[i].row, d),
                       parameters_.log_cores.data() + core(d) + at.first + exact[i].component, K_,
                       S_, exact[i].log_value, exact_weights[i], gradient + exact[i].component);
    }
  }

  const CpTensors<T>& parameters_;
  CpTensors<T>& gradient_;
  CpWorkspace<T>& work_;
  MatchingBands<T> bands_;
  MatchingSource<T> source_;
  MatchingWeights<T> weights_;
  MatchingRows<T> rows_;
  MatchingFactor<T> back_;  // d loss / d V
  std::span<const std::int32_t> n_;
  std::size_t D_, S_, K_, B_, row_stride_;
  std::vector<std::uint32_t> all_rows_;  // 0, 1, ..
  // By dimension: rows on the exact path, their d loss / d log (W / R_d) [K] each, and the sum of
  // their d loss / d log_cores [S,K], empty where no row needed it.
  std::vector<std::vector<std::size_t>> exact_rows_;
  std::vector<std::vector<std::vector<T>>> exact_terms_;
  std::vector<std::vector<T>> exact_gradient_;
};

}  // namespace

double CpuBackend::matching_loss(const Context& context, const CpTensors<float>& parameters,
                                 const ChainTables<float>& chain, MatchingLoss kind, StatesView x_n,
                                 StatesView x1, std::span<const std::int32_t> n,
                                 CpTensors<float>& gradient, CpWorkspace<float>& workspace,
                                 std::span<double> log_model, std::span<double> target) const {
  return MatchingStep<float>(parameters, chain, kind, x_n, x1, n, gradient, workspace, log_model,
                             target)
      .run(context);
}

double CpuBackend::matching_loss(const Context& context, const CpTensors<double>& parameters,
                                 const ChainTables<double>& chain, MatchingLoss kind,
                                 StatesView x_n, StatesView x1, std::span<const std::int32_t> n,
                                 CpTensors<double>& gradient, CpWorkspace<double>& workspace,
                                 std::span<double> log_model, std::span<double> target) const {
  return MatchingStep<double>(parameters, chain, kind, x_n, x1, n, gradient, workspace, log_model,
                              target)
      .run(context);
}

}  // namespace bridgemark::backend::cpu
