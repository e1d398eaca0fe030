#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <vector>

#include "bridgemark/backend/cp_training.h"
#include "bridgemark/backend/cpu/component_weights.h"
#include "bridgemark/backend/cpu/exact_column.h"
#include "bridgemark/backend/cpu/matching_rows.h"
#include "bridgemark/backend/cpu/rank_one_powers.h"
#include "bridgemark/backend/cpu/rank_one_product.h"
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
// Each r column is scaled to a maximum of 1 (`high`), so R is at most 1; a row's W are relative to
// the largest of the row. For a reference whose powers are identity I + uniform 11^T, R and its way
// back need no product. Components are cut in blocks that are narrow enough for the nearest caches,
// and a block does all of its dimensions: sums over them stay where they are. V alone adds over
// blocks, for one dimension and some rows of the batch at a time. No sum depends on the threads.
namespace bridgemark::backend {

namespace {

// Components of a block; one product's factors and its result fill the first-level cache.
constexpr std::size_t kBlock = 32;
// Blocks whose components are the inner side of one product of V, and rows of that product.
constexpr std::size_t kMixedBlocks = 2;
constexpr std::size_t kMixedRows = 64;
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
        chain_(chain),
        x_(x_n),
        n_(n),
        gradient_(gradient),
        work_(workspace),
        rows_(chain, kind, x_n, x1, n, log_model, target),
        D_(parameters.dim),
        S_(parameters.num_categories),
        K_(parameters.num_components),
        B_(x_n.rows),
        row_stride_(rows_.stride()),
        blocks_((K_ + kBlock - 1) / kBlock),
        block_scales_(blocks_ * B_),
        scales_(B_),
        exact_(blocks_ * D_),
        exact_rows_(D_),
        exact_terms_(D_),
        exact_gradient_(D_) {
    const std::size_t columns = cpu::whole_vectors<T>(K_);
    work_.scaled.resize(D_ * S_ * columns);
    work_.high.resize(D_ * K_);
    work_.inverse.resize(D_ * B_ * columns);
    work_.mantissas.resize(B_ * columns);
    work_.exponents.resize(B_ * columns);
    work_.weights0.resize(B_ * columns);
    work_.weights1.resize(B_ * columns);
    work_.mixed.resize(B_ * D_ * row_stride_);
    for (auto* factor : {&work_.source, &work_.back}) {
      factor->resize(D_ * cpu::packed_size(S_, B_) + cpu::kReadAhead<T>);
    }
    for (auto* factor : {&work_.source_transposed, &work_.back_transposed}) {
      factor->resize(D_ * cpu::packed_size(B_, S_) + cpu::kReadAhead<T>);
    }
  }

  double run(const Context& context) {
    if (!cpu::is_rank_one(chain_)) {
      parallel_blocks(context, D_, 1, [&](std::size_t d, std::size_t) { gather_source(d); });
    }
    parallel_blocks(context, blocks_, 1, [&](std::size_t j, std::size_t) { propagate(block(j)); });
    find_scales();
    parallel_blocks(context, blocks_, 1, [&](std::size_t j, std::size_t) { split(block(j)); });
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
    parallel_blocks(context, D_, 1, [&](std::size_t d, std::size_t) {
      exact_losses[d] = match_exactly(d);
      gather_back(d);
    });
    parallel_blocks(context, blocks_, 1, [&](std::size_t j, std::size_t) { pull_back(block(j)); });
    double loss = 0.0;
    for (const double value : losses) loss += value;
    for (const double value : exact_losses) loss += value;
    return loss / static_cast<double>(B_);
  }

 private:
  // Components first..first + width; arrays of a block have rows of `columns`, whole vectors, and
  // what lies behind the components has weights of 0.
  struct Block {
    std::size_t index, first, width, columns;
  };

