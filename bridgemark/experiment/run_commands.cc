#include "bridgemark/experiment/run_commands.h"

#include <fmt/format.h>

#include <cstdint>

namespace bridgemark {

std::vector<std::string> train_arguments(const ExperimentRun& run,
                                         const std::filesystem::path& run_folder) {
  std::vector<std::string> arguments = {"train",  run.config.solver,
                                        "--pair", run.config.pair,
                                        "--seed", std::to_string(run.config.seed),
                                        "-o",     run_folder.string()};
  if (const TrainingRows& rows = run.config.rows; rows.samples > 0) {
    arguments.insert(arguments.end(), {"--samples", std::to_string(rows.samples), "--training-set",
                                       std::to_string(rows.training_set)});
  }
  for (const std::string& assignment : run.assignments) {
    arguments.insert(arguments.end(), {"--set", assignment});
  }
  return arguments;
}

std::vector<std::string> grid_arguments(const ExperimentRun& run, const std::string& experiment,
                                        const std::filesystem::path& folder) {
  // What is scored in the other direction is made by the run of the training's pair.
  std::string id = run.id;
  const std::string scored = run_id_text(run.scored_pair, "");
  if (!run.scored_pair.empty() && id.starts_with(scored)) {
    id.replace(0, scored.size(), run_id_text(run.config.pair, ""));
  }
  return {"run", experiment, "-o", folder.string(), "--only", id, "--resume"};
}

std::vector<std::string> evaluate_arguments(const ExperimentRun& run,
                                            const std::filesystem::path& run_folder) {
  const EvaluationOptions& options = run.evaluation;
  const std::string& pair = run.scored_pair.empty() ? run.config.pair : run.scored_pair;
  std::vector<std::string> arguments = {"evaluate", pair, "--run", run_folder.string()};
  const auto add = [&](const char* name, std::uint64_t value) {
    arguments.insert(arguments.end(), {name, std::to_string(value)});
  };
  add("--seed", options.seed);
  add("--seeds", static_cast<std::uint64_t>(options.num_seeds));
  if (options.num_steps) add("--num-steps", static_cast<std::uint64_t>(*options.num_steps));
  add("--trajectories", options.num_trajectories);
  add("--conditional-samples", options.conditional_samples);
  add("--particles", options.particles);
  if (options.max_seconds != kParticleSeconds) {
    arguments.insert(arguments.end(), {"--max-seconds", fmt::format("{}", options.max_seconds)});
  }
  arguments.push_back("--json");
  if (options.c2st) arguments.push_back("--c2st");
  return arguments;
}

}  // namespace bridgemark
