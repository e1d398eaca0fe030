#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "bridgemark/backend/placed_array.h"
#include "tests/support/device_test.h"

namespace bridgemark {
namespace {

// Counts on the device against maps from cells to counts.
class CudaScores : public testing::CudaTest {
 protected:
  // Sets whose categories differ in how often they fall.
  States states(std::size_t rows, std::size_t dim, int num_categories, double bias) {
    std::binomial_distribution<std::int32_t> category(num_categories - 1, bias);
    States x(rows, dim);
    for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = category(random_);
    return x;
  }

  // Count in truth less count in prediction of each pair of categories in columns d and e.
  static std::map<std::pair<int, int>, std::int64_t> differences(const States& truth,
                                                                 std::int64_t truth_weight,
                                                                 const States& prediction,
                                                                 std::int64_t prediction_weight,
                                                                 std::size_t d, std::size_t e) {
    std::map<std::pair<int, int>, std::int64_t> cells;
    for (std::size_t i = 0; i < truth.rows(); ++i)
      cells[{truth(i, d), truth(i, e)}] += truth_weight;
    for (std::size_t i = 0; i < prediction.rows(); ++i) {
      cells[{prediction(i, d), prediction(i, e)}] -= prediction_weight;
    }
    return cells;
  }

  std::mt19937 random_{7};
  const Context context_{.device = Device::kCuda};
};

TEST_F(CudaScores, CountsOfColumnsAndPairs) {
  constexpr std::size_t kDim = 5;
  constexpr int kCategories = 50;
  const States truth = states(3000, kDim, kCategories, 0.4),
               prediction = states(2000, kDim, kCategories, 0.5);
  const backend::PlacedStates placed_truth(context_, true, truth),
      placed_prediction(context_, true, prediction);
  const Matrix<std::int64_t> counts =
      backend::of(context_).count_columns(context_, placed_truth.view(), kCategories);
  Matrix<std::int64_t> expected(kDim, kCategories, 0);
  for (std::size_t i = 0; i < truth.rows(); ++i) {
    for (std::size_t d = 0; d < kDim; ++d) ++expected(d, static_cast<std::size_t>(truth(i, d)));
  }
  EXPECT_EQ(counts, expected);

  const std::vector<std::int64_t> found = backend::of(context_).pair_differences(
      context_, {placed_truth.view(), placed_prediction.view(), 2, 3, kCategories});
  for (std::size_t d = 0; d < kDim; ++d) {
    for (std::size_t e = d + 1; e < kDim; ++e) {
      std::int64_t sum = 0;
      for (const auto& [cell, count] : differences(truth, 2, prediction, 3, d, e)) {
        sum += std::abs(count);
      }
      EXPECT_EQ(found[d * kDim + e], sum) << d << " " << e;
    }
  }
}

TEST_F(CudaScores, SignsOfRows) {
  constexpr int kCategories = 20;
  for (const std::size_t dim : {1u, 2u, 6u}) {
    SCOPED_TRACE(dim);
    const States truth = states(1000, dim, kCategories, 0.4),
                 prediction = states(1000, dim, kCategories, 0.45);
    const backend::PlacedStates placed_truth(context_, true, truth),
        placed_prediction(context_, true, prediction);
    const backend::RowSigns found = backend::of(context_).row_signs(
        context_, placed_truth.view(), placed_prediction.view(), kCategories);
    std::vector<std::int64_t> of_columns(truth.rows(), 0), of_pairs(of_columns);
    for (std::size_t d = 0; d < dim; ++d) {
      for (std::size_t e = d; e < dim; ++e) {
        auto cells = differences(truth, 1, prediction, 1, d, e);
        for (std::size_t i = 0; i < truth.rows(); ++i) {
          const std::int64_t in_truth = cells[{truth(i, d), truth(i, e)}],
                             in_prediction = cells[{prediction(i, d), prediction(i, e)}];
          (d == e ? of_columns : of_pairs)[i] +=
              (in_truth > 0) - (in_truth < 0) - (in_prediction > 0) + (in_prediction < 0);
        }
      }
    }
    EXPECT_EQ(found.of_columns, of_columns);
    EXPECT_EQ(found.of_pairs, of_pairs);
  }
}

TEST_F(CudaScores, TablesThatDoNotFitAreLeftToTheHost) {
  const States x = states(10, 2, 1000, 0.5);
  const backend::PlacedStates placed(context_, true, x);
  EXPECT_TRUE(backend::of(context_)
                  .pair_differences(context_, {placed.view(), placed.view(), 1, 1, 1000})
                  .empty());
  EXPECT_TRUE(backend::of(context_)
                  .row_signs(context_, placed.view(), placed.view(), 1000)
                  .of_columns.empty());
}

}  // namespace
}  // namespace bridgemark
