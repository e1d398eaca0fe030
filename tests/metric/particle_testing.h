#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/bridge/chain_bridge.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/metric/estimate.h"
#include "bridgemark/metric/particle_kl.h"
#include "bridgemark/pair/benchmark_pair.h"
#include "tests/support/enumerate.h"
#include "tests/support/random_bridge.h"
#include "tests/support/small_pair.h"
#include "tests/support/tolerance.h"

// Truths whose joints can be enumerated, solvers that have steps alone, and what these cost.
namespace bridgemark::testing {

inline constexpr int kSteps = 4;

// Steps by a table of marginals for every state: what an outside chain solver might be.
class TableSteps : public Coupling {
 public:
  TableSteps(std::size_t dim, int num_categories, std::vector<Array3<double>> log_steps)
      : dim_(dim), num_categories_(num_categories), log_steps_(std::move(log_steps)) {}
  std::size_t dim() const override { return dim_; }
  int num_categories() const override { return num_categories_; }
  void sample(const Context&, StatesView x0, const DrawKey&, std::uint64_t,
              MutableStatesView x1) const override {
    std::copy_n(x0.data, x0.size(), x1.data);
  }
  bool has_transitions(int num_steps) const override { return num_steps == kSteps; }
  int own_num_steps() const override { return kSteps; }
  void write_log_transition_marginals(const Context&, int, int n, StatesView x,
                                      MatrixView<double> out) const override {
    for (std::size_t b = 0; b < x.rows; ++b) {
      const std::size_t at = state_index(x.row(b), dim_, num_categories_);
      std::copy_n(log_steps_[static_cast<std::size_t>(n)].row(at, 0), out.cols, out.row(b));
    }
  }

 private:
  std::size_t dim_;
  int num_categories_;
  std::vector<Array3<double>> log_steps_;  // [n][state, D, S]
};

// The truth's marginal steps, each probability disturbed by exp of a uniform on +-spread.
inline TableSteps disturbed(const Coupling& truth, double spread, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  const States states = all_states(truth.dim(), truth.num_categories());
  const auto S = static_cast<std::size_t>(truth.num_categories());
  std::vector<Array3<double>> steps(kSteps);
  for (int n = 0; n < kSteps; ++n) {
    Array3<double>& step = steps[static_cast<std::size_t>(n)];
    truth.log_transition_marginals({}, kSteps, n, states, step);
    for (std::size_t i = 0; i < step.size(); ++i) {
      step.data()[i] += spread * (2.0 * unit(generator) - 1.0);
    }
    for (std::size_t i = 0; i < step.size() / S; ++i) log_normalize(step.data() + i * S, S);
  }
  return {truth.dim(), truth.num_categories(), std::move(steps)};
}

// A truth that has its joint but no steps, as that of most reversed pairs.
class OnlyJoint : public Coupling {
 public:
  explicit OnlyJoint(const Coupling& inner) : inner_(inner) {}
  std::size_t dim() const override { return inner_.dim(); }
  int num_categories() const override { return inner_.num_categories(); }
  void sample(const Context& context, StatesView x0, const DrawKey& key, std::uint64_t first_index,
              MutableStatesView x1) const override {
    inner_.sample(context, x0, key, first_index, x1);
  }
  bool has_joint() const override { return true; }
  void log_conditional(const Context& context, StatesView x0, StatesView x1,
                       std::span<double> out) const override {
    inner_.log_conditional(context, x0, x1, out);
  }

