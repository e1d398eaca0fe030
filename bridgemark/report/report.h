#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bridgemark/core/context.h"
#include "bridgemark/experiment/results.h"
#include "bridgemark/report/tables/tables.h"

namespace bridgemark {

// The folder where Debian's libjs-vega keeps the scripts.
inline constexpr char kDefaultVegaFolder[] = "/usr/share/javascript/vega";

struct ReportOptions {
  std::filesystem::path vega = kDefaultVegaFolder;
};

// One HTML file that needs nothing else: tables, figures, training curves, corrections, and what it
// takes to make the results again. Figures and curves come from the run folders below
// folder/runs; where a run has none there (results kept without models) it has none in the report.
// Throws FileError where Vega's scripts are not in options.vega.
std::string report_html(const Context& context, const std::filesystem::path& folder,
                        const std::vector<RunResult>& results, const std::vector<Table>& tables,
                        const ReportOptions& options);

}  // namespace bridgemark
