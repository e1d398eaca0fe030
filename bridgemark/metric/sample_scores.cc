#include "bridgemark/metric/sample_scores.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/core/states.h"
#include "bridgemark/metric/state_columns.h"

namespace bridgemark {
namespace {

constexpr std::string_view kArea = "metric";

// A table of S^2 cells is scanned once for each pair of coordinates. It pays while it is not much
// larger than the sample; beyond that, or beyond 8 MB a thread, the pairs of values are sorted.
constexpr std::size_t kMaxTableCells = std::size_t{1} << 20;
constexpr std::size_t kMaxTableCellsPerRow = 64;

// Marginals may come from float32 models: their rows must sum to 1 this closely.
constexpr double kNormalizationTolerance = 1e-4;

void check_set(std::string_view name, StatesView states, std::size_t dim, int num_categories) {
  if (num_categories < 1) {
    throw_invalid(kArea, "num_categories must be at least 1, got {}", num_categories);
  }
  if (states.rows == 0 || states.cols == 0) {
    throw_invalid(kArea, "{} must hold at least one state, got shape [{}, {}]", name, states.rows,
                  states.cols);
  }
  if (states.rows > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw_invalid(kArea, "{} must have fewer than 2^31 rows, got {}", name, states.rows);
  }
  check_states(name, states, dim, num_categories);
}

// Weights that make counts of two sets comparable in integers: with n truths and m predictions,
// a/n - b/m = (a * truth - b * prediction) / denominator, where denominator = lcm(n, m). A sum of
// such numerators over all cells is at most 2 * denominator < 2^63.
struct Weights {
  Weights(std::size_t n, std::size_t m)
      : truth(static_cast<std::int64_t>(m / std::gcd(n, m))),
        prediction(static_cast<std::int64_t>(n / std::gcd(n, m))),
        denominator(static_cast<double>(n) * static_cast<double>(truth)) {}

  // 1 - TV from the sum over cells of |a * truth - b * prediction|.
  double score(std::int64_t difference) const {
    return 1.0 - static_cast<double>(difference) / (2.0 * denominator);
  }

  std::int64_t truth;
  std::int64_t prediction;
  double denominator;
};

// How often each category falls in each column: [D,S].
Matrix<std::int64_t> count_columns(const Context& context, StatesView states, int num_categories) {
  if (states.on_device) return backend::of(context).count_columns(context, states, num_categories);
  Matrix<std::int64_t> counts(states.cols, static_cast<std::size_t>(num_categories), 0);
  parallel_blocks(context, states.cols, kLineColumns, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = 0; i < states.rows; ++i) {
      const std::int32_t* row = states.row(i);
      for (std::size_t d = first; d < last; ++d) ++counts(d, static_cast<std::size_t>(row[d]));
    }
  });
  return counts;
}

using Column = std::span<const std::int32_t>;

// The weighted difference of two-dimensional counts through tables [S, S] that are zero before and
// after each use. Rows take turns between them: where most fall into one cell, an addition need not
// wait for the one before.
template <typename Cell>
class PairTable {
 public:
  explicit PairTable(int num_categories)
      : num_categories_(static_cast<std::size_t>(num_categories)),
        even_(num_categories_ * num_categories_, 0),
        odd_(even_) {}

  void add(Column first, Column second, std::int64_t weight) {
    const Cell step = static_cast<Cell>(weight);
    const auto cell = [&](std::size_t i) {
      return static_cast<std::size_t>(first[i]) * num_categories_ +
             static_cast<std::size_t>(second[i]);
    };
    Cell *even = even_.data(), *odd = odd_.data();
    std::size_t i = 0;
    for (; i + 1 < first.size(); i += 2) {
      const std::size_t left = cell(i), right = cell(i + 1);
      even[left] = static_cast<Cell>(even[left] + step);
      odd[right] = static_cast<Cell>(odd[right] + step);
    }
    if (i < first.size()) even[cell(i)] = static_cast<Cell>(even[cell(i)] + step);
  }

  std::int64_t take_difference() {
    Sum sum = 0;
    for (std::size_t i = 0; i < even_.size(); ++i) sum += std::abs(Sum{even_[i]} + Sum{odd_[i]});
    std::fill(even_.begin(), even_.end(), Cell{0});
    std::fill(odd_.begin(), odd_.end(), Cell{0});
    return sum;
  }

 private:
  using Sum = std::conditional_t<sizeof(Cell) == 2, std::int32_t, std::int64_t>;

  std::size_t num_categories_;
  std::vector<Cell> even_, odd_;
};

