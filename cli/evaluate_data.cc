#include "cli/evaluate_data.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/io/csv.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/npy.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/metric/own_data/comparison_text.h"
#include "bridgemark/solver/run/compare_runs.h"
#include "cli/output.h"
#include "cli/table.h"

namespace bridgemark::cli {

namespace {

constexpr const char* kDataFileOptions[] = {"--x0", "--x1", "--report", "--vocabulary",
                                            "--condition"};

// What else goes with them.
constexpr std::array<std::string_view, 7> kOptionsBesideData = {
    "--run", "--seed", "--threads", "--device", "--progress", "--quiet", "--json"};

bool belongs_to_data(const CLI::Option& option) {
  const auto is_name = [&](std::string_view name) { return option.check_name(std::string(name)); };
  return std::ranges::any_of(kDataFileOptions, is_name) ||
         std::ranges::any_of(kOptionsBesideData, is_name);
}

DataPageOptions page_options(const DataFiles& files) {
  DataPageOptions options;
  if (files.vocabulary) options.vocabulary = load_vocabulary(*files.vocabulary);
  return options;
}

ComparedRun load_compared(const Context& context, const std::string& folder, bool by_label) {
  ComparedRun compared{terminal_text(folder)};
  if (by_label && is_labelled_run(folder)) {
    compared.labels = load_labelled_run(context, folder);
  } else {
    compared.run = load_whole_run(context, folder);
  }
  return compared;
}

std::optional<Condition> load_condition(const std::vector<std::string>& files) {
  if (files.empty()) return std::nullopt;
  return Condition{load_integers(files[0]), load_integers(files[1])};
}

}  // namespace

void add_data_options(CLI::App& command, DataFiles& files) {
  const std::string data = "Own data in place of a pair";
  command
      .add_option(
          kDataFileOptions[0], files.x0,
          "States that no run was trained on, integers .npy [n,D], or a table (.csv) for runs of "
          "train --columns")
      ->group(data);
  command
      .add_option(kDataFileOptions[1], files.x1,
                  "The same of the other end, .npy [m,D] or .csv; unpaired")
      ->group(data);
  CLI::Option* report = command.add_option(kDataFileOptions[2], files.report,
                                           "Page to write: the scores, and rows before and after, "
                                           "of a table as its values, of arrays as "
                                           "images where D is a square, else as a heat map");
  report->group(data);
  command
      .add_option(kDataFileOptions[3], files.vocabulary,
                  "File with a word a line, one for each category: the page shows rows as words")
      ->group(data)
      ->needs(report);
  command
      .add_option(kDataFileOptions[4], files.condition,
                  "Labels of the rows of --x0 and of --x1, two files of integers .npy [n] and [m]: "
                  "each label is scored by itself, and its share of x0 weighs it in the means")
      ->group(data)
      ->expected(2);
}

bool asks_for_data(const CLI::App& command) {
  return std::ranges::any_of(kDataFileOptions,
                             [&](const char* name) { return command.count(name) > 0; });
}

void check_data_request(const CLI::App& command) {
  const bool has_x0 = command.count("--x0") > 0, has_x1 = command.count("--x1") > 0;
  if (!has_x0 && !has_x1) {
    const char* given = command.count("--report") > 0      ? "--report"
                        : command.count("--condition") > 0 ? "--condition"
                                                           : "--vocabulary";
    throw_invalid("evaluate", "{} needs --x0 and --x1, got it without", given);
  }
  if (command.count("PAIR") > 0) {
    throw_invalid("evaluate",
                  "give one of PAIR and --x0 with --x1, got {} beside them; each run needs a --run "
                  "of its own",
                  command.get_option("PAIR")->as<std::string>());
  }
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0 || belongs_to_data(*option)) continue;
    throw_invalid("evaluate", "{} is of a PAIR and its truth, which data has not; got it with --x0",
                  option->get_name());
  }
  if (!has_x0 || !has_x1) {
    throw_invalid("evaluate", "--x0 and --x1 must be given together, got {}",
                  has_x0 ? "--x0" : "--x1");
  }
  if (command.count("--run") == 0) {
    throw_invalid("evaluate", "--x0 and --x1 need --run, once or more, got none");
  }
}

void show_comparison(const CommonOptions& common, const DataFiles& files,
                     const DataComparisonRecord& record, StatesView x0, StatesView x1,
                     const DataPageOptions& page) {
  if (files.report) {
    write_file_atomically(*files.report, data_page(record.comparison, x0, x1, page));
  }
  for (const std::string& warning : record.comparison.warnings) note("warning: {}\n", warning);
  if (common.json) {
    say("{}\n", record.record().dump(2));
  } else {
    say("{}\n", comparison_text(record.comparison));
  }
}

int evaluate_data(const CommonOptions& common, const DataFiles& files,
                  const std::vector<std::string>& runs) {
  if (files.report) check_page_file(*files.report);  // before the work whose results it shows
  if (is_csv(files.x0) || is_csv(files.x1)) return evaluate_tables(common, files, runs);
  const Context context = common.context();
  DataPageOptions page = page_options(files);
  const States x0 = load_states(files.x0), x1 = load_states(files.x1);
  const std::optional<Condition> condition = load_condition(files.condition);
  if (condition) std::tie(page.labels0, page.labels1) = std::tie(condition->x0, condition->x1);
  std::vector<ComparedRun> compared;
  for (const std::string& folder : runs) {
    compared.push_back(load_compared(context, folder, condition.has_value()));
  }
  check_vocabulary(page, compared[0].num_categories());
  const DataComparisonRecord record = record_comparison(context, [&] {
    return compare_runs(context, compared, x0, x1, condition, {.seed = common.seed});
  });
  show_comparison(common, files, record, x0, x1, page);
  return 0;
}

}  // namespace bridgemark::cli
