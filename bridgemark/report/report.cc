#include "bridgemark/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "bridgemark/core/error.h"
#include "bridgemark/core/version.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/report/markup.h"
#include "bridgemark/report/page_data.h"
#include "bridgemark/report/page_form.h"
#include "bridgemark/report/published.h"
#include "bridgemark/report/report_figures.h"
#include "bridgemark/report/tables/table_writers.h"
#include "bridgemark/report/worst_rows.h"

namespace bridgemark {

extern const char kReportHtml[];       // page/report.html
extern const char kReportCss[];        // page/report.css
extern const char kReportJs[];         // page/*.js
extern const char kCorrectionsHtml[];  // docs/corrections.md

namespace {

using nlohmann::json;

constexpr std::size_t kMaxScriptBytes = std::size_t{4} << 20;

// What a plot needs of Vega, as modules of its own package; the name it is asked for by may differ
// from that of its file.
struct VegaModule {
  const char* name;
  const char* file;
};
constexpr std::array kVegaModules = {
    VegaModule{"vega-util", "vega-util"},
    VegaModule{"vega-time", "vega-time"},
    VegaModule{"vega-format", "vega-format"},
    VegaModule{"vega-loader", "vega-loader"},
    VegaModule{"vega-canvas", "vega-canvas"},
    VegaModule{"vega-dataflow", "vega-dataflow"},
    VegaModule{"vega-scale", "vega-scale"},
    VegaModule{"vega-scenegraph", "vega-scenegraph"},
    VegaModule{"vega-statistics", "vega-statistics"},
    VegaModule{"vega-expression", "vega-expression"},
    VegaModule{"vega-selections", "vega-selection"},
    VegaModule{"vega-functions", "vega-functions"},
    VegaModule{"vega-event-selector", "vega-event-selector"},
    VegaModule{"vega-interpreter", "vega-interpreter"},
    VegaModule{"vega-runtime", "vega-runtime"},
    VegaModule{"vega-view", "vega-view"},
    VegaModule{"vega-parser", "vega-parser"},
    VegaModule{"vega-encode", "vega-encode"},
    VegaModule{"vega-transforms", "vega-transforms"},
    VegaModule{"vega-view-transforms", "vega-view-transforms"},
};

// A table of functions, one for each module; plots.js resolves what they require of each other.
std::string vega_script(const std::filesystem::path& folder) {
  std::string script =
      "/* Vega (BSD-3-Clause), Copyright 2015-2021 University of Washington Interactive Data Lab. "
      "*/\nconst vegaModules = {\n";
  for (const VegaModule& module : kVegaModules) {
    const std::filesystem::path path = folder / fmt::format("{}.min.js", module.file);
    if (!path_exists(path)) {
      throw_file(path.string(),
                 "Vega's script is not there; install libjs-vega or name its folder by --vega");
    }
    script += fmt::format("\"{}\": function (exports, module, require) {{\n{}\n}},\n", module.name,
                          replace_all(read_file(path, kMaxScriptBytes), "</script", "<\\/script"));
  }
  return script + "};\n";
}

// Whether results cover every forward pair of the paper, as its text or as its tables have it.
bool of_paper(const std::vector<RunResult>& results) {
  std::set<std::string> measured;
  for (const RunResult& result : results) measured.insert(result.pair);
  const std::vector<PublishedCell>& cells = published_cells();
  return std::all_of(cells.begin(), cells.end(), [&](const PublishedCell& cell) {
    return cell.pair.ends_with("-reverse") || measured.contains(cell.pair) ||
           measured.contains(replace_all(cell.pair, "-spread", ""));
  });
}

// What marks the page's own scripts: nobody knew it when the data was written.
std::string fresh_nonce() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", device(), device(), device(), device());
}

std::string experiment_names(const std::vector<RunResult>& results) {
  std::vector<std::string> names;
  for (const RunResult& result : results) {
    if (std::find(names.begin(), names.end(), result.experiment) == names.end()) {
      names.push_back(result.experiment);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::string report_html(const Context& context, const std::filesystem::path& folder,
                        const std::vector<RunResult>& results, const std::vector<Table>& tables,
                        const ReportOptions& options) {
  const std::string vega = vega_script(options.vega);  // complains before the work
  json data = {{"version", kVersion},
               {"experiment", experiment_names(results)},
               {"spread", spread_note(tables)},
               {"of_paper", of_paper(results)},
               {"tables", json::array()},
               {"runs", json::array()},
               {"best", json::array()},
               {"standings", json::array()},
               {"deciding", deciding_score_json()},
               {"figures", report_figures(context, folder, results)},
               {"curves", training_curves(folder, results)},
               {"worst", worst_rows(context, folder, results)}};
  for (const Table& table : tables) {
    json shown = table_json(table);
    shown["csv"] = csv_tables({table});
    shown["tex"] = latex_tables({table});
    data["tables"].push_back(std::move(shown));
  }
  for (const Standing& one : standings(tables)) data["standings"].push_back(standing_json(one));
  for (const PairBest& best : best_of_pairs(tables)) data["best"].push_back(best_json(best));
  for (const RunResult& result : results) data["runs"].push_back(run_json(result));
  const std::filesystem::path experiment = folder / "experiment.toml";
  data["file"] = path_exists(experiment) ? read_file(experiment, kMaxScriptBytes) : std::string();
  return fill_page(kReportHtml, {{"title", escape_html(experiment_names(results))},
                                 {"css", kReportCss},
                                 {"corrections", kCorrectionsHtml},
                                 {"nonce", fresh_nonce()},
                                 {"data", json_in_html(data)},
                                 {"vega", vega},
                                 {"js", kReportJs}});
}

}  // namespace bridgemark