 private:
  const Coupling& inner_;
};

struct Case {
  std::string name;
  ReferenceProcess process;
  std::shared_ptr<const Coupling> truth;
};

inline CpPotential random_potential(std::size_t D, std::size_t S, std::size_t K,
                                    std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<double> log_beta(K);
  Array3<double> log_cores(D, S, K);
  for (double& value : log_beta) value = 2.0 * unit(generator) - 1.0;
  for (std::size_t i = 0; i < log_cores.size(); ++i) {
    log_cores.data()[i] = 6.0 * unit(generator) - 3.0;
  }
  return {std::move(log_beta), std::move(log_cores)};
}

inline Case uniform_case() {
  const auto process = ReferenceProcess::uniform(6, 0.02, 16);
  return {"uniform", process, std::make_shared<CpBridge>(process, random_potential(2, 6, 3, 1))};
}

// Both references and one that is not symmetric, a chain, a two-sided pair, and reversed pairs
// that have closed forms.
inline std::vector<Case> cases() {
  std::vector<Case> list = {uniform_case()};
  const auto gaussian = ReferenceProcess::gaussian(6, 0.25, 16);
  list.push_back(
      {"gaussian", gaussian, std::make_shared<CpBridge>(gaussian, random_potential(2, 6, 3, 2))});
  const CpPotential chain = random_potential(3, 4, 2, 3);
  const auto narrow = ReferenceProcess::gaussian(4, 0.3, 16);
  list.push_back({"chain", narrow,
                  std::make_shared<ChainBridge>(
                      narrow, ChainPotential(chain.log_beta(), switching_moves(3, 2, 0.2),
                                             chain.log_cores()))});
  const BenchmarkPair two_sided =
      BenchmarkPair::two_sided({.name = "two-sided"}, random_potential(2, 6, 2, 4),
                               CpBridge(gaussian, random_potential(2, 6, 3, 5)));
  list.push_back({"two-sided", two_sided.reference(), two_sided.truth({})});
  const BenchmarkPair back = two_sided.reversed();
  list.push_back({"two-sided reversed", back.reference(), back.truth({})});
  const BenchmarkPair listed = build_pair(nonsymmetric_spec()).reversed();
  list.push_back({"matrix reversed", listed.reference(), listed.truth({})});
  return list;
}

// The joint q(x_N | x_0) of a chain over all states, [M, M], by products of its steps.
inline Matrix<double> dense_joint(const Coupling& coupling, int num_steps = kSteps) {
  const States states = all_states(coupling.dim(), coupling.num_categories());
  const StatePairs pairs = all_pairs(states);
  const std::size_t M = states.rows();
  std::vector<double> log_step(M * M);
  Matrix<double> joint(M, M);
  for (std::size_t i = 0; i < M; ++i) joint(i, i) = 1.0;
  for (int n = 0; n < num_steps; ++n) {
    coupling.log_transition({}, num_steps, n, pairs.from, pairs.to, log_step);
    Matrix<double> next(M, M);
    for (std::size_t i = 0; i < M; ++i) {
      for (std::size_t j = 0; j < M; ++j) {
        for (std::size_t k = 0; k < M; ++k) {
          next(i, k) += joint(i, j) * std::exp(log_step[j * M + k]);
        }
      }
    }
    joint = std::move(next);
  }
  return joint;
}

// Rows whose x0 is even over all states, and what they cost by enumeration.
struct Rows {
  States x0, x1;
  std::vector<double> log_truth;

  ParticleRows view() const { return {x0, x1, 0, log_truth}; }
};

inline Rows draw_rows(const Coupling& truth, std::size_t count, std::uint64_t seed) {
  const States states = all_states(truth.dim(), truth.num_categories());
  Rows rows{States(count, truth.dim()), States(count, truth.dim()), std::vector<double>(count)};
  for (std::size_t i = 0; i < count; ++i) {
    const double u = draw_uniform({seed, DrawPurpose::kShuffle}, i, 0);
    const auto at = static_cast<std::size_t>(u * static_cast<double>(states.rows()));
    std::copy_n(states.row(at), states.cols(), rows.x0.row(i));
  }
  truth.sample({}, rows.x0, {seed, DrawPurpose::kConditional}, 0, rows.x1);
  truth.log_conditional({}, rows.x0, rows.x1, rows.log_truth);
  return rows;
}

inline double exact_on(const Rows& rows, const Matrix<double>& joint, int num_categories) {
  double sum = 0.0;
  for (std::size_t i = 0; i < rows.x0.rows(); ++i) {
    sum += rows.log_truth[i] -
           std::log(joint(state_index(rows.x0.row(i), rows.x0.cols(), num_categories),
                          state_index(rows.x1.row(i), rows.x1.cols(), num_categories)));
  }
  return sum / static_cast<double>(rows.x0.rows());
}

inline double mean_of(const std::vector<double>& values) { return estimate_mean(values).mean; }

}  // namespace bridgemark::testing
