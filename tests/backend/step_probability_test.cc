#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/backend/placed_array.h"
#include "bridgemark/backend/plan/network_steps.h"
#include "bridgemark/process/chain_tables.h"
#include "tests/support/device_test.h"
#include "tests/support/network_problem.h"

// Probabilities of whole steps, and rows taken by their numbers, on every device.
namespace bridgemark {
namespace {

using testing::NetworkProblem;

class StepProbability : public testing::DeviceTest {
 protected:
  static bool on_device() { return GetParam() != Device::kCpu; }
};

// The sum over the coordinates of what the marginals have at `to`.
std::vector<double> by_marginals(const backend::NetworkTensors<float>& network,
                                 const backend::ChainTables<float>& tables, int left,
                                 const NetworkProblem& problem) {
  const Array3<double> log_p = testing::log_transition({}, network, tables, left, problem.x);
  std::vector<double> sums(problem.x.rows(), 0.0);
  for (std::size_t b = 0; b < sums.size(); ++b) {
    for (std::size_t d = 0; d < problem.x.cols(); ++d) {
      sums[b] += log_p(b, d, static_cast<std::size_t>(problem.clean(b, d)));
    }
  }
  return sums;
}

// Of every kind of network, and of some whose probabilities leave the range of float32 and float64.
TEST_P(StepProbability, OfANetworkIsTheProductOfItsMarginals) {
  std::vector<NetworkProblem> problems = testing::network_problems();
  for (const double gamma : {0.02, 0.1}) {
    problems.push_back(testing::extreme_network_problem(gamma));
    problems.push_back(problems.back());
    problems.back().parameters.shape.reference_last_step = true;
  }
  // Eight and more coordinates: several logarithms a row.
  problems.push_back(testing::make_network_problem({ReferenceProcess::gaussian(40, 0.05, 8), 4}, 19,
                                                   {7}, 0, 5, 2.0, 5));
  for (const NetworkProblem& problem : problems) {
    const auto network = testing::convert<float>(problem.parameters);
    const auto tables = make_chain_tables<float>({}, problem.chain);
    const std::size_t rows = problem.x.rows();
    for (int left = 1; left <= problem.chain.num_steps(); ++left) {
      const std::vector<double> expected = by_marginals(network, tables, left, problem);
      std::vector<double> host(rows);
      backend::of(context()).network_step_log_probability(context(), network, tables, left,
                                                          problem.x, problem.clean, host.data());
      const backend::PlacedStates from(context(), on_device(), problem.x),
          to(context(), on_device(), problem.clean);
      backend::PlacedArray<double> placed(context(), on_device(), rows);
      backend::of(context()).network_step_log_probability(
          context(), network, tables, left, from.view(), to.view(), placed.view().data);
      const Matrix<double> device = placed.to_host(context());
      for (std::size_t b = 0; b < rows; ++b) {
        ASSERT_TRUE(std::isfinite(host[b]));
        EXPECT_NEAR(host[b], expected[b], 1e-5 * (1.0 + std::abs(expected[b])));
        EXPECT_EQ(host[b], device(b, 0));
      }
    }
  }
}

TEST_P(StepProbability, OfMarginals) {
  constexpr std::size_t kRows = 300, kDim = 3, kCategories = 4;
  std::vector<double> log_p(kRows * kDim * kCategories);
  for (std::size_t i = 0; i < log_p.size(); ++i) log_p[i] = -0.25 * static_cast<double>(i % 37);
  log_p[5 * kDim * kCategories] = kLogZero;
  States to(kRows, kDim, 0);
  for (std::size_t i = kCategories * kDim; i < to.size(); ++i) {
    to.data()[i] = static_cast<std::int32_t>(i * 7 % kCategories);
  }
  to(5, 0) = 0;
  std::vector<double> expected(kRows, 0.0);
  for (std::size_t b = 0; b < kRows; ++b) {
    for (std::size_t d = 0; d < kDim; ++d) {
      expected[b] += log_p[(b * kDim + d) * kCategories + static_cast<std::size_t>(to(b, d))];
    }
  }
  const backend::PlacedArray<double> given(context(), on_device(),
                                           {kRows, kDim * kCategories, log_p});
  backend::PlacedArray<double> out(context(), on_device(), kRows);
  const backend::PlacedStates states(context(), on_device(), to);
  backend::of(context()).step_log_probability(context(), given.view().data, states.view(),
                                              kCategories, out.view().data);
  EXPECT_EQ(out.to_host(context()), Matrix<double>(kRows, 1, expected));
  EXPECT_EQ(expected[5], kLogZero);
}

TEST_P(StepProbability, RowsAreTakenByTheirNumbers) {
  States x(5, 3);
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<std::int32_t>(i);
  const std::vector<std::uint32_t> rows = {4, 4, 0, 2, 1, 3, 0};
  const backend::PlacedStates from(context(), on_device(), x);
  backend::PlacedStates taken(context(), on_device(), rows.size(), 3);
  backend::of(context()).take_rows(context(), from.view(), rows, taken.view());
  const States host = taken.to_host(context());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t d = 0; d < 3; ++d) EXPECT_EQ(host(i, d), x(rows[i], d));
  }
}

RUN_ON_EVERY_DEVICE(StepProbability);

}  // namespace
}  // namespace bridgemark
