#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/metric/own_data/comparison_json.h"
#include "bridgemark/report/data_page.h"
#include "cli/command.h"

// evaluate --x0 --x1: runs on data, which has no truth.
namespace bridgemark::cli {

// The files behind the options of data.
struct DataFiles {
  std::string x0, x1;
  std::vector<std::string> condition;     // labels of both; empty: none
  std::optional<std::string> report;      // the page to write
  std::optional<std::string> vocabulary;  // of its words, else it shows pictures
};

void add_data_options(CLI::App& command, DataFiles& files);

// Whether a parsed command has an option of data.
bool asks_for_data(const CLI::App& command);

// Refuses what does not go with data: PAIR and all options of a pair's truth.
void check_data_request(const CLI::App& command);

// Prints a comparison of the rows, as JSON where that is asked for, and writes the page of them
// where there is to be one.
void show_comparison(const CommonOptions& common, const DataFiles& files,
                     const DataComparisonRecord& record, StatesView x0, StatesView x1,
                     const DataPageOptions& page);

int evaluate_data(const CommonOptions& common, const DataFiles& files,
                  const std::vector<std::string>& runs);

}  // namespace bridgemark::cli
