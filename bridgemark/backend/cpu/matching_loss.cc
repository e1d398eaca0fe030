#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "bridgemark/backend/cp_training.h"
#include "bridgemark/backend/cpu/exact_column.h"
#include "bridgemark/backend/cpu/tile_product.h"
#include "bridgemark/backend/cpu/training_math.h"
#include "bridgemark/core/parallel.h"

// For dimension d and row b at step n in state x, with cores r and rest = num_steps - n:
//   R[b,k]  = sum_t Q_rest[x,t] r[t,k]                              product [B,S] x [S,K]
//   W[b,k]  = log_beta[k] + sum_d log R_d[b,k]
//   V[b,t]  = sum_k exp(W - log R_d)[b,k] r[t,k]                    product [B,K] x [K,S]
//   y[b,s]  = sum_t Q_{rest-1}[s,t] V[b,t]
//   model   = Q_1[x,s] y[b,s], normalised over s
// Each r column is scaled to a maximum of 1 (`high`), each row of exp(W - log R_d) as well. For a
// reference whose powers are identity I + uniform 11^T, R and its way back need no product. The
// dimensions are the tasks of the threads; sums over dimensions run in a fixed order.
namespace bridgemark::backend {

namespace {

template <typename T>
class MatchingStep {
 public:
  MatchingStep(const CpTensors<T>& parameters, const ChainTables<T>& chain, MatchingLoss kind,
               StatesView x_n, StatesView x1, std::span<const std::int32_t> n,
               CpTensors<T>& gradient, CpWorkspace<T>& workspace, std::span<double> log_model,
               std::span<double> target)
      : parameters_(parameters),
        chain_(chain),
        kind_(kind),
        x_(x_n),
        x1_(x1),
        n_(n),
        gradient_(gradient),
        work_(workspace),
        log_model_(log_model),
        target_out_(target),
        D_(parameters.dim),
        S_(parameters.num_categories),
        K_(parameters.num_components),
        B_(x_n.rows),
        exact_(D_),
        exact_gradient_(D_) {
    work_.scaled.resize(D_ * S_ * K_);
    work_.high.resize(D_ * K_);
    work_.log_rows.resize(D_ * B_ * K_);
    work_.terms.resize(D_ * B_ * K_);
    work_.weights0.resize(B_ * K_);
    work_.weights1.resize(B_ * K_);
  }

  double run(const Context& context) {
    parallel_blocks(context, D_, 1, [&](std::size_t d, std::size_t) { propagate(d); });
    std::vector<T> base = parameters_.log_beta;
    for (std::size_t d = 0; d < D_; ++d) {
      cpu::add_into(work_.high.data() + d * K_, K_, base.data());
    }
    parallel_blocks(context, B_, 8, [&](std::size_t first, std::size_t last) {
      for (std::size_t b = first; b < last; ++b) add_dimensions(b, base);
    });
    std::vector<double> losses(D_);
    parallel_blocks(context, D_, 1, [&](std::size_t d, std::size_t) { losses[d] = match(d); });
    parallel_blocks(context, B_, 8, [&](std::size_t first, std::size_t last) {
      for (std::size_t b = first; b < last; ++b) add_terms(b);
    });
    std::fill(gradient_.log_beta.begin(), gradient_.log_beta.end(), T(0));
    for (std::size_t b = 0; b < B_; ++b) {
      cpu::add_into(work_.weights1.data() + b * K_, K_, gradient_.log_beta.data());
    }
    parallel_blocks(context, D_, 1, [&](std::size_t d, std::size_t) { pull_back(d); });
    double loss = 0.0;
    for (const double value : losses) loss += value;
    return loss / static_cast<double>(B_);
  }

 private:
  std::size_t core(std::size_t d) const { return d * S_ * K_; }
  T* log_row(std::size_t d, std::size_t b) { return work_.log_rows.data() + (d * B_ + b) * K_; }
  T* term(std::size_t d, std::size_t b) { return work_.terms.data() + (d * B_ + b) * K_; }
  int rest(std::size_t b) const { return chain_.num_steps - n_[b]; }
  std::size_t state(std::size_t b, std::size_t d) const {
    return static_cast<std::size_t>(x_(b, d));
  }

