#include "bridgemark/metric/own_data/marginal_fit.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "bridgemark/core/parallel.h"
#include "bridgemark/metric/sample_scores.h"
#include "bridgemark/metric/state_columns.h"

namespace bridgemark {

namespace {

constexpr std::size_t kMaxFitCells = std::size_t{1} << 20;  // 8 MB a thread
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Adds the sign of p - q at each row's cell to the sums of its set, where p and q are the shares of
// a cell in both sets. The table is zero before and after.
void add_cell_signs(const std::vector<std::uint32_t>& truth,
                    const std::vector<std::uint32_t>& prediction, std::vector<std::int64_t>& table,
                    std::int32_t* truth_sums, std::int32_t* prediction_sums) {
  const auto n = static_cast<std::int64_t>(truth.size());
  const auto m = static_cast<std::int64_t>(prediction.size());
  for (const std::uint32_t cell : truth) table[cell] += m;
  for (const std::uint32_t cell : prediction) table[cell] -= n;
  const auto sign = [&](std::uint32_t cell) { return (table[cell] > 0) - (table[cell] < 0); };
  for (std::size_t i = 0; i < truth.size(); ++i) truth_sums[i] += sign(truth[i]);
  for (std::size_t i = 0; i < prediction.size(); ++i) prediction_sums[i] += sign(prediction[i]);
  for (const std::uint32_t cell : truth) table[cell] = 0;
  for (const std::uint32_t cell : prediction) table[cell] = 0;
}

// Of each row of one set: the sums of signs over coordinates, and over pairs d < e.
struct SignSums {
  Matrix<std::int32_t> of_one, of_pairs;  // [D,n], a line a coordinate

  SignSums(std::size_t dim, std::size_t rows, bool pairs)
      : of_one(dim, rows, 0), of_pairs(pairs ? dim : 0, rows, 0) {}

  // The mean over rows and coordinates.
  double mean_of_one() const {
    double sum = 0.0;
    for (std::size_t i = 0; i < of_one.size(); ++i) sum += of_one.data()[i];
    return sum / static_cast<double>(of_one.size());
  }

  // The standard error of the mean over rows of one_weight * of_one + pair_weight * of_pairs.
  double error(double one_weight, double pair_weight) const {
    std::vector<double> rows(of_one.cols(), 0.0);
    for (std::size_t d = 0; d < of_one.rows(); ++d) {
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i] += one_weight * of_one(d, i);
    }
    for (std::size_t d = 0; pair_weight != 0.0 && d < of_pairs.rows(); ++d) {
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i] += pair_weight * of_pairs(d, i);
    }
    return estimate_mean(rows).standard_error;
  }
};

struct BothSigns {
  SignSums truth, prediction;

  double error(double one_weight, double pair_weight) const {
    return 0.5 * std::hypot(truth.error(one_weight, pair_weight),
                            prediction.error(one_weight, pair_weight));
  }
};

void fill_cells(const States& columns, std::size_t d, std::vector<std::uint32_t>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] = static_cast<std::uint32_t>(columns(d, i));
  }
}

void fill_cells(const States& columns, std::size_t d, std::size_t e, int num_categories,
                std::vector<std::uint32_t>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] = static_cast<std::uint32_t>(columns(d, i) * num_categories + columns(e, i));
  }
}

BothSigns sum_signs(const Context& context, StatesView truth, StatesView prediction,
                    int num_categories, bool pairs) {
  const std::size_t D = truth.cols, S = static_cast<std::size_t>(num_categories);
  const States of_truth = transposed(context, truth), of_answer = transposed(context, prediction);
  BothSigns signs{{D, truth.rows, pairs}, {D, prediction.rows, pairs}};
  parallel_blocks(context, D, 1, [&](std::size_t d, std::size_t) {
    std::vector<std::int64_t> table(pairs ? S * S : S, 0);
    std::vector<std::uint32_t> true_cells(truth.rows), answered_cells(prediction.rows);
    fill_cells(of_truth, d, true_cells);
    fill_cells(of_answer, d, answered_cells);
    add_cell_signs(true_cells, answered_cells, table, signs.truth.of_one.row(d),
                   signs.prediction.of_one.row(d));
    for (std::size_t e = d + 1; pairs && e < D; ++e) {
      fill_cells(of_truth, d, e, num_categories, true_cells);
      fill_cells(of_answer, d, e, num_categories, answered_cells);
      add_cell_signs(true_cells, answered_cells, table, signs.truth.of_pairs.row(d),
                     signs.prediction.of_pairs.row(d));
    }
  });
  return signs;
}

}  // namespace

MarginalFit marginal_fit(const Context& context, StatesView truth, StatesView prediction,
                         int num_categories) {
  const SampleScores scores = score_samples(context, truth, prediction, num_categories);
  const std::size_t D = truth.cols, S = static_cast<std::size_t>(num_categories);
  const bool pairs = D > 1 && S <= kMaxFitCells / S;
  const BothSigns signs = sum_signs(context, truth, prediction, num_categories, pairs);
  const auto dim = static_cast<double>(D);
  MarginalFit fit;
  fit.shape = {scores.shape, signs.error(1.0 / dim, 0.0)};
  // d < e counts for both orders.
  fit.trend = {scores.trend,
               pairs || D == 1 ? signs.error(1.0 / (dim * dim), 2.0 / (dim * dim)) : kUnknown};
  fit.trend_offdiagonal = {scores.trend_offdiagonal,
                           pairs ? signs.error(0.0, 2.0 / (dim * (dim - 1.0))) : kUnknown};
  return fit;
}

MeanEstimate marginal_shape(const Context& context, StatesView truth, StatesView prediction,
                            int num_categories) {
  const BothSigns signs = sum_signs(context, truth, prediction, num_categories, false);
  const double variation = 0.5 * (signs.truth.mean_of_one() - signs.prediction.mean_of_one());
  return {1.0 - variation, signs.error(1.0 / static_cast<double>(truth.cols), 0.0)};
}

}  // namespace bridgemark
