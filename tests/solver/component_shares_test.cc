#include "bridgemark/solver/cp/component_shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace bridgemark {
namespace {

constexpr std::size_t kDim = 4, kCategories = 3, kStates = 3;

// A chain of states whose logarithms spread over `scale`.
backend::CpTensors<float> chain_of(double scale) {
  backend::CpTensors<float> tensors(kDim, kCategories, kStates, true);
  double at = 0.3;
  const auto fill = [&](auto& values) {
    for (float& value : values) value = static_cast<float>(scale * std::sin(at += 1.7));
  };
  fill(tensors.log_beta);
  fill(tensors.log_moves);
  fill(tensors.log_cores);
  return tensors;
}

class ChainShares : public ::testing::TestWithParam<double> {};

// 1000: the weights of paths leave the range of doubles, and the sums are made of logarithms.
INSTANTIATE_TEST_SUITE_P(Scales, ChainShares, ::testing::Values(1.0, 30.0, 1000.0));

// Against a sum over all paths of states.
TEST_P(ChainShares, AreThoseOfAllPaths) {
  const backend::CpTensors<float> tensors = chain_of(GetParam());
  const States x1(2, kDim, {0, 1, 2, 0, 2, 2, 1, 0});
  const ComponentShares found =
      measure_components({}, tensors, Matrix<double>(kDim, kCategories, 0.0), x1.view(), 2);

  Matrix<double> share(kDim, kStates, 0.0);
  Array3<double> pairs(kDim - 1, kStates, kStates, 0.0);
  const std::size_t paths = 81;
  for (std::size_t row = 0; row < 2; ++row) {
    std::vector<double> log_weights(paths);
    const auto state = [](std::size_t path, std::size_t d) {
      for (; d > 0; --d) path /= kStates;
      return path % kStates;
    };
    double high = -1e300, total = 0.0;
    for (std::size_t path = 0; path < paths; ++path) {
      double log_weight = tensors.log_beta[state(path, 0)];
      for (std::size_t d = 0; d < kDim; ++d) {
        const std::size_t k = state(path, d);
        const auto s = static_cast<std::size_t>(x1(row, d));
        log_weight += tensors.log_cores[(d * kCategories + s) * kStates + k];
        if (d > 0) {
          log_weight += tensors.log_moves[((d - 1) * kStates + state(path, d - 1)) * kStates + k];
        }
      }
      log_weights[path] = log_weight;
      high = std::max(high, log_weight);
    }
    for (const double log_weight : log_weights) total += std::exp(log_weight - high);
    for (std::size_t path = 0; path < paths; ++path) {
      const double weight = std::exp(log_weights[path] - high) / total;
      for (std::size_t d = 0; d < kDim; ++d) {
        share(d, state(path, d)) += weight / 2.0;
        if (d > 0) pairs(d - 1, state(path, d - 1), state(path, d)) += weight;
      }
    }
  }
  for (std::size_t i = 0; i < share.size(); ++i) {
    EXPECT_NEAR(found.share.data()[i], share.data()[i], 1e-8);
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    EXPECT_NEAR(found.pairs.data()[i], pairs.data()[i], 1e-8);
  }
}

}  // namespace
}  // namespace bridgemark
