#pragma once

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "bridgemark/pair/pair_spec.h"
#include "tests/support/dense_oracle.h"

namespace bridgemark::testing {

// 36 states, three components, a chain of 16 steps: quick to score and to enumerate.
inline PairSpec small_spec() {
  PairSpec spec;
  spec.name = "small";
  spec.seed = 3;
  spec.dim = 2;
  spec.num_categories = 6;
  spec.num_components = 3;
  spec.reference = ReferenceKind::kGaussian;
  spec.gamma = 0.2;
  spec.total_steps = 16;
  spec.sigma = 0.8;
  return spec;
}

// The pair of a spec with a test set of its own, so that the protocol takes `rows` instead of
// 20,000 rows and every 128th as conditional input.
inline BenchmarkPair pair_with_test_set(const PairSpec& spec, std::size_t rows) {
  BenchmarkPair pair = build_pair(spec);
  pair.store_test_set(pair.sample_joint({}, rows, 77));
  return pair;
}

inline Context with_threads(int threads) {
  Context context;
  context.num_threads = threads;
  return context;
}

// The elementary matrix of a process, as probabilities.
inline Wide elementary_step(const ReferenceProcess& process) {
  const Matrix<double>& log = process.log_power({}, 1);
  Wide step(log.rows(), log.cols());
  for (std::size_t i = 0; i < log.size(); ++i) {
    step.data()[i] = std::exp(static_cast<long double>(log.data()[i]));
  }
  return step;
}

inline DenseOracle dense_oracle(const CpBridge& bridge) {
  return {elementary_step(bridge.process()), bridge.process().total_steps(),
          bridge.potential().log_beta(), bridge.potential().log_cores()};
}

// p0 of every state, in the order of all_states.
inline std::vector<double> source_probabilities(const BenchmarkPair& pair, const States& states) {
  std::vector<double> p(states.rows());
  pair.source().log_probability(states, p);
  for (double& value : p) value = std::exp(value);
  return p;
}

}  // namespace bridgemark::testing