  // Small arrays of one task, made once.
  struct Scratch {
    explicit Scratch(std::size_t S)
        : y(S), target(S), model(S), log_weights(S), flow(S), ratio(S) {}
    std::vector<T> y;
    std::vector<double> target, model, log_weights, flow;
    std::vector<T> ratio;
  };

  bool rank_one() const { return chain_.identity >= T(0); }
  // Q_n = identity_part I + uniform_part 11^T.
  T uniform_part(int n) const { return S_ > 1 ? chain_.linear_power(n)[1] : T(0); }
  T identity_part(int n) const { return chain_.linear_power(n)[0] - uniform_part(n); }

  // Q_rest[x,:] of dimension d for each row: [B,S], and [S,B] with `transposed`.
  std::vector<T> source_rows(std::size_t d, bool transposed) const {
    std::vector<T> rows(B_ * S_ + cpu::kReadAhead<T>);
    for (std::size_t b = 0; b < B_; ++b) {
      const T* row = chain_.linear_power(rest(b)) + state(b, d) * S_;
      if (transposed) {
        for (std::size_t t = 0; t < S_; ++t) rows[t * B_ + b] = row[t];
      } else {
        std::copy_n(row, S_, rows.data() + b * S_);
      }
    }
    return rows;
  }

  // R[b,:] of dimension d in log_row(d, .).
  void multiply_source(std::size_t d) {
    const T* scaled = work_.scaled.data() + core(d);
    if (!rank_one()) {
      const std::vector<T> source = source_rows(d, true);
      cpu::multiply_transposed(source.data(), scaled, B_, S_, K_, cpu::Into::kStore, log_row(d, 0));
      return;
    }
    std::vector<T> sum(K_, T(0));
    for (std::size_t t = 0; t < S_; ++t) cpu::add_into(scaled + t * K_, K_, sum.data());
    for (std::size_t b = 0; b < B_; ++b) {
      T* row = log_row(d, b);
      std::fill_n(row, K_, T(0));
      cpu::add_scaled_into(sum.data(), uniform_part(rest(b)), K_, row);
      cpu::add_scaled_into(scaled + state(b, d) * K_, identity_part(rest(b)), K_, row);
    }
  }

  // gradient[t,:] = (gradient + sum_b Q_rest[x,t] term(d,b))[t,:] * scaled[t,:]
  void multiply_source_back(std::size_t d, T* gradient) {
    const T* scaled = work_.scaled.data() + core(d);
    if (!rank_one()) {
      const std::vector<T> source = source_rows(d, false);
      cpu::multiply_transposed(source.data(), term(d, 0), S_, B_, K_, cpu::Into::kAddAndMultiply,
                               gradient, scaled);
      return;
    }
    std::vector<T> shared(K_, T(0));
    for (std::size_t b = 0; b < B_; ++b) {
      cpu::add_scaled_into(term(d, b), uniform_part(rest(b)), K_, shared.data());
      cpu::add_scaled_into(term(d, b), identity_part(rest(b)), K_, gradient + state(b, d) * K_);
    }
    for (std::size_t t = 0; t < S_; ++t) {
      cpu::add_into(shared.data(), K_, gradient + t * K_);
      cpu::multiply_into(scaled + t * K_, K_, gradient + t * K_);
    }
  }

