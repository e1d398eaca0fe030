#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/solver/registry.h"
#include "tests/support/context.h"
#include "tests/support/dense_oracle.h"
#include "tests/support/enumerate.h"
#include "tests/support/random_bridge.h"

namespace bridgemark::testing {

// 36 states, three components, a chain of 16 steps: quick to score and to enumerate.
inline PairSpec small_spec() {
  PairSpec spec;
  spec.name = "small";
  spec.seed = 4;
  spec.dim = 2;
  spec.num_categories = 6;
  spec.num_components = 3;
  spec.reference = ReferenceKind::kGaussian;
  spec.gamma = 0.25;
  spec.total_steps = 16;
  spec.sigma = 0.8;
  return spec;
}

// The same with a reference far from symmetric.
inline PairSpec nonsymmetric_spec() {
  PairSpec spec = small_spec();
  spec.name = "nonsymmetric";
  spec.num_categories = 5;
  spec.reference = ReferenceKind::kMatrix;
  spec.reference_matrix = random_stochastic(5, 0.9, 21);
  return spec;
}

// The pair of a spec with a test set of its own, so that the protocol takes `rows` instead of
// 20,000 rows and every 128th as conditional input.
inline BenchmarkPair pair_with_test_set(const PairSpec& spec, std::size_t rows) {
  BenchmarkPair pair = build_pair(spec);
  pair.store_test_set(pair.sample_joint({}, rows, 77));
  return pair;
}

// A solver fitted to a pair in memory; `assignments` are its options, key=value.
inline Fitted fit_solver(const std::string& name, const BenchmarkPair& pair,
                         const std::vector<std::string>& assignments = {}, std::uint64_t seed = 0,
                         const Context& context = {}) {
  const Solver& solver = find_solver(name);
  SolverOptions options(solver.options());
  for (const std::string& assignment : assignments) options.set_assignment(assignment);
  return solver.fit(context, pair, options, seed);
}

// The elementary matrix of a process, as probabilities.
inline Wide elementary_step(const ReferenceProcess& process) {
  const SharedMatrix log = process.log_power({}, 1);
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

// p0(x0) q*(x1|x0) over all states, by the dense oracle.
inline Wide dense_joint(const BenchmarkPair& pair) {
  const DenseOracle oracle = dense_oracle(pair.cp_bridge());
  Wide joint = oracle.conditional();
  const std::vector<double> p0 = source_probabilities(pair, oracle.states());
  for (std::size_t i = 0; i < joint.rows(); ++i) {
    for (std::size_t j = 0; j < joint.cols(); ++j) joint(i, j) *= p0[i];
  }
  return joint;
}

// KL between the truth and a coupling over all states, weighed by x0's law.
inline double joint_kl(const BenchmarkPair& pair, const Coupling& coupling) {
  const Wide joint = dense_joint(pair);  // [forward x0, forward x1]
  const StatePairs pairs = all_pairs(all_states(pair.dim(), pair.num_categories()));
  const std::size_t M = joint.rows();
  std::vector<double> log_q(M * M);
  coupling.log_conditional({}, pairs.from, pairs.to, log_q);
  long double kl = 0.0L;
  for (std::size_t i = 0; i < M; ++i) {
    long double row = 0.0L;
    const auto entry = [&](std::size_t j) { return pair.reverse() ? joint(j, i) : joint(i, j); };
    for (std::size_t j = 0; j < M; ++j) row += entry(j);
    for (std::size_t j = 0; j < M; ++j) {
      if (entry(j) > 0.0L) kl += entry(j) * (std::log(entry(j) / row) - log_q[i * M + j]);
    }
  }
  return static_cast<double>(kl);
}

}  // namespace bridgemark::testing
