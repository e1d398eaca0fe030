#include <algorithm>
#include <memory>
#include <vector>

#include "bridgemark/backend/cp_training.h"
#include "bridgemark/backend/cpu/exact_column.h"
#include "bridgemark/backend/cpu/matching_rows.h"
#include "bridgemark/backend/cpu/matching_source.h"
#include "bridgemark/backend/cpu/matching_weights.h"
#include "bridgemark/backend/cpu/tile_product.h"
#include "bridgemark/backend/cpu/training_math.h"
#include "bridgemark/backend/cpu/transpose.h"
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
// some rows of the batch at a time. No sum depends on the number of threads.
namespace bridgemark::backend {

namespace {

// Rows of the batch in one product of V.
constexpr std::size_t kMixedRows = 128;
// Rows that are matched together.
constexpr std::size_t kMatchedRows = 8;

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
        source_(chain, x_n, n, workspace),
        weights_(parameters, source_, x_n.rows, workspace),
        rows_(chain, kind, x_n, x1, n, log_model, target),
        D_(parameters.dim),
        S_(parameters.num_categories),
        K_(parameters.num_components),
        B_(x_n.rows),
        row_stride_(rows_.stride()),
        exact_rows_(D_),
        exact_terms_(D_),
        exact_gradient_(D_) {
    work_.mixed.resize(B_ * D_ * row_stride_);
    work_.back_by_row.resize(D_ * cpu::packed_size(B_, S_) + cpu::kReadAhead<T>);
    work_.back_by_category.resize(D_ * cpu::packed_size(S_, B_) + cpu::kReadAhead<T>);
  }

  double run(const Context& context) {
    const auto each_dimension = [&](auto&& body) {
      parallel_blocks(context, D_, 1, [&](std::size_t d, std::size_t) { body(d); });
    };
    const auto each_block = [&](auto&& body) {
      parallel_blocks(context, weights_.num_blocks(), 1,
                      [&](std::size_t j, std::size_t) { body(weights_.block(j)); });
    };
    each_dimension([&](std::size_t d) { source_.gather(d); });
    each_block([&](const Block& at) { weights_.propagate(at); });
    weights_.find_scales();
    each_block([&](const Block& at) { weights_.apply_scales(at); });
    const std::size_t parts = (B_ + kMixedRows - 1) / kMixedRows;
    parallel_blocks(context, parts * D_, 1,
                    [&](std::size_t task, std::size_t) { mix(task % D_, task / D_ * kMixedRows); });
    std::vector<double> losses(B_), exact_losses(D_);
    std::vector<std::vector<std::size_t>> exact(B_);
    parallel_blocks(context, B_, kMatchedRows, [&](std::size_t first, std::size_t last) {
      match(first, last, losses, exact);
    });
    for (std::size_t b = 0; b < B_; ++b) {
      for (const std::size_t d : exact[b]) exact_rows_[d].push_back(b);
    }
    each_dimension([&](std::size_t d) {
      exact_losses[d] = match_exactly(d);
      gather_back(d);
    });
    each_block([&](const Block& at) { pull_back(at); });
    double loss = 0.0;
    for (const double value : losses) loss += value;
    for (const double value : exact_losses) loss += value;
    return loss / static_cast<double>(B_);
  }

 private:
  using Block = cpu::ComponentBlock;

  std::size_t core(std::size_t d) const { return d * S_ * K_; }

  // V of dimension d for kMixedRows rows from `first` on.
  void mix(std::size_t d, std::size_t first) {
    const std::size_t last = std::min(B_, first + kMixedRows), count = last - first;
    constexpr std::size_t kBlock = cpu::MatchingWeights<T>::kBlock;
    std::vector<T> others(kBlock * kMixedRows), mixed(S_ * kMixedRows);
    std::vector<T> cores(kBlock * row_stride_ + cpu::kReadAhead<T>);
    for (std::size_t j = 0; j < weights_.num_blocks(); ++j) {
      const Block at = weights_.block(j);
      weights_.divide_out_transposed(at, d, first, last, others.data(), kMixedRows);
      cpu::transpose(weights_.scaled_cores(at, d), at.columns, S_, at.width, cores.data(),
                     row_stride_);
      cpu::multiply_transposed<T>({.rows = S_,
                                   .inner = at.width,
                                   .columns = count,
                                   .a = cores.data(),
                                   .a_stride = row_stride_,
                                   .x = others.data(),
                                   .x_stride = kMixedRows,
                                   .out = mixed.data(),
                                   .out_stride = kMixedRows},
                                  cpu::Into::kAdd);
    }
    cpu::transpose(mixed.data(), kMixedRows, S_, count,
                   work_.mixed.data() + (first * D_ + d) * row_stride_, D_ * row_stride_);
  }

  // Losses and d loss / d V of some rows; the dimensions of each that need the exact path.
  void match(std::size_t first, std::size_t last, std::vector<double>& losses,
             std::vector<std::vector<std::size_t>>& exact) {
    typename cpu::MatchingRows<T>::Scratch scratch(rows_);
    for (std::size_t b = first; b < last; ++b) {
      // The gradient takes the place of V.
      T* mixed = work_.mixed.data() + b * D_ * row_stride_;
      losses[b] = rows_.match(b, mixed, mixed, scratch, exact[b]);
    }
  }

