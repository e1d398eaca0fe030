#include "bridgemark/metric/own_data/compare_on.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "bridgemark/bridge/column_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/states.h"
#include "bridgemark/metric/held_out_objective.h"
#include "bridgemark/metric/own_data/contestant_judge.h"
#include "bridgemark/metric/own_data/swapped_ends.h"
#include "bridgemark/process/same_process.h"

namespace bridgemark {

namespace {

constexpr double kToldApart = 2.0;  // standard errors

std::string space_text(const DataContestant& contestant) {
  return fmt::format("D = {}, S = {}", contestant.coupling->dim(),
                     contestant.coupling->num_categories());
}

void check_contestants(StatesView x0, StatesView x1, std::span<const DataContestant> contestants) {
  if (contestants.empty()) throw_invalid("compare", "there must be a run to compare, got none");
  if (x0.cols != x1.cols) {
    throw_invalid("compare", "x0 and x1 must have as many columns, got {} and {}", x0.cols,
                  x1.cols);
  }
  if (x0.rows == 0 || x1.rows == 0) {
    throw_invalid("compare", "x0 and x1 must have rows, got {} and {}", x0.rows, x1.rows);
  }
  std::set<std::string> names;
  for (const DataContestant& contestant : contestants) {
    if (!names.insert(contestant.name).second) {
      throw_invalid("compare", "runs must have names of their own, got '{}' twice",
                    contestant.name);
    }
    if (dynamic_cast<const Bridge*>(contestant.coupling.get()) && !contestant.reference) {
      throw_invalid("compare", "a bridge must be given with its reference, got none of {}",
                    contestant.name);
    }
    const Coupling &own = *contestant.coupling, &first = *contestants[0].coupling;
    if (own.dim() != x0.cols) {
      throw_invalid("compare",
                    "{} was fitted to D = {} and the rows must have as many columns, got {}",
                    contestant.name, own.dim(), x0.cols);
    }
    if (own.num_categories() != first.num_categories()) {
      throw_invalid("compare", "runs must be of one space, got {} of {} and {} of {}",
                    space_text(contestants[0]), contestants[0].name, space_text(contestant),
                    contestant.name);
    }
  }
  const Coupling& coupling = *contestants[0].coupling;
  check_states("x0", x0, coupling.dim(), coupling.num_categories());
  check_states("x1", x1, coupling.dim(), coupling.num_categories());
}

const ColumnBridge* column_bridge(const DataContestant& contestant) {
  return dynamic_cast<const ColumnBridge*>(contestant.coupling.get());
}

// Of two with objectives: these compare where the references are the same.
bool have_same_reference(const DataContestant& a, const DataContestant& b) {
  const ColumnBridge *left = column_bridge(a), *right = column_bridge(b);
  if (left && right) return same_reference(left->reference(), right->reference());
  return !left && !right && same_process(*a.reference, *b.reference);
}

std::string text_of_reference(const DataContestant& contestant) {
  const ColumnBridge* columns = column_bridge(contestant);
  return columns ? reference_text(columns->reference()) : reference_text(*contestant.reference);
}

HeldOutObjective objective_of(const Context& context, const DataContestant& contestant,
                              StatesView x0, StatesView x1) {
  const Coupling* coupling = contestant.coupling.get();
  if (const auto* bridge = dynamic_cast<const Bridge*>(coupling)) {
    return held_out_objective(context, *bridge, x0, x1);
  }
  if (const ColumnBridge* bridge = column_bridge(contestant)) {
    return held_out_objective(context, *bridge, x0, x1);
  }
  return {};  // without values: it is no bridge
}

// As many of all draws and training rows, so that no ceiling and no sampler has more rows than
// another.
std::size_t rows_to_compare(StatesView x0, std::span<const DataContestant> contestants) {
  std::size_t rows = x0.rows;
  for (const DataContestant& contestant : contestants) {
    for (const States* training : {&contestant.training_x0, &contestant.training_x1}) {
      if (training->rows() > 0) rows = std::min(rows, training->rows());
    }
  }
  return rows;
}

std::vector<ContestantDifference> all_differences(std::span<const DataContestant> contestants,
                                                  const std::vector<HeldOutObjective>& objectives) {
  std::vector<ContestantDifference> differences;
  for (std::size_t a = 0; a < contestants.size(); ++a) {
    for (std::size_t b = a + 1; b < contestants.size(); ++b) {
      if (objectives[a].log_v.empty() || objectives[b].log_v.empty()) continue;
      ContestantDifference difference{contestants[a].name, contestants[b].name, no_estimate()};
      if (have_same_reference(contestants[a], contestants[b])) {
        difference.difference = objective_difference(objectives[a], objectives[b]);
      } else {
        difference.missing =
            fmt::format("their references differ, {} and {}, so their objectives do not compare",
                        text_of_reference(contestants[a]), text_of_reference(contestants[b]));
      }
      differences.push_back(std::move(difference));
    }
  }
  return differences;
}

// The bridge over `process`, or any where that is not known, with the highest objective.
const DataContestant* best_bridge(const std::optional<ReferenceProcess>& process,
                                  std::span<const DataContestant> contestants,
                                  const std::vector<HeldOutObjective>& objectives) {
  const DataContestant* best = nullptr;
  double highest = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < contestants.size(); ++i) {
    if (objectives[i].log_v.empty() || objectives[i].value <= highest) continue;
    if (!contestants[i].reference) continue;
    if (process && !same_process(*process, *contestants[i].reference)) continue;
    best = &contestants[i];
    highest = objectives[i].value;
  }
  return best;
}

std::string percent(double share) { return fmt::format("{:.3g} %", 100.0 * share); }

void warn_of_overlap(const ContestantScores& scores, const std::optional<RowOverlap>& overlap,
                     const char* end, std::vector<std::string>& warnings) {
  if (!overlap || !overlap->trained_on) return;
  const std::string optimistic =
      "its objective and its fit are then optimistic, and its memorisation is hidden";
  if (overlap->same_rows) {
    warnings.push_back(fmt::format("{}: the rows of {} are the very rows it was trained on; {}",
                                   scores.name, end, optimistic));
    return;
  }
  warnings.push_back(fmt::format(
      "{}: {} of {} rows of {} ({}) are rows it was trained on, where chance explains {}; {}",
      scores.name, overlap->known, overlap->rows, end, percent(overlap->share()),
      percent(overlap->share_by_chance), optimistic));
}

void warn_of_swapped_ends(const Context& context, const DataContestant& contestant, StatesView x0,
                          StatesView x1, std::vector<std::string>& warnings) {
  const States &training_x0 = contestant.training_x0, &training_x1 = contestant.training_x1;
  if (contestant.rows_have_all_labels || training_x0.rows() == 0 || training_x1.rows() == 0) return;
  if (!ends_look_swapped(context.on_host(), x0, x1, training_x0, training_x1,
                         contestant.coupling->num_categories())) {
    return;
  }
  warnings.push_back(fmt::format(
      "{}: the rows of x0 look like the x1 it was trained on, and those of x1 like its x0; if they "
      "are given in the wrong order, its numbers say nothing",
      contestant.name));
}

}  // namespace

