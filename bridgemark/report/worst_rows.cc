#include "bridgemark/report/worst_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <string>

#include "bridgemark/experiment/figure_inputs.h"
#include "bridgemark/metric/score_spec.h"
#include "bridgemark/pair/pair_record.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/report/draw_defect.h"
#include "bridgemark/report/report_figures.h"
#include "bridgemark/report/tables/tables.h"

namespace bridgemark {

namespace {

using nlohmann::json;

constexpr std::size_t kDrawnWorstRows = 3;  // of each method, in a picture
constexpr std::size_t kWorstRowDraws = 200;

// The Oracle has no rows that are worse than others.
bool has_worst_rows(const RunResult& result) {
  const Score* score = result.find(kJointKl);
  return score && result.solver != "oracle" && !result.joint_kl.worst_rows.empty();
}

// A pair that can be made again.
struct KnownPair {
  BenchmarkPair pair;
  PairedStates test;
};

// Nothing where the pair cannot be made again, or is another one now.
std::optional<KnownPair> known_pair(const Context& context, const std::filesystem::path& folder,
                                    const RunResult& result) {
  if (!find_preset(result.pair) && !has_model(folder, result)) return {};
  std::optional<BenchmarkPair> pair = find_pair(folder, result);
  if (!pair || !same_scored_pair(scored_pair_record(context, *pair), result.pair_identity)) {
    return {};
  }
  PairedStates test = pair->test_set(context);
  return KnownPair{std::move(*pair), std::move(test)};
}

json state_json(const States& states, std::size_t row) {
  return std::vector<std::int32_t>(states.row(row), states.row(row) + states.cols());
}

States draws_given(const Context& context, const Coupling& coupling, StatesView x0,
                   std::uint64_t seed, std::size_t row) {
  const States repeated = repeat_rows(x0, kWorstRowDraws);
  States x1(repeated.rows(), x0.cols);
  coupling.sample(context, repeated, {seed, DrawPurpose::kPrediction}, row * kWorstRowDraws, x1);
  return x1;
}

// The two coordinates whose single draws differ most from the truth's, by total variation.
std::array<std::size_t, 2> most_different(const States& a, const States& b, int num_categories) {
  std::vector<double> apart(a.cols(), 0.0);
  for (std::size_t d = 0; d < a.cols(); ++d) {
    std::vector<int> counts(static_cast<std::size_t>(num_categories), 0);
    for (std::size_t i = 0; i < a.rows(); ++i) {
      ++counts[static_cast<std::size_t>(a(i, d))];
      --counts[static_cast<std::size_t>(b(i, d))];
    }
    for (const int count : counts) apart[d] += std::abs(count);
  }
  std::vector<std::size_t> order(a.cols());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t d) { return apart[d]; });
  return {order[0], order[a.cols() > 1 ? 1 : 0]};
}

json places(StatesView states, const std::array<std::size_t, 2>& coordinates) {
  json list = json::array();
  for (std::size_t i = 0; i < states.rows; ++i) {
    list.push_back({states(i, coordinates[0]), states.cols > 1 ? states(i, coordinates[1]) : 0});
  }
  return list;
}

// A solver's draws given the x0 of a row beside the truth's.
void add_draws(const Context& context, const KnownPair& known, const Coupling& model,
               std::size_t row, json& out) {
  const StatesView x0 = known.test.x0.view().slice(row, 1);
  const States solver = draws_given(context, model, x0, kFigureSeed, row);
  const States truth =
      draws_given(context, *known.pair.require_truth(context), x0, kFigureSeed + 1, row);
  const std::array<std::size_t, 2> shown =
      most_different(solver, truth, known.pair.num_categories());
  const std::size_t ends = std::min(kWorstRowDraws, known.test.x1.rows());
  out.update({{"coordinates", shown},
              {"input", places(x0, shown)},
              {"end", places(known.test.x1.view().slice(row, 1), shown)},
              {"truth", places(truth, shown)},
              {"draws", places(solver, shown)},
              {"looks", draw_defect(x0, solver, truth, known.test.x1.view().slice(0, ends))}});
}

json rows_json(const Context& context, const JointKlDetail& detail,
               const std::optional<KnownPair>& known, const Coupling* model) {
  json rows = json::array();
  const std::size_t count = std::min(detail.worst_rows.size(), kReportedWorstRows);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t row = detail.worst_rows[i];
    json kl = nullptr;
    if (i < detail.worst_values.size()) {
      kl = std::isfinite(detail.worst_values[i]) ? json(detail.worst_values[i]) : json("inf");
    }
    rows.push_back({{"row", row}, {"kl", kl}});
    if (!known || row >= known->test.x0.rows()) continue;
    rows.back()["x0"] = state_json(known->test.x0, row);
    rows.back()["x1"] = state_json(known->test.x1, row);
    if (model && i < kDrawnWorstRows) add_draws(context, *known, *model, row, rows.back());
  }
  return rows;
}

json method_json(const Context& context, const std::filesystem::path& folder,
                 const RunResult& result, const std::optional<KnownPair>& known) {
  const std::shared_ptr<const Coupling> model =
      known ? find_model(context, known->pair, folder, result) : nullptr;
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
          {"worst", rows_json(context, detail, known, model.get())}};
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
    const std::optional<KnownPair> known = known_pair(context, folder, *runs[0]);
    json methods = json::array();
    std::set<std::array<std::string, 4>> shown;
    for (const RunResult* run : runs) {
      const bool first =
          shown.insert({run->method, run->loss, run->num_steps, std::to_string(run->rows.samples)})
              .second;
      if (first) methods.push_back(method_json(context, folder, *run, known));
    }
    pairs.push_back({{"pair", name}, {"methods", methods}});
  }
  return pairs;
}

}  // namespace bridgemark
