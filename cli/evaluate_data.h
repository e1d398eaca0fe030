#pragma once

#include <string>
#include <vector>

#include "bridgemark/metric/own_data/comparison_json.h"
#include "cli/command.h"

// evaluate --x0 --x1: runs on data, which has no truth.
namespace bridgemark::cli {

// The files behind the options of data.
struct DataFiles {
  std::string x0, x1;
  std::vector<std::string> condition;  // labels of both; empty: none
  std::string report;                  // the page to write; empty: none
  std::string vocabulary;              // of its words; empty: it shows pictures
};

void add_data_options(CLI::App& command, DataFiles& files);

// Whether a parsed command has an option of data.
bool asks_for_data(const CLI::App& command);

// Refuses what does not go with data: PAIR and all options of a pair's truth.
void check_data_request(const CLI::App& command);

// Prints a comparison, as JSON where that is asked for.
void say_comparison(const CommonOptions& common, const DataComparisonRecord& record);

int evaluate_data(const CommonOptions& common, const DataFiles& files,
                  const std::vector<std::string>& runs);

}  // namespace bridgemark::cli
