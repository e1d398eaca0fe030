#include "bridgemark/experiment/make_run.h"

#include <nlohmann/json.hpp>

#include "bridgemark/core/error.h"
#include "bridgemark/experiment/results.h"
#include "bridgemark/io/json.h"
#include "bridgemark/metric/record/evaluation_record.h"
#include "bridgemark/pair/pair_record.h"
#include "bridgemark/solver/core/reverse_coupling.h"
#include "bridgemark/solver/outside/outside_solver.h"
#include "bridgemark/solver/run/run.h"
#include "bridgemark/solver/run/run_files.h"
#include "bridgemark/solver/run/run_identity.h"

namespace bridgemark {

namespace {

ExperimentRun read_run(const std::string& text) {
  constexpr char kWhere[] = "cell";  // as the command calls it
  const nlohmann::json fields = parse_json(text, kWhere);
  ExperimentRun run;
  run.id = json_get<std::string>(fields, "id", kWhere);
  run.config.solver = json_get<std::string>(fields, "solver", kWhere);
  run.config.pair = json_get<std::string>(fields, "pair", kWhere);
  run.config.seed = json_get<std::uint64_t>(fields, "seed", kWhere);
  run.config.rows = read_training_rows(fields, kWhere);
  const nlohmann::json& options =
      json_part(fields, "options", nlohmann::json::value_t::object, kWhere);
  for (const auto& [key, value] : options.items()) {
    run.config.options[key] = json_get<std::string>(options, key, kWhere);
  }
  const nlohmann::json& evaluation =
      json_part(fields, "evaluation", nlohmann::json::value_t::object, kWhere);
  run.evaluation.seed = json_get<std::uint64_t>(evaluation, "seed", kWhere);
  run.evaluation.num_seeds = json_get<int>(evaluation, "num_seeds", kWhere);
  run.evaluation.num_trajectories = json_get<std::uint64_t>(evaluation, "num_trajectories", kWhere);
  run.evaluation.conditional_samples =
      json_get<std::uint64_t>(evaluation, "conditional_samples", kWhere);
  run.evaluation.c2st = json_get<bool>(evaluation, "c2st", kWhere);
  run.evaluation.particles = json_get<std::uint64_t>(evaluation, "particles", kWhere);
  run.evaluation.max_seconds = json_get<double>(evaluation, "max_seconds", kWhere);
  run.both_directions = json_get<bool>(fields, "both_directions", kWhere);
  if (evaluation.contains("num_steps")) {
    run.evaluation.num_steps = json_get<int>(evaluation, "num_steps", kWhere);
  }
  return run;
}

// Whether the run's folder has what was fitted: a solver from outside need not keep it.
bool keeps_model(const ExperimentRun& run) {
  const OutsideSolver* outside = find_outside_solver(run.config.solver);
  return !outside || outside->keeps_model();
}

}  // namespace

void make_run(const Context& context, const ExperimentRun& run, const BenchmarkPair& pair,
              const std::filesystem::path& run_folder) {
  std::shared_ptr<const Coupling> fitted =
      train_run(context, run.config, pair, run_folder, true).coupling;
  const bool is_kept = keeps_model(run);
  if (is_kept) fitted.reset();
  const auto coupling_for = [&](const BenchmarkPair& asked, bool reverse) {
    if (is_kept) return load_run(context, asked, run_folder);
    if (!reverse) return fitted;
    return reverse_coupling(context, trained_problem(context, run.config, pair), fitted);
  };
  const std::string identity = load_run_config(run_folder).identity;
  for (const ExperimentRun& scored : scored_runs(run)) {
    const bool reverse = !scored.scored_pair.empty();
    const BenchmarkPair asked = reverse ? pair.reversed() : pair;
    EvaluationRecord record = evaluate_and_record(context, asked, *coupling_for(asked, reverse),
                                                  scored.evaluation, run.config.rows);
    if (!identity.empty()) record.json[kRunIdentityKey] = identity;
    save_json(run_folder / (reverse ? kRunReverseScores : kRunScores), record.json);
  }
}

std::string run_text(const ExperimentRun& run) {
  const EvaluationOptions& evaluation = run.evaluation;
  nlohmann::json fields = {{"id", run.id},
                           {"solver", run.config.solver},
                           {"pair", run.config.pair},
                           {"seed", run.config.seed},
                           {"options", run.config.options},
                           {"both_directions", run.both_directions},
                           {"evaluation",
                            {{"seed", evaluation.seed},
                             {"num_seeds", evaluation.num_seeds},
                             {"num_trajectories", evaluation.num_trajectories},
                             {"conditional_samples", evaluation.conditional_samples},
                             {"c2st", evaluation.c2st},
                             {"particles", evaluation.particles},
                             {"max_seconds", evaluation.max_seconds}}}};
  add_training_rows(fields, run.config.rows);
  if (evaluation.num_steps) fields["evaluation"]["num_steps"] = *evaluation.num_steps;
  return fields.dump();
}

ExperimentRun parse_run(const std::string& text) {
  try {
    return read_run(text);
  } catch (const FileError& error) {
    throw_invalid("cell", "a cell must be the JSON that a grid hands on: {}", error.what());
  }
}

}  // namespace bridgemark
