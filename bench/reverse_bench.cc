// The reverse of one-sided pairs, and of trained bridges, by the envelope: how often a proposal is
// kept, and how long the draws of the protocol take.

#include <algorithm>
#include <cmath>
#include <memory>

#include "bench/support.h"
#include "bridgemark/bridge/reversed_bridge.h"
#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/solver/run/run.h"

namespace bridgemark::bench {
namespace {

constexpr double kMaxSeconds = 10.0;     // 157 x 1000 draws
constexpr std::size_t kTargets = 1000;   // whose acceptance is measured
constexpr std::size_t kProposals = 400;  // of each
// Draws whose marginals are checked; each looks at every component at every category.
constexpr std::size_t kMarginalDraws = 4000, kMarginalDrawsOfMany = 200, kManyComponents = 64;

// Draws of one target against the mean of their coordinates' closed forms: both have errors below
// 1 / sqrt(draws) in every cell. And the same draws from one thread.
void check_draws(const Context& context, const ReversedBridge& reversed, StatesView target) {
  const std::size_t D = reversed.dim(), S = static_cast<std::size_t>(reversed.num_categories());
  const std::size_t draws =
      reversed.bridge().num_components() > kManyComponents ? kMarginalDrawsOfMany : kMarginalDraws;
  States repeated(draws, D), drawn(draws, D), again(draws, D);
  for (std::size_t i = 0; i < draws; ++i) std::copy_n(target.data, D, repeated.row(i));
  const DrawKey key{3, DrawPurpose::kConditional};
  reversed.sample(context, repeated, key, 0, drawn);
  reversed.sample({.num_threads = 1}, repeated, key, 0, again);
  check(drawn == again, "the draws depend on the number of threads");
  const MarginalEstimates marginals = reversed.estimate_marginals(context, target, draws, 4);
  Matrix<double> counted(D, S);
  for (std::size_t i = 0; i < draws; ++i) {
    for (std::size_t d = 0; d < D; ++d) {
      counted(d, static_cast<std::size_t>(drawn(i, d))) += 1.0 / static_cast<double>(draws);
    }
  }
  for (std::size_t d = 0; d < D; ++d) {
    for (std::size_t s = 0; s < S; ++s) {
      const double apart = std::abs(counted(d, s) - marginals.probability(0, d, s));
      check(apart < 5.0 / std::sqrt(static_cast<double>(draws)),
            "coordinate {} is {} in a share of {:.4f} of the draws, expected {:.4f}", d, s,
            counted(d, s), marginals.probability(0, d, s));
    }
  }
}

// A copy that the reverse may keep.
std::shared_ptr<const Bridge> bridge_of(const BenchmarkPair& pair) {
  if (const auto* chain = dynamic_cast<const ChainBridge*>(&pair.bridge())) {
    return std::make_shared<ChainBridge>(*chain);
  }
  return std::make_shared<CpBridge>(pair.cp_bridge());
}

// The truth of a pair, or a run's bridge with the law of x0 that was fitted beside it, and the test
// set of the pair. Built by itself, so that what is small enough for a closed form is measured too.
struct Case {
  std::string name;
  ReversedBridge reversed;
  PairedStates test;
};

Case case_of_pair(const Context& context, const std::string& name) {
  const BenchmarkPair pair = load_pair(name);
  return {name, ReversedBridge(context, bridge_of(pair), pair.source().log_pmf()),
          pair.test_set(context)};
}

Case case_of_run(const Context& context, const std::string& folder) {
  const LoadedRun run = load_whole_run(context, folder);
  const auto bridge = std::dynamic_pointer_cast<const Bridge>(run.coupling);
  check(bridge && bridge->source() && run.problem.pair(),
        "'{}' must be a run on a pair with a law of x0, as of dlightsb", folder);
  return {fmt::format("{}, {}", run.problem.name(), run.config.solver),
          ReversedBridge(context, bridge, *bridge->source()),
          run.problem.pair()->test_set(context)};
}

nlohmann::json measure(const Options& options, const Context& context, const Case& made,
                       bool& fast) {
  const auto& [name, reversed, test] = made;
  const StatesView targets = test.x1.view().slice(0, kTargets);
  check_draws(context, reversed, targets.slice(0, 1));

  const States inputs = conditional_inputs(test.x1);
  States repeated(kConditionalSamples, reversed.dim()), drawn(kConditionalSamples, reversed.dim());
  std::vector<double> acceptance = reversed.acceptance(context, targets, kProposals);
  double tries = 0.0;
  for (const double share : acceptance) tries += 1.0 / share / kTargets;
  std::sort(acceptance.begin(), acceptance.end());
  std::vector<double> each, protocol;
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    States answers(kTargets, reversed.dim());
    each.push_back(seconds([&] {
      reversed.sample(context, targets, {1, DrawPurpose::kConditional}, 0, answers);
    }));
    protocol.push_back(seconds([&] {
      for (std::size_t i = 0; i < inputs.rows(); ++i) {
        for (std::size_t j = 0; j < repeated.rows(); ++j) {
          std::copy_n(inputs.row(i), reversed.dim(), repeated.row(j));
        }
        reversed.sample(context, repeated, {2, DrawPurpose::kConditional}, i * kConditionalSamples,
                        drawn);
      }
    }));
  }
  fmt::print("{:<26} {:>9.3f} {:>9.3f} {:>9.2f} {:>12.3f} {:>14.3f}\n", name, acceptance.front(),
             acceptance[kTargets / 2], tries, median(each), median(protocol));
  fast = fast && median(protocol) <= kMaxSeconds;
  return {{"pair", name},
          {"smallest_acceptance", acceptance.front()},
          {"median_acceptance", acceptance[kTargets / 2]},
          {"mean_tries", tries},
          {"targets_seconds", each},
          {"protocol_seconds", protocol}};
}

bool run(const Options& options, const std::vector<std::string>& pairs,
         const std::vector<std::string>& runs) {
  const Context context{.num_threads = options.threads};
  fmt::print("{} targets of the test set, {} threads, median of {}\n", kTargets, options.threads,
             options.repeats);
  fmt::print("{:<26} {:>9} {:>9} {:>9} {:>12} {:>14}\n", "pair", "smallest", "median", "tries",
             "1000 targets", "157 x 1000");
  bool fast = true;
  nlohmann::json measured = nlohmann::json::array();
  for (const std::string& pair : pairs) {
    measured.push_back(measure(options, context, case_of_pair(context, pair), fast));
  }
  for (const std::string& folder : runs) {
    measured.push_back(measure(options, context, case_of_run(context, folder), fast));
  }
  fmt::print("157 x {} draws (limit {:g} s): {}\n", kConditionalSamples, kMaxSeconds,
             fast ? "ok" : "FAILED");
  write_json(options, {{"bench", "reverse"}, {"limit_seconds", kMaxSeconds}, {"pairs", measured}});
  return fast;
}

}  // namespace
}  // namespace bridgemark::bench

int main(int argc, char** argv) {
  using namespace bridgemark;
  CLI::App app("Checks and times draws of x0 given x1 of one-sided pairs");
  bench::Options options;
  options.repeats = 3;
  std::vector<std::string> pairs, runs;
  for (const PairSpec& spec : preset_specs()) {
    if (spec.family == PairFamily::kSphere || spec.family == PairFamily::kSpread) {
      pairs.push_back(spec.name);
    }
  }
  app.add_option("--pair", pairs,
                 "Presets or pair folders (default: all presets of families sphere and spread)");
  app.add_option("--run", runs, "Run folders of bridges in place of pairs");
  bench::add_options(app, options);
  return bench::run_main(app, argc, argv, [&] {
    if (!runs.empty() && app.count("--pair") == 0) pairs.clear();
    return bench::run(options, pairs, runs);
  });
}
