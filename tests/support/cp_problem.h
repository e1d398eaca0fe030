#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "bridgemark/backend/plan/cp_tensors.h"
#include "bridgemark/core/array.h"
#include "bridgemark/process/reference_process.h"
#include "bridgemark/process/step_draws.h"
#include "tests/support/random_bridge.h"
#include "tests/support/random_low_rank.h"

// Parameters and batches for the losses of the CP solvers.
namespace bridgemark::testing {

// A batch and parameters on a small chain; components straddle the block of 128.
struct CpProblem {
  ReferenceChain chain;
  backend::CpTensors<double> parameters;
  States x0, x1, x_n;
  std::vector<std::int32_t> n;
  StepDraws steps;  // with odd seeds of the ends, so that rows count differently
};

inline CpProblem make_problem(const ReferenceChain& chain, std::size_t D, std::size_t K,
                              std::size_t B, double spread, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  const auto S = static_cast<std::size_t>(chain.num_categories());
  CpProblem problem{
      chain, backend::CpTensors<double>(D, S, K), States(B, D), States(B, D), States(B, D), {}, {}};
  if (seed % 2 == 1) problem.steps = steps_of_ends(chain.num_steps());
  const auto draw = [&] { return spread * (2.0 * unit(generator) - 1.0); };
  for (double& value : problem.parameters.log_beta) value = draw();
  for (double& value : problem.parameters.log_cores) value = draw();
  for (States* states : {&problem.x0, &problem.x1, &problem.x_n}) {
    for (std::size_t i = 0; i < states->size(); ++i) {
      states->data()[i] = static_cast<std::int32_t>(unit(generator) * static_cast<double>(S));
    }
  }
  for (std::size_t b = 0; b < B; ++b) {
    problem.n.push_back(static_cast<std::int32_t>(unit(generator) * chain.num_steps()));
  }
  return problem;
}

inline std::vector<CpProblem> problems() {
  std::vector<CpProblem> list;
  list.push_back(make_problem({ReferenceProcess::gaussian(7, 0.4, 8), 4}, 3, 5, 6, 2.0, 1));
  list.push_back(make_problem({ReferenceProcess::uniform(5, 0.1, 8), 8}, 2, 131, 9, 1.0, 2));
  list.push_back(make_problem({ReferenceProcess::from_matrix(random_stochastic(4, 0.5, 3), 6), 3},
                              4, 3, 5, 3.0, 3));
  list.push_back(make_problem({ReferenceProcess::uniform(2, 0.9, 1), 1}, 1, 1, 1, 1.0, 4));
  const LowRankFactors factors = random_low_rank(7, 2, 2.0, 6);
  list.push_back(
      make_problem({ReferenceProcess::low_rank(factors.u, factors.v, 0.2, 6), 3}, 2, 5, 6, 3.0, 5));
  return list;
}

// Moves the rows to where the pinned reference is likely to be between x0 and x1: on the way, and a
// little off it.
inline void visit(CpProblem& problem) {
  std::mt19937_64 generator(23);
  const double last = problem.chain.num_categories() - 1;
  for (std::size_t b = 0; b < problem.x_n.rows(); ++b) {
    const double share = static_cast<double>(problem.n[b]) / problem.chain.num_steps();
    for (std::size_t d = 0; d < problem.x_n.cols(); ++d) {
      const double way = (1.0 - share) * problem.x0(b, d) + share * problem.x1(b, d);
      problem.x_n(b, d) =
          static_cast<std::int32_t>(std::clamp(way + 3.0 * unit(generator) - 1.0, 0.0, last));
    }
  }
}

template <typename T, typename From>
backend::CpTensors<T> convert(const backend::CpTensors<From>& from) {
  backend::CpTensors<T> to(from.dim, from.num_categories, from.num_components, from.is_chain,
                           from.tree);
  const auto cast = [](From value) { return static_cast<T>(value); };
  std::ranges::transform(from.log_beta, to.log_beta.begin(), cast);
  std::ranges::transform(from.log_cores, to.log_cores.begin(), cast);
  std::ranges::transform(from.log_moves, to.log_moves.begin(), cast);
  return to;
}

// One component with all its weight, nearly, on the last category, rows near the first and ends
// there too: the model's transitions pull away from their targets. The wider the reference, the
// nearer all this lies to 1.
inline CpProblem distant_problem(double gamma) {
  CpProblem problem =
      make_problem({ReferenceProcess::gaussian(30, gamma, 16), 8}, 2, 1, 8, 1.0, 13);
  for (std::size_t i = 0; i < problem.parameters.log_cores.size(); ++i) {
    problem.parameters.log_cores[i] = i % 30 == 29 ? 0.0 : -200.0;
  }
  for (std::size_t i = 0; i < problem.x1.size(); ++i) {
    problem.x1.data()[i] %= 3;
    problem.x_n.data()[i] %= 9;
  }
  return problem;
}

// Cores at -80 and +80, and columns with all their weight on one category far from the data, over a
// narrow Gaussian reference: products leave the range of float32, and of float64 for the narrowest.
inline CpProblem extreme_problem(double gamma) {
  CpProblem problem =
      make_problem({ReferenceProcess::gaussian(30, gamma, 16), 8}, 3, 6, 8, 1.0, 11);
  std::mt19937_64 generator(12);
  const std::size_t S = 30, K = 6;
  for (std::size_t d = 0; d < 3; ++d) {
    for (std::size_t k = 0; k < K; ++k) {
      for (std::size_t s = 0; s < S; ++s) {
        double& value = problem.parameters.log_cores[(d * S + s) * K + k];
        if (k % 3 == 0) value = unit(generator) < 0.5 ? -80.0 : 80.0;
        if (k % 3 == 1) value = s == S - 1 ? 0.0 : -80.0;
      }
    }
  }
  for (std::size_t i = 0; i < problem.x0.size(); ++i) problem.x0.data()[i] %= 3;
  return problem;
}

}  // namespace bridgemark::testing
