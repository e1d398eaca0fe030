#include <algorithm>
#include <cmath>
#include <vector>

#include "bridgemark/backend/cp_training.h"
#include "bridgemark/backend/cpu/exact_column.h"
#include "bridgemark/backend/cpu/gemm.h"
#include "bridgemark/backend/cpu/training_math.h"
#include "bridgemark/core/parallel.h"

// For dimension d and row b at step n in state x, with cores r and rest = num_steps - n:
//   R[b,k]  = sum_t Q_rest[x,t] r[t,k]                              product [B,S] x [S,K]
//   W[b,k]  = log_beta[k] + sum_d log R_d[b,k]
//   V[b,t]  = sum_k exp(W - log R_d)[b,k] r[t,k]                    product [B,K] x [K,S]
//   y[b,s]  = sum_t Q_{rest-1}[s,t] V[b,t]
//   model   = Q_1[x,s] y[b,s], normalised over s
// Each r column is scaled to a maximum of 1 (`high`), each row of exp(W - log R_d) as well. The
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
        exact_(D_) {
    work_.scaled.resize(D_ * S_ * K_);
    work_.high.resize(D_ * K_);
    work_.log_rows.resize(D_ * B_ * K_);
    work_.terms.resize(D_ * B_ * K_);
    work_.weights0.resize(B_ * K_);
    work_.weights1.resize(B_ * K_);
  }

  double run(const Context& context) {
    parallel_blocks(context, D_, 1, [&](std::size_t d, std::size_t) { propagate(d); });
    parallel_blocks(context, B_, 8, [&](std::size_t first, std::size_t last) {
      for (std::size_t b = first; b < last; ++b) add_dimensions(b);
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

  // source[b,:] = Q_rest[x,:] of dimension d.
  std::vector<T> source_rows(std::size_t d) const {
    std::vector<T> rows(B_ * S_);
    for (std::size_t b = 0; b < B_; ++b) {
      std::copy_n(chain_.linear_power(rest(b)) + state(b, d) * S_, S_, rows.data() + b * S_);
    }
    return rows;
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
    const std::vector<T> source = source_rows(d);
    cpu::gemm(B_, K_, S_, source.data(), scaled, log_row(d, 0));
    exact_[d].clear();
    for (std::size_t b = 0; b < B_; ++b) {
      T* row = log_row(d, b);
      T* products = term(d, b);  // not in use yet
      std::copy_n(row, K_, products);
      if (cpu::log_each(products, K_, row) >= cpu::linear_floor<T>()) continue;
      for (std::size_t k = 0; k < K_; ++k) {
        if (products[k] >= cpu::linear_floor<T>()) continue;
        const double value =
            cpu::exact_log_dot(chain_.log_power(rest(b)) + state(b, d) * S_, cores + k, K_, S_);
        row[k] = static_cast<T>(value - static_cast<double>(high[k]));
        exact_[d].push_back({b, k, value});
      }
    }
  }

  // W[b,:] in weights0.
  void add_dimensions(std::size_t b) {
    T* total = work_.weights0.data() + b * K_;
    std::copy_n(parameters_.log_beta.data(), K_, total);
    for (std::size_t d = 0; d < D_; ++d) {
      cpu::add_into(log_row(d, b), K_, total);
      cpu::add_into(work_.high.data() + d * K_, K_, total);
    }
  }

  // Model, loss and what flows back to V for all rows of a dimension; leaves in term(d) the
  // gradient with respect to W - log R_d, and in the gradient that of the scaled cores through V.
  double match(std::size_t d) {
    const T* scaled = work_.scaled.data() + core(d);
    T* gradient = gradient_.log_cores.data() + core(d);
    std::vector<T> mixed(B_ * S_), back(B_ * S_);
    for (std::size_t b = 0; b < B_; ++b) {
      T* others = term(d, b);
      const T* total = work_.weights0.data() + b * K_;
      const T* own = log_row(d, b);
      for (std::size_t k = 0; k < K_; ++k) others[k] = total[k] - own[k];
      cpu::exp_shifted(others, cpu::max_of(others, K_), K_, others);
    }
    cpu::gemm(cpu::Transpose::kNo, cpu::Transpose::kYes, B_, S_, K_, T(1), term(d, 0), K_, scaled,
              K_, T(0), mixed.data(), S_);
    double loss = 0.0;
    std::vector<std::size_t> exact_rows;
    for (std::size_t b = 0; b < B_; ++b) {
      loss += match_row(b, d, mixed.data() + b * S_, back.data() + b * S_, exact_rows);
    }
    // d loss / d scaled cores through V, then d loss / d (W - log R_d).
    cpu::gemm(cpu::Transpose::kYes, cpu::Transpose::kNo, S_, K_, B_, T(1), back.data(), S_,
              term(d, 0), K_, T(0), gradient, K_);
    std::vector<T> pulled(K_ * kRows);
    for (std::size_t first = 0; first < B_; first += kRows) {
      const std::size_t rows = std::min(kRows, B_ - first);
      cpu::gemm(rows, K_, S_, back.data() + first * S_, scaled, pulled.data());
      for (std::size_t i = 0; i < rows; ++i) {
        cpu::multiply_into(pulled.data() + i * K_, K_, term(d, first + i));
      }
    }
    for (std::size_t t = 0; t < S_; ++t) {
      cpu::multiply_into(scaled + t * K_, K_, gradient + t * K_);
    }
    for (const std::size_t b : exact_rows) loss += match_exactly(b, d);
    return loss;
  }

  // The target, and from unnormalised log weights of the model its loss and d loss / d log weight.
  double row_loss(std::size_t b, std::size_t d, const std::vector<double>& log_weights,
                  std::vector<double>& flow) {
    const int after = rest(b) - 1;
    const double* log_one = chain_.log_power(1) + state(b, d) * S_;
    const double* log_after = chain_.log_power(after);
    const auto end = static_cast<std::size_t>(x1_(b, d));
    std::vector<double> target(S_), model(log_weights);
    for (std::size_t s = 0; s < S_; ++s) target[s] = log_one[s] + log_after[s * S_ + end];
    log_normalize(target.data(), S_);
    log_normalize(model.data(), S_);
    double loss = 0.0, inner = 0.0;
    const double scale = 1.0 / static_cast<double>(B_);
    for (std::size_t s = 0; s < S_; ++s) {
      const double p = std::exp(target[s]), m = std::exp(model[s]);
      if (!log_model_.empty()) log_model_[(b * D_ + d) * S_ + s] = model[s];
      if (!target_out_.empty()) target_out_[(b * D_ + d) * S_ + s] = p;
      if (kind_ == MatchingLoss::kKl) {
        if (p > 0.0) loss += p * (target[s] - model[s]);
        flow[s] = scale * (m - p);
      } else {
        loss += (p - m) * (p - m);
        flow[s] = 2.0 * scale * (m - p);
        inner += flow[s] * m;
      }
    }
    if (kind_ == MatchingLoss::kMse) {
      for (std::size_t s = 0; s < S_; ++s) flow[s] = std::exp(model[s]) * (flow[s] - inner);
    }
    return loss;
  }

  // From V[b,:] to the loss and back to d loss / d V[b,:]. A row whose y left the range of T where
  // it matters is put off to the exact path.
  double match_row(std::size_t b, std::size_t d, const T* mixed, T* back,
                   std::vector<std::size_t>& exact_rows) {
    const int after = rest(b) - 1;
    const T* q_after = chain_.linear_power(after);
    const double* log_one = chain_.log_power(1) + state(b, d) * S_;
    std::vector<T> y(S_);
    for (std::size_t s = 0; s < S_; ++s) {
      T sum = T(0);
      if (after == 0) {
        sum = mixed[s];
      } else {
        for (std::size_t t = 0; t < S_; ++t) sum += q_after[s * S_ + t] * mixed[t];
      }
      y[s] = sum;
    }
    std::vector<double> log_weights(S_), flow(S_);
    bool in_range = true;
    for (std::size_t s = 0; s < S_; ++s) {
      in_range = in_range && y[s] >= cpu::linear_floor<T>();
      log_weights[s] = log_one[s] + std::log(static_cast<double>(y[s]));
    }
    std::fill_n(back, S_, T(0));
    if (!in_range) {
      exact_rows.push_back(b);
      return 0.0;
    }
    const double loss = row_loss(b, d, log_weights, flow);
    for (std::size_t s = 0; s < S_; ++s) {
      const T ratio = static_cast<T>(flow[s] / static_cast<double>(y[s]));
      if (after == 0) {
        back[s] = ratio;
      } else {
        for (std::size_t t = 0; t < S_; ++t) back[t] += ratio * q_after[s * S_ + t];
      }
    }
    return loss;
  }

  // The same in the log domain, straight to the gradients; for rows that left the range of T.
  double match_exactly(std::size_t b, std::size_t d) {
    const int after = rest(b) - 1;
    const double* log_one = chain_.log_power(1) + state(b, d) * S_;
    const double* log_after = chain_.log_power(after);
    const T* cores = parameters_.log_cores.data() + core(d);
    const T* total = work_.weights0.data() + b * K_;
    const T* own = log_row(d, b);
    const T* high = work_.high.data() + d * K_;
    std::vector<double> others(K_), log_v(S_), log_y(S_), log_weights(S_), flow(S_), terms(K_);
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
      log_weights[s] = log_one[s] + log_y[s];
    }
    const double loss = row_loss(b, d, log_weights, flow);
    T* gradient = gradient_.log_cores.data() + core(d);
    T* out = term(d, b);
    std::vector<double> pulled(K_, 0.0);
    for (std::size_t t = 0; t < S_; ++t) {
      double to_v = 0.0;  // d loss / d log V[t]
      for (std::size_t s = 0; s < S_; ++s) {
        const double log_share = log_after[s * S_ + t] + log_v[t] - log_y[s];
        if (log_share > -745.0) to_v += flow[s] * std::exp(log_share);
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
    const T* scaled = work_.scaled.data() + core(d);
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
    const std::vector<T> source = source_rows(d);
    std::vector<T> through(S_ * K_);
    cpu::gemm(cpu::Transpose::kYes, cpu::Transpose::kNo, S_, K_, B_, T(1), source.data(), S_,
              term(d, 0), K_, T(0), through.data(), K_);
    for (std::size_t t = 0; t < S_; ++t) {
      cpu::multiply_into(scaled + t * K_, K_, through.data() + t * K_);
      cpu::add_into(through.data() + t * K_, K_, gradient + t * K_);
    }
    for (std::size_t i = 0; i < exact_weights.size(); ++i) {
      const cpu::ExactEntry& entry = exact_[d][i];
      if (exact_weights[i] == 0.0) continue;
      cpu::add_exact_shares(chain_.log_power(rest(entry.row)) + state(entry.row, d) * S_,
                            parameters_.log_cores.data() + core(d) + entry.component, K_, S_,
                            entry.log_value, exact_weights[i], gradient + entry.component);
    }
  }

  static constexpr std::size_t kRows = 16;  // rows of a product that stays in the cache

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
  std::vector<std::vector<cpu::ExactEntry>> exact_;  // by dimension; row is the row of the batch
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
