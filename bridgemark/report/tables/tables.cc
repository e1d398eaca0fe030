#include "bridgemark/report/tables/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "bridgemark/metric/estimate.h"
#include "bridgemark/metric/record/score_text.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/report/published.h"
#include "bridgemark/report/ranking.h"
#include "bridgemark/solver/registry.h"

namespace bridgemark {

namespace {

constexpr std::array kSolverOrder = {"oracle",     "independent",    "reference",    "feature-wise",
                                     "sinkhorn",   "dlightsb",       "csbm",         "alpha-csbm",
                                     "dlightsb-m", "dlightsb-chain", "dlightsb-tree"};

constexpr int kDecimals = 3;  // of a score between 0 and 1

// Decimals, or significant digits where they would show fewer.
std::string fixed_or_small(double value, int decimals, int digits) {
  const std::string small = significant_text(value, digits);
  const double fixed_floor = std::pow(10.0, digits - 1 - decimals);
  if (small != "0" && std::abs(value) < fixed_floor) return small;
  return fmt::format("{:.{}f}", small == "0" ? 0.0 : value, decimals);  // never "-0.000"
}

// 0 for what is no number.
int number_of_steps(const std::string& text) {
  int steps = 0;
  std::from_chars(text.data(), text.data() + text.size(), steps);
  return steps;
}

// The order of rows: solvers as in the paper, methods as they first appear, losses and steps
// ascending.
struct RowKey {
  std::size_t solver;
  std::size_t method;
  std::string loss;
  int num_steps;
  std::string num_steps_text;  // tells those apart that are no number
  auto operator<=>(const RowKey&) const = default;
};

class Builder {
 public:
  // `empty` has no rows yet; with `whole` it gets those of the paper, measured or not.
  Builder(Table empty, const std::vector<RunResult>& results, bool whole)
      : table_(std::move(empty)), score_(*table_.score), results_(results), whole_(whole) {}

  Table build() {
    collect_pairs();
    collect_rows();
    for (auto& [key, row] : rows_) {
      for (TableCell& cell : row.cells) finish(cell);
      table_.rows.push_back(std::move(row));
    }
    rank(table_);
    return std::move(table_);
  }

 private:
  bool is_of_number(const RunResult& result) const {
    return result.rows.samples == table_.samples || is_of_every_number(result);
  }

  bool belongs(const RunResult& result) const {
    if (!is_of_number(result)) return false;
    const bool reversed = result.pair_identity.value("reverse", false);
    return reversed == table_.reversed_pairs && result.find(score_.name) != nullptr;
  }

  // The column that a pair is in: the first measured of its instances.
  const std::string& column_of(const RunResult& result) const { return column_of_.at(result.pair); }

  void group_instances() {
    std::map<std::string, std::map<int, std::string>> instances;  // the names by preset and number
    for (const RunResult& result : results_) {
      if (!belongs(result)) continue;
      const PairInstance instance = instance_of(result.pair);
      instances[instance.pair][instance.number] = result.pair;
    }
    for (const auto& [preset, names] : instances) {
      for (const auto& [number, name] : names) column_of_[name] = names.begin()->second;
    }
  }

  void add_pair(const std::string& pair) {
    std::vector<std::string>& pairs = table_.pairs;
    if (std::find(pairs.begin(), pairs.end(), pair) == pairs.end()) pairs.push_back(pair);
  }

  void collect_pairs() {
    group_instances();
    std::set<std::string> measured;
    for (const RunResult& result : results_) {
      if (belongs(result)) measured.insert(column_of(result));
    }
    for (const PairSpec& spec : preset_specs()) {
      const std::string name = spec.name + (table_.reversed_pairs ? "-reverse" : "");
      if ((whole_ && in_paper(name)) || measured.contains(name)) add_pair(name);
    }
    for (const RunResult& result : results_) {
      if (belongs(result)) add_pair(column_of(result));
    }
  }

  static bool in_paper(const std::string& pair) {
    const std::vector<PublishedCell>& cells = published_cells();
    return std::any_of(cells.begin(), cells.end(),
                       [&](const PublishedCell& cell) { return cell.pair == pair; });
  }

