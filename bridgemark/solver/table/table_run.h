#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "bridgemark/bridge/column_bridge.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/metric/own_data/data_contestant.h"
#include "bridgemark/pair/table/table_schema.h"
#include "bridgemark/solver/core/solver.h"

// A run of DLightSB on two tables, in a folder of its own. Its files are those of any run
// (solver/run/run.h) but for
//   columns.toml       how tables become states and states tables
//   data.safetensors   the rows that it was trained on, as states
//   model.safetensors  log_beta [K] and log_cores [total_categories, K], one column after the other
namespace bridgemark {

// The solver whose runs may be of tables.
inline constexpr char kTableSolver[] = "dlightsb";

struct TableRequest {
  std::uint64_t seed = 0;
  std::map<std::string, std::string, std::less<>> options = {};  // of column_options()
};

struct TableRun {
  TableSchema schema;
  States x0, x1;  // that it was trained on
  std::shared_ptr<const ColumnBridge> bridge;
  Diagnostics diagnostics = {};
};

// Whether the folder holds one.
bool is_table_run(const std::filesystem::path& folder);

// Trains on encoded rows and fills the folder; an empty path keeps no run. A folder that already
// holds a run is refused, unless `resume` is set and request, columns and rows are the same: then a
// complete run is left as it is and another one goes on. Throws InvalidArgument for options that
// the solver has not with columns of their own, and DeviceError for another device than the CPU.
TableRun train_table(const Context& context, const TableRequest& request, const TableSchema& schema,
                     const States& x0, const States& x1, const std::filesystem::path& folder,
                     bool resume);

// Throws FileError where the run is not complete.
TableRun load_table_run(const std::filesystem::path& folder);

// As it is compared with others on rows that it was not trained on.
DataContestant table_contestant(std::string name, const TableRun& run);

}  // namespace bridgemark
