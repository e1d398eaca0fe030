#include "bridgemark/solver/direction/direction_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/pair/pair_folder.h"
#include "bridgemark/pair/two_way_bridge.h"
#include "bridgemark/solver/core/reverse_coupling.h"
#include "bridgemark/solver/run/run.h"
#include "bridgemark/solver/run/run_files.h"
#include "tests/io/io_testing.h"
#include "tests/support/killed_run.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

using ::testing::HasSubstr;

CpPotential random_potential(std::size_t S, std::size_t K, bool law, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<double> log_beta(K, -std::log(static_cast<double>(K)));
  Array3<double> log_cores(2, S, K);
  for (std::size_t d = 0; d < 2; ++d) {
    for (std::size_t k = 0; k < K; ++k) {
      double total = 0.0;
      for (std::size_t s = 0; s < S; ++s) {
        total += log_cores(d, s, k) = std::exp(2.0 * testing::unit(generator));
      }
      for (std::size_t s = 0; s < S; ++s) {
        log_cores(d, s, k) = std::log(log_cores(d, s, k) / (law ? total : 1.0));
      }
    }
  }
  return {std::move(log_beta), std::move(log_cores)};
}

std::shared_ptr<const Bridge> random_with_law(const ReferenceProcess& process, std::uint64_t seed) {
  const auto S = static_cast<std::size_t>(process.num_categories());
  return CpBridge(process, random_potential(S, 3, false, seed))
      .with_source(random_potential(S, 2, true, seed + 1));
}

// The gain told by unpaired rows is the difference of the two KLs to the truth.
TEST(DirectionChoice, TheGainIsTheDifferenceOfTheKls) {
  for (const PairSpec& spec : {testing::small_spec(), testing::nonsymmetric_spec()}) {
    const BenchmarkPair pair = build_pair(spec);
    const auto along = random_with_law(pair.reference(), 1);
    const auto against = random_with_law(pair.reference().time_reversed(), 7);
    constexpr std::size_t kRowsOfGain = 40000;
    const MeanEstimate gain =
        gain_of_turning({}, pair, *along, against, pair.sample_x0({}, kRowsOfGain, 3),
                        pair.sample_x1({}, kRowsOfGain, 4));
    const TwoWayBridge turned({}, {along, against, true, true});
    const double difference =
        testing::joint_kl(pair, *along) - testing::joint_kl(pair, *turned.forward());
    EXPECT_GT(std::abs(difference), 10.0 * gain.standard_error) << spec.name;
    EXPECT_NEAR(gain.mean, difference, 4.0 * gain.standard_error) << spec.name;
    EXPECT_LT(gain.standard_error, 0.02) << spec.name;
  }
}

// Either question is answered by a bridge of its own or by the other one turned round.
TEST(TwoWayBridge, AnswersEachQuestionByItsPart) {
  const BenchmarkPair pair = build_pair(testing::small_spec());
  const auto along = random_with_law(pair.reference(), 1);
  const auto against = random_with_law(pair.reference().time_reversed(), 7);
  const TwoWayBridge own({}, {along, against, false, false}),
      crossed({}, {along, against, true, true});
  EXPECT_EQ(own.forward(), along);
  EXPECT_EQ(own.reversed(), against);
  const FitProblem problem = pair;
  EXPECT_NEAR(testing::joint_kl(pair.reversed(), *crossed.reversed()),
              testing::joint_kl(pair.reversed(), *learned_reverse({}, problem, along)), 1e-12);
  EXPECT_THROW(TwoWayBridge({}, {along, nullptr, false, false}), InvalidArgument);
  const auto without_law =
      std::make_shared<CpBridge>(pair.reference(), random_potential(6, 3, false, 2));
  EXPECT_THROW(TwoWayBridge({}, {without_law, against, false, true}), InvalidArgument);
}

RunConfig directed(const std::string& solver, const std::string& direction) {
  RunConfig config{solver, "", 1, {{"updates", "60"}, {"batch_size", "64"}}};
  config.options[solver == "dlightsb-chain" ? "states" : "components"] = "6";
  config.options["direction"] = direction;
  if (solver == "dlightsb-m") config.options["num_steps"] = "8";
  return config;
}

// However it was trained, a run answers both directions, the same from its folder.
TEST(DirectedRuns, AnswerBothDirections) {
  const BenchmarkPair pair = build_pair(testing::small_spec());
  for (const std::string solver : {"dlightsb", "dlightsb-m", "dlightsb-chain"}) {
    for (const std::string direction : {"reverse", "auto"}) {
      const testing::TempDir dir;
      const Fitted fitted =
          train_run({}, directed(solver, direction), pair, dir.path() / "run", false);
      const auto forward = load_run({}, pair, dir.path() / "run");
      const auto backward = load_run({}, pair.reversed(), dir.path() / "run");
      EXPECT_DOUBLE_EQ(testing::joint_kl(pair, *forward),
                       testing::joint_kl(pair, *fitted.coupling));
      EXPECT_LT(testing::joint_kl(pair, *forward), 0.5) << solver << " " << direction;
      EXPECT_LT(testing::joint_kl(pair.reversed(), *backward), 0.5) << solver << " " << direction;
      EXPECT_EQ(fitted.diagnostics.contains("forward_gain_of_turning"), direction == "auto");
    }
  }
}

TEST(DirectedRuns, GoOnAfterKillsInTheSameParameters) {
  const testing::TempDir dir;
  const BenchmarkPair pair = build_pair(testing::small_spec());
  write_pair_folder({}, pair, dir.path() / "pair");
  RunConfig config = directed("dlightsb-chain", "auto");
  config.pair = (dir.path() / "pair").string();
  config.options["updates"] = "300";
  config.options["batch_size"] = "8";
  config.options["checkpoint_every"] = "0.01";
  config.options["source"] = "product";
  train_run({.num_threads = 1}, config, dir.path() / "whole", false);
  testing::train_through_kills(config, dir.path() / "killed", 3);
  EXPECT_EQ(testing::slurp(dir.path() / "killed" / kRunModel),
            testing::slurp(dir.path() / "whole" / kRunModel));
}

// With rows that end, others than those trained on choose.
TEST(DirectedRuns, ChooseOnDataByRowsKeptApart) {
  const testing::TempDir dir;
  const BenchmarkPair pair = build_pair(testing::small_spec());
  RunConfig config = directed("dlightsb", "auto");
  config.options.erase("components");
  config.options["updates"] = "100";
  config.rows = {200, 0};
  const Fitted fitted = train_run({}, config, pair, dir.path() / "run", false);
  EXPECT_TRUE(fitted.diagnostics.contains("forward_gain_of_turning"));
  EXPECT_TRUE(fitted.diagnostics.contains("backward_gain_of_turning"));
  EXPECT_TRUE(fitted.diagnostics.contains("held_out"));
  EXPECT_LT(testing::joint_kl(pair.reversed(), *load_run({}, pair.reversed(), dir.path() / "run")),
            0.5);
}

TEST(DirectedRuns, NeedALawToBeTurnedRoundBy) {
  const testing::TempDir dir;
  RunConfig config = directed("dlightsb", "reverse");
  config.options["source"] = "none";
  try {
    train_run({}, config, build_pair(testing::small_spec()), dir.path() / "run", false);
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("source must be auto, mixture, product or chain with direction=reverse"));
  }
}

}  // namespace
}  // namespace bridgemark
