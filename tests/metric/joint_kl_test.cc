#include "bridgemark/metric/joint_kl.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/metric/record/evaluation_json.h"
#include "tests/metric/particle_testing.h"

namespace bridgemark {
namespace {

using testing::Case;
using testing::cases;
using testing::dense_joint;
using testing::disturbed;
using testing::draw_rows;
using testing::exact_on;
using testing::kInfinity;
using testing::kSteps;
using testing::mean_of;
using testing::Rows;
using testing::TableSteps;

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

}  // namespace
}  // namespace bridgemark
