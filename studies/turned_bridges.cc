// Trained bridges in both directions, by numbers that have closed forms: how far one is from the
// truth forward, and how far it can be from it at most when it is turned round. A bridge with the
// law p^0 of x0 is a joint law, whose other end is p^1, and
//   KL_reverse = KL(p0 || p^0) + KL_forward - KL(p1 || p^1),
// so the first two terms are an upper bound. Prints a JSON line for each run.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bridgemark/bridge/reversed_bridge.h"
#include "bridgemark/core/clock.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/version.h"
#include "bridgemark/metric/estimate.h"
#include "bridgemark/solver/run/run.h"

namespace bridgemark {
namespace {

constexpr std::size_t kTargets = 200;    // rows of x1 whose acceptance is measured
constexpr std::size_t kProposals = 100;  // of each

nlohmann::json estimate_json(const std::vector<double>& values) {
  const MeanEstimate estimate = estimate_mean(values);
  return {estimate.mean, estimate.standard_error};  // null where infinite
}

// The share of proposals that are kept: the least and the median over targets, and one over the
// mean number of proposals that a draw takes.
nlohmann::json acceptance_json(std::vector<double> kept) {
  double proposals = 0.0;
  for (const double share : kept) proposals += 1.0 / share / static_cast<double>(kept.size());
  std::sort(kept.begin(), kept.end());
  return {{"least", kept.front()}, {"median", kept[kept.size() / 2]}, {"overall", 1.0 / proposals}};
}

nlohmann::json describe(const Context& context, const std::string& folder) {
  const Clock::time_point started = Clock::now();
  const LoadedRun run = load_whole_run(context, folder);
  const auto bridge = std::dynamic_pointer_cast<const Bridge>(run.coupling);
  const BenchmarkPair* pair = run.problem.pair();
  if (!bridge || bridge->source() == nullptr || pair == nullptr) {
    throw_invalid("runs", "'{}' must be a run on a pair with a law of x0, as of dlightsb", folder);
  }
  const PairedStates test = pair->test_set(context);
  const std::size_t rows = test.x0.rows();
  std::vector<double> forward(rows), source(rows), learned(rows);
  pair->bridge().log_conditional(context, test.x0, test.x1, forward);
  bridge->log_conditional(context, test.x0, test.x1, learned);
  for (std::size_t b = 0; b < rows; ++b) forward[b] -= learned[b];
  source = pair->log_p0(context, test.x0).value;
  bridge->source()->log_probability(context, test.x0, learned);
  std::vector<double> bound(rows);
  for (std::size_t b = 0; b < rows; ++b) {
    source[b] -= learned[b];
    bound[b] = forward[b] + source[b];
  }
  const ReversedBridge reversed(context, bridge, *bridge->source());
  const auto kept =
      reversed.acceptance(context, test.x1.view().slice(0, std::min(kTargets, rows)), kProposals);
  return {{"run", std::filesystem::path(folder).filename().string()},
          {"pair", run.problem.name()},
          {"solver", run.config.solver},
          {"rows", rows},
          {"forward", estimate_json(forward)},
          {"source", estimate_json(source)},
          {"reverse_bound", estimate_json(bound)},
          {"form", bridge->source()->chain() != nullptr ? "chain" : "mixture"},
          {"parts", bridge->source()->num_components()},
          {"acceptance", acceptance_json(kept)},
          {"seconds", seconds_since(started)},
          {"version", kVersion}};
}

}  // namespace
}  // namespace bridgemark

int main(int argc, char** argv) {
  CLI::App app("How far trained bridges are from the truth forward, and turned round at most");
  std::vector<std::string> folders;
  bridgemark::Context context;
  app.add_option("runs", folders, "Folders of `bridgemark train`")->required();
  app.add_option("--threads", context.num_threads, "0: all");
  CLI11_PARSE(app, argc, argv);
  try {
    for (const std::string& folder : folders) {
      std::puts(bridgemark::describe(context, folder).dump().c_str());
      std::fflush(stdout);
    }
  } catch (const bridgemark::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
