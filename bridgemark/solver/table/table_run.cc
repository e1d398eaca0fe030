#include "bridgemark/solver/table/table_run.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

#include "bridgemark/core/clock.h"
#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/folder_lock.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/io/disk/temporaries.h"
#include "bridgemark/io/json.h"
#include "bridgemark/io/safetensors.h"
#include "bridgemark/io/toml_text.h"
#include "bridgemark/pair/table/schema_file.h"
#include "bridgemark/solver/core/diagnostics_json.h"
#include "bridgemark/solver/core/options.h"
#include "bridgemark/solver/core/trained_solver.h"
#include "bridgemark/solver/run/data_file.h"
#include "bridgemark/solver/run/run_files.h"
#include "bridgemark/solver/run/run_result.h"
#include "bridgemark/solver/table/column_model.h"

namespace bridgemark {

namespace {

constexpr char kColumnsFile[] = "columns.toml";

std::string config_text(const TableRequest& request, const SolverOptions& options) {
  toml::table values;
  for (const auto& [key, value] : options.values()) values.insert(key, value);
  const toml::table table{{"kind", "table"},
                          {"solver", kTableSolver},
                          {"seed", std::to_string(request.seed)},
                          {"options", values}};
  std::ostringstream text;
  text << table << '\n';
  return text.str();
}

void save_rows(const States& x0, const States& x1, const std::filesystem::path& path) {
  SafetensorsWriter writer;
  writer.set_metadata("kind", "table");
  const auto add = [&](const char* name, const States& states) {
    writer.add(name, {states.rows(), states.cols()},
               std::span<const std::int32_t>(states.data(), states.size()));
  };
  add("x0", x0);
  add("x1", x1);
  writer.write(path);
}

std::pair<States, States> load_rows(const ColumnReference& reference,
                                    const std::filesystem::path& path) {
  const SafetensorsFile file = SafetensorsFile::load(path);
  const auto read = [&](const char* name) {
    const std::vector<std::size_t>& shape = file.shape(name);
    if (shape.size() != 2) throw_file(file.path(), "tensor '{}' must have two axes", name);
    States states(shape[0], shape[1], file.read_int32(name));
    try {
      reference.check(name, states);
    } catch (const InvalidArgument& error) {
      throw_file(file.path(), "{}", error.what());
    }
    return states;
  };
  return {read("x0"), read("x1")};
}

void save_bridge(const ColumnBridge& bridge, const std::filesystem::path& path) {
  SafetensorsWriter writer;
  writer.set_metadata("kind", "column-bridge");
  const Matrix<double> cores = bridge.log_cores();
  writer.add("log_beta", {bridge.num_components()}, std::span(bridge.log_beta()));
  writer.add("log_cores", {cores.rows(), cores.cols()},
             std::span<const double>(cores.data(), cores.size()));
  writer.write(path);
}

ColumnBridge load_bridge(const ColumnReference& reference, const std::filesystem::path& path) {
  const SafetensorsFile file = SafetensorsFile::load(path);
  if (file.shape("log_beta").size() != 1) {
    throw_file(file.path(), "tensor 'log_beta' must have one axis");
  }
  const std::size_t rows = reference.total_categories(), K = file.shape("log_beta")[0];
  file.expect_shape("log_cores", {rows, K});
  try {
    return {reference, file.read_doubles("log_beta"), {rows, K, file.read_doubles("log_cores")}};
  } catch (const InvalidArgument& error) {
    throw_file(file.path(), "{}", error.what());
  }
}

// Refuses a folder that holds something else than this very run, begun or complete.
void refuse_other_run(const std::filesystem::path& folder, const std::string& config,
                      const TableSchema& schema, const States& x0, const States& x1, bool resume) {
  if (!resume) {
    throw_file(folder.string(), "already holds a run; give another folder or resume it");
  }
  constexpr std::size_t kMaxTextBytes = std::size_t{1} << 26;
  if (read_file(folder / kRunConfig, kMaxTextBytes) != config) {
    throw_file(folder.string(), "holds a run with another configuration (see {})", kRunConfig);
  }
  const bool same = read_file(folder / kColumnsFile, kMaxTextBytes) == schema_text(schema) &&
                    load_rows(schema.reference(), folder / kRunData) == std::pair(x0, x1);
  if (!same) throw_file(folder.string(), "holds a run of other data (see {})", kColumnsFile);
}

// A run in a folder that this process holds.
class TableFolder {
 public:
  TableFolder(const std::filesystem::path& folder, const std::string& config,
              const TableSchema& schema, const States& x0, const States& x1, bool resume)
      : folder_(folder) {
    create_folder(folder);
    lock_.emplace(folder);
    if (path_exists(folder / kRunConfig)) {
      refuse_other_run(folder, config, schema, x0, x1, resume);
      return;
    }
    for (const char* name : {kRunResult, kRunLabels}) {
      if (path_exists(folder / name)) {
        throw_file(folder.string(), "holds {} but no {}; give another folder", name, kRunConfig);
      }
    }
    sweep_temporaries(folder, kRunFiles);
    write_file_atomically(folder / kColumnsFile, schema_text(schema));
    save_rows(x0, x1, folder / kRunData);
    write_file_atomically(folder / kRunConfig, config);
  }

