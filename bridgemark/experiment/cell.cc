#include "bridgemark/experiment/cell.h"

#include <nlohmann/json.hpp>

#include "bridgemark/core/error.h"
#include "bridgemark/experiment/results.h"
#include "bridgemark/io/json.h"
#include "bridgemark/metric/evaluation_record.h"
#include "bridgemark/solver/core/run.h"
#include "bridgemark/solver/core/run_files.h"

namespace bridgemark {

using nlohmann::json;

void run_cell(const Context& context, const ExperimentRun& run, const BenchmarkPair& pair,
              const std::filesystem::path& run_folder) {
  train_run(context, run.config, pair, run_folder, true);
  const EvaluationRecord record =
      evaluate_and_record(context, pair, *load_run(context, pair, run_folder), run.evaluation);
  save_json(run_folder / kRunScores, record.json);
}

std::string cell_text(const ExperimentRun& run) {
  const EvaluationOptions& evaluation = run.evaluation;
  json cell = {{"id", run.id},
               {"solver", run.config.solver},
               {"pair", run.config.pair},
               {"seed", run.config.seed},
               {"options", run.config.options},
               {"evaluation",
                {{"seed", evaluation.seed},
                 {"num_seeds", evaluation.num_seeds},
                 {"num_trajectories", evaluation.num_trajectories},
                 {"conditional_samples", evaluation.conditional_samples},
                 {"c2st", evaluation.c2st}}}};
  if (evaluation.num_steps) cell["evaluation"]["num_steps"] = *evaluation.num_steps;
  return cell.dump();
}

ExperimentRun parse_cell(const std::string& text) {
  try {
    const json cell = json::parse(text);
    ExperimentRun run;
    cell.at("id").get_to(run.id);
    cell.at("solver").get_to(run.config.solver);
    cell.at("pair").get_to(run.config.pair);
    cell.at("seed").get_to(run.config.seed);
    for (const auto& [key, value] : cell.at("options").items()) {
      run.config.options[key] = value.get<std::string>();
    }
    const json& evaluation = cell.at("evaluation");
    evaluation.at("seed").get_to(run.evaluation.seed);
    evaluation.at("num_seeds").get_to(run.evaluation.num_seeds);
    evaluation.at("num_trajectories").get_to(run.evaluation.num_trajectories);
    evaluation.at("conditional_samples").get_to(run.evaluation.conditional_samples);
    evaluation.at("c2st").get_to(run.evaluation.c2st);
    if (evaluation.contains("num_steps")) {
      run.evaluation.num_steps = evaluation.at("num_steps").get<int>();
    }
    return run;
  } catch (const json::exception& error) {
    throw_invalid("cell", "a cell must be the JSON that a grid hands on: {}",
                  json_error_text(error));
  }
}

}  // namespace bridgemark
