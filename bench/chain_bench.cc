// An update of dlightsb-chain as `train` runs it, batches drawn as well, beside one of DLightSB
// with 1000 components on the same pair, and how it grows with D, the states and the batch. Judged
// at D = 64 with 32 states and batch 128: three updates of DLightSB.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/support.h"
#include "bridgemark/backend/chain_training.h"
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
  if (components) {
    resolve_cp_recipe(options);
    const CpRecipe recipe = read_cp_recipe(options);
    return make_cp_model(context, task, recipe,
                         cp_trainer_plan(host, task, recipe, data,
                                         initial_cp_parameters(host, recipe, data, pair.dim(),
                                                               pair.num_categories(), 0)));
  }
  resolve_chain_recipe(options);
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

// The float32 loss of a chain against float64.
void check_loss() {
  const Context host;
  const BenchmarkPair pair = load_pair("d16-gaussian-0.02-chain");
  SolverOptions options(chain_options());
  resolve_chain_recipe(options);
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
  const double loss = backend::chain_loss<float>(
      host, parameters, make_chain_tables<float>(host, chain), x0, x1, gradient, workspace);
  const double exact_loss = backend::chain_loss<double>(
      host, exact, make_chain_tables<double>(host, chain), x0, x1, exact_gradient, exact_workspace);
  check(std::abs(loss - exact_loss) < 1e-4 * std::max(1.0, std::abs(exact_loss)),
        "losses differ: {} and {}", loss, exact_loss);
}

bool run(const Options& options, const Context& context) {
  check_loss();
  nlohmann::json rows = nlohmann::json::array();
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
  write_json(options, {{"rows", rows}, {"device", device_name(context.device)}});
  return judge("an update over one of DLightSB", chain / cp, 3.0, "");
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