  bool is_complete() const { return path_exists(folder_ / kRunResult); }

 private:
  std::filesystem::path folder_;
  std::optional<FolderLock> lock_;
};

}  // namespace

bool is_table_run(const std::filesystem::path& folder) {
  return path_exists(folder / kColumnsFile);
}

TableRun train_table(const Context& context, const TableRequest& request, const TableSchema& schema,
                     const States& x0, const States& x1, const std::filesystem::path& folder,
                     bool resume) {
  if (context.device != Device::kCpu || context.rank_count() > 1) {
    throw DeviceError("[columns] columns of their own are trained by one --device cpu alone");
  }
  SolverOptions options(column_options());
  for (const auto& [key, value] : request.options) options.give(key, value);
  options.resolve();
  ColumnModel model(context, schema.reference(), x0, x1, options, request.seed);
  std::optional<TableFolder> place;
  TrainingFiles files;
  if (!folder.empty()) {
    place.emplace(folder, config_text(request, options), schema, x0, x1, resume);
    if (place->is_complete()) return load_table_run(folder);
    files.checkpoint = folder / kRunCheckpoint;
    files.log = folder / kRunLog;
  }
  const auto started = Clock::now();
  const TrainingSummary summary =
      run_training(context,
                   {.name = kTableSolver,
                    .updates = model.most_updates(),
                    .checkpoint_seconds = options.real("checkpoint_every"),
                    .log_every = options.integer("log_every")},
                   files, model);
  TableRun run{schema, x0, x1, std::make_shared<ColumnBridge>(model.bridge()),
               training_diagnostics(summary, model.diagnostics())};
  if (place) {
    save_bridge(*run.bridge, folder / kRunModel);
    save_json(folder / kRunResult, run_result(context, kTableSolver, request.seed, options.values(),
                                              run.diagnostics, seconds_since(started)));
  }
  return run;
}

TableRun load_table_run(const std::filesystem::path& folder) {
  if (!path_exists(folder / kRunResult)) {
    throw_file(folder.string(), "the run is not complete; resume its training");
  }
  TableRun run{load_schema(folder / kColumnsFile), {}, {}, nullptr};
  const ColumnReference reference = run.schema.reference();
  std::tie(run.x0, run.x1) = load_rows(reference, folder / kRunData);
  run.bridge = std::make_shared<const ColumnBridge>(load_bridge(reference, folder / kRunModel));
  const nlohmann::json result = load_json(folder / kRunResult);
  const auto diagnostics = result.find("diagnostics");
  if (diagnostics == result.end() || !diagnostics->is_object()) {
    throw_file((folder / kRunResult).string(), "'diagnostics' must be an object");
  }
  run.diagnostics = read_diagnostics(*diagnostics);
  return run;
}

DataContestant table_contestant(std::string name, const TableRun& run) {
  DataContestant contestant{.name = std::move(name), .coupling = run.bridge};
  contestant.training_x0 = run.x0;
  contestant.training_x1 = run.x1;
  contestant.no_reverse = "a bridge over columns of their own answers one direction alone";
  return contestant;
}

}  // namespace bridgemark