  void propagate(std::size_t d) {
    const T* cores = parameters_.log_cores.data() + core(d);
    T* high = work_.high.data() + d * K_;
    T* scaled = work_.scaled.data() + core(d);
    std::copy_n(cores, K_, high);
    for (std::size_t t = 1; t < S_; ++t) cpu::max_into(cores + t * K_, K_, high);
    for (std::size_t t = 0; t < S_; ++t) {
      cpu::exp_difference(cores + t * K_, high, K_, scaled + t * K_);
    }
    multiply_source(d);
    exact_[d].clear();
    std::vector<T> products(K_);
    for (std::size_t b = 0; b < B_; ++b) {
      T* row = log_row(d, b);
      std::copy_n(row, K_, products.data());
      if (cpu::log_each(products.data(), K_, row) >= cpu::linear_floor<T>()) continue;
      for (std::size_t k = 0; k < K_; ++k) {
        if (products[k] >= cpu::linear_floor<T>()) continue;
        const double value =
            cpu::exact_log_dot(chain_.log_power(rest(b)) + state(b, d) * S_, cores + k, K_, S_);
        row[k] = static_cast<T>(value - static_cast<double>(high[k]));
        exact_[d].push_back({b, k, value});
      }
    }
  }

  // W[b,:] in weights0, which starts from `base` = log_beta + sum_d high_d.
  void add_dimensions(std::size_t b, const std::vector<T>& base) {
    T* total = work_.weights0.data() + b * K_;
    std::copy_n(base.data(), K_, total);
    for (std::size_t d = 0; d < D_; ++d) cpu::add_into(log_row(d, b), K_, total);
  }

  // Model, loss and what flows back to V for all rows of a dimension; leaves in term(d) the
  // gradient with respect to W - log R_d, and in the gradient that of the scaled cores through V,
  // before it is multiplied with them.
  double match(std::size_t d) {
    const T* scaled = work_.scaled.data() + core(d);
    T* gradient = gradient_.log_cores.data() + core(d);
    std::vector<T> mixed(B_ * S_), back(B_ * S_ + cpu::kReadAhead<T>), back_transposed(back.size());
    for (std::size_t b = 0; b < B_; ++b) {
      T* others = term(d, b);
      const T high = cpu::subtract_rows(work_.weights0.data() + b * K_, log_row(d, b), K_, others);
      cpu::exp_shifted(others, high, K_, others);
    }
    cpu::multiply_rows(term(d, 0), scaled, B_, S_, K_, mixed.data());
    double loss = 0.0;
    Scratch scratch(S_);
    std::vector<std::size_t> exact_rows;
    for (std::size_t b = 0; b < B_; ++b) {
      T* row = back.data() + b * S_;
      if (const auto value = match_row(b, d, mixed.data() + b * S_, row, scratch)) {
        loss += *value;
      } else {
        std::fill_n(row, S_, T(0));
        exact_rows.push_back(b);
      }
      for (std::size_t t = 0; t < S_; ++t) back_transposed[t * B_ + b] = row[t];
    }
    // d loss / d scaled cores through V, then d loss / d (W - log R_d).
    cpu::multiply_transposed(back.data(), term(d, 0), S_, B_, K_, cpu::Into::kStore, gradient);
    cpu::multiply_transposed(back_transposed.data(), scaled, B_, S_, K_, cpu::Into::kMultiply,
                             term(d, 0));
    for (const std::size_t b : exact_rows) loss += match_exactly(b, d, scratch);
    return loss;
  }

