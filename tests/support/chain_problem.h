#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "bridgemark/backend/plan/chain_workspace.h"
#include "bridgemark/core/array.h"
#include "bridgemark/process/reference_process.h"
#include "tests/support/cp_problem.h"
#include "tests/support/random_bridge.h"

// Parameters and batches for the loss of the chain solver.
namespace bridgemark::testing {

struct ChainProblem {
  ReferenceProcess process;
  backend::CpTensors<double> parameters;
  States x0, x1;
};

inline ChainProblem make_chain_problem(const ReferenceProcess& process, std::size_t D,
                                       std::size_t K, std::size_t B, double spread,
                                       std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  const auto S = static_cast<std::size_t>(process.num_categories());
  ChainProblem problem{process, backend::CpTensors<double>(D, S, K, true), States(B, D),
                       States(B, D)};
  const auto fill = [&](auto& values) {
    for (double& value : values) value = spread * (2.0 * unit(generator) - 1.0);
  };
  fill(problem.parameters.log_beta);
  fill(problem.parameters.log_moves);
  fill(problem.parameters.log_cores);
  for (States* states : {&problem.x0, &problem.x1}) {
    for (std::size_t i = 0; i < states->size(); ++i) {
      states->data()[i] = static_cast<std::int32_t>(unit(generator) * static_cast<double>(S));
    }
  }
  return problem;
}

// One coordinate, one state, more states than a warp, more rows than a block.
inline std::vector<ChainProblem> chain_problems() {
  std::vector<ChainProblem> list;
  list.push_back(make_chain_problem(ReferenceProcess::gaussian(7, 0.4, 8), 3, 5, 6, 2.0, 1));
  list.push_back(make_chain_problem(ReferenceProcess::uniform(5, 0.1, 8), 4, 37, 70, 1.0, 2));
  list.push_back(make_chain_problem(ReferenceProcess::from_matrix(random_stochastic(4, 0.5, 3), 6),
                                    6, 3, 5, 3.0, 3));
  list.push_back(make_chain_problem(ReferenceProcess::uniform(2, 0.9, 1), 1, 1, 1, 1.0, 4));
  list.push_back(make_chain_problem(ReferenceProcess::uniform(3, 0.3, 2), 1, 4, 3, 1.0, 5));
  list.push_back(make_chain_problem(ReferenceProcess::gaussian(4, 0.4, 8), 5, 1, 3, 1.0, 6));
  return list;
}

// Spreads of hundreds: weights leave the range of float32, and with the largest of float64; states
// whose paths are the best in the middle of a row and among the worst before and behind.
inline ChainProblem extreme_chain_problem(double spread) {
  ChainProblem problem =
      make_chain_problem(ReferenceProcess::gaussian(6, 0.1, 16), 9, 4, 12, spread, 7);
  for (std::size_t d = 0; d < 8; ++d) {
    for (std::size_t k = 0; k < 4; ++k) {
      problem.parameters.log_moves[(d * 4 + k) * 4 + (k + 1) % 4] = -2.0 * spread;
    }
  }
  return problem;
}

}  // namespace bridgemark::testing
