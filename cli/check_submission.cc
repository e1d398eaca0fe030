#include "bridgemark/submission/check_submission.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/report/board/submission_table.h"
#include "bridgemark/submission/new_inputs.h"
#include "cli/command.h"
#include "cli/option_use.h"
#include "cli/output.h"

namespace bridgemark::cli {

namespace {

constexpr int kRefused = 2;

struct CheckOptions {
  CommonOptions common;
  std::string folder;
  std::string output;
  std::string ask;      // folder for new inputs
  std::string answers;  // folder with answers to them
};

void ask_anew(const Context& context, const SubmissionCheck& check, const CheckOptions& options) {
  for (const std::filesystem::path& kit :
       write_new_inputs(context, check.solver, options.common.seed, options.ask)) {
    note("{}: new inputs, to be answered like a kit\n", terminal_text(kit.string()));
  }
}

int run_check_submission(const CheckOptions& options) {
  const Context context = options.common.context();
  SubmissionCheck check = check_submission(context, options.folder);
  if (check.refusals.empty() && !options.answers.empty()) {
    check.refusals = judge_new_answers(context, options.folder, check.solver, options.common.seed,
                                       options.answers);
  }
  if (!check.refusals.empty()) {
    for (const std::string& line : check.refusals) note("bridgemark: {}\n", line);
    return kRefused;
  }
  if (!options.ask.empty()) ask_anew(context, check, options);
  if (!options.output.empty()) {
    create_folder(options.output);
    write_results(check.results, options.output);
  }
  if (options.common.json) {
    nlohmann::json runs = nlohmann::json::array();
    for (const RunResult& result : check.results) runs.push_back(result.run);
    nlohmann::json object = {
        {"name", check.solver.name}, {"revision", check.solver.revision}, {"runs", runs}};
    if (!options.answers.empty()) object["new_answers_agree"] = true;
    say("{}\n", object.dump(2));
    return 0;
  }
  say("{}", submission_table(check));
  if (!options.answers.empty()) {
    say("{}", agreement_text(check.solver, options.common.seed, options.answers));
  }
  return 0;
}

}  // namespace

void add_check_submission(CLI::App& app, Action& action) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command = app.add_subcommand(
      "check-submission", "Hold a submission to the board against the truth, and score it again");
  command->footer(
      "Examples:\n"
      "  bridgemark check-submission mine\n"
      "  bridgemark check-submission mine --ask new --seed 7\n"
      "  bridgemark evaluate d2-gaussian-0.02-spread --run run --answer "
      "new/d2-gaussian-0.02-spread.seed0\n"
      "  bridgemark check-submission mine --answers new --seed 7\n"
      "Reads solver.toml, the answers and the claimed scores of a folder that bridgemark evaluate "
      "--submission made, and prints what a board would show. Exit status 2 with a line for each "
      "thing that is wrong: a stale pair, a file that was changed or has another shape, a score "
      "that the answers do not have.\n"
      "Answers in files could be made without a solver. --ask writes new inputs, kits of draws "
      "that "
      "depend on --seed and on a hash of the answers; the makers answer them (evaluate --answer, "
      "or "
      "files as for a kit), and --answers with the same --seed tells whether these are of the "
      "solver that made the submission.");
  command->add_option("DIR", options->folder, "Folder of the submission")->required();
  command->add_option("-o,--output", options->output,
                      "Folder to write the scores to that were found: results.jsonl and .csv. "
                      "Nothing is written without it");
  CLI::Option* ask = command->add_option(
      "--ask", options->ask, "Folder to write new inputs to, for the makers of the submission");
  CLI::Option* answers =
      command->add_option("--answers", options->answers, "Folder with answers to new inputs");
  ask->excludes(answers);
  add_seed_option(*command, options->common, "Seed of the new inputs");
  only_for(command->get_option("--seed"), "--ask or --answers",
           [=]() -> std::optional<std::string> {
             if (!options->ask.empty() || !options->answers.empty()) return std::nullopt;
             return "none";
           });
  add_common_options(*command, options->common);
  add_json_option(*command, options->common);
  command->callback([=, &action] { action = [=] { return run_check_submission(*options); }; });
}

}  // namespace bridgemark::cli
