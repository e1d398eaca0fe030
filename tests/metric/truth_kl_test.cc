#include "bridgemark/metric/truth_kl.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/metric/evaluation.h"
#include "bridgemark/metric/score_spec.h"
#include "tests/support/small_pair.h"

namespace bridgemark {
namespace {

using testing::fit_solver;
using testing::pair_with_test_set;
using testing::small_spec;

const Context kAlone{.num_threads = 1};
const std::vector<std::string> kFewUpdates = {"updates=5", "components=3", "batch_size=8"};
const std::vector<std::string> kSmallNetworks = {"updates_first=3",  "updates_later=2",
                                                 "imf_iterations=2", "hidden=5",
                                                 "num_steps=4",      "initial=independent"};

// Fewer rows than it would take: the evaluation's own scores, of the same rows and draws.
TEST(TruthKl, IsThatOfAnEvaluationOnTheSameRows) {
  const BenchmarkPair pair = pair_with_test_set(small_spec(), 300);
  for (const std::string solver : {"dlightsb", "csbm"}) {
    const Fitted fitted =
        fit_solver(solver, pair, solver == "csbm" ? kSmallNetworks : kFewUpdates, 0, kAlone);
    const TruthKl kl(kAlone, pair, *fitted.coupling);
    EXPECT_EQ(kl.name(), solver == "csbm" ? kForwardTrajectoryKl : kJointKl);
    EvaluationOptions options;
    options.conditional_samples = 10;
    options.particles = 0;
    const Evaluation scores = evaluate(kAlone, pair, *fitted.coupling, options);
    const MeanEstimate found = kl.of(*fitted.coupling);
    EXPECT_EQ(found.mean, scores.mean(kl.name())) << solver;
    EXPECT_EQ(found.standard_error, scores.standard_error(kl.name())) << solver;
    EXPECT_GT(found.mean, 0.0) << solver;
  }
}

TEST(TruthKl, OfTheTruthIsNone) {
  const BenchmarkPair pair = pair_with_test_set(small_spec(), 50);
  const Fitted oracle = fit_solver("oracle", pair);
  EXPECT_NEAR(TruthKl(kAlone, pair, *oracle.coupling).of(*oracle.coupling).mean, 0.0, 1e-12);
}

TEST(TruthKl, TakesTheFirstRowsAlone) {
  BenchmarkPair pair = build_pair(small_spec());
  const PairedStates rows = pair.sample_joint({}, TruthKl::kRows + 20, 77);
  pair.store_test_set(rows);
  const Fitted fitted = fit_solver("dlightsb", pair, kFewUpdates);
  const double found = TruthKl(kAlone, pair, *fitted.coupling).of(*fitted.coupling).mean;
  BenchmarkPair shorter = build_pair(small_spec());
  shorter.store_test_set(shorter.sample_joint({}, TruthKl::kRows, 77));
  EXPECT_EQ(found, TruthKl(kAlone, shorter, *fitted.coupling).of(*fitted.coupling).mean);
}

// Draws and nothing else.
class OnlyDraws : public Coupling {
 public:
  std::size_t dim() const override { return 2; }
  int num_categories() const override { return 6; }
  void sample(const Context&, StatesView, const DrawKey&, std::uint64_t,
              MutableStatesView) const override {}
};

TEST(TruthKl, WhatNeitherKlCanBeGivenForIsRefused) {
  const BenchmarkPair pair = pair_with_test_set(small_spec(), 50);
  try {
    TruthKl(kAlone, pair, OnlyDraws());
    FAIL() << "it was taken";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("transitions of 16 steps"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace bridgemark
