#include "bridgemark/report/page_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bridgemark/experiment/added_results.h"
#include "bridgemark/experiment/result_json.h"
#include "bridgemark/experiment/run_commands.h"
#include "bridgemark/experiment/shell_words.h"
#include "bridgemark/metric/record/score_text.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/report/ranking.h"
#include "bridgemark/report/tables/table_writers.h"
#include "bridgemark/solver/outside/outside_solver.h"

namespace bridgemark {

using nlohmann::json;

namespace {

json number(double value) {
  if (std::isnan(value)) return nullptr;
  if (std::isinf(value)) return "inf";
  return value;
}

}  // namespace

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
                       {"text", table.format_cell(cell)},
                       {"error", table.format_error(cell)},
                       {"published", cell.published ? json(*cell.published) : json(nullptr)},
                       {"published_text", table.format_published(cell)},
                       {"place", table.marked_place(cell)},
                       {"group", group_mark(cell)},
                       {"smallest_gap", table.format_gap(cell.smallest_gap)},
                       {"band", band_name(cell.band)},
                       {"runs", runs}});
      if (!cell.compared()) cells.back()["undecided"] = cell.too_noisy ? "noise" : "bound";
      if (table.score->lower_is_better() && cell.mean < 0.0) cells.back()["below_zero"] = true;
      if (cell.instances > 1) cells.back()["spreads"] = table.format_spreads(cell);
    }
    rows.push_back({{"method", row.method},
                    {"details", row_details(row)},
                    {"solver", row.solver},
                    {"oracle", row.oracle},
                    {"cells", cells}});
  }
  json gaps = json::array();
  for (const double gap : table.smallest_gaps) gaps.push_back(table.format_gap(gap));
  return {{"score", table.score->name},
          {"samples", table.samples},
          {"title", table.title()},
          {"short_title", table.short_title()},
          {"note", table.note()},
          {"group", table.score->group},
          {"deciding_place", table.score->deciding_place},
          {"lower_is_better", table.score->lower_is_better()},
          {"ranked", table.score->is_ranked()},
          {"in_paper", table.in_paper()},
          {"marks_best", table.score->marks_best},
          {"against_time", table.score->against_time},
          {"ties", table.score->is_ranked() ? tie_note({table}) : std::string()},
          {"smallest_gaps", gaps},
          {"reversed_pairs", table.reversed_pairs},
          {"bounds", table.score->bounds},
          {"pairs", table.pairs},
          {"rows", rows}};
}

json score_json(const ScoreSpec& score) {
  return {{"score", score.name}, {"title", score.title}, {"unit", score.unit}};
}

json deciding_score_json() { return score_json(*scores_by(&ScoreSpec::deciding_place).front()); }

namespace {

json over_pairs_json(const OverPairs& value) {
  return {{"mean", number(value.mean)},
          {"half_width", number(value.half_width)},
          {"text", significant_text(value.mean, 3)},
          {"error", std::isnan(value.half_width) ? "" : significant_text(value.half_width, 2)}};
}

json reach_json(const Reach& reach) {
  if (reach.pairs == 0) return nullptr;
  json out = {{"pairs", reach.pairs}, {"distance", nullptr}, {"share", nullptr}};
  if (!std::isnan(reach.distance.mean)) out["distance"] = over_pairs_json(reach.distance);
  if (!std::isnan(reach.share.mean)) out["share"] = over_pairs_json(reach.share);
  if (reach.upper_bound) out["upper_bound"] = true;
  return out;
}

json name_json(const TableRow& row) {
  return {{"method", row.method}, {"details", row_details(row)}, {"solver", row.solver}};
}

}  // namespace

json standing_json(const Standing& standing) {
  json groups = json::array(), rows = json::array(), dropped = json::array();
  for (const PairGroup& group : standing.groups) {
    groups.push_back({{"family", group.family},
                      {"dim", group.dim},
                      {"reverse", group.reverse},
                      {"pairs", group.pairs}});
  }
  for (const StandingRow& row : standing.rows) {
    json of_groups = json::array();
    for (const Reach& reach : row.groups) of_groups.push_back(reach_json(reach));
    rows.push_back(name_json(*row.row));
    rows.back().update({{"all", reach_json(row.all)},
                        {"groups", of_groups},
                        {"whole", row.whole},
                        {"by_draws", row.by_draws},
                        {"ahead", row.ahead}});
    if (row.nearer_than_first) rows.back()["nearer_than_first"] = true;
  }
  for (const Dropped& one : standing.dropped) {
    dropped.push_back({{"pair", one.pair}, {"first", one.first->method}});
  }
  json out = {{"samples", standing.samples},
              {"pairs", standing.pairs.size()},
              {"places", standing.places},
              {"groups", groups},
              {"rows", rows},
              {"dropped", dropped},
              {"lead", nullptr}};
  if (standing.lead.pairs > 0) {
    out["lead"] = {{"difference", over_pairs_json(standing.lead.difference)},
                   {"by_draws", standing.lead.by_draws},
                   {"nearer", standing.lead.nearer},
                   {"pairs", standing.lead.pairs},
                   {"separated", standing.lead.separated()},
                   {"weakest_pair", standing.weakest_pair},
                   {"least", significant_text(standing.least_lead, 2)}};
  }
  return out;
}

json best_json(const PairBest& best) {
  json methods = json::array(), ahead = json::array();
  for (const TableRow* row : best.ahead_by_draws) ahead.push_back(name_json(*row));
  for (const TableRow* row : best.rows) {
    methods.push_back({{"method", row->method},
                       {"details", row_details(*row)},
                       {"text", best.table->format_cell(row->cells[best.column])}});
  }
  const std::string oracle = oracle_beside(best);
  return {{"pair", best.pair},
          {"samples", best.samples},
          {"score", best.table->title()},
          {"methods", methods},
          {"ahead_by_draws", ahead},
          {"compared", best.compared},
          {"measured", best.methods},
          {"oracle", oracle.empty() ? json(nullptr) : json(oracle)}};
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
    if (result.rows.samples > 0) {
      evaluate.insert(evaluate.end(), {"--samples", std::to_string(result.rows.samples),
                                       "--training-set", std::to_string(result.rows.training_set)});
    }
  } else if (is_library_solver(result.solver)) {
    commands.push_back(command(train_arguments(recorded, "RUN")));
  } else {  // a class of Python's, which grids alone train
    evaluate = grid_arguments(recorded, "EXPERIMENT.toml", "DIR");
  }
  commands.push_back(command(evaluate));
  json run = run_fields(result);
  const std::optional<PairSpec> spec = find_preset(result.pair);
  if (spec && spec->family == PairFamily::kChain) run["switch_rate"] = spec->switch_rate;
  run.update({{"family", spec ? pair_family_name(spec->family) : "own"},
              {"reverse", result.pair_identity.value("reverse", false)},
              {"outside", result.solver == kOutsideSolver},
              {"samples", result.rows.samples},
              {"evaluation_seed", result.evaluation_seed},
              {"evaluation_seeds", result.evaluation_seeds},
              {"scores", scores},
              {"commands", commands}});
  if (is_of_every_number(result)) run["of_every_number"] = true;
  return run;
}

}  // namespace bridgemark
