#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/backend/plan/row_source.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/math/log_rows.h"
#include "bridgemark/math/row_coupling.h"
#include "bridgemark/process/reference_process.h"
#include "tests/support/chi_square.h"

namespace bridgemark {
namespace {

backend::RowCoupling coupling_of(const ReferenceProcess& process, std::uint64_t seed) {
  return {process.log_power({}, process.total_steps()).matrix(), {seed, DrawPurpose::kRowCoupling}};
}

// Rows of a group one after the other, in order.
std::vector<std::vector<std::int32_t>> sorted_rows(StatesView states) {
  std::vector<std::vector<std::int32_t>> rows;
  for (std::size_t i = 0; i < states.rows; ++i) {
    rows.emplace_back(states.data + i * states.cols, states.data + (i + 1) * states.cols);
  }
  std::ranges::sort(rows);
  return rows;
}

States random_states(std::size_t rows, std::size_t cols, int num_categories, std::uint64_t seed) {
  States states(rows, cols);
  for (std::size_t i = 0; i < states.size(); ++i) {
    states.data()[i] = static_cast<std::int32_t>(draw_uniform({seed, DrawPurpose::kShuffle}, i, 0) *
                                                 num_categories);
  }
  return states;
}

// Three rows: two rounds of exchanges come close to the law of the permutations, six numbers.
TEST(CoupleRows, DrawsPermutationsByTheReference) {
  const ReferenceProcess process = ReferenceProcess::gaussian(9, 0.3, 4);
  const backend::RowCoupling coupling = coupling_of(process, 5);
  const States x0(3, 1, {0, 3, 4}), x1(3, 1, {1, 2, 6});
  std::array<std::size_t, 3> order = {0, 1, 2};
  std::vector<std::array<std::size_t, 3>> orders;
  std::vector<double> probabilities;
  double total = 0.0;
  do {
    double log_weight = 0.0;
    for (std::size_t i = 0; i < 3; ++i) {
      log_weight += coupling.log_q(static_cast<std::size_t>(x0(i, 0)),
                                   static_cast<std::size_t>(x1(order[i], 0)));
    }
    orders.push_back(order);
    probabilities.push_back(std::exp(log_weight));
    total += probabilities.back();
  } while (std::ranges::next_permutation(order).found);
  for (double& probability : probabilities) probability /= total;
  // Many calls on the outcome of the one before: the chain settles, whatever two rounds alone do.
  States moving = x1;
  std::vector<std::size_t> counts(orders.size());
  for (std::uint64_t call = 0; call < 40000; ++call) {
    backend::of({}).couple_rows({}, coupling, x0, call * 3, moving);
    if (call % 2 == 0) continue;
    for (std::size_t k = 0; k < orders.size(); ++k) {
      bool same = true;
      for (std::size_t i = 0; i < 3; ++i) same &= moving(i, 0) == x1(orders[k][i], 0);
      counts[k] += same;
    }
  }
  EXPECT_TRUE(testing::fits(counts, probabilities));
}

// Each group keeps its rows, the last, shorter one as well, whatever the threads, and the reference
// likes the pairs better than before.
TEST(CoupleRows, KeepsTheRowsOfEachGroup) {
  constexpr std::size_t kRows = 2 * kCoupledRows + 7, kDim = 5;
  const ReferenceProcess process = ReferenceProcess::gaussian(20, 0.1, 8);
  const backend::RowCoupling coupling = coupling_of(process, 1);
  const States x0 = random_states(kRows, kDim, 20, 1), x1 = random_states(kRows, kDim, 20, 2);
  States coupled = x1, with_threads = x1;
  backend::of({.num_threads = 1}).couple_rows({.num_threads = 1}, coupling, x0, 96, coupled);
  backend::of({.num_threads = 4}).couple_rows({.num_threads = 4}, coupling, x0, 96, with_threads);
  EXPECT_EQ(coupled, with_threads);
  const auto log_weight = [&](const States& ends) {
    double sum = 0.0;
    for (std::size_t i = 0; i < kRows; ++i) {
      sum += log_of_rows(coupling.log_q.data(), 20, x0.row(i), ends.row(i), kDim);
    }
    return sum;
  };
  EXPECT_GT(log_weight(coupled), log_weight(x1) + 100.0);
  for (std::size_t first = 0; first < kRows; first += kCoupledRows) {
    const std::size_t rows = std::min(kCoupledRows, kRows - first);
    EXPECT_EQ(sorted_rows(coupled.view().slice(first, rows)),
              sorted_rows(x1.view().slice(first, rows)));
  }
}

// Where the reference forbids a pair, it is left where it can be, and nothing is NaN.
TEST(CoupleRows, LeavesForbiddenPairs) {
  Matrix<double> log_q(2, 2, kLogZero);
  log_q(0, 0) = log_q(1, 1) = 0.0;
  const States x0(4, 1, {0, 1, 0, 1});
  States x1(4, 1, {1, 0, 1, 0});
  backend::of({}).couple_rows({}, {log_q, {3, DrawPurpose::kRowCoupling}}, x0, 0, x1);
  EXPECT_EQ(x1, x0);
}

}  // namespace
}  // namespace bridgemark
