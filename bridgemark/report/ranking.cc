#include "bridgemark/report/ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>

#include "bridgemark/metric/estimate.h"
#include "bridgemark/metric/paired_comparison.h"
#include "bridgemark/report/training_spread.h"

namespace bridgemark {

namespace {

constexpr double kBoundSlack = 10.0;  // times Score::bound_change
constexpr double kNoiseSlack = 10.0;  // times what the surest method could be from the truth

// The mean over the runs of a training set; without blocks where they are not of the same inputs.
BlockMeans mean_blocks(const std::vector<const RunResult*>& runs, std::string_view score) {
  BlockMeans mean = runs[0]->find(score)->blocks;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const BlockMeans& other = runs[i]->find(score)->blocks;
    if (other.rows != mean.rows || other.means.size() != mean.means.size()) return {};
    for (std::size_t b = 0; b < mean.means.size(); ++b) mean.means[b] += other.means[b];
  }
  for (double& value : mean.means) value /= static_cast<double>(runs.size());
  return mean;
}

class Ranking {
 public:
  explicit Ranking(Table& table) : table_(table), expected_(expected_spreads(table)) {}

  void rank(std::size_t column) {
    const TableCell* oracle = nullptr;
    std::vector<TableCell*> left;
    largest_error_ = std::numeric_limits<double>::quiet_NaN();
    for (TableRow& row : table_.rows) {
      TableCell& cell = row.cells[column];
      if (!cell.measured() || !std::isfinite(cell.mean)) continue;
      largest_error_ = std::fmax(largest_error_, cell.standard_error);  // NaN where none is known
      if (row.oracle) {
        oracle = &cell;
      } else {
        left.push_back(&cell);
      }
    }
    if (left.empty()) return;
    find_gaps(oracle, left, table_.smallest_gaps[column]);
    leave_out_noise(oracle, left);
    for (int place = 1; !left.empty(); ++place) {
      const TableCell* goal = best_of(left);
      if (place == 1 && oracle && reaches(*goal, *oracle)) goal = oracle;
      const auto rest = std::stable_partition(
          left.begin(), left.end(), [&](const TableCell* cell) { return reaches(*cell, *goal); });
      for (auto cell = left.begin(); cell != rest; ++cell) (*cell)->rank = place;
      left.erase(left.begin(), rest);
      std::erase_if(left, [&](const TableCell* cell) { return is_undecided(*cell, *goal); });
    }
  }

 private:
  Trainings trainings_of(const TableCell& cell) {
    std::vector<BlockMeans>& blocks = blocks_[&cell];
    if (blocks.empty()) {
      for (const auto& runs : independent_trainings(cell)) {
        blocks.push_back(mean_blocks(runs, table_.score->name));
      }
    }
    Trainings trainings;
    for (const BlockMeans& training : blocks) trainings.push_back(&training);
    return trainings;
  }

  bool better(const TableCell& a, const TableCell& b) const {
    return table_.score->lower_is_better() ? a.mean < b.mean : a.mean > b.mean;
  }

  TableCell* best_of(const std::vector<TableCell*>& cells) const {
    return *std::min_element(cells.begin(), cells.end(),
                             [&](const auto* a, const auto* b) { return better(*a, *b); });
  }

  // By the differences on the instances that both were measured on: what makes an instance hard for
  // both cancels, and their spread has in it that over inputs and trainings. None for cells of one
  // instance, or of different ones.
  std::optional<double> gap_over_instances(const TableCell& a, const TableCell& b) const {
    const auto first = scores_by_instance(a, table_.score->name);
    const auto second = scores_by_instance(b, table_.score->name);
    if (first.size() < 2 || first.size() != second.size()) return std::nullopt;
    std::vector<double> differences;
    for (const auto& [number, scores] : first) {
      const auto other = second.find(number);
      if (other == second.end()) return std::nullopt;
      differences.push_back(estimate_mean(scores).mean - estimate_mean(other->second).mean);
    }
    return student_quantile(static_cast<int>(differences.size()) - 1, kTrainingConfidence) *
           estimate_mean(differences).standard_error;
  }

  // The smallest gap between two cells that would be told apart; NaN where it is not known.
  double gap(const TableCell& a, const TableCell& b) {
    if (const std::optional<double> paired = gap_over_instances(a, b)) return *paired;
    const bool one_pair = a.instances == 1 && b.instances == 1;
    const std::optional<Comparison> paired =
        !one_pair
            ? std::nullopt
            : comparer_.compare(trainings_of(a), trainings_of(b), expected_[&a], expected_[&b]);
    if (paired) return paired->half_width;
    table_.unpaired = true;
    const auto error = [&](const TableCell& cell) {
      return std::isnan(cell.standard_error) ? largest_error_ : cell.standard_error;
    };
    return 2.0 * std::hypot(error(a), error(b));
  }

