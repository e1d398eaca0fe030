// What a training step and a draw cost on the GPU, the batches drawn there as well; one JSON of
// results. bench/gpu.sh builds, checks and runs it.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "bench/support.h"
#include "bridgemark/backend/placed_array.h"
#include "bridgemark/backend/plan/row_source.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/solver/cp/cp_model.h"
#include "bridgemark/solver/csbm/csbm_model.h"

namespace bridgemark::bench {
namespace {

const Context kDevice{.device = Device::kCuda};

struct Case {
  const char* name;
  const char* pair;
  bool matching;  // else the static loss
  int num_steps;
  double goal_us;  // 0: no goal
};

constexpr Case kCases[] = {
    {"DLightSB, D = 2", "d2-gaussian-0.02", false, 1, 25.0},
    {"DLightSB, D = 16", "d16-gaussian-0.02", false, 1, 0.0},
    {"DLightSB, D = 64", "d64-gaussian-0.02", false, 1, 100.0},
    {"DLightSB, D = 64, uniform", "d64-uniform-0.01", false, 1, 100.0},
    {"DLightSB-M, D = 2, 64 steps", "d2-gaussian-0.02", true, 64, 0.0},
    {"DLightSB-M, D = 16, 64 steps", "d16-gaussian-0.02", true, 64, 0.0},
    {"DLightSB-M, D = 64, 64 steps", "d64-gaussian-0.02", true, 64, 200.0},
};

CpRecipe recipe_of(int batch_size) {
  SolverOptions options(cp_options());
  options.set_assignment(fmt::format("batch_size={}", batch_size));
  options.resolve();
  return read_cp_recipe(options);
}

struct StepCost {
  double us, memory_mib;
};

// Median microseconds of an update over `repeats` runs of 512, and what it keeps on the device.
StepCost time_updates(const Case& test, int batch_size, int repeats) {
  const Context host;
  const BenchmarkPair pair = load_pair(test.pair);
  const CpRecipe recipe = recipe_of(batch_size);
  const TrainingData data(pair, "", "", 0);
  const std::size_t before = backend::of(kDevice).memory_in_use();
  CpTask task{ReferenceChain(pair.reference(), test.num_steps), std::nullopt, 0, {}, {}};
  if (test.matching) task.matching = backend::MatchingLoss::kKl;
  const auto model = make_cp_model(
      kDevice, task, recipe,
      cp_trainer_plan(
          host, task, recipe, data,
          initial_cp_parameters(host, recipe, data, pair.dim(), pair.num_categories(), 0)));
  std::vector<double> losses(512), times;
  std::int64_t step = 1;
  for (int i = 0; i < repeats + 1; ++i) {
    const double time = seconds([&] { model->updates(step, losses); });
    step += static_cast<std::int64_t>(losses.size());
    if (i > 0) times.push_back(time);
  }
  check(std::isfinite(losses.back()), "the loss is {}", losses.back());
  const double memory = static_cast<double>(backend::of(kDevice).memory_in_use() - before);
  return {1e6 * median(times) / static_cast<double>(losses.size()), memory / (1 << 20)};
}

struct NetworkCase {
  const char* name;
  const char* pair;
  bool both_directions;
  const char* batch_size;
  double goal_us;
};

// alpha-CSBM halves the batch: its 64 for each direction compare with CSBM's 128.
constexpr NetworkCase kNetworkCases[] = {
    {"CSBM, D = 16, 64 steps", "d16-gaussian-0.02", false, "128", 0.0},
    {"CSBM, D = 64, 64 steps", "d64-gaussian-0.02", false, "128", 1000.0},
    {"alpha-CSBM, D = 16, 64 steps", "d16-gaussian-0.02", true, "128", 0.0},
    {"alpha-CSBM, D = 64, 64 steps", "d64-gaussian-0.02", true, "64", 1200.0},
    {"alpha-CSBM, D = 64, 64 steps", "d64-gaussian-0.02", true, "128", 0.0},
};

struct NetworkTimes {
  double first_us, later_us;  // of an update in the first and in a later D-IMF iteration
  double memory_mib;
};

NetworkTimes time_network(const NetworkCase& test, int repeats) {
  constexpr std::size_t kUpdates = 50;
  const Context host;
  const BenchmarkPair pair = load_pair(test.pair);
  const CsbmVariant variant{test.both_directions, test.batch_size, "0.001"};
  SolverOptions options(csbm_options(variant));
  options.set("recipe", "paper");
  // CSBM trains its two networks one after the other, so an iteration has twice the updates of
  // each.
  const std::size_t passes = test.both_directions ? 1 : 2;
  options.set("updates_first",
              std::to_string((static_cast<std::size_t>(repeats) + 1) * kUpdates / passes));
  options.resolve();
  const CsbmRecipe recipe = read_csbm_recipe(options, variant);
  const TrainingData data(pair, "", "", 0);
  const std::size_t before = backend::of(kDevice).memory_in_use();
  const CsbmTask task{pair.reference(),
                      pair.dim(),
                      recipe,
                      data,
                      0,
                      FirstPairs(host, recipe.first_pairs, pair.reference(), data, 0)};
  const TwoWaySteps steps = make_two_way_steps(host, task.process, recipe.num_steps);
  CsbmModel model(
      recipe, steps,
      backend::of(kDevice).make_trainer(kDevice, network_trainer_plan(host, task, steps)));
  std::vector<double> losses(kUpdates), times[2];
  std::int64_t step = 1;
  for (std::vector<double>& of_stage : times) {
    for (int i = 0; i < repeats + 1; ++i) {
      const double time = seconds([&] { model.updates(step, losses); });
      step += static_cast<std::int64_t>(kUpdates);
      if (i > 0) of_stage.push_back(time);
    }
    check(std::isfinite(losses.back()), "the loss is {}", losses.back());
  }
  const double memory = static_cast<double>(backend::of(kDevice).memory_in_use() - before);
  const auto us = [&](const std::vector<double>& values) {
    return 1e6 * median(values) / static_cast<double>(kUpdates);
  };
  return {us(times[0]), us(times[1]), memory / (1 << 20)};
}

// Microseconds for 20,000 joint pairs: drawn and left on the device, and brought to the host.
struct DrawTimes {
  double on_device, to_host;
};

DrawTimes time_joint_draws(int repeats) {
  const Context context{.device = Device::kCuda};
  const BenchmarkPair pair = load_pair("d64-gaussian-0.02");
  const PairedStates device = pair.sample_joint(context, 20000, 1),
                     host = pair.sample_joint({}, 20000, 1);
  std::size_t different = 0;
  for (std::size_t i = 0; i < host.x1.size(); ++i) {
    different += device.x0.data()[i] != host.x0.data()[i];
    different += device.x1.data()[i] != host.x1.data()[i];
  }
  fmt::print("states that differ from the CPU's: {} of {}\n", different, 2 * host.x1.size());
  check(different <= 2 * host.x1.size() / 100000, "{} states differ", different);
  backend::PlacedStates x0(context, true, 20000, pair.dim()), x1(context, true, 20000, pair.dim());
  std::vector<double> drawn, fetched;
  for (int i = 0; i < repeats; ++i) {
    const std::uint64_t first = static_cast<std::uint64_t>(i) * 20000;
    drawn.push_back(seconds([&] {
      pair.write_joint(context, 1, first, x0.view(), x1.view());
      backend::of(context).wait(context);
    }));
    fetched.push_back(seconds([&] { pair.sample_joint(context, 20000, 1, first); }));
  }
  return {1e6 * median(drawn), 1e6 * median(fetched)};
}

// Each adds its rows and says whether its goals hold.
bool run_cp(const Options& options, nlohmann::json& rows) {
  bool hold = true;
  for (const int batch_size : {128, 256}) {
    for (const Case& test : kCases) {
      const StepCost cost = time_updates(test, batch_size, options.repeats);
      const bool judged = batch_size == 128 && test.goal_us > 0.0;
      fmt::print("{:<32} batch {:>3} {:>10.1f} us{}, {:.0f} MiB\n", test.name, batch_size, cost.us,
                 judged ? fmt::format("  (goal {:g})", test.goal_us) : "", cost.memory_mib);
      hold = hold && (!judged || cost.us <= test.goal_us);
      rows.push_back({{"step", test.name},
                      {"batch", batch_size},
                      {"us", cost.us},
                      {"device_memory_mib", cost.memory_mib},
                      {"goal_us", judged ? nlohmann::json(test.goal_us) : nlohmann::json()}});
    }
  }
  return hold;
}

bool run_networks(const Options& options, nlohmann::json& rows) {
  bool hold = true;
  for (const NetworkCase& test : kNetworkCases) {
    const NetworkTimes times = time_network(test, options.repeats);
    const bool judged = test.goal_us > 0.0;
    fmt::print("{:<32} batch {:>3} {:>10.1f} us{}, first iteration {:.1f} us, {:.0f} MiB\n",
               test.name, test.batch_size, times.later_us,
               judged ? fmt::format("  (goal {:g})", test.goal_us) : "", times.first_us,
               times.memory_mib);
    hold = hold && (!judged || times.later_us <= test.goal_us);
    rows.push_back({{"step", test.name},
                    {"batch", std::stoi(test.batch_size)},
                    {"us", times.later_us},
                    {"first_iteration_us", times.first_us},
                    {"device_memory_mib", times.memory_mib},
                    {"goal_us", judged ? nlohmann::json(test.goal_us) : nlohmann::json()}});
  }
  return hold;
}

bool run_draws(const Options& options, nlohmann::json& rows) {
  const DrawTimes draws = time_joint_draws(options.repeats);
  fmt::print("{:<32}           {:>10.1f} us  (goal 500; {:.1f} us in the host's memory)\n",
             "20,000 joint pairs, D = 64", draws.on_device, draws.to_host);
  rows.push_back({{"step", "20,000 joint pairs, D = 64"},
                  {"us", draws.on_device},
                  {"to_host_us", draws.to_host},
                  {"goal_us", 500.0}});
  return draws.on_device <= 500.0;
}

bool run(const Options& options, const std::string& only) {
  nlohmann::json rows = nlohmann::json::array();
  bool hold = true;
  if (only.empty() || only == "cp") hold = run_cp(options, rows) && hold;
  if (only.empty() || only == "networks") hold = run_networks(options, rows) && hold;
  if (only.empty() || only == "draws") hold = run_draws(options, rows) && hold;
  write_json(options, {{"rows", rows}});
  return hold;
}

}  // namespace
}  // namespace bridgemark::bench

int main(int argc, char** argv) {
  using namespace bridgemark::bench;
  CLI::App app{"Times training steps and draws on a CUDA device"};
  Options options;
  std::string only;
  add_options(app, options);
  app.add_option("--only", only, "One part: cp, networks or draws")
      ->check(CLI::IsMember({"cp", "networks", "draws"}));
  return run_main(app, argc, argv, [&] { return run(options, only); });
}