  // The target, and from scratch.log_weights, unnormalised, the loss and scratch.flow =
  // d loss / d log_weights.
  double row_loss(std::size_t b, std::size_t d, Scratch& scratch) {
    const double* log_one = chain_.log_power(1) + state(b, d) * S_;
    const double* log_after = chain_.log_power(rest(b) - 1) + static_cast<std::size_t>(x1_(b, d));
    std::vector<double>&target = scratch.target, &model = scratch.model, &flow = scratch.flow;
    // flow holds the target's logarithms until they are used.
    for (std::size_t s = 0; s < S_; ++s) flow[s] = log_one[s] + log_after[s * S_];
    const double high_target = cpu::max_of(flow.data(), S_);
    const double high_model = cpu::max_of(scratch.log_weights.data(), S_);
    const double sum_target = cpu::exp_shifted(flow.data(), high_target, S_, target.data());
    const double sum_model =
        cpu::exp_shifted(scratch.log_weights.data(), high_model, S_, model.data());
    const double log_target = high_target + std::log(sum_target);
    const double log_model = high_model + std::log(sum_model);
    double loss = 0.0, inner = 0.0;
    const double scale = 1.0 / static_cast<double>(B_);
    for (std::size_t s = 0; s < S_; ++s) {
      const double p = target[s] / sum_target, m = model[s] / sum_model;
      if (!log_model_.empty()) {
        log_model_[(b * D_ + d) * S_ + s] = scratch.log_weights[s] - log_model;
      }
      if (!target_out_.empty()) target_out_[(b * D_ + d) * S_ + s] = p;
      if (kind_ == MatchingLoss::kKl) {
        if (p > 0.0) loss += p * ((flow[s] - log_target) - (scratch.log_weights[s] - log_model));
        flow[s] = scale * (m - p);
      } else {
        loss += (p - m) * (p - m);
        flow[s] = 2.0 * scale * (m - p);
        inner += flow[s] * m;
      }
    }
    if (kind_ == MatchingLoss::kMse) {
      for (std::size_t s = 0; s < S_; ++s) flow[s] = model[s] / sum_model * (flow[s] - inner);
    }
    return loss;
  }

  // out = Q_n in, or Q_n^T in: the reference's powers on one vector over categories.
  void multiply_power(int n, bool transposed, const T* in, T* out) const {
    if (n == 0) {
      std::copy_n(in, S_, out);
    } else if (rank_one()) {
      T sum = T(0);
      for (std::size_t s = 0; s < S_; ++s) sum += in[s];
      const T shared = uniform_part(n) * sum, own = identity_part(n);
      for (std::size_t s = 0; s < S_; ++s) out[s] = shared + own * in[s];
    } else if (transposed) {
      std::fill_n(out, S_, T(0));
      const T* q = chain_.linear_power(n);
      for (std::size_t s = 0; s < S_; ++s) cpu::add_scaled_into(q + s * S_, in[s], S_, out);
    } else {
      cpu::multiply_rows(in, chain_.linear_power(n), 1, S_, S_, out);
    }
  }

  // From V[b,:] to the loss and back to d loss / d V[b,:]. Nothing where y left the range of T: the
  // row is for the exact path.
  std::optional<double> match_row(std::size_t b, std::size_t d, const T* mixed, T* back,
                                  Scratch& scratch) {
    const int after = rest(b) - 1;
    const double* log_one = chain_.log_power(1) + state(b, d) * S_;
    multiply_power(after, false, mixed, scratch.y.data());
    for (std::size_t s = 0; s < S_; ++s) {
      if (!(scratch.y[s] >= cpu::linear_floor<T>())) return std::nullopt;
      scratch.model[s] = static_cast<double>(scratch.y[s]);
    }
    cpu::log_sum_with(scratch.model.data(), log_one, S_, scratch.log_weights.data());
    const double loss = row_loss(b, d, scratch);
    for (std::size_t s = 0; s < S_; ++s) {
      scratch.ratio[s] = static_cast<T>(scratch.flow[s] / static_cast<double>(scratch.y[s]));
    }
    multiply_power(after, true, scratch.ratio.data(), back);
    return loss;
  }

