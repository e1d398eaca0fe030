#include "bridgemark/metric/particle_kl.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/bridge/chain_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/metric/estimate.h"
#include "bridgemark/metric/evaluation_json.h"
#include "bridgemark/metric/joint_kl.h"
#include "bridgemark/metric/placed_arrays.h"
#include "bridgemark/pair/benchmark_pair.h"
#include "tests/support/device_test.h"
#include "tests/support/enumerate.h"
#include "tests/support/random_bridge.h"
#include "tests/support/small_pair.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::all_states;
using testing::state_index;
using testing::unit;

constexpr int kSteps = 4;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

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
  void log_transition_marginals(const Context&, int, int n, StatesView x,
                                Array3<double>& out) const override {
    const auto S = static_cast<std::size_t>(num_categories_);
    out = Array3<double>(x.rows, dim_, S);
    for (std::size_t b = 0; b < x.rows; ++b) {
      const std::size_t at = state_index(x.row(b), dim_, num_categories_);
      std::copy_n(log_steps_[static_cast<std::size_t>(n)].row(at, 0), dim_ * S, out.row(b, 0));
    }
  }

 private:
  std::size_t dim_;
  int num_categories_;
  std::vector<Array3<double>> log_steps_;  // [n][state, D, S]
};

// The truth's marginal steps, each probability disturbed by exp of a uniform on +-spread.
TableSteps disturbed(const Coupling& truth, double spread, std::uint64_t seed) {
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

CpPotential random_potential(std::size_t D, std::size_t S, std::size_t K, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<double> log_beta(K);
  Array3<double> log_cores(D, S, K);
  for (double& value : log_beta) value = 2.0 * unit(generator) - 1.0;
  for (std::size_t i = 0; i < log_cores.size(); ++i) {
    log_cores.data()[i] = 6.0 * unit(generator) - 3.0;
  }
  return {std::move(log_beta), std::move(log_cores)};
}

Case uniform_case() {
  const auto process = ReferenceProcess::uniform(6, 0.02, 16);
  return {"uniform", process, std::make_shared<CpBridge>(process, random_potential(2, 6, 3, 1))};
}

// Both references and one that is not symmetric, a chain, a two-sided pair, and reversed pairs
// that have closed forms.
std::vector<Case> cases() {
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
  const BenchmarkPair listed = build_pair(testing::nonsymmetric_spec()).reversed();
  list.push_back({"matrix reversed", listed.reference(), listed.truth({})});
  return list;
}

// The joint q(x_N | x_0) of a chain over all states, [M, M], by products of its steps.
Matrix<double> dense_joint(const Coupling& coupling, int num_steps = kSteps) {
  const States states = all_states(coupling.dim(), coupling.num_categories());
  const testing::StatePairs pairs = testing::all_pairs(states);
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

Rows draw_rows(const Coupling& truth, std::size_t count, std::uint64_t seed) {
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

double exact_on(const Rows& rows, const Matrix<double>& joint, int num_categories) {
  double sum = 0.0;
  for (std::size_t i = 0; i < rows.x0.rows(); ++i) {
    sum += rows.log_truth[i] -
           std::log(joint(state_index(rows.x0.row(i), rows.x0.cols(), num_categories),
                          state_index(rows.x1.row(i), rows.x1.cols(), num_categories)));
  }
  return sum / static_cast<double>(rows.x0.rows());
}

double mean_of(const std::vector<double>& values) { return estimate_mean(values).mean; }

TEST(ParticleKl, IsThatOfEnumeration) {
  for (const Case& own : cases()) {
    const TableSteps steps = disturbed(*own.truth, 0.8, 7);
    const Rows rows = draw_rows(*own.truth, 200, 3);
    const double exact = exact_on(rows, dense_joint(steps), steps.num_categories());
    const ParticleKls kls =
        particle_kls({}, own.process, *own.truth, steps, {kSteps, 512, 5}, rows.view());
    EXPECT_NEAR(mean_of(kls.all), exact, 0.01) << own.name;
    // The same by whole paths, as if the truth had no steps.
    const ParticleKls whole =
        particle_kls({}, own.process, OnlyJoint(*own.truth), steps, {kSteps, 512, 5}, rows.view());
    EXPECT_NEAR(mean_of(whole.all), exact, 0.01) << own.name;
    // Whole paths alone say far more than the joint.
    const ParticleKls paths =
        particle_kls({}, own.process, *own.truth, steps, {kSteps, 1, 5}, rows.view());
    EXPECT_GT(mean_of(paths.all), exact + 0.05) << own.name;
  }
}

TEST(ParticleKl, OfABridgeIsItsJointKl) {
  const Case own = uniform_case();
  const CpBridge other(own.process, random_potential(2, 6, 3, 9));
  const Rows rows = draw_rows(*own.truth, 100, 1);
  std::vector<double> log_other(100);
  other.log_conditional({}, rows.x0, rows.x1, log_other);
  const ParticleKls kls =
      particle_kls({}, own.process, *own.truth, other, {kSteps, 2, 0}, rows.view());
  double exact = 0.0;
  for (std::size_t i = 0; i < 100; ++i) {
    // Two bridges over one reference differ by their potentials alone: without resampling, which
    // two particles never see, every path has the same weight at its end.
    EXPECT_NEAR(kls.all[i], rows.log_truth[i] - log_other[i], 1e-10);
    EXPECT_NEAR(kls.half[i], kls.all[i], 1e-10);
    exact += rows.log_truth[i] - log_other[i];
  }
  EXPECT_GT(exact / 100.0, 0.1);
}

TEST(ParticleKl, OneParticleIsTheKlOfPaths) {
  const Case own = cases()[1];
  const TableSteps steps = disturbed(*own.truth, 1.0, 7);
  const States states = all_states(2, 6);
  const testing::StatePairs pairs = testing::all_pairs(states);
  const std::size_t M = states.rows();
  // Over the truth's own steps from an even start.
  std::vector<double> law(M, 1.0 / static_cast<double>(M)), log_p(M * M), log_q(M * M);
  double exact = 0.0;
  for (int n = 0; n < kSteps; ++n) {
    own.truth->log_transition({}, kSteps, n, pairs.from, pairs.to, log_p);
    steps.log_transition({}, kSteps, n, pairs.from, pairs.to, log_q);
    std::vector<double> next(M, 0.0);
    for (std::size_t i = 0; i < M * M; ++i) {
      const double mass = law[i / M] * std::exp(log_p[i]);
      exact += mass * (log_p[i] - log_q[i]);
      next[i % M] += mass;
    }
    law = std::move(next);
  }
  const Rows rows = draw_rows(*own.truth, 20000, 2);
  const ParticleKls kls =
      particle_kls({}, own.process, *own.truth, steps, {kSteps, 1, 0}, rows.view());
  const MeanEstimate mean = estimate_mean(kls.all);
  EXPECT_NEAR(mean.mean, exact, 4.5 * mean.standard_error);
  EXPECT_LT(mean.standard_error, 0.02 * exact);
  EXPECT_EQ(kls.half, kls.all);
}

TEST(ParticleKl, FallsWithParticles) {
  const Case own = cases()[1];
  const TableSteps steps = disturbed(*own.truth, 2.0, 7);
  const Rows rows = draw_rows(*own.truth, 400, 2);
  double before = kInfinity;
  for (const std::size_t particles : {1u, 5u, 40u, 256u}) {
    const ParticleKls kls =
        particle_kls({}, own.process, *own.truth, steps, {kSteps, particles, 0}, rows.view());
    EXPECT_LT(mean_of(kls.all), before - 0.01) << particles;
    before = mean_of(kls.all);
    for (std::size_t i = 0; i < kls.all.size(); ++i) EXPECT_GE(kls.half[i], kls.all[i] - 1e-12);
  }
  // What half as many give is what a run of half as many gives.
  const auto run = [&](std::size_t particles) {
    return particle_kls({}, own.process, *own.truth, steps, {kSteps, particles, 0}, rows.view());
  };
  EXPECT_NEAR(mean_of(run(32).half), mean_of(run(16).all), 0.05);
}

// 20 of the 100 repetitions in which at least 90 lie within two standard errors.
TEST(ParticleKl, ErrorsAreHonest) {
  const Case own = cases()[1];
  const TableSteps steps = disturbed(*own.truth, 1.0, 7);
  const Rows many = draw_rows(*own.truth, 40000, 1000);
  const double exact = exact_on(many, dense_joint(steps), 6);
  int within = 0;
  constexpr int kRepetitions = 20;
  for (int r = 0; r < kRepetitions; ++r) {
    const Rows rows = draw_rows(*own.truth, 100, static_cast<std::uint64_t>(r));
    const ParticleKls kls = particle_kls({}, own.process, *own.truth, steps,
                                         {kSteps, 64, static_cast<std::uint64_t>(r)}, rows.view());
    const MeanEstimate mean = estimate_mean(kls.all);
    within += std::abs(mean.mean - exact) <= 2.0 * mean.standard_error ? 1 : 0;
  }
  EXPECT_GE(within, 17);
}

TEST(ParticleKl, IsInfiniteWhereEveryWeightIsZero) {
  const Case own = uniform_case();
  const States states = all_states(2, 6);
  std::vector<Array3<double>> log_steps(kSteps);
  for (int n = 0; n < kSteps; ++n) {
    own.truth->log_transition_marginals({}, kSteps, n, states,
                                        log_steps[static_cast<std::size_t>(n)]);
  }
  // The last step never ends in category 2 of coordinate 1.
  for (std::size_t i = 0; i < states.rows(); ++i) log_steps.back()(i, 1, 2) = kLogZero;
  const TableSteps narrow(2, 6, std::move(log_steps));
  const Rows rows = draw_rows(*own.truth, 80, 3);
  for (const bool whole_paths : {false, true}) {
    const OnlyJoint joint(*own.truth);
    const Coupling& truth = whole_paths ? static_cast<const Coupling&>(joint) : *own.truth;
    const ParticleKls kls =
        particle_kls({}, own.process, truth, narrow, {kSteps, 8, 0}, rows.view());
    std::size_t ruled_out = 0;
    for (std::size_t i = 0; i < 80; ++i) {
      const bool expected = rows.x1(i, 1) == 2;
      ruled_out += expected ? 1 : 0;
      EXPECT_EQ(kls.all[i] == kInfinity, expected) << i;
      EXPECT_EQ(kls.half[i] == kInfinity, expected) << i;
      EXPECT_FALSE(std::isnan(kls.all[i])) << i;
    }
    EXPECT_GT(ruled_out, 0u);
  }
}

TEST(ParticleKl, DoesNotDependOnThreadsOrBlocks) {
  const Case own = cases()[2];
  const TableSteps steps = disturbed(*own.truth, 2.0, 7);
  const Rows rows = draw_rows(*own.truth, 40, 2);
  const ParticleOptions options{kSteps, 999, 4};  // blocks of 16 rows
  const auto run = [&](const Context& context, const ParticleRows& asked) {
    return particle_kls(context, own.process, *own.truth, steps, options, asked);
  };
  const ParticleKls all = run(testing::with_threads(1), rows.view());
  const ParticleKls threads = run(testing::with_threads(3), rows.view());
  EXPECT_EQ(all.all, threads.all);
  EXPECT_EQ(all.half, threads.half);
  for (const std::size_t i : {0u, 15u, 16u, 39u}) {
    const ParticleKls one =
        run({}, {rows.x0.view().slice(i, 1), rows.x1.view().slice(i, 1), i, {}});
    EXPECT_EQ(one.all[0], all.all[i]) << i;
    EXPECT_EQ(one.half[0], all.half[i]) << i;
  }
  const ParticleKls none = run({}, {rows.x0.view().slice(0, 0), rows.x1.view().slice(0, 0), 0, {}});
  EXPECT_TRUE(none.all.empty());
}

TEST(ParticleKl, RefusesWhatHasNoSteps) {
  const Case own = uniform_case();
  const TableSteps steps = disturbed(*own.truth, 1.0, 7);
  const Rows rows = draw_rows(*own.truth, 3, 2);
  EXPECT_THROW(particle_kls({}, own.process, *own.truth, steps, {8, 4, 0}, rows.view()),
               InvalidArgument);
  EXPECT_THROW(particle_kls({}, own.process, *own.truth, steps, {kSteps, 0, 0}, rows.view()),
               InvalidArgument);
  EXPECT_THROW(particle_kls({}, own.process, OnlyJoint(*own.truth), steps, {kSteps, 4, 0},
                            {rows.x0, rows.x1, 0, {}}),
               InvalidArgument);
}

TEST(JointKl, TakesMoreRowsWhileItIsUnsure) {
  const Case own = cases()[1];
  const TableSteps steps = disturbed(*own.truth, 1.0, 7);
  const Rows rows = draw_rows(*own.truth, 700, 2);
  ParticlePlan plan;
  plan.particles = {kSteps, 8, 0};
  plan.rows = 100;
  plan.fewest_rows = 30;
  plan.max_seconds = kInfinity;
  const auto run = [&] {
    return particle_joint_kl({}, own.process, *own.truth, steps, plan, rows.view());
  };
  plan.relative_error = 1.0;
  const JointKl sure = run();
  EXPECT_EQ(sure.detail.rows, 100u);
  plan.relative_error = 0.0;
  const JointKl all = run();
  EXPECT_EQ(all.detail.rows, 700u);
  EXPECT_TRUE(std::equal(sure.rows.begin(), sure.rows.end(), all.rows.begin()));
  EXPECT_GT(all.detail.half_particles_change, 0.0);
  EXPECT_EQ(all.detail.particles, 8u);
  // No time at all is enough for the fewest rows.
  plan.max_seconds = 0.0;
  EXPECT_EQ(run().detail.rows, 30u);
}

TEST(JointKl, NamesTheRowsThatCarryIt) {
  std::vector<double> rows(250, 0.01);
  rows[7] = 5.0;
  rows[200] = 9.0;
  rows[3] = 1.0;
  rows[4] = -1.0;
  const JointKlDetail detail = exact_joint_kl(rows).detail;
  EXPECT_EQ(detail.rows, 250u);
  EXPECT_EQ(detail.worst_rows, (std::vector<std::size_t>{200, 7, 3}));
  EXPECT_EQ(detail.worst_values, (std::vector<double>{9.0, 5.0, 1.0}));
  EXPECT_NEAR(detail.worst_share, 15.0 / (14.0 + 2.46), 1e-12);
  rows[9] = kInfinity;
  const JointKlDetail infinite = exact_joint_kl(rows).detail;
  EXPECT_EQ(infinite.worst_rows[0], 9u);
  EXPECT_EQ(infinite.worst_values[0], kInfinity);
  EXPECT_TRUE(std::isnan(infinite.worst_share));
  EXPECT_TRUE(std::isnan(exact_joint_kl(std::vector<double>(10, 0.0)).detail.worst_share));
}

TEST(JointKl, DetailsSurviveTheWayThroughJson) {
  std::vector<double> rows(250, 0.01);
  rows[7] = 5.0;
  rows[9] = kInfinity;
  JointKlDetail detail = exact_joint_kl(rows).detail;
  detail.particles = 16;
  detail.half_particles_change = 0.25;
  nlohmann::json json = joint_kl_json(detail);
  const JointKlDetail read = joint_kl_from_json(json, "a file");
  EXPECT_EQ(read.rows, 250u);
  EXPECT_EQ(read.particles, 16u);
  EXPECT_EQ(read.half_particles_change, 0.25);
  EXPECT_TRUE(std::isnan(read.worst_share));
  EXPECT_EQ(read.worst_rows, detail.worst_rows);
  EXPECT_EQ(read.worst_values, (std::vector<double>{kInfinity, 5.0, 0.01}));
  // Older records: without the values, without any of it.
  json.erase("joint_kl_worst_values");
  EXPECT_EQ(joint_kl_from_json(json, "a file").worst_rows, detail.worst_rows);
  EXPECT_TRUE(joint_kl_from_json(json, "a file").worst_values.empty());
  EXPECT_EQ(joint_kl_from_json(nlohmann::json::object(), "a file").rows, 0u);
  const auto refuses = [&](const char* key, nlohmann::json value) {
    nlohmann::json wrong = joint_kl_json(detail);
    wrong[key] = std::move(value);
    EXPECT_THROW(joint_kl_from_json(wrong, "a file"), FileError) << key;
  };
  refuses("joint_kl_worst_rows", {1, 2, 250});
  refuses("joint_kl_worst_rows", {1, 2, -1});
  refuses("joint_kl_worst_rows", "none");
  refuses("joint_kl_worst_values", {1.0, 2.0});
  refuses("joint_kl_worst_values", {1.0, 2.0, "inf"});
}

// A network after a few updates, in both directions of a pair, through the whole protocol.
TEST(JointKl, OfCsbmIsThatOfEnumeration) {
  const BenchmarkPair pair = testing::pair_with_test_set(testing::small_spec(), 250);
  const std::shared_ptr<const Coupling> forward =
      testing::fit_solver("csbm", pair,
                          {"num_steps=4", "imf_iterations=1", "updates_first=20", "hidden=16",
                           "initial=independent", "batch_size=32"})
          .coupling;
  for (const bool reverse : {false, true}) {
    const BenchmarkPair asked = reverse ? pair.reversed() : pair;
    const std::shared_ptr<const Coupling> coupling = reverse ? forward->reversed() : forward;
    EvaluationOptions options;
    options.num_trajectories = 10;
    options.conditional_samples = 10;
    options.particles = 128;
    options.max_seconds = kInfinity;
    options.num_seeds = 2;
    const Evaluation found = evaluate({}, asked, *coupling, options);
    const PairedStates test = asked.test_set({});
    Rows rows{test.x0, test.x1, std::vector<double>(250)};
    asked.truth({})->log_conditional({}, rows.x0, rows.x1, rows.log_truth);
    const double exact = exact_on(rows, dense_joint(*coupling), 6);
    EXPECT_NEAR(found.mean("joint_kl"), exact, 0.01);
    EXPECT_GT(exact, 0.1);
    EXPECT_GT(found.standard_error("joint_kl"), 0.0);  // over rows: repetitions share the particles
    const nlohmann::json json = evaluation_json(found);
    EXPECT_EQ(json.at("joint_kl_bound"), "upper");
    EXPECT_EQ(json.at("joint_kl_particles"), 128);
    EXPECT_EQ(json.at("joint_kl_rows"), 250);
    EXPECT_EQ(json.at("joint_kl_worst_rows").size(), 3u);
    EXPECT_EQ(json.at("joint_kl_worst_values").size(), 3u);
    EXPECT_GT(json.at("joint_kl_worst_share"), 0.01);
    EXPECT_GE(json.at("joint_kl_half_particles_change"), 0.0);
    EXPECT_LT(json.at("joint_kl_half_particles_change"), 0.1);
    EXPECT_EQ(json.at("blocks").at("joint_kl").at("rows"), 250);
    EXPECT_EQ(json.at("values").at("joint_kl")[0], json.at("values").at("joint_kl")[1]);
    EXPECT_NE(joint_kl_text(found.joint_kl).find("128 particles on 250 rows"), std::string::npos);

    options.particles = 0;
    const nlohmann::json without = evaluation_json(evaluate({}, asked, *coupling, options));
    EXPECT_TRUE(without.at("joint_kl").is_null());
    EXPECT_TRUE(without.at("joint_kl_bound").is_null());
    EXPECT_EQ(without.at("missing").at("joint_kl"),
              "the coupling gives no joint log-probability, and particles = 0");
  }
  EvaluationOptions options;
  options.particles = kMaxParticles + 1;
  EXPECT_THROW(evaluate({}, pair, *forward, options), InvalidArgument);
  options.particles = 1;
  options.max_seconds = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(evaluate({}, pair, *forward, options), InvalidArgument);
}

// A reversed pair without closed forms: whole paths, and an estimate of the truth's own joint.
TEST(JointKl, OfCsbmOnAReversedPairIsByWholePaths) {
  PairSpec spec = testing::small_spec();
  spec.dim = 5;
  spec.reverse = true;
  const BenchmarkPair pair = testing::pair_with_test_set(spec, 60);
  ASSERT_FALSE(pair.truth({})->has_transitions(4));
  const std::shared_ptr<const Coupling> coupling =
      testing::fit_solver("csbm", pair,
                          {"num_steps=4", "imf_iterations=1", "updates_first=20", "hidden=16",
                           "initial=independent", "batch_size=32"})
          .coupling;
  EvaluationOptions options;
  options.conditional_samples = 10;
  options.max_seconds = kInfinity;
  options.particles = 128;
  const Evaluation found = evaluate({}, pair, *coupling, options);
  EXPECT_EQ(found.joint_kl.rows, 60u);
  EXPECT_TRUE(std::isnan(found.mean("forward_trajectory_kl")));
  EXPECT_GE(found.joint_kl.half_particles_change, 0.0);
  const PairedStates test = pair.test_set({});
  std::vector<double> log_truth(60);
  pair.truth({})->log_conditional({}, test.x0, test.x1, log_truth);
  const ParticleKls kls = particle_kls({}, pair.reference(), *pair.truth({}), *coupling,
                                       {kSteps, 512, 9}, {test.x0, test.x1, 0, log_truth});
  EXPECT_NEAR(found.mean("joint_kl"), mean_of(kls.all), 0.05);
  EXPECT_GT(mean_of(kls.all), 1.0);
}

TEST(JointKl, OfABridgeIsExact) {
  const BenchmarkPair pair = testing::pair_with_test_set(testing::small_spec(), 250);
  EvaluationOptions options;
  options.num_trajectories = 10;
  options.conditional_samples = 10;
  const nlohmann::json json = evaluation_json(
      evaluate({}, pair, *testing::fit_solver("reference", pair).coupling, options));
  EXPECT_EQ(json.at("joint_kl_bound"), "exact");
  EXPECT_EQ(json.at("joint_kl_particles"), 0);
  EXPECT_EQ(json.at("joint_kl_rows"), 250);
  EXPECT_TRUE(json.at("joint_kl_half_particles_change").is_null());
}

// CUDA draws the same paths; a resampling at its threshold may flip.
class CudaParticleKl : public testing::CudaTest {};

TEST_F(CudaParticleKl, IsThatOfTheCpu) {
  const Context cuda{.device = Device::kCuda};
  const BenchmarkPair pair = testing::pair_with_test_set(testing::small_spec(), 200);
  const std::shared_ptr<const Coupling> coupling =
      testing::fit_solver("csbm", pair,
                          {"num_steps=4", "imf_iterations=1", "updates_first=20", "hidden=16",
                           "initial=independent", "batch_size=32"})
          .coupling;
  const PairedStates test = pair.test_set({});
  const PlacedStates x0(cuda, true, test.x0), x1(cuda, true, test.x1);
  const ParticleOptions options{kSteps, 256, 3};
  const auto run = [&](const Context& context, StatesView from, StatesView to) {
    return particle_kls(context, pair.reference(), *pair.truth({}), *coupling, options,
                        {from, to, 0, {}});
  };
  const ParticleKls cpu = run({}, test.x0, test.x1), host = run(cuda, test.x0, test.x1),
                    device = run(cuda, x0.view(), x1.view());
  EXPECT_NEAR(mean_of(host.all), mean_of(cpu.all), 1e-3);
  EXPECT_NEAR(mean_of(device.all), mean_of(cpu.all), 1e-3);
  EXPECT_NEAR(mean_of(device.half), mean_of(cpu.half), 1e-3);
}

}  // namespace
}  // namespace bridgemark
