#include <algorithm>
#include <cmath>
#include <vector>

#include "bridgemark/backend/cpu/cpu_backend.h"
#include "bridgemark/backend/cpu/simd/gemm.h"
#include "bridgemark/backend/cpu/simd/vector_math.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/math/categorical.h"
#include "bridgemark/math/hidden_chain.h"
#include "bridgemark/math/hidden_tree.h"
#include "bridgemark/math/log_domain.h"

// The marginals of a step's coordinates and what two steps' differ by. A marginal is the
// reference's row times a mixture over the components, which is a matrix product on factors scaled
// to a maximum of 1: what lies above kLinearFloor has lost nothing, and needs neither exponentials
// nor the sums of the log domain that all other rows go through.
namespace bridgemark::backend::cpu {

namespace {

// others[d][r,k] = log_beta[k] + the sum over j != d of log_from[j, x^j, k]: added up from both
// sides, since the whole minus one term would cancel where that term is far below the others.
void sum_others(const BridgeStep& step, StatesView x, std::vector<double>& others) {
  const std::size_t K = step.num_components, rows = x.rows;
  std::vector<double> running(rows * K);
  for (std::size_t r = 0; r < rows; ++r) {
    std::copy_n(step.log_beta.data(), K, running.data() + r * K);
  }
  const auto walk = [&](std::size_t d, bool accumulate) {
    for (std::size_t r = 0; r < rows; ++r) {
      const double* from = step.log_from.row(d, static_cast<std::size_t>(x(r, d)));
      double* other = others.data() + (d * rows + r) * K;
      double* sum = running.data() + r * K;
      for (std::size_t k = 0; k < K; ++k) {
        other[k] = accumulate ? other[k] + sum[k] : sum[k];
        sum[k] += from[k];
      }
    }
  };
  for (std::size_t d = 0; d < step.dim; ++d) walk(d, false);
  std::fill(running.begin(), running.end(), 0.0);
  for (std::size_t d = step.dim; d-- > 0;) walk(d, true);
}

// The same over the paths of a hidden chain that have z_d = k.
void sum_other_paths(const BridgeStep& step, StatesView x, std::vector<double>& others) {
  const std::size_t D = step.dim, K = step.num_components, rows = x.rows;
  const HiddenChain chain = step.chain();
  std::vector<double> of_row(D * K), scratch(D * K);
  for (std::size_t r = 0; r < rows; ++r) {
    log_other_paths(chain, x.row(r), of_row.data(), scratch.data());
    for (std::size_t d = 0; d < D; ++d) {
      std::copy_n(of_row.data() + d * K, K, others.data() + (d * rows + r) * K);
    }
  }
}

// The same over the states of a hidden tree that have k at the node of d.
void sum_other_states(const BridgeStep& step, StatesView x, std::vector<double>& others) {
  const std::size_t D = step.dim, K = step.num_components, rows = x.rows;
  const HiddenTree tree = step.tree->view();
  std::vector<double> of_row(D * K), scratch((3 * tree.M + 1) * K);
  for (std::size_t r = 0; r < rows; ++r) {
    log_other_states(tree, x.row(r), of_row.data(), scratch.data());
    for (std::size_t d = 0; d < D; ++d) {
      std::copy_n(of_row.data() + d * K, K, others.data() + (d * rows + r) * K);
    }
  }
}

// The mixtures of a block of rows, coordinate by coordinate.
class Mixtures {
 public:
  Mixtures(const BridgeStep& step, StatesView x)
      : step_(step),
        reference_(step),
        x_(x),
        others_(step.dim * x.rows * step.num_components),
        scaled_(x.rows * step.num_components),
        linear_(x.rows, step.num_categories) {
    if (step.tree) {
      sum_other_states(step, x, others_);
    } else if (step.is_chain()) {
      sum_other_paths(step, x, others_);
    } else {
      sum_others(step, x, others_);
    }
  }

  // Makes those of coordinate d.
  void mix(std::size_t d) {
    const std::size_t K = step_.num_components, S = step_.num_categories, rows = x_.rows;
    const double* high = step_.to.high.data() + d * K;
    std::vector<double> weights(K);
    for (std::size_t r = 0; r < rows; ++r) {
      const double* other = others_.data() + (d * rows + r) * K;
      for (std::size_t k = 0; k < K; ++k) weights[k] = other[k] + high[k];
      const double most = *std::max_element(weights.begin(), weights.end());
      exp_minus(weights.data(), most, K, scaled_.data() + r * K);
    }
    gemm(rows, S, K, scaled_.data(), step_.to.linear.row(d * K), linear_.data());
    d_ = d;
  }

  // The mixture of row r up to a factor; whether all of it can be trusted.
  const double* row(std::size_t r) const { return linear_.row(r); }
  bool is_exact(std::size_t r) const {
    const double* values = row(r);
    double low = values[0];
    for (std::size_t s = 1; s < step_.num_categories; ++s) low = std::min(low, values[s]);
    return low >= kLinearFloor;
  }