  Block block(std::size_t index) const {
    const std::size_t first = index * kBlock, width = std::min(kBlock, K_ - first);
    return {index, first, width, cpu::whole_vectors<T>(width)};
  }
  std::size_t core(std::size_t d) const { return d * S_ * K_; }
  T* scaled(const Block& at, std::size_t d) {
    return work_.scaled.data() + D_ * S_ * at.first + d * S_ * at.columns;  // [S, columns]
  }
  T* inverse(const Block& at, std::size_t d) {
    return work_.inverse.data() + D_ * B_ * at.first + d * B_ * at.columns;  // [B, columns]
  }
  // Element [b,0] of the block's part of an array of weights.
  template <typename U>
  U* weights(std::vector<U>& array, const Block& at, std::size_t b = 0) {
    return array.data() + B_ * at.first + b * at.columns;
  }
  // Packed left factors of dimension d: source and back [B,S], or transposed.
  T* by_category(std::vector<T>& factor, std::size_t d) {
    return factor.data() + d * cpu::packed_size(S_, B_);
  }
  T* by_row(std::vector<T>& factor, std::size_t d) {
    return factor.data() + d * cpu::packed_size(B_, S_);
  }
  int rest(std::size_t b) const { return chain_.num_steps - n_[b]; }
  std::size_t state(std::size_t b, std::size_t d) const {
    return static_cast<std::size_t>(x_(b, d));
  }
  const double* log_source(std::size_t b, std::size_t d) const {
    return chain_.log_power(rest(b)) + state(b, d) * S_;
  }
  std::vector<cpu::ExactEntry>& exact(const Block& at, std::size_t d) {
    return exact_[at.index * D_ + d];
  }

  // rows [B,S] and its transpose, packed.
  void pack_both(const T* rows, std::size_t d, std::vector<T>& plain, std::vector<T>& transposed) {
    std::vector<T> columns(S_ * B_);
    cpu::transpose(rows, row_stride_, B_, S_, columns.data(), B_);
    cpu::pack_left(rows, row_stride_, S_, B_, by_category(plain, d));
    cpu::pack_left(columns.data(), B_, B_, S_, by_row(transposed, d));
  }

  // Q_rest[x,:] of dimension d for each row.
  void gather_source(std::size_t d) {
    std::vector<T> rows(B_ * row_stride_);
    for (std::size_t b = 0; b < B_; ++b) {
      std::copy_n(chain_.linear_power(rest(b)) + state(b, d) * S_, S_,
                  rows.data() + b * row_stride_);
    }
    pack_both(rows.data(), d, work_.source, work_.source_transposed);
  }

  // The same for a reference of rank one.
  struct RankOneSource {
    std::vector<std::size_t> states;
    std::vector<T> identity, uniform;
    cpu::RankOneRows<T> rows() const {
      return {states.size(), states.data(), identity.data(), uniform.data()};
    }
  };
  RankOneSource rank_one_source(std::size_t d) const {
    RankOneSource rows{std::vector<std::size_t>(B_), std::vector<T>(B_), std::vector<T>(B_)};
    for (std::size_t b = 0; b < B_; ++b) {
      rows.states[b] = state(b, d);
      rows.identity[b] = cpu::identity_part(chain_, rest(b));
      rows.uniform[b] = cpu::uniform_part(chain_, rest(b));
    }
    return rows;
  }

  // R of dimension d in inverse(at, d).
  void multiply_source(const Block& at, std::size_t d) {
    if (cpu::is_rank_one(chain_)) {
      cpu::multiply_rank_one(rank_one_source(d).rows(), scaled(at, d), S_, at.columns,
                             inverse(at, d));
      return;
    }
    cpu::multiply_transposed<T>({.rows = B_,
                                 .inner = S_,
                                 .columns = at.columns,
                                 .a = by_row(work_.source_transposed, d),
                                 .a_stride = 0,
                                 .x = scaled(at, d),
                                 .x_stride = at.columns,
                                 .out = inverse(at, d),
                                 .out_stride = at.columns,
                                 .packed = true},
                                cpu::Into::kStore);
  }

  // gradient[t,:] = (gradient + sum_b Q_rest[x,t] terms[b,:])[t,:] * scaled[t,:]
  void multiply_source_back(const Block& at, std::size_t d, const T* terms, T* gradient) {
    if (cpu::is_rank_one(chain_)) {
      std::vector<T> sums(S_ * at.columns, T(0));
      cpu::multiply_rank_one_back(rank_one_source(d).rows(), terms, S_, at.columns, sums.data());
      for (std::size_t t = 0; t < S_; ++t) {
        cpu::add_into(sums.data() + t * at.columns, at.width, gradient + t * K_);
        cpu::multiply_into(scaled(at, d) + t * at.columns, at.width, gradient + t * K_);
      }
      return;
    }
    cpu::multiply_transposed<T>({.rows = S_,
                                 .inner = B_,
                                 .columns = at.width,
                                 .a = by_category(work_.source, d),
                                 .a_stride = 0,
                                 .x = terms,
                                 .x_stride = at.columns,
                                 .out = gradient,
                                 .out_stride = K_,
                                 .packed = true,
                                 .factor = scaled(at, d),
                                 .factor_stride = at.columns},
                                cpu::Into::kAddAndMultiply);
  }