  bool reaches(const TableCell& cell, const TableCell& goal) {
    if (&cell == &goal || better(cell, goal)) return true;
    return table_.format(cell.mean) == table_.format(goal.mean) ||
           std::abs(cell.mean - goal.mean) <= gap(cell, goal);
  }

  // Of a cell that does not reach the goal.
  bool is_undecided(const TableCell& cell, const TableCell& goal) {
    if (!cell.bound_change) return false;
    return std::abs(cell.mean - goal.mean) <= gap(cell, goal) + kBoundSlack * *cell.bound_change;
  }

  // Takes those out that are not told from the best of the others, but could be far from the truth.
  void leave_out_noise(const TableCell* oracle, std::vector<TableCell*>& cells) {
    if (!oracle) return;
    std::map<const TableCell*, double> farthest;
    double least = std::numeric_limits<double>::infinity();
    for (const TableCell* cell : cells) {
      farthest[cell] = std::abs(cell->mean - oracle->mean) + gap(*cell, *oracle);
      least = std::fmin(least, farthest[cell]);
    }
    // False where nothing is known of the noise.
    const auto is_noisy = [&](const TableCell* cell) {
      return farthest[cell] > kNoiseSlack * least;
    };
    std::vector<TableCell*> sure;
    std::ranges::copy_if(cells, std::back_inserter(sure), std::not_fn(is_noisy));
    if (sure.empty()) return;
    const TableCell* goal = best_of(sure);
    if (reaches(*goal, *oracle)) goal = oracle;
    std::erase_if(cells, [&](TableCell* cell) {
      cell->too_noisy = is_noisy(cell) && reaches(*cell, *goal);
      return cell->too_noisy;
    });
  }

  void find_gaps(const TableCell* oracle, const std::vector<TableCell*>& cells, double& smallest) {
    TableCell* const best = best_of(cells);
    for (TableCell* cell : cells) {
      const TableCell* other = cell == best ? oracle : best;
      // Rows that are the same in every block, such as one model twice, say nothing of a gap.
      const double found = other ? gap(*cell, *other) : 0.0;
      if (found > 0.0) cell->smallest_gap = found;
      smallest = std::fmin(smallest, cell->smallest_gap);  // of NaN and a number: the number
    }
  }

  Table& table_;
  PairedComparer comparer_;
  std::map<const TableCell*, ExpectedSpread> expected_;
  std::map<const TableCell*, std::vector<BlockMeans>> blocks_;  // of each independent training
  double largest_error_ = 0.0;                                  // of the column
};

}  // namespace

void rank(Table& table) {
  table.smallest_gaps.assign(table.pairs.size(), std::numeric_limits<double>::quiet_NaN());
  if (!table.score->is_ranked()) return;
  Ranking ranking(table);
  for (std::size_t column = 0; column < table.pairs.size(); ++column) ranking.rank(column);
}

std::string group_letters(int rank) {
  std::string letters;
  for (; rank > 0; rank = (rank - 1) / 26) {
    letters.insert(letters.begin(), static_cast<char>('a' + (rank - 1) % 26));
  }
  return letters;
}

std::string group_mark(const TableCell& cell) {
  return cell.measured() && !cell.compared() ? "?" : group_letters(cell.rank);
}

std::string tie_note(const std::vector<Table>& tables) {
  std::string note = fmt::format(
      "Letters are groups of ties in a column: a has the best row and all that a paired comparison "
      "over the test inputs (bootstrap, {:g} %) does not separate from it, b the best of the rest "
      "and its ties, and so on; rows that reach the Oracle are all in a. The smallest gap is the "
      "least difference from the best row that would have been told apart.",
      100.0 * kComparisonConfidence);
  if (has_several_trainings(tables)) {
    note +=
        " A solver with several trainings is compared with their spread (Student's t, 95 %), where "
        "that of its other pairs counts as up to four trainings more.";
  }
  if (has_instances(tables)) {
    note +=
        " Rows over the same instances of a pair are compared by their differences on each "
        "(Student's t, 95 %).";
  }
  if (any_cell(tables, [](const TableCell& cell) { return cell.bound_change.has_value(); })) {
    note += fmt::format(
        " An upper bound (≤, the joint KL by particles) can show that a row is better, not that it "
        "is "
        "worse: behind the best it has a letter only where its distance is more than {:g} times "
        "what "
        "half of the particles would add to it. Else it has a question mark, for a tie left open.",
        kBoundSlack);
  }
  if (any_cell(tables, [](const TableCell& cell) { return cell.too_noisy; })) {
    note += fmt::format(
        " A row that nothing tells from the best, but that could be over {:g} times as far from "
        "the Oracle as the surest row, has a question mark too: noise does not make it a winner.",
        kNoiseSlack);
  }
  if (std::any_of(tables.begin(), tables.end(), [](const Table& t) { return t.unpaired; })) {
    note +=
        " Rows without means over blocks of inputs, as older results are, tie within two standard "
        "errors, taken as independent (the column's largest for a row that has none), or by the "
        "digits shown where no row has one.";
  }
  return note;
}

}  // namespace bridgemark
