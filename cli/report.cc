#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/experiment/results.h"
#include "bridgemark/io/atomic_file.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/report/report.h"
#include "bridgemark/report/table_writers.h"
#include "bridgemark/report/tables.h"
#include "cli/command.h"
#include "cli/output.h"

namespace bridgemark::cli {

namespace {

struct Options {
  CommonOptions common;
  std::string folder;
  std::string output;
  std::string vega = kDefaultVegaFolder;
  bool whole = false;
  bool tables_only = false;
};

void print_tables(const std::vector<Table>& tables) {
  const bool colour = isatty(STDOUT_FILENO) != 0;
  for (const Table& table : tables) say("{}\n", text_table(table, colour));
  say("* best, + second best of a column without the Oracle, which is the ceiling; [number] "
      "is the paper's.\n{}\n",
      spread_note(tables));
}

int run(const Options& options) {
  const Context context = options.common.context();
  const std::filesystem::path folder = options.folder, output = options.output;
  const std::vector<RunResult> results = load_results(folder / kResultsJsonl);
  if (results.empty()) throw_file((folder / kResultsJsonl).string(), "has no results");
  const std::vector<Table> tables = make_tables(results, options.whole);
  std::vector<std::string> written;
  const auto write = [&](const std::filesystem::path& path, const std::string& text) {
    write_file_atomically(path, text);
    written.push_back(terminal_text(path.string()));
  };
  const std::filesystem::path beside = output.parent_path();
  std::string html;
  if (!options.tables_only) html = report_html(context, folder, results, tables, {options.vega});
  if (!beside.empty()) create_folder(beside);
  write(beside / "tables.md", markdown_tables(tables, results[0].experiment));
  write(beside / "tables.tex", latex_tables(tables));
  write(beside / "tables.csv", csv_tables(tables));
  if (!options.tables_only) write(output, html);
  if (options.common.json) {
    say("{}\n",
        nlohmann::json{{"runs", results.size()}, {"tables", tables.size()}, {"files", written}}
            .dump(2));
    return 0;
  }
  print_tables(tables);
  say("\n{}\n", fmt::join(written, "\n"));
  return 0;
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("report", "Tables and one HTML file of an experiment's results");
  command->footer(
      "Example: bridgemark report quick -o quick/report.html\n"
      "Writes tables.md, tables.tex and tables.csv beside it and prints the tables. The folder is "
      "one of bridgemark run, or any with its results.jsonl.");
  command->add_option("DIR", options->folder, "Folder with results.jsonl")->required();
  command->add_option("-o,--output", options->output, "HTML file to write")->required();
  command->add_flag("--whole", options->whole,
                    "All rows and columns of the paper's tables, blank where nothing was measured");
  command->add_flag("--tables-only", options->tables_only, "Write the tables, no HTML file");
  command->add_option("--vega", options->vega, "Folder of Vega's scripts (Debian's libjs-vega)")
      ->capture_default_str();
  add_common_options(*command, options->common, "Not used: figures have a seed of their own");
  add_json_option(*command, options->common);
  command->callback([=, &action] { action = [=] { return run(*options); }; });
}

}  // namespace bridgemark::cli