  // Scaled cores, 1 / R and W of a block.
  void propagate(const Block& at) {
    std::vector<T> base(
        parameters_.log_beta.begin() + static_cast<std::ptrdiff_t>(at.first),
        parameters_.log_beta.begin() + static_cast<std::ptrdiff_t>(at.first + at.width));
    for (std::size_t d = 0; d < D_; ++d) {
      const T* cores = parameters_.log_cores.data() + core(d) + at.first;
      T* high = work_.high.data() + d * K_ + at.first;
      T* out = scaled(at, d);
      std::copy_n(cores, at.width, high);
      for (std::size_t t = 1; t < S_; ++t) cpu::max_into(cores + t * K_, at.width, high);
      for (std::size_t t = 0; t < S_; ++t, out += at.columns) {
        cpu::exp_difference(cores + t * K_, high, at.width, out);
        std::fill(out + at.width, out + at.columns, T(1));
      }
      cpu::add_into(high, at.width, base.data());
    }
    start_weights(at, base);
    for (std::size_t d = 0; d < D_; ++d) {
      multiply_source(at, d);
      exact(at, d).clear();
      const T low =
          cpu::multiply_weights(cpu::linear_floor<T>(), B_ * at.columns, inverse(at, d),
                                weights(work_.mantissas, at), weights(work_.exponents, at));
      if (low < cpu::linear_floor<T>()) multiply_exact(at, d);
    }
    for (std::size_t b = 0; b < B_; ++b) {
      block_scales_[at.index * B_ + b] =
          cpu::max_exponent<T>(weights(work_.exponents, at, b), at.columns);
    }
  }

  // Sets component k's weight in row b to 2^log2_weight.
  void set_weight(const Block& at, std::size_t b, std::size_t k, double log2_weight) {
    log2_weight = std::clamp(log2_weight, -0x1p27, 0x1p27);
    const double exponent = std::floor(log2_weight);
    weights(work_.mantissas, at, b)[k] = static_cast<T>(std::exp2(log2_weight - exponent));
    weights(work_.exponents, at, b)[k] = static_cast<cpu::Exponent<T>>(exponent);
  }
  double log2_weight(const Block& at, std::size_t b, std::size_t k) {
    return static_cast<double>(weights(work_.exponents, at, b)[k]) +
           std::log2(static_cast<double>(weights(work_.mantissas, at, b)[k]));
  }

  // W = exp(base) in each row.
  void start_weights(const Block& at, const std::vector<T>& base) {
    std::fill_n(weights(work_.mantissas, at), at.columns, T(1));
    std::fill_n(weights(work_.exponents, at), at.columns, cpu::kZeroWeight<T>);
    for (std::size_t k = 0; k < at.width; ++k) {
      set_weight(at, 0, k, std::numbers::log2e * static_cast<double>(base[k]));
    }
    for (std::size_t b = 1; b < B_; ++b) {
      std::copy_n(weights(work_.mantissas, at), at.columns, weights(work_.mantissas, at, b));
      std::copy_n(weights(work_.exponents, at), at.columns, weights(work_.exponents, at, b));
    }
  }

  // The factors of dimension d that left the range of T, whose inverse is 0 now.
  void multiply_exact(const Block& at, std::size_t d) {
    const T* cores = parameters_.log_cores.data() + core(d) + at.first;
    for (std::size_t b = 0; b < B_; ++b) {
      for (std::size_t k = 0; k < at.width; ++k) {
        if (inverse(at, d)[b * at.columns + k] > T(0)) continue;
        const double value = cpu::exact_log_dot(log_source(b, d), cores + k, K_, S_);
        const double scaled_value = value - static_cast<double>(work_.high[d * K_ + at.first + k]);
        set_weight(at, b, k, log2_weight(at, b, k) + std::numbers::log2e * scaled_value);
        exact(at, d).push_back({b, k, value});
      }
    }
  }

