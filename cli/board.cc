#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bridgemark/io/printable.h"
#include "bridgemark/report/board/write_board.h"
#include "cli/command.h"
#include "cli/option_use.h"
#include "cli/output.h"

namespace bridgemark::cli {

namespace {

struct BoardOptions {
  CommonOptions common;
  std::vector<std::string> results;
  std::vector<std::string> submissions;
  std::vector<std::string> leave_out;
  std::string output;
};

int run_board(const BoardOptions& options) {
  const BoardRequest request{{options.results.begin(), options.results.end()},
                             {options.submissions.begin(), options.submissions.end()},
                             options.leave_out};
  const WrittenBoard written = write_board(options.common.context(), request, options.output);
  std::vector<std::string> files;
  for (const std::filesystem::path& path : written.files) {
    files.push_back(terminal_text(path.string()));
  }
  const Board& board = written.board;
  if (options.common.json) {
    say("{}\n", nlohmann::json{{"runs", board.results.size()},
                               {"left_out", board.left_out},
                               {"sources", board.sources.size()},
                               {"files", files}}
                    .dump(2));
    return 0;
  }
  say("{} of {}, {} left out: pairs that are no presets, methods of --leave-out, and cells that a "
      "folder before has\n{}\n",
      counted(board.results.size(), "run"), counted(board.sources.size(), "folder"), board.left_out,
      fmt::join(files, "\n"));
  return 0;
}

}  // namespace

void add_board(CLI::App& app, Action& action) {
  auto options = std::make_shared<BoardOptions>();
  CLI::App* command = app.add_subcommand(
      "board",
      "A page of many results and submissions: families x solvers, each cell with its "
      "origin");
  command->footer(
      "Example: bridgemark board results/paper results/families --submissions submissions -o "
      "board\n"
      "Writes index.html, which needs no other file and no network, board.json and board.csv. Each "
      "submission is checked as check-submission does, and refused as there. A folder's "
      "provenance.toml (revision, date) says where its runs come from.");
  command->add_option("RESULTS", options->results,
                      "Folders with results.jsonl; a cell comes from the first that has it");
  command
      ->add_option("--submissions", options->submissions,
                   "A submission, or a folder of submissions; may be given several times")
      ->type_size(1)
      ->allow_extra_args(false);
  CLI::Option* leave_out = command->add_option(
      "--leave-out", options->leave_out,
      "A method to leave out of RESULTS, with * and ?; may be given several times");
  leave_out->type_size(1)->allow_extra_args(false);
  only_for(leave_out, "RESULTS", [=]() -> std::optional<std::string> {
    if (!options->results.empty()) return std::nullopt;
    return "none";
  });
  command->add_option("-o,--output", options->output, "Folder to write")->required();
  add_common_options(*command, options->common);
  add_json_option(*command, options->common);
  command->callback([=, &action] { action = [=] { return run_board(*options); }; });
}

}  // namespace bridgemark::cli
