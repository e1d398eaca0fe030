#include "bridgemark/metric/sample_blocks.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/metric/state_columns.h"

namespace bridgemark {

namespace {

constexpr std::size_t kMaxCells = std::size_t{1} << 20;  // 4 MB a thread

// Adds sign(truth) - sign(prediction) of each row's cell to `sums`. The table is zero before and
// after.
void add_signs(const std::vector<std::uint32_t>& truth,
               const std::vector<std::uint32_t>& prediction, std::vector<std::int32_t>& table,
               std::int32_t* sums) {
  for (const std::uint32_t cell : truth) ++table[cell];
  for (const std::uint32_t cell : prediction) --table[cell];
  const auto sign = [&](std::uint32_t cell) { return (table[cell] > 0) - (table[cell] < 0); };
  for (std::size_t i = 0; i < truth.size(); ++i) sums[i] += sign(truth[i]) - sign(prediction[i]);
  for (const std::uint32_t cell : truth) table[cell] = 0;
  for (const std::uint32_t cell : prediction) table[cell] = 0;
}

// Of states on the host; those of pairs are left out where they are not asked for.
backend::RowSigns row_signs(const Context& context, StatesView truth, StatesView prediction,
                            int num_categories, bool pairs) {
  const std::size_t n = truth.rows, D = truth.cols, S = static_cast<std::size_t>(num_categories);
  Matrix<std::int32_t> of_one(D, n, 0), of_pairs(pairs ? D : 0, n, 0);  // with the columns after d
  const States true_columns = transposed(context, truth),
               answered_columns = transposed(context, prediction);
  parallel_blocks(context, D, 1, [&](std::size_t d, std::size_t) {
    std::vector<std::int32_t> table(pairs ? S * S : S, 0);
    std::vector<std::uint32_t> true_cells(n), answered_cells(n);
    const auto one = [&](const States& columns, std::vector<std::uint32_t>& cells) {
      std::copy_n(columns.row(d), n, cells.begin());
    };
    one(true_columns, true_cells);
    one(answered_columns, answered_cells);
    add_signs(true_cells, answered_cells, table, of_one.row(d));
    for (std::size_t e = d + 1; pairs && e < D; ++e) {
      const auto two = [&](const States& columns, std::vector<std::uint32_t>& cells) {
        const std::int32_t *first = columns.row(d), *second = columns.row(e);
        for (std::size_t i = 0; i < n; ++i) {
          cells[i] = static_cast<std::uint32_t>(first[i] * num_categories + second[i]);
        }
      };
      two(true_columns, true_cells);
      two(answered_columns, answered_cells);
      add_signs(true_cells, answered_cells, table, of_pairs.row(d));
    }
  });
  const auto sum = [&](const Matrix<std::int32_t>& signs) {
    std::vector<std::int64_t> sums(n, 0);
    for (std::size_t d = 0; d < signs.rows(); ++d) {
      for (std::size_t i = 0; i < n; ++i) sums[i] += signs(d, i);
    }
    return sums;
  };
  return {sum(of_one), sum(of_pairs)};
}

}  // namespace

SampleBlocks sample_blocks(const Context& context, StatesView truth, StatesView prediction,
                           int num_categories) {
  if (truth.rows != prediction.rows || truth.cols != prediction.cols) {
    throw_invalid("metric", "prediction must have the shape [{}, {}] of truth, got [{}, {}]",
                  truth.rows, truth.cols, prediction.rows, prediction.cols);
  }
  const std::size_t n = truth.rows, D = truth.cols, S = static_cast<std::size_t>(num_categories);
  const bool pairs = D > 1 && S <= kMaxCells / S;
  backend::RowSigns signs;
  if (truth.on_device) {
    signs = backend::of(context).row_signs(context, truth, prediction, num_categories);
    if (signs.of_columns.empty()) {
      return sample_blocks(context, fetched(context, truth), fetched(context, prediction),
                           num_categories);
    }
  } else {
    signs = row_signs(context, truth, prediction, num_categories, pairs);
  }
  const double dim = static_cast<double>(D);
  std::vector<double> shape(n), trend(n), offdiagonal(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t one = signs.of_columns[i];
    const std::int64_t two = 2 * signs.of_pairs[i];  // d < e counts for both orders
    const auto score = [](std::int64_t sum, double terms) {
      return 1.0 - 0.5 * static_cast<double>(sum) / terms;
    };
    shape[i] = score(one, dim);
    trend[i] = score(one + two, dim * dim);
    offdiagonal[i] = score(two, dim * (dim - 1.0));
  }
  SampleBlocks blocks{block_means(shape), {}, {}};
  if (pairs) blocks.trend_offdiagonal = block_means(offdiagonal);
  if (pairs || D == 1) blocks.trend = block_means(trend);
  return blocks;
}

}  // namespace bridgemark