  // The same in the log domain for a row that left the range of T, straight to the gradients.
  double match_exactly(std::size_t b, std::size_t d, Scratch& scratch) {
    const int after = rest(b) - 1;
    const double* log_one = chain_.log_power(1) + state(b, d) * S_;
    const double* log_after = chain_.log_power(after);
    const T* cores = parameters_.log_cores.data() + core(d);
    const T* total = work_.weights0.data() + b * K_;
    const T* own = log_row(d, b);
    const T* high = work_.high.data() + d * K_;
    std::vector<double> others(K_), log_v(S_), log_y(S_), terms(K_);
    for (std::size_t k = 0; k < K_; ++k) {
      others[k] = static_cast<double>(total[k]) - static_cast<double>(own[k]) -
                  static_cast<double>(high[k]);
    }
    for (std::size_t t = 0; t < S_; ++t) {
      for (std::size_t k = 0; k < K_; ++k) {
        terms[k] = others[k] + static_cast<double>(cores[t * K_ + k]);
      }
      log_v[t] = log_sum(terms.data(), K_);
    }
    std::vector<double> sums(S_);
    for (std::size_t s = 0; s < S_; ++s) {
      for (std::size_t t = 0; t < S_; ++t) sums[t] = log_after[s * S_ + t] + log_v[t];
      log_y[s] = log_sum(sums.data(), S_);
      scratch.log_weights[s] = log_one[s] + log_y[s];
    }
    const double loss = row_loss(b, d, scratch);
    std::vector<T>& gradient = exact_gradient_[d];
    gradient.resize(S_ * K_);
    T* out = term(d, b);
    std::vector<double> pulled(K_, 0.0);
    for (std::size_t t = 0; t < S_; ++t) {
      double to_v = 0.0;  // d loss / d log V[t]
      for (std::size_t s = 0; s < S_; ++s) {
        const double log_share = log_after[s * S_ + t] + log_v[t] - log_y[s];
        if (log_share > -745.0) to_v += scratch.flow[s] * std::exp(log_share);
      }
      for (std::size_t k = 0; k < K_; ++k) {
        const double share =
            to_v * std::exp(others[k] + static_cast<double>(cores[t * K_ + k]) - log_v[t]);
        gradient[t * K_ + k] += static_cast<T>(share);
        pulled[k] += share;
      }
    }
    for (std::size_t k = 0; k < K_; ++k) out[k] = static_cast<T>(pulled[k]);
    return loss;
  }

  // Sum over dimensions of the terms, in weights1: d loss / d W.
  void add_terms(std::size_t b) {
    T* total = work_.weights1.data() + b * K_;
    std::fill_n(total, K_, T(0));
    for (std::size_t d = 0; d < D_; ++d) cpu::add_into(term(d, b), K_, total);
  }

  // Through log R_d: every other dimension's term, divided by R, times the source rows.
  void pull_back(std::size_t d) {
    T* gradient = gradient_.log_cores.data() + core(d);
    std::vector<double> exact_weights;
    for (const cpu::ExactEntry& entry : exact_[d]) {
      exact_weights.push_back(static_cast<double>(work_.weights1[entry.row * K_ + entry.component] -
                                                  term(d, entry.row)[entry.component]));
    }
    for (std::size_t b = 0; b < B_; ++b) {
      T* row = term(d, b);
      cpu::pull_through_log(work_.weights1.data() + b * K_, row, log_row(d, b), K_, row);
    }
    for (const cpu::ExactEntry& entry : exact_[d]) term(d, entry.row)[entry.component] = T(0);
    multiply_source_back(d, gradient);
    if (!exact_gradient_[d].empty()) cpu::add_into(exact_gradient_[d].data(), S_ * K_, gradient);
    for (std::size_t i = 0; i < exact_weights.size(); ++i) {
      const cpu::ExactEntry& entry = exact_[d][i];
      if (exact_weights[i] == 0.0) continue;
      cpu::add_exact_shares(chain_.log_power(rest(entry.row)) + state(entry.row, d) * S_,
                            parameters_.log_cores.data() + core(d) + entry.component, K_, S_,
                            entry.log_value, exact_weights[i], gradient + entry.component);
    }
  }

  const CpTensors<T>& parameters_;
  const ChainTables<T>& chain_;
  MatchingLoss kind_;
  StatesView x_;
  StatesView x1_;
  std::span<const std::int32_t> n_;
  CpTensors<T>& gradient_;
  CpWorkspace<T>& work_;
  std::span<double> log_model_;
  std::span<double> target_out_;
  std::size_t D_, S_, K_, B_;
  // By dimension; row is the row of the batch.
  std::vector<std::vector<cpu::ExactEntry>> exact_;
  std::vector<std::vector<T>> exact_gradient_;  // [S,K], empty where no row needed it
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