  // log2 of the weight of an exact entry in all dimensions but d, relative to the row's scale.
  double log2_others(const Block& at, std::size_t d, const cpu::ExactEntry& entry) {
    const double high = static_cast<double>(work_.high[d * K_ + at.first + entry.component]);
    return log2_weight(at, entry.row, entry.component) -
           std::numbers::log2e * (entry.log_value - high) - static_cast<double>(scales_[entry.row]);
  }

  // The largest exponent of each row. Without dimension d a weight is at most 1 / linear_floor
  // above it, but for exact entries: raises_ holds what they need.
  void find_scales() {
    std::fill(scales_.begin(), scales_.end(), cpu::kZeroWeight<T>);
    for (std::size_t i = 0; i < block_scales_.size(); ++i) {
      scales_[i % B_] = std::max(scales_[i % B_], block_scales_[i]);
    }
    for (std::size_t j = 0; j < blocks_; ++j) {
      for (std::size_t d = 0; d < D_; ++d) {
        for (const cpu::ExactEntry& entry : exact(block(j), d)) {
          raises_.resize(D_ * B_);
          double& raise = raises_[d * B_ + entry.row];
          raise = std::max(raise, std::ceil(log2_others(block(j), d, entry)));
        }
      }
    }
  }

  void split(const Block& at) {
    for (std::size_t b = 0; b < B_; ++b) {
      cpu::split_weights(weights(work_.mantissas, at, b), weights(work_.exponents, at, b),
                         scales_[b], at.columns, weights(work_.weights0, at, b),
                         weights(work_.weights1, at, b));
    }
  }

  // W / R_d for rows first..last, relative to their scale: [rows, columns].
  void divide_out(const Block& at, std::size_t d, std::size_t first, std::size_t last, T* out) {
    cpu::weights_of_others(weights(work_.weights0, at, first), weights(work_.weights1, at, first),
                           inverse(at, d) + first * at.columns, (last - first) * at.columns, out);
    if (raises_.empty()) return;
    for (std::size_t b = first; b < last; ++b) {
      const double raise = raises_[d * B_ + b];
      if (raise == 0.0) continue;
      // In two factors, as the weights are.
      const T half = static_cast<T>(std::exp2(-0.5 * raise));
      T* row = out + (b - first) * at.columns;
      for (std::size_t k = 0; k < at.columns; ++k) row[k] = row[k] * half * half;
    }
    for (const cpu::ExactEntry& entry : exact(at, d)) {
      if (entry.row < first || entry.row >= last) continue;
      out[(entry.row - first) * at.columns + entry.component] =
          static_cast<T>(std::exp2(log2_others(at, d, entry) - raises_[d * B_ + entry.row]));
    }
  }

  // V of dimension d for kMixedRows rows from `first` on.
  void mix(std::size_t d, std::size_t first) {
    const std::size_t last = std::min(B_, first + kMixedRows), count = last - first;
    constexpr std::size_t kInner = kMixedBlocks * kBlock;
    std::vector<T> others(kMixedRows * kBlock), others_transposed(kInner * kMixedRows),
        cores_transposed(kInner * row_stride_ + cpu::kReadAhead<T>),
        mixed_transposed(S_ * kMixedRows);
    for (std::size_t j = 0; j < blocks_; j += kMixedBlocks) {
      std::size_t inner = 0;
      for (std::size_t i = j; i < std::min(blocks_, j + kMixedBlocks); ++i) {
        const Block at = block(i);
        divide_out(at, d, first, last, others.data());
        cpu::transpose(others.data(), at.columns, count, at.width,
                       others_transposed.data() + inner * kMixedRows, kMixedRows);
        cpu::transpose(scaled(at, d), at.columns, S_, at.width,
                       cores_transposed.data() + inner * row_stride_, row_stride_);
        inner += at.width;
      }
      cpu::multiply_transposed<T>({.rows = S_,
                                   .inner = inner,
                                   .columns = count,
                                   .a = cores_transposed.data(),
                                   .a_stride = row_stride_,
                                   .x = others_transposed.data(),
                                   .x_stride = kMixedRows,
                                   .out = mixed_transposed.data(),
                                   .out_stride = kMixedRows},
                                  cpu::Into::kAdd);
    }
    cpu::transpose(mixed_transposed.data(), kMixedRows, S_, count,
                   work_.mixed.data() + (first * D_ + d) * row_stride_, D_ * row_stride_);
  }

