#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "bridgemark/io/printable.h"
#include "bridgemark/report/ranking.h"
#include "bridgemark/report/tables/table_writers.h"
#include "bridgemark/report/write_report.h"
#include "cli/command.h"
#include "cli/option_use.h"
#include "cli/output.h"

namespace bridgemark::cli {

namespace {

// A wheel has the scripts in the folder beside that of the program.
std::string default_vega_folder() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path own = program.parent_path().parent_path() / "vega";
  return !error && std::filesystem::is_directory(own, error) ? own.string() : kDefaultVegaFolder;
}

struct ReportOptions {
  CommonOptions common;
  std::string folder;
  std::string output;
  std::string vega = default_vega_folder();
  bool whole = false;
  bool tables_only = false;
  bool brief = false;
};

void print_tables(const std::vector<Table>& tables, bool brief) {
  const std::vector<PairBest> best = best_of_pairs(tables);
  if (!best.empty()) say("{}\n", text_best(best));
  if (brief) return;
  const bool colour = isatty(STDOUT_FILENO) != 0;
  for (const Table& table : tables) say("{}\n", text_table(table, colour));
  say("{} The Oracle is the ceiling; [number] is the paper's.\n{}\n", tie_note(tables),
      spread_note(tables));
}

int run_report(const ReportOptions& options) {
  const std::filesystem::path file = options.output.empty()
                                         ? std::filesystem::path(options.folder) / "report.html"
                                         : std::filesystem::path(options.output);
  const WrittenReport report =
      write_report(options.common.context(),
                   {options.folder, file, options.whole, options.tables_only, {options.vega}});
  std::vector<std::string> written;
  for (const std::filesystem::path& path : report.files) {
    written.push_back(terminal_text(path.string()));
  }
  if (options.common.json) {
    say("{}\n",
        nlohmann::json{
            {"runs", report.results.size()}, {"tables", report.tables.size()}, {"files", written}}
            .dump(2));
    return 0;
  }
  print_tables(report.tables, options.brief);
  say("{}{}\n", options.brief ? "" : "\n", fmt::join(written, "\n"));
  return 0;
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command =
      app.add_subcommand("report", "Tables and one HTML file of an experiment's results");
  command->footer(
      "Example: bridgemark report quick\n"
      "Writes tables.md, tables.tex and tables.csv beside it. Prints who is best on each pair and "
      "the tables, with groups of ties as letters and the smallest gap to a column's best that was "
      "told apart. The folder is one of bridgemark run, or any with its results.jsonl.");
  command->add_option("DIR", options->folder, "Folder with results.jsonl")->required();
  command->add_option("-o,--output", options->output,
                      "HTML file to write; report.html in the folder where it is left out");
  command->add_flag("--whole", options->whole,
                    "All rows and columns of the paper's tables, blank where nothing was measured");
  command->add_flag("--tables-only", options->tables_only, "Write the tables, no HTML file");
  command->add_flag("--brief", options->brief,
                    "Print who is best on each pair, not the tables: these are in the files");
  command->add_option("--vega", options->vega, "Folder of Vega's scripts (Debian's libjs-vega)")
      ->capture_default_str();
  add_common_options(*command, options->common);
  add_json_option(*command, options->common);
  only_for(command->get_option("--vega"), "an HTML file", [=]() -> std::optional<std::string> {
    if (!options->tables_only) return std::nullopt;
    return "--tables-only";
  });
  only_for(command->get_option("--brief"), "printed tables", [=]() -> std::optional<std::string> {
    if (!options->common.json) return std::nullopt;
    return "--json";
  });
  command->callback([=, &action] { action = [=] { return run_report(*options); }; });
}

}  // namespace bridgemark::cli