const DataScore& ContestantScores::score(std::string_view wanted) const {
  const auto found = std::ranges::find(scores, wanted, &DataScore::name);
  if (found == scores.end()) throw_invalid("compare", "there is no score '{}'", wanted);
  return *found;
}

bool ContestantDifference::told_apart() const {
  return std::abs(difference.mean) > kToldApart * difference.standard_error;
}

DataComparison compare_on(const Context& context, StatesView x0, StatesView x1,
                          std::span<const DataContestant> contestants,
                          const DataComparisonOptions& options) {
  check_contestants(x0, x1, contestants);
  DataComparison comparison;
  comparison.x0_rows = x0.rows;
  comparison.x1_rows = x1.rows;
  comparison.dim = x0.cols;
  comparison.num_categories = contestants[0].coupling->num_categories();
  comparison.seed = options.seed;
  comparison.compared_rows = rows_to_compare(x0, contestants);

  std::vector<HeldOutObjective> objectives;
  for (const DataContestant& contestant : contestants) {
    objectives.push_back(objective_of(context, contestant, x0, x1));
  }
  ContestantJudge judge(context, x0, x1, comparison.compared_rows, options.seed);
  for (std::size_t i = 0; i < contestants.size(); ++i) {
    const DataContestant& contestant = contestants[i];
    comparison.contestants.push_back(judge.judge(
        contestant, objectives[i], best_bridge(contestant.reference, contestants, objectives)));
    const ContestantScores& scores = comparison.contestants.back();
    warn_of_overlap(scores, scores.x0_overlap, "x0", comparison.warnings);
    warn_of_overlap(scores, scores.x1_overlap, "x1", comparison.warnings);
    warn_of_swapped_ends(context, contestant, x0, x1, comparison.warnings);
    context.report("runs", i + 1, contestants.size());
  }
  comparison.differences = all_differences(contestants, objectives);
  return comparison;
}

}  // namespace bridgemark
