#include "bridgemark/metric/particle_kl.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "bridgemark/backend/placed_array.h"
#include "bridgemark/core/error.h"
#include "bridgemark/metric/estimate.h"
#include "tests/metric/particle_testing.h"
#include "tests/support/device_test.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::all_states;
using testing::Case;
using testing::cases;
using testing::dense_joint;
using testing::disturbed;
using testing::draw_rows;
using testing::exact_on;
using testing::kInfinity;
using testing::kSteps;
using testing::mean_of;
using testing::OnlyJoint;
using testing::random_potential;
using testing::Rows;
using testing::TableSteps;
using testing::uniform_case;

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
  const backend::PlacedStates x0(cuda, true, test.x0), x1(cuda, true, test.x1);
  const ParticleOptions options{kSteps, 256, 3};
  const std::shared_ptr<const Coupling> truth = pair.truth({});
  const OnlyJoint without_steps(*truth);
  std::vector<double> log_truth(test.x0.rows());
  truth->log_conditional({}, test.x0, test.x1, log_truth);
  for (const Coupling* judge :
       {static_cast<const Coupling*>(truth.get()), static_cast<const Coupling*>(&without_steps)}) {
    const auto run = [&](const Context& context, StatesView from, StatesView to) {
      return particle_kls(context, pair.reference(), *judge, *coupling, options,
                          {from, to, 0, log_truth});
    };
    const ParticleKls cpu = run({}, test.x0, test.x1), host = run(cuda, test.x0, test.x1),
                      device = run(cuda, x0.view(), x1.view());
    EXPECT_NEAR(mean_of(host.all), mean_of(cpu.all), 1e-3);
    EXPECT_NEAR(mean_of(device.all), mean_of(cpu.all), 1e-3);
    EXPECT_NEAR(mean_of(device.half), mean_of(cpu.half), 1e-3);
  }
}

}  // namespace
}  // namespace bridgemark
