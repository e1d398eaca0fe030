// Draws of a chain pair beside those of the spread pair of its size; and an update of
// dlightsb-chain as `train` runs it, batches drawn as well, beside one of DLightSB with 1000
// components on the same pair, and how it grows with D, the states and the batch. Judged: three
// times the other's draws at D = 16 and 64, and three updates of DLightSB at D = 64 with 32 states
// and batch 128.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/support.h"
#include "bridgemark/backend/backend.h"
#include "bridgemark/backend/plan/chain_workspace.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/process/chain_tables.h"
#include "bridgemark/solver/chain/chain_recipe.h"
#include "bridgemark/solver/cp/cp_model.h"

namespace bridgemark::bench {
namespace {

struct Size {
  int dim = 64;
  int size = 32;  // states, or components
  int batch = 128;
};

// A model in training; with `components` DLightSB, else a chain.
std::unique_ptr<TrainedModel> make_model(const Context& context, const BenchmarkPair& pair,
                                         const Size& size, bool components) {
  const Context host{.num_threads = context.num_threads};
  const TrainingData data(pair, "", "", 0);
  const CpTask task{ReferenceChain(pair.reference(), 1), std::nullopt, 0, {}, {}};
  SolverOptions options(components ? cp_options() : chain_options());
  options.set_assignment(fmt::format("batch_size={}", size.batch));
  options.set_assignment(fmt::format("{}={}", components ? "components" : "states", size.size));
  options.resolve();
  if (components) {
    const CpRecipe recipe = read_cp_recipe(options);
    return make_cp_model(context, task, recipe,
                         cp_trainer_plan(host, task, recipe, data,
                                         initial_cp_parameters(host, recipe, data, pair.dim(),
                                                               pair.num_categories(), 0)));
  }
  const ChainRecipe recipe = read_chain_recipe(options);
  return make_cp_model(context, task, recipe.cp,
                       cp_trainer_plan(host, task, recipe.cp, data,
                                       initial_chain_parameters(host, recipe, data, pair.dim(),
                                                                pair.num_categories(), 0)));
}

// Median seconds of an update over `repeats` runs of several.
double time_updates(const Context& context, const Size& size, bool components, int repeats) {
  const BenchmarkPair pair = load_pair(fmt::format("d{}-gaussian-0.02-chain", size.dim));
  const auto model = make_model(context, pair, size, components);
  std::vector<double> losses(context.device == Device::kCuda ? 512 : 2), times;
  std::int64_t step = 1;
  for (int i = 0; i < repeats + 1; ++i) {
    const double time = seconds([&] { model->updates(step, losses); });
    step += static_cast<std::int64_t>(losses.size());
    if (i > 0) times.push_back(time);
  }
  check(std::isfinite(losses.back()), "the loss is {}", losses.back());
  return median(times) / static_cast<double>(losses.size());
}

// Median seconds of 20,000 joint draws.
double time_draws(const Context& context, const std::string& name, int repeats) {
  const BenchmarkPair pair = load_pair(name);
  std::vector<double> times;
  for (int i = 0; i < repeats + 1; ++i) {
    const double time = seconds([&] { pair.sample_joint(context, 20000, 1); });
    if (i > 0) times.push_back(time);
  }
  return median(times);
}

bool compare_draws(const Context& context, int repeats, nlohmann::json& rows) {
  bool holds = true;
  for (const char* base : {"d16-gaussian-0.02", "d64-gaussian-0.02"}) {
    const double spread = time_draws(context, fmt::format("{}-spread", base), repeats);
    const double chain = time_draws(context, fmt::format("{}-chain", base), repeats);
    fmt::print("20,000 joint pairs of {}: {:.1f} ms spread, {:.1f} ms chain\n", base, 1e3 * spread,
               1e3 * chain);
    rows.push_back({{"pair", base}, {"spread_ms", 1e3 * spread}, {"chain_ms", 1e3 * chain}});
    holds =
        judge("draws of the chain over those of the spread pair", chain / spread, 3.0, "") && holds;
  }
  return holds;
}

// The float32 loss of a chain against float64.
void check_loss() {
  const Context host;
  const BenchmarkPair pair = load_pair("d16-gaussian-0.02-chain");
  SolverOptions options(chain_options());
  options.resolve();
  const TrainingData data(pair, "", "", 0);
  const auto parameters =
      initial_chain_parameters(host, read_chain_recipe(options), data, 16, 50, 0);
  const std::size_t K = parameters.num_components;
  backend::CpTensors<double> exact(16, 50, K, true), exact_gradient = exact;
  std::ranges::copy(parameters.log_beta, exact.log_beta.begin());
  std::ranges::copy(parameters.log_cores, exact.log_cores.begin());
  std::ranges::copy(parameters.log_moves, exact.log_moves.begin());
  backend::CpTensors<float> gradient = parameters;
  backend::ChainWorkspace<float> workspace;
  backend::ChainWorkspace<double> exact_workspace;
  const ReferenceChain chain(pair.reference(), 1);
  const States x0 = data.x0(host, 64, 0), x1 = data.x1(host, 64, 0);
  const double loss = backend::of(host).chain_loss(
      host, parameters, make_chain_tables<float>(host, chain), x0, x1, gradient, workspace);
  const double exact_loss = backend::of(host).chain_loss(
      host, exact, make_chain_tables<double>(host, chain), x0, x1, exact_gradient, exact_workspace);
  check(std::abs(loss - exact_loss) < 1e-4 * std::max(1.0, std::abs(exact_loss)),
        "losses differ: {} and {}", loss, exact_loss);
}

bool run(const Options& options, const Context& context) {
  check_loss();
  nlohmann::json rows = nlohmann::json::array(), draws = nlohmann::json::array();
  const bool draws_hold = compare_draws(context, options.repeats, draws);
  const auto show = [&](const char* name, const Size& size, bool components) {
    const double time = time_updates(context, size, components, options.repeats);
    fmt::print("{:<14} D = {:>2}, K = {:>4}, batch {:>4}: {:>9.1f} us\n", name, size.dim, size.size,
               size.batch, 1e6 * time);
    rows.push_back({{"solver", name},
                    {"dim", size.dim},
                    {"size", size.size},
                    {"batch", size.batch},
                    {"us", 1e6 * time}});
    return time;
  };
  const double cp = show("dlightsb", {64, 1000, 128}, true);
  const double chain = show("dlightsb-chain", {64, 32, 128}, false);
  for (const Size& size :
       {Size{2, 32, 128}, Size{16, 32, 128}, Size{64, 16, 128}, Size{64, 64, 128},
        Size{64, 128, 128}, Size{64, 32, 256}, Size{64, 32, 512}, Size{64, 32, 1024}}) {
    show("dlightsb-chain", size, false);
  }
  write_json(options, {{"rows", rows}, {"draws", draws}, {"device", device_name(context.device)}});
  return judge("an update over one of DLightSB", chain / cp, 3.0, "") && draws_hold;
}

}  // namespace
}  // namespace bridgemark::bench

int main(int argc, char** argv) {
  using namespace bridgemark;
  using namespace bridgemark::bench;
  CLI::App app{"Times updates of dlightsb-chain"};
  Options options;
  std::string device = "cpu";
  add_options(app, options);
  app.add_option("--device", device, "cpu or cuda")->check(CLI::IsMember({"cpu", "cuda"}));
  return run_main(app, argc, argv, [&] {
    return run(options, {.device = device == "cuda" ? Device::kCuda : Device::kCpu,
                         .num_threads = options.threads});
  });
}
