// The reverse of one-sided pairs by the envelope: how often a proposal is kept, and how long the
// draws of the protocol take.

#include <algorithm>
#include <cmath>
#include <memory>

#include "bench/support.h"
#include "bridgemark/bridge/reversed_bridge.h"
#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/pair/pair_spec.h"

namespace bridgemark::bench {
namespace {

constexpr double kMaxSeconds = 10.0;     // 157 x 1000 draws
constexpr std::size_t kTargets = 1000;   // whose acceptance is measured
constexpr std::size_t kProposals = 400;  // of each
constexpr std::size_t kMarginalDraws = 4000;

// Draws of one target against the mean of their coordinates' closed forms: both have errors below
// 1 / sqrt(draws) in every cell. And the same draws from one thread.
void check_draws(const Context& context, const ReversedBridge& reversed, StatesView target) {
  const std::size_t D = reversed.dim(), S = static_cast<std::size_t>(reversed.num_categories());
  States repeated(kMarginalDraws, D), drawn(kMarginalDraws, D), again(kMarginalDraws, D);
  for (std::size_t i = 0; i < kMarginalDraws; ++i) std::copy_n(target.data, D, repeated.row(i));
  const DrawKey key{3, DrawPurpose::kConditional};
  reversed.sample(context, repeated, key, 0, drawn);
  reversed.sample({.num_threads = 1}, repeated, key, 0, again);
  check(drawn == again, "the draws depend on the number of threads");
  const MarginalEstimates marginals =
      reversed.estimate_marginals(context, target, kMarginalDraws, 4);
  Matrix<double> counted(D, S);
  for (std::size_t i = 0; i < kMarginalDraws; ++i) {
    for (std::size_t d = 0; d < D; ++d) {
      counted(d, static_cast<std::size_t>(drawn(i, d))) += 1.0 / kMarginalDraws;
    }
  }
  for (std::size_t d = 0; d < D; ++d) {
    for (std::size_t s = 0; s < S; ++s) {
      const double apart = std::abs(counted(d, s) - marginals.probability(0, d, s));
      check(apart < 5.0 / std::sqrt(static_cast<double>(kMarginalDraws)),
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

nlohmann::json measure(const Options& options, const std::string& name, bool& fast) {
  const Context context{.num_threads = options.threads};
  const BenchmarkPair pair = load_pair(name);
  // Built by itself, so that pairs small enough for a closed form are measured as well.
  const ReversedBridge reversed(context, bridge_of(pair), pair.source().log_pmf());
  const PairedStates test = pair.test_set(context);
  const StatesView targets = test.x1.view().slice(0, kTargets);
  check_draws(context, reversed, targets.slice(0, 1));

  const States inputs = conditional_inputs(test.x1);
  States repeated(kConditionalSamples, pair.dim()), drawn(kConditionalSamples, pair.dim());
  std::vector<double> acceptance = reversed.acceptance(context, targets, kProposals);
  double tries = 0.0;
  for (const double share : acceptance) tries += 1.0 / share / kTargets;
  std::sort(acceptance.begin(), acceptance.end());
  std::vector<double> each, protocol;
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    States answers(kTargets, pair.dim());
    each.push_back(seconds([&] {
      reversed.sample(context, targets, {1, DrawPurpose::kConditional}, 0, answers);
    }));
    protocol.push_back(seconds([&] {
      for (std::size_t i = 0; i < inputs.rows(); ++i) {
        for (std::size_t j = 0; j < repeated.rows(); ++j) {
          std::copy_n(inputs.row(i), pair.dim(), repeated.row(j));
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

bool run(const Options& options, const std::vector<std::string>& pairs) {
  fmt::print("{} targets of the test set, {} threads, median of {}\n", kTargets, options.threads,
             options.repeats);
  fmt::print("{:<26} {:>9} {:>9} {:>9} {:>12} {:>14}\n", "pair", "smallest", "median", "tries",
             "1000 targets", "157 x 1000");
  bool fast = true;
  nlohmann::json measured = nlohmann::json::array();
  for (const std::string& pair : pairs) measured.push_back(measure(options, pair, fast));
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
  std::vector<std::string> pairs;
  for (const PairSpec& spec : preset_specs()) {
    if (spec.family == PairFamily::kSphere || spec.family == PairFamily::kSpread) {
      pairs.push_back(spec.name);
    }
  }
  app.add_option("--pair", pairs,
                 "Presets or pair folders (default: all presets of families sphere and spread)");
  bench::add_options(app, options);
  return bench::run_main(app, argc, argv, [&] { return bench::run(options, pairs); });
}
