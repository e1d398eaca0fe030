#include "bridgemark/solver/csbm/assignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "bridgemark/core/error.h"
#include "tests/support/random_bridge.h"

namespace bridgemark {
namespace {

double total(const Matrix<double>& cost, const std::vector<std::size_t>& column) {
  double sum = 0.0;
  for (std::size_t i = 0; i < column.size(); ++i) sum += cost(i, column[i]);
  return sum;
}

// Against all permutations; every third matrix has few distinct costs, hence ties.
TEST(Assignment, LeastCostOfAllPermutations) {
  std::mt19937_64 generator(1);
  for (std::size_t n = 0; n <= 6; ++n) {
    for (int trial = 0; trial < 30; ++trial) {
      Matrix<double> cost(n, n);
      for (std::size_t i = 0; i < cost.size(); ++i) {
        const double u = testing::unit(generator);
        cost.data()[i] = trial % 3 == 0 ? std::floor(3.0 * u) : 1e4 * (u - 0.5);
      }
      std::vector<std::size_t> order(n);
      std::iota(order.begin(), order.end(), std::size_t{0});
      double best = total(cost, order);
      do {
        best = std::min(best, total(cost, order));
      } while (std::next_permutation(order.begin(), order.end()));
      const std::vector<std::size_t> found = least_cost_assignment({}, cost.view());
      EXPECT_NEAR(total(cost, found), best, 1e-9);
      std::vector<std::size_t> sorted = found;
      std::sort(sorted.begin(), sorted.end());
      std::iota(order.begin(), order.end(), std::size_t{0});
      EXPECT_EQ(sorted, order);
    }
  }
}

TEST(Assignment, IsInterruptedBetweenRows) {
  const Matrix<double> cost(50, 50, 1.0);
  int asked = 0;
  Context context;
  context.interrupt = [&] { return ++asked == 3; };
  EXPECT_THROW(least_cost_assignment(context, cost.view()), Interrupted);
  EXPECT_EQ(asked, 3);
}

}  // namespace
}  // namespace bridgemark