  // Losses and d loss / d V of some rows; the dimensions of each that need the exact path.
  void match(std::size_t first, std::size_t last, std::vector<double>& losses,
             std::vector<std::vector<std::size_t>>& exact_dims) {
    typename cpu::MatchingRows<T>::Scratch scratch(rows_);
    for (std::size_t b = first; b < last; ++b) {
      // The gradient takes the place of V.
      T* mixed = work_.mixed.data() + b * D_ * row_stride_;
      losses[b] = rows_.match(b, mixed, mixed, scratch, exact_dims[b]);
    }
  }

  void gather_back(std::size_t d) {
    std::vector<T> rows(B_ * row_stride_);
    for (std::size_t b = 0; b < B_; ++b) {
      std::copy_n(work_.mixed.data() + (b * D_ + d) * row_stride_, S_,
                  rows.data() + b * row_stride_);
    }
    pack_both(rows.data(), d, work_.back, work_.back_transposed);
  }

  double match_exactly(std::size_t d) {
    double loss = 0.0;
    std::vector<double> log_others(K_);
    for (const std::size_t b : exact_rows_[d]) {
      for (std::size_t j = 0; j < blocks_; ++j) {
        const Block at = block(j);
        const T* row = inverse(at, d) + b * at.columns;
        for (std::size_t k = 0; k < at.width; ++k) {
          log_others[at.first + k] = std::numbers::ln2 * log2_weight(at, b, k) +
                                     std::log(static_cast<double>(row[k])) -
                                     static_cast<double>(work_.high[d * K_ + at.first + k]);
        }
        for (const cpu::ExactEntry& entry : exact(at, d)) {
          if (entry.row != b) continue;
          log_others[at.first + entry.component] =
              std::numbers::ln2 * log2_weight(at, b, entry.component) - entry.log_value;
        }
      }
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
    divide_out(at, d, 0, B_, terms);
    cpu::multiply_transposed<T>({.rows = S_,
                                 .inner = B_,
                                 .columns = at.width,
                                 .a = by_category(work_.back, d),
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
                                 .a = by_row(work_.back_transposed, d),
                                 .a_stride = 0,
                                 .x = scaled(at, d),
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
    T* gradient = gradient_.log_cores.data() + core(d) + at.first;
    std::vector<double> exact_weights;
    for (const cpu::ExactEntry& entry : exact(at, d)) {
      const std::size_t place = entry.row * at.columns + entry.component;
      exact_weights.push_back(static_cast<double>(total[place] - terms[place]));
    }
    cpu::pull_through_log(total, inverse(at, d), B_ * at.columns, terms);
    multiply_source_back(at, d, terms, gradient);
    if (!exact_gradient_[d].empty()) {
      for (std::size_t t = 0; t < S_; ++t) {
        cpu::add_into(exact_gradient_[d].data() + t * K_ + at.first, at.width, gradient + t * K_);
      }
    }
    for (std::size_t i = 0; i < exact_weights.size(); ++i) {
      const cpu::ExactEntry& entry = exact(at, d)[i];
      if (exact_weights[i] == 0.0) continue;
      cpu::add_exact_shares(log_source(entry.row, d),
                            parameters_.log_cores.data() + core(d) + at.first + entry.component, K_,
                            S_, entry.log_value, exact_weights[i], gradient + entry.component);
    }
  }

  const CpTensors<T>& parameters_;
  const ChainTables<T>& chain_;
  StatesView x_;
  std::span<const std::int32_t> n_;
  CpTensors<T>& gradient_;
  CpWorkspace<T>& work_;
  cpu::MatchingRows<T> rows_;
  std::size_t D_, S_, K_, B_, row_stride_, blocks_;
  std::vector<cpu::Exponent<T>> block_scales_, scales_;  // [blocks,B], [B]
  std::vector<double> raises_;                           // [D,B], empty without exact entries
  std::vector<std::vector<cpu::ExactEntry>> exact_;      // by block and dimension
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
