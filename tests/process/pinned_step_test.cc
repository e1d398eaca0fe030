#include "bridgemark/math/pinned_step.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "bridgemark/process/chain_tables.h"
#include "bridgemark/process/pinned_reference.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

constexpr testing::Tolerance kExact{1e-12, 1e-14};

// The table's form against the normalised product of the process's own rows.
TEST(PinnedStep, IsThePinnedReference) {
  constexpr int kSteps = 4;
  constexpr std::size_t S = 7;
  const ReferenceChain chain(ReferenceProcess::gaussian(S, 0.3), kSteps);
  const auto tables = make_chain_tables<double>({}, chain);
  std::vector<double> expected(S);
  for (int n = 0; n < kSteps; ++n) {
    const PinnedReference pinned = PinnedReference::step({}, chain, n);
    for (std::size_t x = 0; x < S; ++x) {
      for (std::size_t end = 0; end < S; ++end) {
        pinned.log_probabilities(static_cast<int>(x), static_cast<int>(end), expected.data());
        const PinnedStep<double> linear = tables.pinned(kSteps - n, x, end);
        const PinnedStep<double> log = tables.log_pinned(kSteps - n, x, end);
        for (std::size_t s = 0; s < S; ++s) {
          EXPECT_TRUE(
              testing::is_near(std::exp(log.log_probability(s)), std::exp(expected[s]), kExact));
          EXPECT_TRUE(testing::is_near(linear.probability(s, 1.0 / linear.whole),
                                       std::exp(expected[s]), kExact));
        }
      }
    }
  }
}

}  // namespace
}  // namespace bridgemark
