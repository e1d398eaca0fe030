#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "bridgemark/bridge/cp_bridge.h"
#include "tests/support/context.h"
#include "tests/support/enumerate.h"
#include "tests/support/random_bridge.h"
#include "tests/support/tolerance.h"

// A bridge against sums over every state of its space.
namespace bridgemark {
namespace {

using testing::all_near;
using testing::BridgeCase;
using testing::is_near;
using testing::kContext;
using testing::Tolerance;
using testing::Wide;

constexpr Tolerance kLog{1e-12, 1e-11};
constexpr Tolerance kProbability{1e-10, 1e-14};

class BridgeEnumeration : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { cases_ = new std::vector(testing::small_bridges()); }
  static void TearDownTestSuite() { delete cases_; }
  static std::vector<BridgeCase>* cases_;
};
std::vector<BridgeCase>* BridgeEnumeration::cases_ = nullptr;

template <typename Values>
std::vector<double> logs(const Values& values) {
  std::vector<double> out(values.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<double>(std::log(values.data()[i]));
  }
  return out;
}

// log q(to | from) of one step for all pairs of states, [M,M].
std::vector<double> log_step(const CpBridge& bridge, const States& states, int num_steps, int n) {
  const testing::StatePairs pairs = testing::all_pairs(states);
  std::vector<double> out(pairs.from.rows());
  bridge.log_transition(kContext, num_steps, n, pairs.from, pairs.to, out);
  return out;
}

// First, middle and last step.
std::vector<int> some_steps(int num_steps) {
  if (num_steps < 3) return num_steps == 1 ? std::vector{0} : std::vector{0, 1};
  return {0, num_steps / 2, num_steps - 1};
}

TEST_F(BridgeEnumeration, PotentialIsItsSumOfProducts) {
  for (const BridgeCase& item : *cases_) {
    std::vector<double> log_v(item.oracle.num_states());
    item.bridge.potential().log_value(kContext, item.oracle.states(), log_v);
    EXPECT_TRUE(all_near(log_v, logs(item.oracle.potential()), kLog)) << item.name;
  }
}

TEST_F(BridgeEnumeration, NormalizerAndPhiAreExpectations) {
  for (const BridgeCase& item : *cases_) {
    const States& states = item.oracle.states();
    std::vector<double> actual(states.rows());
    item.bridge.log_normalizer(kContext, states, actual);
    EXPECT_TRUE(all_near(actual, logs(item.oracle.phi(item.total_steps)), kLog)) << item.name;
    const int num_steps = 4, skip = item.total_steps / num_steps;
    for (int n = 0; n <= num_steps; ++n) {
      item.bridge.log_phi(kContext, num_steps, n, states, actual);
      EXPECT_TRUE(all_near(actual, logs(item.oracle.phi((num_steps - n) * skip)), kLog))
          << item.name << ", n " << n;
    }
  }
}

TEST_F(BridgeEnumeration, ConditionalIsTheReweightedReference) {
  for (const BridgeCase& item : *cases_) {
    const testing::StatePairs pairs = testing::all_pairs(item.oracle.states());
    std::vector<double> actual(pairs.from.rows());
    item.bridge.log_conditional(kContext, pairs.from, pairs.to, actual);
    EXPECT_TRUE(all_near(actual, logs(item.oracle.conditional()), kLog)) << item.name;
    const std::size_t M = item.oracle.num_states();
    for (std::size_t x0 = 0; x0 < M; ++x0) {
      double sum = 0.0;
      for (std::size_t x1 = 0; x1 < M; ++x1) sum += std::exp(actual[x0 * M + x1]);
      EXPECT_TRUE(is_near(sum, 1.0, kProbability)) << item.name << ", x0 " << x0;
    }
  }
}

TEST_F(BridgeEnumeration, ConditionalMarginalsSumTheConditional) {
  for (const BridgeCase& item : *cases_) {
    Array3<double> actual;
    item.bridge.log_marginals(kContext, item.oracle.states(), actual);
    const auto expected = logs(item.oracle.marginals(item.oracle.conditional()));
    EXPECT_TRUE(all_near({actual.data(), actual.size()}, expected, kLog)) << item.name;
  }
}

TEST_F(BridgeEnumeration, TransitionsAreTheReweightedReference) {
  for (const BridgeCase& item : *cases_) {
    for (int num_steps = 1; num_steps <= item.total_steps; num_steps *= 2) {
      ASSERT_TRUE(item.bridge.has_transitions(num_steps));
      for (const int n : some_steps(num_steps)) {
        const Wide law = item.oracle.transition(num_steps, n);
        EXPECT_TRUE(
            all_near(log_step(item.bridge, item.oracle.states(), num_steps, n), logs(law), kLog))
            << item.name << ", num_steps " << num_steps << ", n " << n;
        Array3<double> marginals;
        item.bridge.log_transition_marginals(kContext, num_steps, n, item.oracle.states(),
                                             marginals);
        EXPECT_TRUE(
            all_near({marginals.data(), marginals.size()}, logs(item.oracle.marginals(law)), kLog))
            << item.name << ", num_steps " << num_steps << ", n " << n;
      }
    }
  }
}

// Running the chain of transitions end to end must give the conditional, whatever the grid.
TEST_F(BridgeEnumeration, ProductOfTransitionsIsTheConditional) {
  for (const BridgeCase& item : *cases_) {
    const std::size_t M = item.oracle.num_states();
    const std::vector<double> conditional = log_step(item.bridge, item.oracle.states(), 1, 0);
    for (int num_steps = 2; num_steps <= item.total_steps; num_steps *= 2) {
      if (M > 100 && num_steps > 16) continue;  // M^3 a step
      Matrix<double> product(M, M, 0.0);
      for (std::size_t i = 0; i < M; ++i) product(i, i) = 1.0;
      for (int n = 0; n < num_steps; ++n) {
        const auto step = log_step(item.bridge, item.oracle.states(), num_steps, n);
        Matrix<double> next(M, M, 0.0);
        for (std::size_t j = 0; j < M; ++j) {
          for (std::size_t k = 0; k < M; ++k) {
            const double p = std::exp(step[j * M + k]);
            for (std::size_t i = 0; i < M; ++i) next(i, k) += product(i, j) * p;
          }
        }
        product = std::move(next);
      }
      for (std::size_t i = 0; i < M * M; ++i) {
        ASSERT_TRUE(is_near(product.data()[i], std::exp(conditional[i]), kProbability))
            << item.name << ", num_steps " << num_steps << ", entry " << i;
      }
    }
  }
}

TEST_F(BridgeEnumeration, PropagatedCoresEndAtTheCores) {
  for (const BridgeCase& item : *cases_) {
    const ReferenceChain chain(item.bridge.process(), 2);
    EXPECT_EQ(item.bridge.propagated_cores(kContext, chain, 2),
              item.bridge.potential().log_cores());
  }
}

}  // namespace
}  // namespace bridgemark
