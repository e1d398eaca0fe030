#include "cli/table.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/io/csv.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/io/json.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/pair/table/schema_file.h"
#include "bridgemark/solver/core/options.h"
#include "bridgemark/solver/outside/outside_solver.h"
#include "bridgemark/solver/run/run_files.h"
#include "bridgemark/solver/table/column_model.h"
#include "bridgemark/solver/table/table_run.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/ranks.h"
#include "cli/train_result.h"

namespace bridgemark::cli {

namespace {

void require_csv(const char* command, const char* option, const std::string& file) {
  if (is_csv(file)) return;
  throw_invalid(command, "{} must be a table (.csv) like the others, got {}", option, file);
}

void say_columns(const TableSchema& schema) {
  for (const TableColumn& column : schema.columns) {
    note("note: column {}: {}, {} categories{}, gamma {}\n", terminal_text(column.name),
         column_kind_name(column.kind), column.num_categories(),
         column.has_missing ? " of which one is for missing fields" : "", column.gamma);
  }
}

}  // namespace

int train_tables(const TableTraining& request) {
  find_library_solver(request.solver);  // refuses another name
  if (request.solver != kTableSolver) {
    throw_invalid("train", "--columns goes with solver {}, got {}", kTableSolver, request.solver);
  }
  for (const auto& [option, file] : {std::pair("--x0", request.x0), {"--x1", request.x1}}) {
    if (is_csv(file)) continue;
    throw_invalid("train", "--columns goes with tables (.csv), got {} {}", option, file);
  }
  require_no_ranks("train --columns");
  const Context context = request.common.context();
  stop_on_signals();
  SolverOptions options(column_options());
  for (const std::string& assignment : request.assignments) options.set_assignment(assignment);
  options.resolve();
  const CsvTable x0 = load_csv(request.x0), x1 = load_csv(request.x1);
  const ColumnsAsked asked = load_columns(request.columns, x0);
  if (request.steps && asked.total_steps) {
    throw_invalid("train", "--steps goes with a columns file without steps, got --columns {}",
                  request.columns);
  }
  const int steps = asked.total_steps.value_or(request.steps.value_or(kDefaultTotalSteps));
  const TableSchema schema = fit_schema(context, asked.columns, x0, x1, steps);
  if (!request.common.quiet) say_columns(schema);
  const TableRun run =
      train_table(context, {request.common.seed, options.values()}, schema, schema.encode(x0),
                  schema.encode(x1), request.output, request.resume);
  const nlohmann::json result = load_json(std::filesystem::path(request.output) / kRunResult);
  if (request.common.json) {
    say("{}\n", result.dump(2));
    return 0;
  }
  say("{}: {} on {} rows of x0 and {} of x1 in {:.2f} s\n", terminal_text(request.output),
      request.solver, run.x0.rows(), run.x1.rows(), result["wall_seconds"].get<double>());
  say_diagnostics(result);
  say_next(request.common,
           {"sample", "--run", request.output, "--given", request.x0, "-o", "x1.csv"});
  return 0;
}

void sample_table(const Context& context, const RunSample& request) {
  if (request.reverse || request.trajectory || !request.condition.empty()) {
    throw_invalid("sample", "{} goes with a run of arrays, got --run {} of a table",
                  request.reverse      ? "--reverse"
                  : request.trajectory ? "--what trajectory"
                                       : "--condition",
                  request.run);
  }
  require_csv("sample", "--given", request.given);
  require_csv("sample", "--output", request.output);
  const TableRun run = load_table_run(request.run);
  const States given = run.schema.encode(load_csv(request.given));
  States drawn(given.rows(), given.cols());
  run.bridge->sample(context, given, {request.seed, DrawPurpose::kConditional}, 0, drawn);
  write_file_atomically(request.output, csv_text(run.schema.decode(drawn, request.output)));
  say("{}: x1 of {} given x0, {} rows of {} columns\n", terminal_text(request.output),
      terminal_text(request.run), drawn.rows(), drawn.cols());
}

int evaluate_tables(const CommonOptions& common, const DataFiles& files,
                    const std::vector<std::string>& folders) {
  if (!files.condition.empty() || files.vocabulary) {
    throw_invalid("evaluate", "{} goes with arrays (.npy), got --x0 {}",
                  files.vocabulary ? "--vocabulary" : "--condition", files.x0);
  }
  require_csv("evaluate", "--x0", files.x0);
  require_csv("evaluate", "--x1", files.x1);
  const Context context = common.context();
  std::vector<TableRun> runs;
  std::vector<DataContestant> contestants;
  for (const std::string& folder : folders) {
    if (!is_folder(folder)) throw_file(folder, "no such folder");
    if (!is_table_run(folder)) {
      throw_invalid("evaluate", "--run must be of a table like --x0 {}, got {}", files.x0, folder);
    }
    runs.push_back(load_table_run(folder));
    if (!same_categories(runs.front().schema, runs.back().schema)) {
      throw_invalid("evaluate",
                    "runs must have the same columns and categories, got others in {} "
                    "and {}; give one run's columns.toml to the other's training",
                    folders.front(), folder);
    }
    contestants.push_back(table_contestant(terminal_text(folder), runs.back()));
  }
  const TableSchema& schema = runs.front().schema;
  const States rows0 = schema.encode(load_csv(files.x0)), rows1 = schema.encode(load_csv(files.x1));
  const DataComparisonRecord record = record_comparison(context, [&] {
    return compare_on(context, rows0, rows1, contestants, {.seed = common.seed});
  });
  show_comparison(common, files, record, rows0, rows1, {.table = schema});
  return 0;
}

}  // namespace bridgemark::cli
