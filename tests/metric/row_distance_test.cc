#include "bridgemark/metric/own_data/row_distance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "tests/support/context.h"
#include "tests/support/random_bridge.h"

namespace bridgemark {
namespace {

using testing::with_threads;

States random_rows(std::size_t rows, std::size_t dim, int num_categories, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  States states(rows, dim);
  for (std::size_t i = 0; i < states.size(); ++i) {
    states.data()[i] = static_cast<std::int32_t>(testing::unit(generator) * num_categories);
  }
  return states;
}

int plain_distance(const States& a, std::size_t i, const States& b, std::size_t j,
                   RowMetric metric) {
  int sum = 0;
  for (std::size_t d = 0; d < a.cols(); ++d) {
    sum += metric == RowMetric::kChanged ? a(i, d) != b(j, d) : std::abs(a(i, d) - b(j, d));
  }
  return sum;
}

// Dimensions around the part after which a row may be given up, and the largest categories.
TEST(RowDistance, NearestIsTheLeastOfAll) {
  for (const std::size_t dim : {1u, 7u, 127u, 128u, 300u}) {
    for (const int S : {2, 16384}) {
      const States rows = random_rows(9, dim, S, dim), among = random_rows(23, dim, S, dim + 1);
      for (const RowMetric metric : {RowMetric::kChanged, RowMetric::kMoved}) {
        const std::vector<double> nearest = nearest_distances({}, rows, among, metric);
        for (std::size_t i = 0; i < rows.rows(); ++i) {
          int least = plain_distance(rows, i, among, 0, metric);
          for (std::size_t j = 1; j < among.rows(); ++j) {
            least = std::min(least, plain_distance(rows, i, among, j, metric));
          }
          EXPECT_EQ(nearest[i], least) << dim << ' ' << S;
        }
        EXPECT_EQ(nearest, nearest_distances(with_threads(3), rows, among, metric));
      }
    }
  }
}

TEST(RowDistance, OfRowsAndOfUnpairedRows) {
  const States x0 = random_rows(31, 3, 5, 1), x1 = random_rows(17, 3, 5, 2);
  for (const RowMetric metric : {RowMetric::kChanged, RowMetric::kMoved}) {
    double sum = 0.0;
    for (std::size_t i = 0; i < x0.rows(); ++i) {
      for (std::size_t j = 0; j < x1.rows(); ++j) sum += plain_distance(x0, i, x1, j, metric);
    }
    EXPECT_NEAR(unpaired_distance(x0, x1, 5, metric), sum / (31.0 * 17.0), 1e-12);
    const std::vector<double> own = row_distances(x1, x1, metric);
    EXPECT_EQ(own, std::vector<double>(17, 0.0));
    EXPECT_EQ(row_distances(x0.view().slice(0, 17), x1, metric)[5],
              plain_distance(x0, 5, x1, 5, metric));
  }
}

TEST(RowOverlap, TellsTrainingRowsFromChance) {
  const States training = random_rows(400, 20, 4, 3), fresh = random_rows(200, 20, 4, 4);
  const RowOverlap none = row_overlap(fresh, training);
  EXPECT_EQ(none.rows, 200u);
  EXPECT_EQ(none.known, 0u);
  EXPECT_FALSE(none.trained_on || none.same_rows);

  const RowOverlap same = row_overlap(training, training);
  EXPECT_TRUE(same.trained_on && same.same_rows);
  EXPECT_EQ(same.share(), 1.0);
  EXPECT_EQ(same.share_by_chance, 0.0);

  States some = fresh;  // ten rows of the training, anywhere
  for (std::size_t i = 0; i < 10; ++i) std::copy_n(training.row(7 * i), 20, some.row(11 * i));
  const RowOverlap few = row_overlap(some, training);
  EXPECT_EQ(few.known, 10u);
  EXPECT_TRUE(few.trained_on);
  EXPECT_FALSE(few.same_rows);
}

// In a space of nine states every fresh row is a training row by chance: no reason to warn, unless
// the file is the same.
TEST(RowOverlap, SmallSpacesOverlapByChance) {
  const States training = random_rows(400, 2, 3, 5), fresh = random_rows(200, 2, 3, 6);
  const RowOverlap chance = row_overlap(fresh, training);
  EXPECT_EQ(chance.share(), 1.0);
  EXPECT_EQ(chance.share_by_chance, 1.0);
  EXPECT_FALSE(chance.trained_on);
  EXPECT_TRUE(row_overlap(training, training).trained_on);

  // 400 of 4096 states: a good part by chance.
  const RowOverlap part = row_overlap(random_rows(300, 6, 4, 8), random_rows(400, 6, 4, 7));
  EXPECT_GT(part.known, 5u);
  EXPECT_FALSE(part.trained_on);
}

}  // namespace
}  // namespace bridgemark
