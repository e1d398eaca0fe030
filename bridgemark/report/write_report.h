#pragma once

#include <filesystem>
#include <vector>

#include "bridgemark/core/context.h"
#include "bridgemark/report/report.h"

namespace bridgemark {

struct ReportRequest {
  std::filesystem::path folder;  // one of bridgemark run, or any with its results.jsonl
  std::filesystem::path output;  // the HTML file; the tables go beside it
  bool whole = false;            // all rows and columns of the paper's tables
  bool tables_only = false;      // no HTML file
  ReportOptions options = {};
};

struct WrittenReport {
  std::vector<RunResult> results;
  std::vector<Table> tables;  // of these results
  std::vector<std::filesystem::path> files;
};

// Writes tables.md, tables.tex, tables.csv and the report of a folder's results. Nothing is written
// where one of them cannot be made. Throws FileError where there are no results.
WrittenReport write_report(const Context& context, const ReportRequest& request);

}  // namespace bridgemark
