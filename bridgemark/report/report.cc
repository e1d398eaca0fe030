#include "bridgemark/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>

#include "bridgemark/core/error.h"
#include "bridgemark/core/version.h"
#include "bridgemark/experiment/added_results.h"
#include "bridgemark/experiment/grid_runner.h"
#include "bridgemark/experiment/shell_words.h"
#include "bridgemark/io/atomic_file.h"
#include "bridgemark/io/paths.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/report/markup.h"
#include "bridgemark/report/published.h"
#include "bridgemark/report/ranking.h"
#include "bridgemark/report/report_figures.h"
#include "bridgemark/report/table_writers.h"

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

// What a JSON string says may not end the element it stands in.
std::string json_in_html(const json& value) {
  return replace_all(value.dump(-1, ' ', false, json::error_handler_t::replace), "<", "\\u003c");
}

// A table of functions, one for each module; base.js resolves what they require of each other.
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

json number(double value) {
  if (std::isnan(value)) return nullptr;
  if (std::isinf(value)) return "inf";
  return value;
}

json table_json(const Table& table) {
  json rows = json::array();
  for (const TableRow& row : table.rows) {
    json cells = json::array();
    for (const TableCell& cell : row.cells) {
      if (!cell.measured()) {
        cells.push_back(cell.missing.empty() ? json(nullptr) : json{{"missing", cell.missing}});
        continue;
      }
      json runs = json::array();
      for (const RunResult* run : cell.runs) runs.push_back(run->run);
      cells.push_back({{"mean", number(cell.mean)},
                       {"text", table.format(cell.mean)},
                       {"error", table.format_error(cell)},
                       {"published", cell.published ? json(*cell.published) : json(nullptr)},
                       {"published_text", table.format_published(cell)},
                       {"place", table.marked_place(cell)},
                       {"group", group_letters(cell.rank)},
                       {"smallest_gap", table.format_gap(cell.smallest_gap)},
                       {"band", band_name(cell.band)},
                       {"runs", runs}});
    }
    rows.push_back({{"method", row.method},
                    {"details", row_details(row)},
                    {"solver", row.solver},
                    {"oracle", row.oracle},
                    {"cells", cells}});
  }
  json gaps = json::array();
  for (const double gap : table.smallest_gaps) gaps.push_back(table.format_gap(gap));
  return {{"score", table.score.score},
          {"title", table.score.title},
          {"note", table.score.note},
          {"lower_is_better", table.score.lower_is_better},
          {"in_paper", table.score.in_paper},
          {"marks_best", table.score.marks_best},
          {"ties", tie_note({table})},
          {"smallest_gaps", gaps},
          {"reversed_pairs", table.score.reversed_pairs},
          {"bounds", table.score.bounds},
          {"csv", csv_tables({table})},
          {"tex", latex_tables({table})},
          {"pairs", table.pairs},
          {"rows", rows}};
}

json best_json(const PairBest& best) {
  json methods = json::array();
  for (const TableRow* row : best.rows) {
    methods.push_back({{"method", row->method},
                       {"details", row_details(*row)},
                       {"text", best.table->format(row->cells[best.column].mean)}});
  }
  json oracle = nullptr;
  for (const TableRow& row : best.table->rows) {
    const TableCell& cell = row.cells[best.column];
    if (row.oracle && cell.measured()) oracle = best.table->format(cell.mean);
  }
  return {{"pair", best.pair},         {"score", best.table->score.title}, {"methods", methods},
          {"compared", best.compared}, {"measured", best.methods},         {"oracle", oracle}};
}

json run_json(const RunResult& result) {
  json scores = json::object();
  for (const Score& score : result.scores) scores[score.name] = number(score.mean);
  const ExperimentRun recorded = recorded_run(result);
  const auto command = [&](const std::vector<std::string>& arguments) {
    return fmt::format("bridgemark {} --device {}", shell_words(arguments),
                       shell_words({result.device}));
  };
  json commands = json::array();
  std::vector<std::string> evaluate = evaluate_arguments(recorded, "RUN");
  if (result.solver == kOutsideSolver) {  // what it answered is not ours to make again
    std::ranges::replace(evaluate, "--run", "--predictions");
    std::ranges::replace(evaluate, "RUN", "ANSWERS");
    evaluate.insert(evaluate.end(), {"--label", result.method, "--add-to", "DIR"});
  } else {
    commands.push_back(command(train_arguments(recorded, "RUN")));
  }
  commands.push_back(command(evaluate));
  json run = run_fields(result);
  const std::optional<PairSpec> spec = find_preset(result.pair);
  if (spec && spec->family == PairFamily::kChain) run["switch_rate"] = spec->switch_rate;
  run.update({{"family", spec ? pair_family_name(spec->family) : "own"},
              {"reverse", result.pair_identity.value("reverse", false)},
              {"outside", result.solver == kOutsideSolver},
              {"scores", scores},
              {"commands", commands}});
  return run;
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

// Puts the values in place of {{name}}; what they say themselves is left alone.
std::string fill(std::string_view form, const std::map<std::string, std::string>& values) {
  std::string out;
  for (std::size_t at = 0;;) {
    const std::size_t open = form.find("{{", at);
    out += form.substr(at, open - at);
    if (open == form.npos) return out;
    const std::size_t close = form.find("}}", open);
    out += values.at(std::string(form.substr(open + 2, close - open - 2)));
    at = close + 2;
  }
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
               {"figures", report_figures(context, folder, results)},
               {"curves", training_curves(folder, results)}};
  for (const Table& table : tables) data["tables"].push_back(table_json(table));
  for (const PairBest& best : best_of_pairs(tables)) data["best"].push_back(best_json(best));
  for (const RunResult& result : results) data["runs"].push_back(run_json(result));
  const std::filesystem::path experiment = folder / "experiment.toml";
  data["file"] = path_exists(experiment) ? read_file(experiment, kMaxScriptBytes) : std::string();
  return fill(kReportHtml, {{"title", escape_html(experiment_names(results))},
                            {"css", kReportCss},
                            {"corrections", kCorrectionsHtml},
                            {"nonce", fresh_nonce()},
                            {"data", json_in_html(data)},
                            {"vega", vega},
                            {"js", kReportJs}});
}

}  // namespace bridgemark