// The same difference for a space too large to tabulate: each pair of values becomes a key whose
// lowest bit tells the set, and equal keys meet by sorting.
class PairSorter {
 public:
  PairSorter(int num_categories, const Weights& weights)
      : num_categories_(static_cast<std::uint64_t>(num_categories)), weights_(weights) {}

  void add(Column first, Column second, bool is_truth) {
    for (std::size_t i = 0; i < first.size(); ++i) {
      const std::uint64_t cell = static_cast<std::uint64_t>(first[i]) * num_categories_ +
                                 static_cast<std::uint64_t>(second[i]);
      keys_.push_back(2 * cell + (is_truth ? 1 : 0));
    }
  }

  std::int64_t take_difference() {
    std::sort(keys_.begin(), keys_.end());
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < keys_.size();) {
      const std::uint64_t cell = keys_[i] / 2;
      std::int64_t difference = 0;
      for (; i < keys_.size() && keys_[i] / 2 == cell; ++i) {
        difference += keys_[i] % 2 == 1 ? weights_.truth : -weights_.prediction;
      }
      sum += std::abs(difference);
    }
    keys_.clear();
    return sum;
  }

 private:
  std::uint64_t num_categories_;
  Weights weights_;
  std::vector<std::uint64_t> keys_;
};

// Calls pair_difference(d, e) for every d < e, a row d at a time on the context's threads (the
// longest rows first), with one worker a row. Returns the sum of the pair scores in a fixed order.
template <typename MakeWorker>
double sum_pair_scores(const Context& context, std::size_t dim, const Weights& weights,
                       MakeWorker&& make_worker) {
  std::vector<double> row_scores(dim, 0.0);
  parallel_blocks(context, dim - 1, 1, [&](std::size_t d, std::size_t) {
    auto pair_difference = make_worker();
    for (std::size_t e = d + 1; e < dim; ++e) row_scores[d] += weights.score(pair_difference(d, e));
  });
  return std::accumulate(row_scores.begin(), row_scores.end(), 0.0);
}

template <typename Cell>
double sum_tabulated(const Context& context, const States& truth, const States& prediction,
                     int num_categories, const Weights& weights) {
  return sum_pair_scores(context, truth.rows(), weights, [&] {
    return [&, table = PairTable<Cell>(num_categories)](std::size_t d, std::size_t e) mutable {
      table.add(truth.view().row_span(d), truth.view().row_span(e), weights.truth);
      table.add(prediction.view().row_span(d), prediction.view().row_span(e), -weights.prediction);
      return table.take_difference();
    };
  });
}

double sum_sorted(const Context& context, const States& truth, const States& prediction,
                  int num_categories, const Weights& weights) {
  return sum_pair_scores(context, truth.rows(), weights, [&] {
    return [&, sorter = PairSorter(num_categories, weights)](std::size_t d, std::size_t e) mutable {
      sorter.add(truth.view().row_span(d), truth.view().row_span(e), true);
      sorter.add(prediction.view().row_span(d), prediction.view().row_span(e), false);
      return sorter.take_difference();
    };
  });
}

double sum_offdiagonal_scores(const Context& context, StatesView truth, StatesView prediction,
                              int num_categories, const Weights& weights) {
  if (truth.on_device) {
    const std::vector<std::int64_t> differences = backend::of(context).pair_differences(
        context, {truth, prediction, weights.truth, weights.prediction, num_categories});
    if (differences.empty()) {
      return sum_offdiagonal_scores(context, fetched(context, truth), fetched(context, prediction),
                                    num_categories, weights);
    }
    Context alone = context;
    alone.num_threads = 1;  // too little for more
    return sum_pair_scores(alone, truth.cols, weights, [&] {
      return [&](std::size_t d, std::size_t e) { return differences[d * truth.cols + e]; };
    });
  }
  const States truth_columns = transposed(context, truth);
  const States prediction_columns = transposed(context, prediction);
  const std::size_t categories = static_cast<std::size_t>(num_categories);
  const std::size_t rows = truth.rows + prediction.rows;
  if (categories > std::min(kMaxTableCells, kMaxTableCellsPerRow * rows) / categories) {
    return sum_sorted(context, truth_columns, prediction_columns, num_categories, weights);
  }
  // No cell exceeds the denominator, nor does one of its partial sums.
  if (weights.denominator <= static_cast<double>(std::numeric_limits<std::int16_t>::max())) {
    return sum_tabulated<std::int16_t>(context, truth_columns, prediction_columns, num_categories,
                                       weights);
  }
  if (weights.denominator <= static_cast<double>(std::numeric_limits<std::int32_t>::max())) {
    return sum_tabulated<std::int32_t>(context, truth_columns, prediction_columns, num_categories,
                                       weights);
  }
  return sum_tabulated<std::int64_t>(context, truth_columns, prediction_columns, num_categories,
                                     weights);
}