  std::size_t solver_place(const std::string& solver) const {
    return static_cast<std::size_t>(std::find(kSolverOrder.begin(), kSolverOrder.end(), solver) -
                                    kSolverOrder.begin());
  }

  std::size_t method_place(const std::string& method) {
    return methods_.emplace(method, methods_.size()).first->second;
  }

  TableRow& row(const std::string& solver, const std::string& method, const std::string& loss,
                const std::string& num_steps) {
    TableRow& row = rows_[row_key(solver, method, loss, num_steps)];
    if (row.cells.empty()) {
      row = {method, solver, loss, num_steps, solver == "oracle", {}};
      row.cells.resize(table_.pairs.size());
      for (std::size_t i = 0; i < table_.pairs.size(); ++i) {
        if (table_.samples > 0) continue;  // the paper's draws are endless
        row.cells[i].published =
            published_value(score_.name, solver, loss, num_steps, table_.pairs[i]);
      }
    }
    return row;
  }

  void collect_rows() {
    if (whole_) {
      row("oracle", solver_title("oracle"), "", "");
      for (const PublishedCell& cell : published_cells()) {
        if (cell.score == score_.name) {
          row(cell.solver, solver_title(cell.solver), cell.loss, cell.num_steps);
        }
      }
    }
    for (const RunResult& result : results_) {
      if (!belongs(result)) continue;
      const auto column = std::find(table_.pairs.begin(), table_.pairs.end(), column_of(result)) -
                          table_.pairs.begin();
      row(result.solver, result.method, result.loss, result.num_steps)
          .cells[static_cast<std::size_t>(column)]
          .runs.push_back(&result);
    }
    for (const RunResult& result : results_) note_missing(result);
  }

  // A run without the score says why in its cell, where the table has its row and column.
  void note_missing(const RunResult& result) {
    if (!is_of_number(result)) return;
    const auto score = std::find_if(result.scores.begin(), result.scores.end(),
                                    [&](const Score& s) { return s.name == score_.name; });
    const auto named = column_of_.find(result.pair);
    const std::vector<std::string>& pairs = table_.pairs;
    const auto column = std::find(pairs.begin(), pairs.end(),
                                  named == column_of_.end() ? result.pair : named->second);
    if (score == result.scores.end() || !std::isnan(score->mean) || column == pairs.end()) return;
    const auto row =
        rows_.find(row_key(result.solver, result.method, result.loss, result.num_steps));
    if (row == rows_.end()) return;
    row->second.cells[static_cast<std::size_t>(column - pairs.begin())].missing =
        score->missing.empty() ? "no reason recorded" : score->missing;
  }

  RowKey row_key(const std::string& solver, const std::string& method, const std::string& loss,
                 const std::string& num_steps) {
    return {solver_place(solver), method_place(method), loss, number_of_steps(num_steps),
            num_steps};
  }

  void finish(TableCell& cell) const {
    if (!cell.measured()) {
      cell.published.reset();  // a cell that was not measured is blank, never copied
      return;
    }
    const std::vector<double> means = training_scores(cell, score_.name);
    const std::map<int, std::vector<double>> instances = scores_by_instance(cell, score_.name);
    cell.instances = instances.size();
    if (instances.size() > 1) {
      cell.published.reset();  // of the preset alone
      finish_instances(cell, instances);
    } else if (means.size() > 1) {
      const MeanEstimate estimate = estimate_mean(means);
      cell.mean = estimate.mean;
      cell.standard_error = estimate.standard_error;
    } else {
      cell.mean = means[0];
      cell.standard_error = cell.runs[0]->find(score_.name)->standard_error;
    }
    for (const RunResult* run : cell.runs) {
      const std::optional<double>& change = run->find(score_.name)->bound_change;
      if (change) cell.bound_change = std::max(cell.bound_change.value_or(0.0), *change);
    }
    const auto above =
        static_cast<int>(std::count_if(std::begin(score_.bounds), std::end(score_.bounds),
                                       [&](double bound) { return cell.mean >= bound; }));
    if (!score_.is_ranked()) return;
    constexpr Band kBands[] = {Band::kBad, Band::kMidBad, Band::kMidGood, Band::kGood};
    cell.band = kBands[score_.lower_is_better() ? 3 - above : above];
  }

