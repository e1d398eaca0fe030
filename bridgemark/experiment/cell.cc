#include "bridgemark/experiment/cell.h"

#include <nlohmann/json.hpp>

#include "bridgemark/core/error.h"
#include "bridgemark/experiment/results.h"
#include "bridgemark/io/json.h"
#include "bridgemark/metric/record/evaluation_record.h"
#include "bridgemark/pair/pair_record.h"
#include "bridgemark/solver/core/run.h"
#include "bridgemark/solver/core/run_files.h"

namespace bridgemark {

using nlohmann::json;

namespace {

ExperimentRun read_cell(const std::string& text) {
  constexpr char kWhere[] = "cell";
  const json cell = parse_json(text, kWhere);
  ExperimentRun run;
  run.id = json_get<std::string>(cell, "id", kWhere);
  run.config.solver = json_get<std::string>(cell, "solver", kWhere);
  run.config.pair = json_get<std::string>(cell, "pair", kWhere);
  run.config.seed = json_get<std::uint64_t>(cell, "seed", kWhere);
  run.config.rows = read_training_rows(cell, kWhere);
  const json& options = json_part(cell, "options", json::value_t::object, kWhere);
  for (const auto& [key, value] : options.items()) {
    run.config.options[key] = json_get<std::string>(options, key, kWhere);
  }
  const json& evaluation = json_part(cell, "evaluation", json::value_t::object, kWhere);
  run.evaluation.seed = json_get<std::uint64_t>(evaluation, "seed", kWhere);
  run.evaluation.num_seeds = json_get<int>(evaluation, "num_seeds", kWhere);
  run.evaluation.num_trajectories = json_get<std::uint64_t>(evaluation, "num_trajectories", kWhere);
  run.evaluation.conditional_samples =
      json_get<std::uint64_t>(evaluation, "conditional_samples", kWhere);
  run.evaluation.c2st = json_get<bool>(evaluation, "c2st", kWhere);
  run.evaluation.particles = json_get<std::uint64_t>(evaluation, "particles", kWhere);
  run.evaluation.max_seconds = json_get<double>(evaluation, "max_seconds", kWhere);
  run.both_directions = json_get<bool>(cell, "both_directions", kWhere);
  if (evaluation.contains("num_steps")) {
    run.evaluation.num_steps = json_get<int>(evaluation, "num_steps", kWhere);
  }
  return run;
}

}  // namespace

void run_cell(const Context& context, const ExperimentRun& run, const BenchmarkPair& pair,
              const std::filesystem::path& run_folder) {
  train_run(context, run.config, pair, run_folder, true);
  for (const ExperimentRun& scored : scored_runs(run)) {
    const bool reverse = !scored.scored_pair.empty();
    const BenchmarkPair asked = reverse ? pair.reversed() : pair;
    const EvaluationRecord record = evaluate_and_record(
        context, asked, *load_run(context, asked, run_folder), scored.evaluation, run.config.rows);
    save_json(run_folder / (reverse ? kRunReverseScores : kRunScores), record.json);
  }
}

std::string cell_text(const ExperimentRun& run) {
  const EvaluationOptions& evaluation = run.evaluation;
  json cell = {{"id", run.id},
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
  add_training_rows(cell, run.config.rows);
  if (evaluation.num_steps) cell["evaluation"]["num_steps"] = *evaluation.num_steps;
  return cell.dump();
}

ExperimentRun parse_cell(const std::string& text) {
  try {
    return read_cell(text);
  } catch (const FileError& error) {
    throw_invalid("cell", "a cell must be the JSON that a grid hands on: {}", error.what());
  }
}

}  // namespace bridgemark
