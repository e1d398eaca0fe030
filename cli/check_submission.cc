#include "bridgemark/submission/check_submission.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/report/board/submission_table.h"
#include "cli/command.h"
#include "cli/output.h"

namespace bridgemark::cli {

namespace {

constexpr int kRefused = 2;

struct CheckOptions {
  CommonOptions common;
  std::string folder;
  std::string output;
};

int run_check_submission(const CheckOptions& options) {
  const SubmissionCheck check = check_submission(options.common.context(), options.folder);
  if (!check.refusals.empty()) {
    for (const std::string& line : check.refusals) note("bridgemark: {}\n", line);
    return kRefused;
  }
  if (!options.output.empty()) {
    create_folder(options.output);
    write_results(check.results, options.output);
  }
  if (options.common.json) {
    nlohmann::json runs = nlohmann::json::array();
    for (const RunResult& result : check.results) runs.push_back(result.run);
    say("{}\n",
        nlohmann::json{
            {"name", check.solver.name}, {"revision", check.solver.revision}, {"runs", runs}}
            .dump(2));
    return 0;
  }
  say("{}", submission_table(check));
  return 0;
}

}  // namespace

void add_check_submission(CLI::App& app, Action& action) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command = app.add_subcommand(
      "check-submission", "Hold a submission to the board against the truth, and score it again");
  command->footer(
      "Example: bridgemark check-submission mine\n"
      "Reads solver.toml, the answers and the claimed scores of a folder that bridgemark evaluate "
      "--submission made, and prints what a board would show. Exit status 2 with a line for each "
      "thing that is wrong: a stale pair, a file that was changed or has another shape, a score "
      "that the answers do not have.");
  command->add_option("DIR", options->folder, "Folder of the submission")->required();
  command->add_option("-o,--output", options->output,
                      "Folder to write the scores to that were found: results.jsonl and .csv. "
                      "Nothing is written without it");
  add_common_options(*command, options->common);
  add_json_option(*command, options->common);
  command->callback([=, &action] { action = [=] { return run_check_submission(*options); }; });
}

}  // namespace bridgemark::cli
