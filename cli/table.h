#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/evaluate_data.h"
#include "cli/sample_run.h"

// Tables (.csv) in place of arrays: train --columns, and what is asked of its runs.
namespace bridgemark::cli {

struct TableTraining {
  CommonOptions common;
  std::string solver;
  std::string columns;       // a file or auto
  std::string x0, x1;        // .csv
  std::optional<int> steps;  // where the file of columns has none
  std::vector<std::string> assignments;
  std::string output;
  bool resume = false;
};
int train_tables(const TableTraining& request);

// Writes x1 for the rows of request.given, .csv both, with the columns that the run was trained on.
void sample_table(const Context& context, const RunSample& request);

// Compares runs of tables on the rows of two.
int evaluate_tables(const CommonOptions& common, const DataFiles& files,
                    const std::vector<std::string>& runs);

}  // namespace bridgemark::cli
