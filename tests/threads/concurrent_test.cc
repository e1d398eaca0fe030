#include <gtest/gtest.h>

#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "bridgemark/metric/evaluation.h"
#include "tests/support/small_pair.h"

// Callers' threads beside the library's own, on one pair and one coupling: what they share is made
// once, and all get what one alone gets. The thread sanitizer looks at the rest.
namespace bridgemark {
namespace {

using testing::with_threads;

constexpr int kCallers = 4;

// All at once: what one has done before the next begins tells nothing.
void on_callers(const std::function<void(int)>& work) {
  std::latch start(kCallers);
  std::vector<std::thread> callers;
  for (int i = 0; i < kCallers; ++i) {
    callers.emplace_back([&, i] {
      start.arrive_and_wait();
      work(i);
    });
  }
  for (std::thread& caller : callers) caller.join();
}

PairSpec spec_of(PairFamily family) {
  PairSpec spec = testing::small_spec();
  spec.family = family;
  spec.num_categories = 12;
  spec.min_distance = 1.0;
  return spec;
}

TEST(Concurrent, CallersShareAPair) {
  for (const PairFamily family : {PairFamily::kSpread, PairFamily::kChain, PairFamily::kTwoSided}) {
    for (const bool reverse : {false, true}) {
      const BenchmarkPair alone = build_pair(spec_of(family)), shared = build_pair(spec_of(family));
      const BenchmarkPair &one = reverse ? alone.reversed() : alone,
                          &all = reverse ? shared.reversed() : shared;
      const PairedStates expected = one.sample_joint(with_threads(1), 300, 5);
      std::vector<PairedStates> drawn(kCallers);
      on_callers([&](int i) {
        drawn[static_cast<std::size_t>(i)] = all.sample_joint(with_threads(2), 300, 5);
        all.sample_trajectory(with_threads(2), 4, expected.x0.view().slice(0, 20), 3);
        std::vector<double> log_q(expected.x0.rows());
        if (const auto truth = all.truth(with_threads(2)); truth && truth->has_joint()) {
          truth->log_conditional(with_threads(2), expected.x0, expected.x1, log_q);
        }
      });
      for (const PairedStates& states : drawn) {
        EXPECT_EQ(states.x0, expected.x0);
        EXPECT_EQ(states.x1, expected.x1);
      }
    }
  }
}

TEST(Concurrent, CallersTrainAndEvaluate) {
  const BenchmarkPair pair = testing::pair_with_test_set(testing::small_spec(), 400);
  const std::vector<std::pair<std::string, std::vector<std::string>>> solvers = {
      {"dlightsb", {"updates=5", "components=64", "batch_size=256"}},
      {"dlightsb-m", {"updates=5", "components=64", "batch_size=256", "num_steps=4"}},
      {"dlightsb-chain", {"updates=5", "states=8", "batch_size=256"}},
      {"csbm",
       {"updates_first=3", "updates_later=2", "imf_iterations=2", "batch_size=128", "num_steps=4",
        "hidden=32,32", "initial_pairs=512", "initial_batch=32"}},
      {"feature-wise", {"samples=2000", "imf_steps=4"}}};
  EvaluationOptions options;
  options.num_trajectories = 20;
  options.num_steps = 4;
  options.conditional_samples = 50;
  options.c2st = true;
  for (const auto& [name, assignments] : solvers) {
    std::vector<double> shapes(kCallers);
    const std::string& solver = name;
    const std::vector<std::string>& given = assignments;
    on_callers([&](int i) {
      const Fitted fitted = testing::fit_solver(solver, pair, given, 1, with_threads(2));
      const Evaluation scores = evaluate(with_threads(2), pair, *fitted.coupling, options);
      shapes[static_cast<std::size_t>(i)] = scores.mean("conditional_shape_score");
    });
    for (const double shape : shapes) EXPECT_EQ(shape, shapes[0]) << name;
  }
}

}  // namespace
}  // namespace bridgemark
