#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bridgemark/experiment/results.h"
#include "bridgemark/metric/score_spec.h"

namespace bridgemark {

enum class Band { kNone, kBad, kMidBad, kMidGood, kGood };
std::string band_name(Band band);  // "bad", "mid-bad", "mid-good", "good", "" for none

struct TableCell {
  double mean = std::numeric_limits<double>::quiet_NaN();  // NaN: nothing measured
  double standard_error = std::numeric_limits<double>::quiet_NaN();
  std::vector<const RunResult*> runs;  // one for each seed, set and instance of the pair
  std::size_t instances = 1;           // of the pair
  // Of several instances the spread, as a standard deviation, of what no training seed explains,
  // and that over the training seeds of one instance. NaN where it is not known.
  double instance_spread = std::numeric_limits<double>::quiet_NaN();
  double seed_spread = std::numeric_limits<double>::quiet_NaN();
  std::string missing;  // why there is no number where there are runs
  std::optional<double> published;
  // Of an upper bound: the largest Score::bound_change of the runs. None: no run is one.
  std::optional<double> bound_change = {};
  // The group of ties it is in: 1 has the best, 2 the best of the rest, and so on. 0 for the
  // Oracle, for an infinite mean and for what is left open.
  int rank = 0;
  bool too_noisy = false;  // not told from the best, but too noisy to be called as good
  // The smallest gap to the column's best row that would be told apart; of that row itself to the
  // Oracle. NaN where it is not known.
  double smallest_gap = std::numeric_limits<double>::quiet_NaN();
  Band band = Band::kNone;

  bool measured() const { return !runs.empty(); }
  // False where an upper bound or noise leaves the method's rank open.
  bool compared() const { return measured() && !too_noisy && !(bound_change && rank == 0); }
};

struct TableRow {
  std::string method;
  std::string solver;
  std::string loss;
  std::string num_steps;
  bool oracle = false;  // the ceiling
  std::vector<TableCell> cells;
};

struct Table {
  const ScoreSpec* score = nullptr;
  std::shared_ptr<const ScoreSpec> own_score = {};  // keeps `score` of a user's own metric
  bool reversed_pairs = false;                      // the table of p1 -> p0
  std::vector<std::string> pairs = {};  // instances of a pair share the column of the first
  // Rows a side that its solvers were trained on, of training sets of their pairs; 0: endless
  // draws.
  std::size_t samples = 0;
  std::vector<TableRow> rows = {};
  // Of each column: the smallest of its cells. NaN where nothing was compared.
  std::vector<double> smallest_gaps = {};
  bool unpaired = false;  // some rows were compared without blocks of test inputs

  // The score, the number of training rows and, where has_forward_twin(), the direction.
  std::string title() const;
  std::string short_title() const;  // without the direction
  std::string note() const;         // what the numbers mean
  bool in_paper() const;
  // Whether its score has a table of the forward pairs, too.
  bool has_forward_twin() const;

  // 1 for a cell of the best, 2 of the second group, where the score marks them; else 0.
  int marked_place(const TableCell& cell) const;

  std::string format(double value) const;                 // "" for NaN
  std::string format_cell(const TableCell& cell) const;   // with "≤ " before an upper bound
  std::string format_error(const TableCell& cell) const;  // "" where it is not known
  // "instances 0.012, seeds 0.003" of a cell over several instances, else "".
  std::string format_spreads(const TableCell& cell) const;
  std::string format_gap(double gap) const;                   // "" where it is not known
  std::string format_published(const TableCell& cell) const;  // "" where there is none
};

// A cell is the mean over the runs of a method on a pair, one run a seed, with the standard error
// over them; for a single run the error is that over its evaluation seeds. Solvers that were
// trained on different numbers of rows are in different tables, a table for each score and number;
// those that do not learn from rows (is_of_every_number) are in all of them. Over several training
// sets a cell is the mean over the sets of their means over seeds, with the standard error over the
// sets. Instances of a preset (instance_of) are one column where there are several: the mean over
// instances of their means over seeds, the standard error over instances, and both spreads apart.
//
// Cells of a column are in groups of ties (rank() of ranking.h).
//
// A score of the results that the protocol does not have (may_be_own_score()) has its tables after
// the others. Nobody knows which of its values are better: its cells have neither groups nor bands.
//
// Rows and columns are those that were measured, and a table without any is left out; with `whole`
// all seven tables of the paper have all their rows and columns, blank where nothing was measured.
// The results must outlive the tables.
std::vector<Table> make_tables(const std::vector<RunResult>& results, bool whole);

// Whether a run compares with those of every number of training rows, because its solver does not
// learn from rows.
bool is_of_every_number(const RunResult& result);

// Whether the tables are of more than endless draws.
bool has_training_sets(const std::vector<Table>& tables);

// Whether some cell is as asked.
template <typename Asked>
bool any_cell(const std::vector<Table>& tables, Asked&& asked) {
  return std::ranges::any_of(tables, [&](const Table& table) {
    return std::ranges::any_of(
        table.rows, [&](const TableRow& row) { return std::ranges::any_of(row.cells, asked); });
  });
}

// Whether a cell is over several instances of its pair.
bool has_instances(const std::vector<Table>& tables);
// Whether some cell has several trainings of one instance.
bool has_several_trainings(const std::vector<Table>& tables);

// The runs of a cell in parts that are independent trainings: those of a training set together,
// since they share its rows; of a single set, or of endless draws, each run by itself.
std::vector<std::vector<const RunResult*>> independent_trainings(const TableCell& cell);

// What each of them scores, the mean over its runs.
std::vector<double> training_scores(const TableCell& cell, std::string_view score);

// What the runs of a cell score, by the number of their instance of the pair.
std::map<int, std::vector<double>> scores_by_instance(const TableCell& cell,
                                                      std::string_view score);

// Who is best on a pair: the rank-1 rows of the table that decides there.
struct PairBest {
  std::string pair;
  std::size_t samples = 0;  // of the tables that were compared
  const Table* table = nullptr;
  std::size_t column = 0;
  std::vector<const TableRow*> rows;  // more than one: a tie; best mean first
  std::size_t compared = 0;           // methods that have the deciding score
  std::size_t methods = 0;            // methods measured on the pair, the Oracle apart
  // Methods without the deciding score that are best by their draws, where none of `rows` is.
  std::vector<const TableRow*> ahead_by_draws;
};

// One for each pair of the tables of each number of training rows, in their order. The first score
// by ScoreSpec::deciding_place that two methods have decides: the joint KL, else the conditional
// trend of draws. So a method that joins two with a joint KL never changes what decides between
// them. A pair where no two methods have the same of these has none.
std::vector<PairBest> best_of_pairs(const std::vector<Table>& tables);

// The Oracle's value by the score that decides, as its table writes it; empty where it has none.
std::string oracle_beside(const PairBest& best);

}  // namespace bridgemark
