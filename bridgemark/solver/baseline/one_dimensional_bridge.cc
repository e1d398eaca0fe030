#include "bridgemark/solver/baseline/one_dimensional_bridge.h"

#include <cmath>
#include <utility>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/error.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark {

namespace {

Matrix<double> transpose(const Matrix<double>& a) {
  Matrix<double> b(a.cols(), a.rows());
  for (std::size_t i = 0; i < a.rows(); ++i) {
    for (std::size_t j = 0; j < a.cols(); ++j) b(j, i) = a(i, j);
  }
  return b;
}

Matrix<double> log_product(const Context& context, const Matrix<double>& a,
                           const Matrix<double>& b) {
  Matrix<double> product(a.rows(), b.cols());
  backend::of(context).log_matmul(context, a, b, product.view());
  return product;
}

void check_marginals(const ReferenceProcess& process, const std::vector<double>& log_p0,
                     const std::vector<double>& log_p1) {
  const auto S = static_cast<std::size_t>(process.num_categories());
  if (log_p0.size() != S || log_p1.size() != S) {
    throw_invalid("bridge", "p0 and p1 must have {} categories, got {} and {}", S, log_p0.size(),
                  log_p1.size());
  }
}

// The Markovian projection of q(x0,x1) q_ref(inside | x0,x1), as the joint law of its ends: the
// product of q(x_{n+1} | x_n) over the steps, with
// q(x_n, x_{n+1}) = Q_1 o (Q_n^T W Q_rest^T), W = q / Q_all, rest = num_steps - n - 1.
Matrix<double> markov_projection(const Context& context, const ReferenceChain& chain,
                                 const Matrix<double>& log_joint,
                                 const std::vector<double>& log_p0) {
  const std::size_t S = log_joint.rows();
  const int steps = chain.num_steps();
  const SharedMatrix all = chain.log_cumulative(context, steps);
  Matrix<double> ratio(S, S);
  for (std::size_t i = 0; i < ratio.size(); ++i) {
    ratio.data()[i] = log_joint.data()[i] - all.data()[i];
  }
  Matrix<double> ends(S, S);  // log q(x_n | x_0) of the projection, then of its next step
  for (int n = 0; n < steps; ++n) {
    Matrix<double> step = ratio;
    if (n > 0)
      step = log_product(context, transpose(chain.log_cumulative(context, n).matrix()), step);
    const int rest = steps - n - 1;
    if (rest > 0)
      step = log_product(context, step, transpose(chain.log_cumulative(context, rest).matrix()));
    const SharedMatrix onestep = chain.log_onestep(context);
    for (std::size_t x = 0; x < S; ++x) {
      for (std::size_t y = 0; y < S; ++y) step(x, y) += onestep(x, y);
      log_normalize(step.row(x), S);
    }
    ends = n == 0 ? std::move(step) : log_product(context, ends, step);
  }
  for (std::size_t x = 0; x < S; ++x) {
    for (std::size_t y = 0; y < S; ++y) ends(x, y) += log_p0[x];
  }
  return ends;
}

// log q(x1|x0) - log q_ref(x1|x0), which for a bridge is the potential up to a constant in x1,
// averaged over x0 ~ p0.
std::vector<double> extract_potential(const Matrix<double>& log_joint, const Matrix<double>& log_q,
                                      const std::vector<double>& log_p0) {
  const std::size_t S = log_joint.rows();
  std::vector<double> potential(S, 0.0);
  for (std::size_t y = 0; y < S; ++y) {
    for (std::size_t x = 0; x < S; ++x) {
      if (log_p0[x] == kLogZero) continue;
      potential[y] += std::exp(log_p0[x]) * (log_joint(x, y) - log_p0[x] - log_q(x, y));
    }
  }
  return potential;
}

}  // namespace

double total_variation(const Matrix<double>& log_a, const Matrix<double>& log_b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < log_a.size(); ++i) {
    sum += std::abs(std::exp(log_a.data()[i]) - std::exp(log_b.data()[i]));
  }
  return 0.5 * sum;
}

OneDimensionalBridge solve_exact(const Context& context, const ReferenceProcess& process,
                                 const std::vector<double>& log_p0,
                                 const std::vector<double>& log_p1, double tolerance,
                                 int max_iterations) {
  check_marginals(process, log_p0, log_p1);
  const std::size_t S = log_p0.size();
  const SharedMatrix log_q = process.log_power(context, process.total_steps());
  const Matrix<double> log_q_transposed = transpose(log_q);
  OneDimensionalBridge result;
  result.log_potential.assign(S, 0.0);
  std::vector<double> left(S), terms(S);
  // scaled[i] = target[i] - log sum_j exp(q[i,j] + other[j])
  const auto scale = [&](const Matrix<double>& q, const std::vector<double>& target,
                         const std::vector<double>& other, std::vector<double>& scaled) {
    double moved = 0.0;
    for (std::size_t i = 0; i < S; ++i) {
      for (std::size_t j = 0; j < S; ++j) terms[j] = q(i, j) + other[j];
      const double sum = log_sum(terms.data(), S);
      // The marginal before this scaling is exp(scaled + sum): how far it was off.
      moved += std::abs(std::exp(target[i]) - std::exp(scaled[i] + sum));
      scaled[i] = target[i] - sum;
    }
    return 0.5 * moved;
  };
  while (result.iterations < max_iterations && !result.converged) {
    scale(log_q, log_p0, result.log_potential, left);
    result.change = scale(log_q_transposed, log_p1, left, result.log_potential);
    ++result.iterations;
    result.converged = result.change <= tolerance;
  }
  scale(log_q, log_p0, result.log_potential, left);
  result.log_joint = Matrix<double>(S, S);
  for (std::size_t x = 0; x < S; ++x) {
    for (std::size_t y = 0; y < S; ++y) {
      result.log_joint(x, y) = left[x] + log_q(x, y) + result.log_potential[y];
    }
  }
  return result;
}

OneDimensionalBridge solve_d_imf(const Context& context, const ReferenceChain& chain,
                                 const std::vector<double>& log_p0,
                                 const std::vector<double>& log_p1, double tolerance,
                                 int max_iterations) {
  check_marginals(chain.process(), log_p0, log_p1);
  if (chain.num_steps() < 2) {
    throw_invalid("bridge", "num_steps must be at least 2 for D-IMF, got {}", chain.num_steps());
  }
  const std::size_t S = log_p0.size();
  OneDimensionalBridge result;
  result.log_joint = Matrix<double>(S, S);
  for (std::size_t x = 0; x < S; ++x) {
    for (std::size_t y = 0; y < S; ++y) result.log_joint(x, y) = log_p0[x] + log_p1[y];
  }
  while (result.iterations < max_iterations && !result.converged) {
    Matrix<double> next = markov_projection(context, chain, result.log_joint, log_p0);
    result.change = total_variation(next, result.log_joint);
    result.log_joint = std::move(next);
    ++result.iterations;
    result.converged = result.change <= tolerance;
  }
  const SharedMatrix log_q = chain.log_cumulative(context, chain.num_steps());
  result.log_potential = extract_potential(result.log_joint, log_q, log_p0);
  return result;
}

}  // namespace bridgemark
