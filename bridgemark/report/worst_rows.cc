#include "bridgemark/report/worst_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "bridgemark/metric/score_spec.h"
#include "bridgemark/pair/pair_record.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/report/report_figures.h"
#include "bridgemark/report/tables/tables.h"

namespace bridgemark {

namespace {

using nlohmann::json;

// The Oracle has no rows that are worse than others.
bool has_worst_rows(const RunResult& result) {
  const Score* score = result.find(kJointKl);
  return score && result.solver != "oracle" && !result.joint_kl.worst_rows.empty();
}

// Nothing where the pair cannot be made again, or is another one now.
std::optional<PairedStates> test_set_of(const Context& context, const std::filesystem::path& folder,
                                        const RunResult& result) {
  if (!find_preset(result.pair) && !has_model(folder, result)) return {};
  const std::optional<BenchmarkPair> pair = find_pair(folder, result);
  if (!pair || !same_scored_pair(scored_pair_record(context, *pair), result.pair_identity)) {
    return {};
  }
  return pair->test_set(context);
}

json state_json(const States& states, std::size_t row) {
  return std::vector<std::int32_t>(states.row(row), states.row(row) + states.cols());
}

json rows_json(const JointKlDetail& detail, const std::optional<PairedStates>& test) {
  json rows = json::array();
  const std::size_t count = std::min(detail.worst_rows.size(), kReportedWorstRows);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t row = detail.worst_rows[i];
    json kl = nullptr;
    if (i < detail.worst_values.size()) {
      kl = std::isfinite(detail.worst_values[i]) ? json(detail.worst_values[i]) : json("inf");
    }
    rows.push_back({{"row", row}, {"kl", kl}});
    if (test && row < test->x0.rows()) {
      rows.back()["x0"] = state_json(test->x0, row);
      rows.back()["x1"] = state_json(test->x1, row);
    }
  }
  return rows;
}

json method_json(const RunResult& result, const std::optional<PairedStates>& test) {
  const JointKlDetail& detail = result.joint_kl;
  const Score& score = *result.find(kJointKl);
  TableCell cell;
  cell.mean = score.mean;
  cell.bound_change = score.bound_change;
  return {{"method", result.method},
          {"loss", result.loss},
          {"num_steps", result.num_steps},
          {"training_rows", result.rows.samples},
          {"of_every_number", is_of_every_number(result)},
          {"run", result.run},
          {"text", Table{.score = find_score(kJointKl), .pairs = {}}.format_cell(cell)},
          {"rows", detail.rows},
          {"share", std::isnan(detail.worst_share) ? json(nullptr) : json(detail.worst_share)},
          {"worst", rows_json(detail, test)}};
}

}  // namespace

json worst_rows(const Context& context, const std::filesystem::path& folder,
                const std::vector<RunResult>& results) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<const RunResult*>> by_pair;
  for (const RunResult& result : results) {
    if (!has_worst_rows(result)) continue;
    if (!by_pair.contains(result.pair)) order.push_back(result.pair);
    by_pair[result.pair].push_back(&result);
  }
  json pairs = json::array();
  for (const std::string& name : order) {
    const std::vector<const RunResult*>& runs = by_pair[name];
    const std::optional<PairedStates> test = test_set_of(context, folder, *runs[0]);
    json methods = json::array();
    std::set<std::array<std::string, 4>> shown;
    for (const RunResult* run : runs) {
      const bool first =
          shown.insert({run->method, run->loss, run->num_steps, std::to_string(run->rows.samples)})
              .second;
      if (first) methods.push_back(method_json(*run, test));
    }
    pairs.push_back({{"pair", name}, {"methods", methods}});
  }
  return pairs;
}

}  // namespace bridgemark