void check_marginals(std::string_view name, MatrixView<const double> log_marginals) {
  if (log_marginals.size() == 0) {
    throw_invalid(kArea, "{} must not be empty, got shape [{}, {}]", name, log_marginals.rows,
                  log_marginals.cols);
  }
  for (std::size_t d = 0; d < log_marginals.rows; ++d) {
    double sum = 0;
    for (const double value : log_marginals.row_span(d)) sum += std::exp(value);
    if (!(std::abs(sum - 1.0) <= kNormalizationTolerance)) {
      throw_invalid(kArea,
                    "{} must hold log-probabilities that sum to 1 in each row, got {} in "
                    "row {}",
                    name, sum, d);
    }
  }
}

}  // namespace

SampleScores score_samples(const Context& context, StatesView truth, StatesView prediction,
                           int num_categories) {
  check_set("truth", truth, truth.cols, num_categories);
  check_set("prediction", prediction, truth.cols, num_categories);
  const std::size_t dim = truth.cols;
  const Weights weights(truth.rows, prediction.rows);

  const Matrix<std::int64_t> in_truth = count_columns(context, truth, num_categories),
                             in_prediction = count_columns(context, prediction, num_categories);
  double diagonal = 0;
  for (std::size_t d = 0; d < dim; ++d) {
    std::int64_t difference = 0;
    for (std::size_t s = 0; s < in_truth.cols(); ++s) {
      difference +=
          std::abs(in_truth(d, s) * weights.truth - in_prediction(d, s) * weights.prediction);
    }
    diagonal += weights.score(difference);
  }

  const double num_coordinates = static_cast<double>(dim);
  SampleScores scores;
  scores.shape = diagonal / num_coordinates;
  if (dim == 1) {
    scores.trend = scores.shape;
    scores.trend_offdiagonal = std::numeric_limits<double>::quiet_NaN();
    return scores;
  }
  // A pair and its mirror image have the same score, so d < e counts for both.
  const double offdiagonal =
      2.0 * sum_offdiagonal_scores(context, truth, prediction, num_categories, weights);
  scores.trend = (diagonal + offdiagonal) / (num_coordinates * num_coordinates);
  scores.trend_offdiagonal = offdiagonal / (num_coordinates * (num_coordinates - 1.0));
  return scores;
}

double mean_marginal_entropy(StatesView states, int num_categories, const Context& context) {
  check_set("states", states, states.cols, num_categories);
  const Matrix<std::int64_t> counts = count_columns(context, states, num_categories);
  const double rows = static_cast<double>(states.rows);
  double sum = 0;
  for (std::size_t d = 0; d < states.cols; ++d) {
    for (const std::int64_t count : counts.view().row_span(d)) {
      if (count == 0) continue;
      const double probability = static_cast<double>(count) / rows;
      sum -= probability * std::log(probability);
    }
  }
  return sum / static_cast<double>(states.cols);
}

double shape_against_exact(StatesView prediction, MatrixView<const double> log_marginals,
                           const Context& context) {
  check_marginals("log_marginals", log_marginals);
  const int num_categories = static_cast<int>(log_marginals.cols);
  check_set("prediction", prediction, log_marginals.rows, num_categories);
  const Matrix<std::int64_t> counts = count_columns(context, prediction, num_categories);
  const double rows = static_cast<double>(prediction.rows);
  double sum = 0;
  for (std::size_t d = 0; d < log_marginals.rows; ++d) {
    double difference = 0;
    for (std::size_t s = 0; s < counts.cols(); ++s) {
      difference +=
          std::abs(static_cast<double>(counts(d, s)) / rows - std::exp(log_marginals(d, s)));
    }
    sum += 1.0 - 0.5 * difference;
  }
  return sum / static_cast<double>(log_marginals.rows);
}

double shape_between_marginals(MatrixView<const double> log_p, MatrixView<const double> log_q) {
  check_marginals("log_p", log_p);
  check_marginals("log_q", log_q);
  if (log_p.rows != log_q.rows || log_p.cols != log_q.cols) {
    throw_invalid(kArea, "log_q must have the shape [{}, {}] of log_p, got [{}, {}]", log_p.rows,
                  log_p.cols, log_q.rows, log_q.cols);
  }
  double sum = 0;
  for (std::size_t d = 0; d < log_p.rows; ++d) {
    double difference = 0;
    for (std::size_t s = 0; s < log_p.cols; ++s) {
      difference += std::abs(std::exp(log_p(d, s)) - std::exp(log_q(d, s)));
    }
    sum += 1.0 - 0.5 * difference;
  }
  return sum / static_cast<double>(log_p.rows);
}

}  // namespace bridgemark
