#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/metric/joint_kl.h"
#include "bridgemark/metric/prediction_files.h"
#include "bridgemark/metric/record/evaluation_record.h"
#include "bridgemark/metric/record/score_list.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/solver/run/run.h"
#include "bridgemark/submission/score_destination.h"
#include "cli/command.h"
#include "cli/evaluate_data.h"
#include "cli/option_use.h"
#include "cli/output.h"

namespace bridgemark::cli {

namespace {

struct EvaluateOptions {
  CommonOptions common;
  std::string pair;
  std::string predictions;
  std::vector<std::string> runs;
  DataFiles data;
  std::string label;
  std::string add_to;
  std::string submission;
  std::string answer;
  std::uint64_t training_seed = 0;
  TrainingRows rows;  // behind --predictions; a run knows its own
  double training_seconds = 0.0;
  bool training_seconds_given = false;
  EvaluationOptions evaluation;
};

void check_source(const EvaluateOptions& options) {
  if (options.pair.empty()) {
    throw_invalid("evaluate", "give one of PAIR and --x0 with --x1, got none");
  }
  if (options.predictions.empty() == options.runs.empty()) {
    throw_invalid("evaluate", "give one of --predictions and --run, got {}",
                  options.runs.empty() ? "none" : "both");
  }
  if (options.runs.size() > 1) {
    throw_invalid("evaluate", "one --run is scored on a PAIR, got {}", options.runs.size());
  }
}

constexpr DestinationWords kDestinationWords = {
    .add_to = "--add-to",
    .submission = "--submission",
    .answer = "--answer",
    .label = "--label NAME",
    .training_seconds = "--training-seconds of --predictions, and knows those of --run",
    .rows_are_known = "--samples is of the training behind --predictions; --run knows its own",
    .none = "none"};

ScoreDestination destination_of(const EvaluateOptions& options) {
  ScoreDestination destination;
  if (!options.add_to.empty()) destination.add_to = options.add_to;
  if (!options.submission.empty()) destination.submission = options.submission;
  if (!options.answer.empty()) destination.answer = options.answer;
  if (!options.label.empty()) destination.label = options.label;
  destination.pair_name = options.pair;
  destination.note = [](const std::string& text) { note("{}\n", terminal_text(text)); };
  destination.rows = options.rows;
  destination.training_seed = options.training_seed;
  if (options.training_seconds_given) destination.training_seconds = options.training_seconds;
  const bool knows_training = !options.runs.empty();
  check_destination(destination, {.rows = knows_training, .seconds = knows_training},
                    kDestinationWords);
  return destination;
}

int run_evaluate(const EvaluateOptions& options) {
  check_source(options);
  ScoreDestination destination = destination_of(options);
  const Context context = options.common.context();
  const BenchmarkPair pair = load_pair(options.pair);
  const std::string run = options.runs.empty() ? std::string() : options.runs[0];
  const std::string what = !options.label.empty() ? options.label
                           : run.empty()          ? options.predictions
                                                  : run;
  const std::shared_ptr<const Coupling> coupling =
      run.empty() ? load_predictions(context, pair, options.predictions,
                                     options.evaluation.conditional_samples)
                  : load_run(context, pair, run);
  EvaluationOptions evaluation = options.evaluation;
  evaluation.seed = options.common.seed;
  if (!run.empty()) take_training_of_run(run, destination);
  const EvaluationRecord record = evaluate_to(context, pair, *coupling, evaluation, destination);
  if (options.common.json) {
    say("{}\n", record.json.dump(2));
  } else {
    const std::string named =
        destination.rows.samples > 0
            ? fmt::format("{}, trained on {}", what, training_rows_text(destination.rows))
            : what;
    say("{}\n", score_list(terminal_text(named), terminal_text(pair.identity().name),
                           evaluation.num_seeds, record.evaluation.scores));
    const std::string joint_kl = joint_kl_text(record.evaluation.joint_kl);
    if (record.evaluation.joint_kl.particles > 0) say("{}\n", joint_kl);
  }
  return 0;
}

}  // namespace

void add_evaluate(CLI::App& app, Action& action) {
  auto options = std::make_shared<EvaluateOptions>();
  CLI::App* command = app.add_subcommand(
      "evaluate", "Score a run or a solver's answer files, or runs on data without a truth");
  command->footer(
      "Examples:\n"
      "  bridgemark evaluate d2-gaussian-0.02 --predictions answers\n"
      "  bridgemark evaluate d2-gaussian-0.02 --run run --seeds 3 --json\n"
      "  bridgemark evaluate d2-gaussian-0.02 --predictions answers --label Mine --add-to out\n"
      "  bridgemark evaluate d2-gaussian-0.02 --predictions answers --label Mine --submission mine "
      "--training-seconds 12\n"
      "  bridgemark evaluate --x0 a.npy --x1 b.npy --run run --run other --report page.html\n"
      "The answers folder holds pred_x1.npy and pred_conditional_x1.npy, see bridgemark kit "
      "--help; optional are pred_log_marginals.npy [157,D,S] (log q(x1^d = s | x0) of the "
      "conditional inputs: the exact score) and pred_log_conditional.npy [20000] (log q(x1|x0) of "
      "the test set: the joint KL).\n"
      "Data has no truth: with --x0 and --x1, rows that no run was trained on, bridges are "
      "compared by their held-out objective, and all runs by how their draws fit x1, what they "
      "repeat of their training rows, what they cost and how their directions fit each other.");
  command->add_option("PAIR", options->pair, "A preset or a pair folder");
  command->add_option("--predictions", options->predictions, "Folder with a solver's answers");
  command
      ->add_option("--run", options->runs,
                   "Run folder of bridgemark train; with --x0 and --x1 as often as there are runs")
      ->type_size(1)
      ->allow_extra_args(false);
  add_data_options(*command, options->data);
  command->add_option("--label", options->label,
                      "What the printed list and tables call the solver");
  command->add_option("--add-to", options->add_to,
                      "Folder of bridgemark run: its tables and report show the solver under "
                      "--label. The same label, pair and --seed again replace the result");
  command->add_option("--submission", options->submission,
                      "Folder of a submission to the board: keeps the answers and their scores "
                      "there, under --label");
  command->add_option("--answer", options->answer,
                      "Folder of new inputs for this pair that check-submission --ask made: writes "
                      "the run's answers there, and scores them");
  CLI::Option* training_seed =
      command->add_option("--training-seed", options->training_seed,
                          "Seed of the training behind --predictions, for --submission");
  training_seed->check(whole_number())->capture_default_str();
  CLI::Option* training_seconds =
      command->add_option("--training-seconds", options->training_seconds,
                          "Seconds of the training behind --predictions, for --submission and "
                          "for the figures of --add-to");
  training_seconds->check(number_in(0.0, 1e12));
  add_training_rows_options(*command, options->rows,
                            "Rows of a training set that the solver behind --predictions was "
                            "trained on (default: 0, endless draws)");
  EvaluationOptions& evaluation = options->evaluation;
  command->add_option("--seeds", evaluation.num_seeds, "Repetitions, with seeds from --seed on")
      ->check(CLI::Range(1, kMaxEvaluationSeeds))
      ->capture_default_str();
  command->add_option("--num-steps", evaluation.num_steps,
                      fmt::format("Steps of the trajectory KL, where the solver has transitions "
                                  "for them (default: those it was trained with, else {})",
                                  kTrajectorySteps));
  command
      ->add_option("--trajectories", evaluation.num_trajectories,
                   "Trajectories drawn for the trajectory KL")
      ->check(CLI::Range(1, int{kMaxTrajectories}))
      ->capture_default_str();
  command
      ->add_option("--conditional-samples", evaluation.conditional_samples,
                   "Draws for each conditional input; more raise the ceiling of the conditional "
                   "scores. Answer files must have as many")
      ->check(CLI::Range(1, int{kMaxConditionalSamples}))
      ->capture_default_str();
  command
      ->add_option("--particles", evaluation.particles,
                   "Particles of a test row for the joint KL of a solver that has steps alone, "
                   "such as csbm: an upper bound, closer with more; 0: none")
      ->check(CLI::Range(0, int{kMaxParticles}))
      ->capture_default_str();
  command
      ->add_option("--max-seconds", evaluation.max_seconds,
                   fmt::format("Seconds for these particles, after which the test rows done so far "
                               "are enough ({} at least); inf: no bound",
                               kFewestParticleRows))
      ->capture_default_str();
  command->add_flag("--c2st", evaluation.c2st,
                    "Also train a classifier on (x0, x1); always done for a reversed pair");
  add_seed_option(*command, options->common, "Seed of the draws");
  add_common_options(*command, options->common);
  add_json_option(*command, options->common);
  only_for(training_seed, "--submission", [=]() -> std::optional<std::string> {
    if (!options->submission.empty()) return std::nullopt;
    return "none";
  });
  only_for(training_seconds, "--submission or --add-to", [=]() -> std::optional<std::string> {
    if (!options->submission.empty() || !options->add_to.empty()) return std::nullopt;
    return "none";
  });
  only_for(command->get_option("--answer"), "--run", [=]() -> std::optional<std::string> {
    if (options->predictions.empty()) return std::nullopt;
    return "--predictions " + options->predictions;
  });
  for (CLI::Option* training : {training_seed, training_seconds}) {
    only_for(training, "--predictions", [=]() -> std::optional<std::string> {
      if (options->runs.empty()) return std::nullopt;
      return fmt::format("--run {}, which knows its own", options->runs[0]);
    });
  }
  only_for(command->get_option("--label"), "a printed list, --add-to or --submission",
           [=]() -> std::optional<std::string> {
             const bool shown = !options->add_to.empty() || !options->submission.empty();
             if (!options->common.json || shown) return std::nullopt;
             return "--json";
           });
  only_for(command->get_option("--max-seconds"), "--particles above 0",
           [=]() -> std::optional<std::string> {
             if (options->evaluation.particles > 0) return std::nullopt;
             return "--particles 0";
           });
  for (const char* of_steps : {"--num-steps", "--trajectories", "--particles", "--max-seconds"}) {
    only_for(command->get_option(of_steps), "--run", [=]() -> std::optional<std::string> {
      if (options->predictions.empty()) return std::nullopt;
      return fmt::format("--predictions {}, which have no steps", options->predictions);
    });
  }
  command->callback([=, &action] {
    options->training_seconds_given = command->count("--training-seconds") > 0;
    if (asks_for_data(*command)) {
      check_data_request(*command);
      action = [=] { return evaluate_data(options->common, options->data, options->runs); };
      return;
    }
    action = [=] { return run_evaluate(*options); };
  });
}

}  // namespace bridgemark::cli
