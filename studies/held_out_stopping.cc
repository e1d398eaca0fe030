#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/pair/training_set.h"
#include "bridgemark/solver/core/trained_solver.h"
#include "bridgemark/solver/registry.h"

// What it costs that held-out rows choose the number of updates. A training on few rows looks at
// them every 50 updates; here the truth looks as well. Of the size that the training ends with, the
// joint KL at the update that the held-out rows chose is compared with the best of all looks.
namespace bridgemark {
namespace {

constexpr std::int64_t kUpdatesPerLook = 50;

struct Look {
  std::int64_t size = 0;    // components or states
  std::int64_t update = 0;  // of this size
  double joint_kl = 0.0;
};

class KlToTruth {
 public:
  KlToTruth(const Context& context, const BenchmarkPair& pair, std::size_t rows)
      : context_(context), test_(pair.test_set(context)) {
    rows_ = std::min(rows, test_.x0.rows());
    log_truth_.resize(rows_);
    pair.require_truth(context)->log_conditional(context, x0(), x1(), log_truth_);
  }

  double of(const Coupling& coupling) const {
    std::vector<double> log_q(rows_);
    coupling.log_conditional(context_, x0(), x1(), log_q);
    double sum = 0.0;
    for (std::size_t i = 0; i < rows_; ++i) sum += log_truth_[i] - log_q[i];
    return sum / static_cast<double>(rows_);
  }

 private:
  StatesView x0() const { return test_.x0.view().slice(0, rows_); }
  StatesView x1() const { return test_.x1.view().slice(0, rows_); }

  Context context_;
  PairedStates test_;
  std::size_t rows_ = 0;
  std::vector<double> log_truth_;
};

// The looks of a training after every kUpdatesPerLook updates, in their order.
std::vector<Look> train(TrainedModel& model, const std::string& size_key, const KlToTruth& kl) {
  std::vector<Look> looks;
  const auto size = [&] { return model.stage(0).log.at(size_key).get<std::int64_t>(); };
  std::int64_t update = 0;
  while (!model.finished()) {
    const std::int64_t before = size();
    std::vector<double> losses(static_cast<std::size_t>(model.updates_at_once()));
    model.updates(1, losses);  // it counts by itself
    update += static_cast<std::int64_t>(losses.size());
    if (model.finished() || size() != before) {
      update = 0;
    } else if (update % kUpdatesPerLook == 0) {
      looks.push_back({before, update, kl.of(*model.coupling())});
    }
  }
  return looks;
}

nlohmann::json study(const Context& context, const std::string& solver_name,
                     const std::string& pair_name, const TrainingRows& rows, std::int64_t updates) {
  const BenchmarkPair pair = load_pair(pair_name);
  const auto& solver = dynamic_cast<const TrainedSolver&>(find_solver(solver_name));
  SolverOptions options(solver.options());
  options.set("refit", "no");
  if (updates > 0) options.set("updates", std::to_string(updates));
  solver.resolve(options);
  // One more: the last update ends a size, and is not seen here.
  options.set("updates", std::to_string(options.integer("updates") + 1));
  Context host = context;
  host.device = Device::kCpu;
  const auto model =
      solver.make_model(context, host, training_problem(host, pair, rows), options, 0);
  const std::string size_key = solver_name == "dlightsb-chain" ? "states" : "components";
  const std::vector<Look> looks = train(*model, size_key, KlToTruth(context, pair, 5000));

  const Diagnostics found = model->diagnostics();
  const auto size = std::get<std::int64_t>(found.at(size_key));
  const auto update = std::get<std::int64_t>(found.at("held_out_update"));
  const Look* chosen = nullptr;
  const Look* best = nullptr;
  for (const Look& look : looks) {
    if (look.size != size) continue;
    if (look.update <= update) chosen = &look;
    if (best == nullptr || look.joint_kl < best->joint_kl) best = &look;
  }
  return {{"solver", solver_name},
          {"pair", pair_name},
          {"samples", rows.samples},
          {"training_set", rows.training_set},
          {size_key, size},
          {"held_out_update", update},
          {"joint_kl", chosen->joint_kl},
          {"best_update", best->update},
          {"best_joint_kl", best->joint_kl}};
}

}  // namespace
}  // namespace bridgemark

int main(int argc, char** argv) {
  CLI::App app("What it costs that held-out rows choose the number of updates; a JSON line a cell");
  std::string solver, device = "cpu";
  std::vector<std::string> pairs;
  std::vector<std::size_t> samples = {300, 1000, 10000};
  std::uint64_t set = 0;
  std::int64_t updates = 0;
  app.add_option("solver", solver, "dlightsb or dlightsb-chain")->required();
  app.add_option("pairs", pairs, "Pairs")->required();
  app.add_option("--samples", samples, "Rows a side")->capture_default_str();
  app.add_option("--training-set", set, "Which set of them")->capture_default_str();
  app.add_option("--updates", updates, "Of each size at the most; 0: the solver's own number");
  app.add_option("--device", device, "cpu or cuda")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  bridgemark::Context context;
  if (device == "cuda") context.device = bridgemark::Device::kCuda;
  for (const std::string& pair : pairs) {
    for (const std::size_t n : samples) {
      fmt::print("{}\n", bridgemark::study(context, solver, pair, {n, set}, updates).dump());
      std::fflush(stdout);
    }
  }
}