  // The analysis of variance of two levels: what the seeds explain is taken off the variance of the
  // instances' means.
  static void finish_instances(TableCell& cell,
                               const std::map<int, std::vector<double>>& instances) {
    std::vector<double> means;
    double squares = 0.0, freedom = 0.0, inverse_counts = 0.0;
    for (const auto& [number, scores] : instances) {
      means.push_back(estimate_mean(scores).mean);
      for (const double score : scores) squares += std::pow(score - means.back(), 2);
      freedom += static_cast<double>(scores.size()) - 1.0;
      inverse_counts += 1.0 / static_cast<double>(scores.size());
    }
    const auto count = static_cast<double>(means.size());
    const MeanEstimate estimate = estimate_mean(means);
    cell.mean = estimate.mean;
    cell.standard_error = estimate.standard_error;
    if (!std::isfinite(estimate.mean)) return;
    const double of_seeds = freedom > 0.0 ? squares / freedom : 0.0;
    const double of_means = count * std::pow(estimate.standard_error, 2);
    cell.instance_spread = std::sqrt(std::max(0.0, of_means - of_seeds * inverse_counts / count));
    if (freedom > 0.0) cell.seed_spread = std::sqrt(of_seeds);
  }

  Table table_;
  const ScoreSpec& score_;
  const std::vector<RunResult>& results_;
  bool whole_;
  std::map<std::string, std::string> column_of_;  // by the pair's name
  std::map<std::string, std::size_t> methods_;
  std::map<RowKey, TableRow> rows_;
};

}  // namespace

std::string band_name(Band band) {
  switch (band) {
    case Band::kBad:
      return "bad";
    case Band::kMidBad:
      return "mid-bad";
    case Band::kMidGood:
      return "mid-good";
    case Band::kGood:
      return "good";
    case Band::kNone:
      break;
  }
  return {};
}

int Table::marked_place(const TableCell& cell) const {
  return score->marks_best && cell.rank <= 2 ? cell.rank : 0;
}

std::string Table::format(double value) const {
  if (std::isnan(value)) return {};
  if (score->significant_digits > 0) return significant_text(value, score->significant_digits);
  return fixed_or_small(value, kDecimals, 2);
}

std::string Table::format_cell(const TableCell& cell) const {
  return (cell.bound_change ? "≤ " : "") + format(cell.mean);
}

std::string Table::format_error(const TableCell& cell) const {
  if (std::isnan(cell.standard_error)) return {};
  if (score->significant_digits > 0) return significant_text(cell.standard_error, 2);
  // One digit more than the value: errors are small beside it.
  return fixed_or_small(cell.standard_error, kDecimals + 1, 1);
}

std::string Table::format_spreads(const TableCell& cell) const {
  if (cell.instances < 2) return {};
  std::string text = fmt::format("instances {}", format_gap(cell.instance_spread));
  if (!std::isnan(cell.seed_spread)) {
    text += fmt::format(", seeds {}", format_gap(cell.seed_spread));
  }
  return text;
}

std::string Table::format_gap(double gap) const {
  return std::isnan(gap) ? std::string() : significant_text(gap, 2);
}

std::string Table::format_published(const TableCell& cell) const {
  if (!cell.published) return {};
  // KLs with the digits they were printed with.
  if (score->significant_digits > 0) return fmt::format("{}", *cell.published);
  return format(*cell.published);
}

bool has_instances(const std::vector<Table>& tables) {
  return any_cell(tables, [](const TableCell& cell) { return cell.instances > 1; });
}

bool has_several_trainings(const std::vector<Table>& tables) {
  return any_cell(
      tables, [](const TableCell& cell) { return cell.runs.size() > 1 && cell.instances == 1; });
}

std::vector<std::vector<const RunResult*>> independent_trainings(const TableCell& cell) {
  std::map<std::uint64_t, std::vector<const RunResult*>> sets;
  for (const RunResult* run : cell.runs) sets[run->rows.training_set].push_back(run);
  std::vector<std::vector<const RunResult*>> trainings;
  if (sets.size() > 1) {
    for (auto& [set, runs] : sets) trainings.push_back(std::move(runs));
  } else {
    for (const RunResult* run : cell.runs) trainings.push_back({run});
  }
  return trainings;
}

std::vector<double> training_scores(const TableCell& cell, std::string_view score) {
  std::vector<double> means;
  for (const auto& runs : independent_trainings(cell)) {
    std::vector<double> scores;
    for (const RunResult* run : runs) scores.push_back(run->find(score)->mean);
    means.push_back(estimate_mean(scores).mean);
  }
  return means;
}

std::map<int, std::vector<double>> scores_by_instance(const TableCell& cell,
                                                      std::string_view score) {
  std::map<int, std::vector<double>> scores;
  for (const RunResult* run : cell.runs) {
    scores[instance_of(run->pair).number].push_back(run->find(score)->mean);
  }
  return scores;
}

bool is_of_every_number(const RunResult& result) {
  if (result.rows.samples > 0) return false;
  const auto& solvers = all_solvers();
  const auto found = std::find_if(solvers.begin(), solvers.end(),
                                  [&](const auto& s) { return s->name() == result.solver; });
  return found != solvers.end() && !(*found)->learns_from_rows();
}

bool has_training_sets(const std::vector<Table>& tables) {
  return std::any_of(tables.begin(), tables.end(), [](const Table& t) { return t.samples > 0; });
}

// Ascending. Without endless ones where nothing that learns was trained on them, and tables of
// other numbers have what there is.
static std::set<std::size_t> numbers_of_rows(const std::vector<RunResult>& results, bool whole) {
  std::set<std::size_t> numbers;
  for (const RunResult& result : results) {
    if (!is_of_every_number(result)) numbers.insert(result.rows.samples);
  }
  if (numbers.empty() || whole) numbers.insert(0);
  return numbers;
}

// Of users' own scores, in the order in which they first appear.
static std::vector<std::string_view> own_score_names(const std::vector<RunResult>& results) {
  std::vector<std::string_view> names;
  for (const RunResult& result : results) {
    for (const Score& score : result.scores) {
      if (may_be_own_score(score.name) && std::ranges::find(names, score.name) == names.end()) {
        names.push_back(score.name);
      }
    }
  }
  return names;
}

// A table of each score and direction, without rows: first one of each score that has any, then
// those of the reversed pairs beside tables of forward ones, then those of users' own scores.
static std::vector<Table> empty_tables(const std::vector<RunResult>& results) {
  std::vector<Table> tables;
  for (const ScoreSpec& score : score_specs()) {
    if (score.table == TablePairs::kNone) continue;
    tables.push_back({.score = &score, .reversed_pairs = score.table == TablePairs::kReversed});
  }
  for (const ScoreSpec* score : scores_by(&ScoreSpec::reversed_place)) {
    tables.push_back({.score = score, .reversed_pairs = true});
  }
  for (const std::string_view name : own_score_names(results)) {
    const auto spec = std::make_shared<const ScoreSpec>(own_score_spec(name));
    for (const bool reversed : {false, true}) {
      tables.push_back({.score = spec.get(), .own_score = spec, .reversed_pairs = reversed});
    }
  }
  return tables;
}

std::vector<Table> make_tables(const std::vector<RunResult>& results, bool whole) {
  std::vector<Table> tables;
  for (Table& empty : empty_tables(results)) {
    for (const std::size_t samples : numbers_of_rows(results, whole)) {
      empty.samples = samples;
      const bool whole_table = whole && samples == 0 && empty.in_paper();
      Table table = Builder(empty, results, whole_table).build();
      const bool measured = std::any_of(table.rows.begin(), table.rows.end(), [](const auto& row) {
        return std::any_of(row.cells.begin(), row.cells.end(),
                           [](const TableCell& cell) { return cell.measured(); });
      });
      if (measured || whole_table) tables.push_back(std::move(table));
    }
  }
  return tables;
}

}  // namespace bridgemark
