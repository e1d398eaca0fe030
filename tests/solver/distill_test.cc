#include "bridgemark/solver/run/distill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/pair/pair_equality.h"
#include "bridgemark/pair/pair_folder.h"
#include "bridgemark/pair/pair_record.h"
#include "tests/support/enumerate.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

using ::testing::HasSubstr;

RunConfig short_run(const std::string& solver) {
  RunConfig config{solver, "", 1, {{"updates", "60"}, {"batch_size", "64"}, {"source", "mixture"}}};
  const bool hidden = solver == "dlightsb-chain" || solver == "dlightsb-tree";
  config.options[hidden ? "states" : "components"] = "5";
  if (solver == "dlightsb-m") config.options["num_steps"] = "8";
  return config;
}

LoadedRun run_of(const RunConfig& config, const FitProblem& problem, Diagnostics* found = nullptr) {
  const testing::TempDir dir;
  const Fitted fitted = train_run({}, config, problem, dir.path() / "run", false);
  if (found != nullptr) *found = fitted.diagnostics;
  return {load_run_config(dir.path() / "run"), problem, fitted.coupling};
}

std::string refusal(const LoadedRun& run, const Diagnostics& diagnostics = {}) {
  try {
    distill(run, diagnostics, {});
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

// What was fitted is the truth of its pair: p0 its law of x0, and the conditional its own.
TEST(Distill, TheFitIsTheTruth) {
  const BenchmarkPair taught = build_pair(testing::small_spec());
  const States states = testing::all_states(2, 6);
  for (const std::string solver : {"dlightsb", "dlightsb-m", "dlightsb-chain", "dlightsb-tree"}) {
    SCOPED_TRACE(solver);
    const LoadedRun run = run_of(short_run(solver), taught);
    const auto& fitted = dynamic_cast<const Bridge&>(*run.coupling);
    const BenchmarkPair pair = distill(run, {}, {.name = "copy", .seed = 5});

    const std::vector<double> p0 = testing::source_probabilities(pair, states);
    std::vector<double> law(states.rows());
    fitted.source()->log_probability({}, states, law);
    std::vector<double> p1(states.rows(), 0.0), of_truth(states.rows()), of_fit(states.rows());
    for (std::size_t i = 0; i < states.rows(); ++i) {
      EXPECT_NEAR(p0[i], std::exp(law[i]), 1e-12);
      States x0(states.rows(), 2);
      for (std::size_t j = 0; j < x0.rows(); ++j) {
        for (std::size_t d = 0; d < 2; ++d) x0(j, d) = states(i, d);
      }
      pair.require_truth({})->log_conditional({}, x0, states, of_truth);
      fitted.log_conditional({}, x0, states, of_fit);
      EXPECT_EQ(of_truth, of_fit);
      for (std::size_t j = 0; j < p1.size(); ++j) p1[j] += p0[i] * std::exp(of_truth[j]);
    }
    const LogEstimates log_p1 = pair.log_p1({}, states);
    for (std::size_t j = 0; j < p1.size(); ++j) {
      EXPECT_NEAR(log_p1.value[j], std::log(p1[j]), 1e-10);
    }
    // The reverse is known as well: by Bayes' rule, and no coupling is nearer.
    const BenchmarkPair reversed = pair.reversed();
    EXPECT_NE(reversed.truth({}), nullptr);
    EXPECT_EQ(pair.require_truth({})->own_num_steps(), 0);
  }
}

// The fit itself scores as the truth does.
TEST(Distill, TheFitScoresNothingAway) {
  const LoadedRun run = run_of(short_run("dlightsb"), build_pair(testing::small_spec()));
  BenchmarkPair pair = distill(run, {}, {});
  pair.store_test_set(pair.sample_joint({}, 256, 77));
  EXPECT_NEAR(testing::joint_kl(pair, *run.coupling), 0.0, 1e-12);
  const auto other = testing::fit_solver("feature-wise", pair).coupling;
  EXPECT_GT(testing::joint_kl(pair, *other), 1e-3);
}

TEST(Distill, IsTheSamePairFromItsFolder) {
  for (const std::string solver : {"dlightsb", "dlightsb-chain", "dlightsb-tree"}) {
    const LoadedRun run = run_of(short_run(solver), build_pair(testing::small_spec()));
    BenchmarkPair pair = distill(run, {}, {.name = "copy", .seed = 5});
    pair.store_test_set(pair.sample_joint({}, 64, 7));
    for (const BenchmarkPair& one : {pair, pair.reversed()}) {
      const testing::TempDir dir;
      write_pair_folder({}, one, dir.path() / "pair");
      const BenchmarkPair back = read_pair_folder(dir.path() / "pair");
      EXPECT_TRUE(equal_pairs({}, one, back)) << solver;
      EXPECT_EQ(pair_record(one), pair_record(back)) << solver;
      EXPECT_EQ(back.identity().family, PairFamily::kDistilled);
      EXPECT_EQ(back.sample_x0({}, 50, 3), one.sample_x0({}, 50, 3));
      EXPECT_EQ(back.sample_x1({}, 50, 3), one.sample_x1({}, 50, 3));
      const nlohmann::json origin = nlohmann::json::parse(back.identity().origin);
      EXPECT_EQ(origin["solver"], solver);
      EXPECT_EQ(origin["trained_on"]["name"], "small");
      EXPECT_EQ(origin["options"]["updates"], "60");
    }
  }
}

// Another law of x0 is another pair, whose scores do not mix.
TEST(Distill, TheLawOfX0IsPartOfTheFingerprint) {
  const LoadedRun run = run_of(short_run("dlightsb"), build_pair(testing::small_spec()));
  LoadedRun other = run;
  CpPotential law = *dynamic_cast<const Bridge&>(*run.coupling).source()->mixture();
  Array3<double> log_cores = law.log_cores();
  log_cores(0, 0, 0) += 0.25;
  other.coupling = dynamic_cast<const Bridge&>(*run.coupling)
                       .with_source(CpPotential(law.log_beta(), std::move(log_cores)));
  const BenchmarkPair a = distill(run, {}, {}), b = distill(other, {}, {});
  EXPECT_NE(pair_record(a)["fingerprint"], pair_record(b)["fingerprint"]);
  EXPECT_EQ(pair_record(a)["potential_fingerprint"], pair_record(b)["potential_fingerprint"]);
}

// A pair draws p0 from a mixture, which the rows of the run choose.
TEST(Distill, AHiddenChainOfX0BecomesAMixtureOfTheSameRows) {
  const BenchmarkPair taught = build_pair(testing::small_spec());
  RunConfig config = short_run("dlightsb");
  const BenchmarkPair expected = distill(run_of(config, taught), {}, {.seed = 5});
  config.options["source"] = "chain";
  const LoadedRun run = run_of(config, taught);
  ASSERT_NE(dynamic_cast<const Bridge&>(*run.coupling).source()->chain(), nullptr);
  const BenchmarkPair pair = distill(run, {}, {.seed = 5});
  EXPECT_EQ(pair.sample_x0({}, 500, 3), expected.sample_x0({}, 500, 3));
  EXPECT_THAT(pair.identity().origin, HasSubstr("in place of the run's hidden chain"));
}

TEST(Distill, RefusesWhatIsNoTruth) {
  const BenchmarkPair pair = build_pair(testing::small_spec());
  RunConfig without = short_run("dlightsb");
  without.options["source"] = "none";
  EXPECT_THAT(refusal(run_of(without, pair)), HasSubstr("got source=none"));
  EXPECT_THAT(refusal(run_of({"independent", "", 1, {}}, pair)), HasSubstr("got independent"));
  RunConfig against = short_run("dlightsb");
  against.options["direction"] = "reverse";
  EXPECT_THAT(refusal(run_of(against, pair)), HasSubstr("direction=reverse"));
}

// On data the rows held out are asked; endless draws have none.
TEST(Distill, RefusesWhatRowsHeldOutSpeakAgainst) {
  const BenchmarkPair pair = build_pair(testing::small_spec());
  RunConfig config = short_run("dlightsb");
  const FitProblem data(pair.sample_x0({}, 600, 1), pair.sample_x1({}, 600, 2), pair.reference());
  Diagnostics found;
  const LoadedRun judged = run_of(config, data, &found);
  ASSERT_TRUE(found.contains("held_out"));
  EXPECT_EQ(refusal(judged, found), "");

  found["warning"] = "5.0 nats of it are the first ones' own";
  EXPECT_THAT(refusal(judged, found), HasSubstr("5.0 nats of it are the first ones' own"));
  found.erase("warning");
  found["held_out"] = 0.01;
  found["held_out_error"] = 0.02;
  EXPECT_THAT(refusal(judged, found), HasSubstr("no nearer to the bridge than the reference"));
  EXPECT_NO_THROW(distill(judged, found, {.accept_overfitted = true}));

  config.options["holdout"] = "0";
  const LoadedRun unjudged = run_of(config, data, &found);
  EXPECT_THAT(refusal(unjudged, found), HasSubstr("none held out has judged it"));
  const BenchmarkPair taken =
      distill(unjudged, found, {.data_name = "six hundred rows", .accept_overfitted = true});
  EXPECT_EQ(nlohmann::json::parse(taken.identity().origin)["trained_on"]["data"],
            "six hundred rows");
}

}  // namespace
}  // namespace bridgemark
