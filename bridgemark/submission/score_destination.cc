#include "bridgemark/submission/score_destination.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/core/version.h"
#include "bridgemark/experiment/added_results.h"
#include "bridgemark/experiment/shell_words.h"
#include "bridgemark/metric/prediction_files.h"
#include "bridgemark/solver/registry.h"
#include "bridgemark/solver/run/run.h"
#include "bridgemark/solver/run/run_files.h"
#include "bridgemark/solver/run/run_result.h"
#include "bridgemark/submission/answer_files.h"
#include "bridgemark/submission/make_submission.h"
#include "bridgemark/submission/new_inputs.h"
#include "bridgemark/submission/rescoring.h"

namespace bridgemark {

namespace {

// The day on which the run was finished, in Greenwich.
std::string day_of(const std::filesystem::path& run_folder) {
  struct stat about {};
  if (::stat((run_folder / kRunResult).c_str(), &about) != 0) return {};
  std::tm day{};
  ::gmtime_r(&about.st_mtime, &day);
  return fmt::format("{:04}-{:02}-{:02}", day.tm_year + 1900, day.tm_mon + 1, day.tm_mday);
}

KnownOfSolver known_of_run(const RunConfig& config, const nlohmann::json& result,
                           const std::filesystem::path& run_folder) {
  std::vector<std::string> command = {"bridgemark", "train", config.solver, "--pair", config.pair};
  for (const auto& [key, value] : config.options) {
    if (!value.empty()) command.insert(command.end(), {"--set", key + "=" + value});
  }
  const nlohmann::json& told = result["diagnostics"];
  return {.revision = fmt::format("bridgemark {}", kVersion),
          .description = find_solver(config.solver).description(),
          .date = day_of(run_folder),
          .command = shell_words(command),
          .hardware = result.value("machine", ""),
          .updates = told.contains("updates") && told["updates"].is_number_integer()
                         ? told["updates"].get<std::int64_t>()
                         : 0};
}

EvaluationRecord evaluate_with_own(const Context& context, const BenchmarkPair& pair,
                                   const Coupling& coupling, const EvaluationOptions& options,
                                   const ScoreDestination& destination) {
  EvaluationRecord record = evaluate_and_record(context, pair, coupling, options, destination.rows);
  if (destination.own_scores) add_own_scores(destination.own_scores(), record);
  return record;
}

EvaluationRecord evaluate_and_add(const Context& context, const BenchmarkPair& pair,
                                  const Coupling& coupling, const EvaluationOptions& options,
                                  const ScoreDestination& destination) {
  AddedResult added(context, pair, options,
                    {*destination.add_to, destination.label.value_or(""), destination.pair_name,
                     destination.rows, destination.training_seconds, destination.note});
  EvaluationRecord record = evaluate_with_own(context, pair, coupling, options, destination);
  added.write(context, pair, coupling, record);
  return record;
}

EvaluationRecord evaluate_and_submit(const Context& context, const BenchmarkPair& pair,
                                     const Coupling& coupling, const EvaluationOptions& options,
                                     const ScoreDestination& destination) {
  const std::filesystem::path& folder = *destination.submission;
  SubmissionEntry entry(
      context, pair, coupling, options,
      {folder, destination.label.value_or(""), destination.training_seed,
       destination.training_seconds.value_or(0.0), destination.rows, destination.known});
  ScoredAnswers scored =
      score_answers(context, pair, entry.kept(), entry.solver(), entry.answers());
  entry.claim(std::move(scored.result));
  return std::move(scored.record);
}

EvaluationRecord evaluate_and_answer(const Context& context, const BenchmarkPair& pair,
                                     const Coupling& coupling, const EvaluationOptions& options,
                                     const ScoreDestination& destination) {
  if (options.conditional_samples != kConditionalSamples) {
    throw_invalid("evaluate", "conditional_samples must be the protocol's {} of answers, got {}",
                  kConditionalSamples, options.conditional_samples);
  }
  const BenchmarkPair asked = pair_of_kit(pair, *destination.answer);
  write_answers(context, asked, coupling, seed_of_new_answers(options.seed), *destination.answer);
  return evaluate_and_record(context, asked, *load_predictions(context, asked, *destination.answer),
                             options, destination.rows);
}

}  // namespace

void check_destination(const ScoreDestination& destination, const KnownTraining& known,
                       const DestinationWords& words) {
  if (destination.add_to && !destination.label) {
    throw_invalid("evaluate", "{} needs {}, what tables call the solver, got {}", words.add_to,
                  words.label, words.none);
  }
  check_training_rows(destination.rows);
  if (known.rows && destination.rows.samples > 0) {
    throw_invalid("evaluate", "{}, got {}", words.rows_are_known, destination.rows.samples);
  }
  const std::pair<bool, std::string_view> all[] = {
      {destination.add_to.has_value(), words.add_to},
      {destination.submission.has_value(), words.submission},
      {destination.answer.has_value(), words.answer}};
  std::string_view other;
  for (const auto& [is_given, word] : all) {
    if (!is_given) continue;
    if (!other.empty()) throw_invalid("evaluate", "give one of {} and {}, got both", other, word);
    other = word;
  }
  if (!destination.submission) return;
  if (known.seconds == destination.training_seconds.has_value()) {
    throw_invalid("evaluate", "{} needs {}, got {}", words.submission, words.training_seconds,
                  known.seconds ? "both" : words.none);
  }
}

void take_training_of_run(const std::filesystem::path& run_folder, ScoreDestination& destination) {
  const RunConfig config = load_run_config(run_folder);
  destination.rows = config.rows;
  if (!destination.submission && !destination.add_to) return;
  destination.training_seed = config.seed;
  const nlohmann::json result = load_run_result(run_folder);
  destination.training_seconds = training_seconds(result, run_folder.string());
  destination.known = known_of_run(config, result, run_folder);
}

EvaluationRecord evaluate_to(const Context& context, const BenchmarkPair& pair,
                             const Coupling& coupling, const EvaluationOptions& options,
                             const ScoreDestination& destination) {
  check_training_rows(destination.rows);
  if (destination.add_to) return evaluate_and_add(context, pair, coupling, options, destination);
  if (destination.submission) {
    return evaluate_and_submit(context, pair, coupling, options, destination);
  }
  if (destination.answer) {
    return evaluate_and_answer(context, pair, coupling, options, destination);
  }
  return evaluate_with_own(context, pair, coupling, options, destination);
}

}  // namespace bridgemark