  // The reference's weights of row r's next state, scaled to a maximum of 1.
  const double* reference(std::size_t r) const { return reference_of(r).linear(); }

  // log of the marginal of row r by the log domain alone.
  void log_marginal(std::size_t r, double* out) const {
    const std::size_t K = step_.num_components, S = step_.num_categories;
    const Context one_thread{.num_threads = 1};
    of(one_thread)
        .log_matmul(one_thread, {others_.data() + (d_ * x_.rows + r) * K, 1, K},
                    {step_.to.log.row(d_ * K), K, S}, {out, 1, S});
    const double* log_q = reference_of(r).log();
    for (std::size_t s = 0; s < S; ++s) out[s] += log_q[s];
    log_normalize(out, S);
  }

  // The same from the mixture, which is_exact.
  void log_exact_marginal(std::size_t r, double* out) const {
    const std::size_t S = step_.num_categories;
    const ReferenceRow& q = reference_of(r);
    const double* mixture = row(r);
    double total = 0.0;
    for (std::size_t s = 0; s < S; ++s) total += q.linear()[s] * mixture[s];
    log_plus(mixture, -q.high() - std::log(total), q.log(), S, out);
  }

 private:
  const ReferenceRow& reference_of(std::size_t r) const {
    reference_.look_at(static_cast<std::size_t>(x_(r, d_)));
    return reference_;
  }

  const BridgeStep& step_;
  mutable ReferenceRow reference_;  // of the row looked at last
  StatesView x_;
  std::vector<double> others_, scaled_;
  Matrix<double> linear_;
  std::size_t d_ = 0;
};

// Rows of a block: as many as their weights fit 8 MiB a thread.
std::size_t rows_of_block(const BridgeStep& step) {
  constexpr std::size_t kMaxWeights = std::size_t{1} << 20;
  return std::clamp<std::size_t>(kMaxWeights / (step.dim * step.num_components), 1, 64);
}

// KL(p || q) of the marginals of row r by the log domain alone.
double exact_kl(const Mixtures& p, const Mixtures& q, std::size_t r, std::size_t S) {
  std::vector<double> log_p(S), log_q(S);
  p.log_marginal(r, log_p.data());
  q.log_marginal(r, log_q.data());
  return log_kl(log_p.data(), log_q.data(), S);
}

// The same from mixtures that are exact, behind one reference: it cancels in the ratio, and where
// it is too small to be seen it weighs nothing. `weights` is scratch.
double linear_kl(const Mixtures& p, const Mixtures& q, std::size_t r,
                 std::vector<double>& weights) {
  const double *reference = p.reference(r), *of_p = p.row(r), *of_q = q.row(r);
  double total_p = 0.0, total_q = 0.0;
  for (std::size_t s = 0; s < weights.size(); ++s) {
    total_p += weights[s] = reference[s] * of_p[s];
    total_q += reference[s] * of_q[s];
  }
  return sum_log_ratios(weights.data(), of_p, of_q, weights.size()) / total_p +
         std::log(total_q / total_p);
}

}  // namespace

void CpuBackend::bridge_step_marginals(const Context& context, const BridgeStep& step, StatesView x,
                                       MatrixView<double> out) const {
  const std::size_t D = step.dim, S = step.num_categories;
  const OneBlasThread one_blas_thread;
  parallel_blocks(context, x.rows, rows_of_block(step), [&](std::size_t first, std::size_t last) {
    Mixtures mixtures(step, x.slice(first, last - first));
    for (std::size_t d = 0; d < D; ++d) {
      mixtures.mix(d);
      for (std::size_t r = 0; r < last - first; ++r) {
        double* marginal = out.row(first + r) + d * S;
        if (mixtures.is_exact(r)) {
          mixtures.log_exact_marginal(r, marginal);
        } else {
          mixtures.log_marginal(r, marginal);
        }
      }
    }
  });
}

void CpuBackend::add_bridge_step_kl(const Context& context, const BridgeStep& p,
                                    const BridgeStep& q, StatesView x, double* kl) const {
  const OneBlasThread one_blas_thread;
  const bool one_reference = same_reference(p, q);
  const std::size_t S = p.num_categories;
  const std::size_t grain = std::min(rows_of_block(p), rows_of_block(q));
  parallel_blocks(context, x.rows, grain, [&](std::size_t first, std::size_t last) {
    const StatesView rows = x.slice(first, last - first);
    Mixtures of_p(p, rows), of_q(q, rows);
    std::vector<double> weights(S);
    for (std::size_t d = 0; d < p.dim; ++d) {
      of_p.mix(d);
      of_q.mix(d);
      for (std::size_t r = 0; r < rows.rows; ++r) {
        const bool linear = one_reference && of_p.is_exact(r) && of_q.is_exact(r);
        kl[first + r] += linear ? linear_kl(of_p, of_q, r, weights) : exact_kl(of_p, of_q, r, S);
      }
    }
  });
}

}  // namespace bridgemark::backend::cpu