  // d loss / d V of dimension d as a left factor.
  void gather_back(std::size_t d) {
    cpu::pack_both(work_.mixed.data() + d * row_stride_, D_ * row_stride_, B_, S_, back_by_row(d),
                   back_by_category(d));
  }
  T* back_by_row(std::size_t d) { return work_.back_by_row.data() + d * cpu::packed_size(B_, S_); }
  T* back_by_category(std::size_t d) {
    return work_.back_by_category.data() + d * cpu::packed_size(S_, B_);
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
    std::vector<T> total(size, T(0));  // d loss / d log W
    for (std::size_t d = 0; d < D_; ++d) {
      T* terms = all_terms.get() + d * size;
      pull_through_mixed(at, d, terms);
      cpu::add_into(terms, size, total.data());
    }
    T* beta = gradient_.log_beta.data() + at.first;
    std::fill_n(beta, at.width, T(0));
    for (std::size_t b = 0; b < B_; ++b) {
      cpu::add_into(total.data() + b * at.columns, at.width, beta);
    }
    for (std::size_t d = 0; d < D_; ++d) {
      pull_through_source(at, d, total.data(), all_terms.get() + d * size);
    }
  }

  // Leaves in `terms` the gradient with respect to log (W / R_d), and in the gradient that of the
  // scaled cores through V, before it is multiplied with them.
  void pull_through_mixed(const Block& at, std::size_t d, T* terms) {
    weights_.divide_out(at, d, 0, B_, terms);
    cpu::multiply_transposed<T>({.rows = S_,
                                 .inner = B_,
                                 .columns = at.width,
                                 .a = back_by_category(d),
                                 .a_stride = 0,
                                 .x = terms,
                                 .x_stride = at.columns,
                                 .out = gradient_.log_cores.data() + core(d) + at.first,
                                 .out_stride = K_,
                                 .packed = true},
                                cpu::Into::kStore);
    cpu::multiply_transposed<T>({.rows = B_,
                                 .inner = S_,
                                 .columns = at.columns,
                                 .a = back_by_row(d),
                                 .a_stride = 0,
                                 .x = weights_.scaled_cores(at, d),
                                 .x_stride = at.columns,
                                 .out = terms,
                                 .out_stride = at.columns,
                                 .packed = true},
                                cpu::Into::kMultiply);
    for (std::size_t i = 0; i < exact_rows_[d].size(); ++i) {
      std::copy_n(exact_terms_[d][i].data() + at.first, at.width,
                  terms + exact_rows_[d][i] * at.columns);
    }
  }

  // Through log R_d: every other dimension's term, divided by R, times the source rows.
  void pull_through_source(const Block& at, std::size_t d, const T* total, T* terms) {
    const std::vector<cpu::ExactEntry>& exact = weights_.exact(at, d);
    T* gradient = gradient_.log_cores.data() + core(d) + at.first;
    std::vector<double> exact_weights;
    for (const cpu::ExactEntry& entry : exact) {
      const std::size_t place = entry.row * at.columns + entry.component;
      exact_weights.push_back(static_cast<double>(total[place] - terms[place]));
    }
    cpu::pull_through_log(total, weights_.inverse(at, d), B_ * at.columns, terms);
    source_.multiply_back(d, terms, weights_.scaled_cores(at, d), at.columns, at.width, gradient,
                          K_);
    if (!exact_gradient_[d].empty()) {
      for (std::size_t t = 0; t < S_; ++t) {
        cpu::add_into(exact_gradient_[d].data() + t * K_ + at.first, at.width, gradient + t * K_);
      }
    }
    for (std::size_t i = 0; i < exact.size(); ++i) {
      if (exact_weights[i] == 0.0) continue;
      cpu::add_exact_shares(source_.log_row(exact[i].row, d),
                            parameters_.log_cores.data() + core(d) + at.first + exact[i].component,
                            K_, S_, exact[i].log_value, exact_weights[i],
                            gradient + exact[i].component);
    }
  }

  const CpTensors<T>& parameters_;
  CpTensors<T>& gradient_;
  CpWorkspace<T>& work_;
  cpu::MatchingSource<T> source_;
  cpu::MatchingWeights<T> weights_;
  cpu::MatchingRows<T> rows_;
  std::size_t D_, S_, K_, B_, row_stride_;
  // By dimension: rows on the exact path, their d loss / d log (W / R_d) [K] each, and the sum of
  // their d loss / d log_cores [S,K], empty where no row needed it.
  std::vector<std::vector<std::size_t>> exact_rows_;
  std::vector<std::vector<std::vector<T>>> exact_terms_;
  std::vector<std::vector<T>> exact_gradient_;
};

}  // namespace

template <typename T>
double matching_loss(const Context& context, const CpTensors<T>& parameters,
                     const ChainTables<T>& chain, MatchingLoss kind, StatesView x_n, StatesView x1,
                     std::span<const std::int32_t> n, CpTensors<T>& gradient,
                     CpWorkspace<T>& workspace, std::span<double> log_model,
                     std::span<double> target) {
  return MatchingStep<T>(parameters, chain, kind, x_n, x1, n, gradient, workspace, log_model,
                         target)
      .run(context);
}

template double matching_loss<float>(const Context&, const CpTensors<float>&,
                                     const ChainTables<float>&, MatchingLoss, StatesView,
                                     StatesView, std::span<const std::int32_t>, CpTensors<float>&,
                                     CpWorkspace<float>&, std::span<double>, std::span<double>);
template double matching_loss<double>(const Context&, const CpTensors<double>&,
                                      const ChainTables<double>&, MatchingLoss, StatesView,
                                      StatesView, std::span<const std::int32_t>, CpTensors<double>&,
                                      CpWorkspace<double>&, std::span<double>, std::span<double>);

}  // namespace bridgemark::backend
