#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/process/reference_process.h"
#include "tests/support/dense_oracle.h"
#include "tests/support/random_low_rank.h"
#include "tests/support/sparse_steps.h"

namespace bridgemark::testing {

// Uniform on [0, 1) from the top bits: std's distributions differ between libraries.
inline double unit(std::mt19937_64& generator) {
  return static_cast<double>(generator() >> 11) * 0x1.0p-53;
}

// Rows that sum to 1 and stay put with weight `keep`; far from symmetric.
inline Matrix<double> random_stochastic(std::size_t S, double keep, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  Matrix<double> matrix(S, S);
  for (std::size_t x = 0; x < S; ++x) {
    double sum = 0.0;
    for (std::size_t y = 0; y < S; ++y) {
      matrix(x, y) = std::exp(4.0 * unit(generator));
      sum += matrix(x, y);
    }
    for (std::size_t y = 0; y < S; ++y) {
      matrix(x, y) = (1.0 - keep) * matrix(x, y) / sum + (x == y ? keep : 0.0);
    }
  }
  return matrix;
}

// A small bridge beside its oracle.
struct BridgeCase {
  std::string name;
  int total_steps;
  CpBridge bridge;
  DenseOracle oracle;
};

struct CaseShape {
  std::size_t dim;
  std::size_t num_categories;
  std::size_t num_components;
  double log_spread;        // cores and weights lie in exp(+-log_spread)
  double zero_share = 0.0;  // of the core entries, -inf; the first category keeps its weight
};

inline BridgeCase make_case(std::string name, ReferenceProcess process, Wide step,
                            const CaseShape& shape, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  const auto draw = [&] { return shape.log_spread * (2.0 * unit(generator) - 1.0); };
  std::vector<double> log_beta(shape.num_components);
  for (double& value : log_beta) value = draw();
  Array3<double> log_cores(shape.dim, shape.num_categories, shape.num_components);
  for (std::size_t d = 0; d < shape.dim; ++d) {
    for (std::size_t s = 0; s < shape.num_categories; ++s) {
      for (std::size_t k = 0; k < shape.num_components; ++k) {
        log_cores(d, s, k) = draw();
        if (unit(generator) < shape.zero_share && s > 0) {
          log_cores(d, s, k) = -std::numeric_limits<double>::infinity();
        }
      }
    }
  }
  const int total_steps = process.total_steps();
  DenseOracle oracle(std::move(step), total_steps, log_beta, log_cores);
  return {std::move(name), total_steps,
          CpBridge(std::move(process), CpPotential(std::move(log_beta), std::move(log_cores))),
          std::move(oracle)};
}

// Bridges of every reference kind that differ in size, rank and sharpness. Seeds are fixed.
inline std::vector<BridgeCase> small_bridges() {
  std::vector<BridgeCase> cases;
  cases.push_back(make_case("uniform, S 3, D 3, K 2", ReferenceProcess::uniform(3, 0.01),
                            uniform_step(3, 0.01), {3, 3, 2, 2.0}, 1));
  cases.push_back(make_case("gaussian, S 5, D 2, K 4", ReferenceProcess::gaussian(5, 0.3),
                            gaussian_step(5, 0.3), {2, 5, 4, 3.0}, 2));
  const Matrix<double> slow = random_stochastic(4, 0.98, 3);
  cases.push_back(make_case("matrix, S 4, D 3, K 3", ReferenceProcess::from_matrix(slow),
                            widen(slow), {3, 4, 3, 2.0, 0.2}, 3));
  const Matrix<double> fast = random_stochastic(3, 0.0, 4);
  cases.push_back(make_case("matrix, T 4, S 3, D 2, K 5", ReferenceProcess::from_matrix(fast, 4),
                            widen(fast), {2, 3, 5, 2.0}, 4));
  cases.push_back(make_case("uniform, gamma 0.999, S 2, D 6, K 5",
                            ReferenceProcess::uniform(2, 0.999), uniform_step(2, 0.999),
                            {6, 2, 5, 2.0, 0.3}, 5));
  cases.push_back(make_case("gaussian, S 11, D 2, K 3, zeros", ReferenceProcess::gaussian(11, 0.12),
                            gaussian_step(11, 0.12), {2, 11, 3, 4.0, 0.4}, 6));
  const Matrix<double> line = random_stochastic(7, 0.99, 7);
  cases.push_back(make_case("matrix, S 7, D 1, K 1", ReferenceProcess::from_matrix(line),
                            widen(line), {1, 7, 1, 3.0}, 7));
  const LowRankFactors factors = random_low_rank(6, 2, 2.0, 8);
  cases.push_back(make_case("low rank, S 6, D 2, K 3",
                            ReferenceProcess::low_rank(factors.u, factors.v, 0.02),
                            low_rank_step(factors, 0.02), {2, 6, 3, 3.0, 0.2}, 8));
  // Four steps do not lead everywhere: many probabilities are 0.
  cases.push_back(make_case("birth-death, T 4, S 7, D 2, K 3",
                            ReferenceProcess::birth_death(7, 0.3, 4), birth_death_step(7, 0.3),
                            {2, 7, 3, 3.0}, 9));
  const GraphWeights ring = uneven_ring(8);
  cases.push_back(make_case("graph, T 4, S 8, D 2, K 2", ReferenceProcess::graph(ring, 0.6, 4),
                            graph_step(ring, 0.6), {2, 8, 2, 2.0}, 10));
  return cases;
}

}  // namespace bridgemark::testing
