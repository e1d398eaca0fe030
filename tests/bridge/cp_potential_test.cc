#include "bridgemark/bridge/cp_potential.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/math/log_domain.h"
#include "tests/io/io_testing.h"
#include "tests/support/context.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::error_of;
using testing::kContext;

std::string refusal(std::vector<double> log_beta, Array3<double> log_cores) {
  return error_of<InvalidArgument>([&] { CpPotential(std::move(log_beta), std::move(log_cores)); });
}

TEST(CpPotential, RefusesBadInput) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const Array3<double> cores(2, 3, 2, 0.0);
  EXPECT_EQ(refusal({0.0}, cores),
            "[potential] log_beta must have 2 entries, one for each component, got 1");
  testing::contains(refusal({}, Array3<double>(2, 3, 0)), "got [2, 3, 0]");
  testing::contains(refusal({0.0}, Array3<double>(0, 3, 1)), "got [0, 3, 1]");
  testing::contains(refusal({0.0}, Array3<double>(2, 1, 1)), "got [2, 1, 1]");
  for (const double bad : {nan, inf}) {
    EXPECT_EQ(refusal({0.0, bad}, cores),
              fmt::format("[potential] log_beta must be finite or -inf, got {} at 1", bad));
    Array3<double> broken = cores;
    broken(1, 2, 0) = bad;
    EXPECT_EQ(
        refusal({0.0, 0.0}, broken),
        fmt::format("[potential] log_cores must be finite or -inf, got {} at [1, 2, 0]", bad));
  }
  testing::contains(refusal({kLogZero, kLogZero}, cores), "positive somewhere");
  testing::contains(refusal({0.0, 0.0}, Array3<double>(2, 3, 2, kLogZero)), "positive somewhere");
}

TEST(CpPotential, DropsComponentsThatVanish) {
  Array3<double> cores(2, 3, 4);
  for (std::size_t d = 0; d < 2; ++d) {
    for (std::size_t s = 0; s < 3; ++s) {
      for (std::size_t k = 0; k < 4; ++k) {
        cores(d, s, k) = 0.1 * static_cast<double>(d + 2 * s + 6 * k);
      }
      if (d == 1) cores(d, s, 2) = kLogZero;  // component 2 is zero in all of dimension 1
    }
  }
  const CpPotential potential({0.5, kLogZero, 0.7, 0.9}, cores);
  EXPECT_EQ(potential.num_components(), 2u);
  EXPECT_EQ(potential.log_beta(), (std::vector<double>{0.5, 0.9}));
  EXPECT_EQ(potential.log_cores()(1, 2, 0), cores(1, 2, 0));
  EXPECT_EQ(potential.log_cores()(1, 2, 1), cores(1, 2, 3));

  const States x(1, 2, 1);
  double value = 0.0;
  potential.log_value(kContext, x, {&value, 1});
  const double expected = std::log(std::exp(0.5 + cores(0, 1, 0) + cores(1, 1, 0)) +
                                   std::exp(0.9 + cores(0, 1, 3) + cores(1, 1, 3)));
  EXPECT_TRUE(testing::is_near(value, expected, {1e-14, 1e-14}));
}

TEST(CpPotential, ZeroFactorsGiveLogZero) {
  Array3<double> cores(1, 2, 1, 0.0);
  cores(0, 1, 0) = kLogZero;
  const CpPotential potential({0.0}, cores);
  const States x(2, 1, {0, 1});
  std::vector<double> value(2);
  potential.log_value(kContext, x, value);
  EXPECT_EQ(value, (std::vector<double>{0.0, kLogZero}));
}

TEST(CpBridge, RefusesBadInput) {
  const CpPotential potential({0.0}, Array3<double>(2, 3, 1, 0.0));
  const auto message = [](auto&& body) { return error_of<InvalidArgument>(body); };
  EXPECT_EQ(message([&] { CpBridge(ReferenceProcess::uniform(4, 0.1), potential); }),
            "[bridge] the potential must have 4 categories like the reference, got 3");

  const CpBridge bridge(ReferenceProcess::uniform(3, 0.1), potential);
  const States good(2, 2, 0), shorter(1, 2, 0), outside(2, 2, 3), wide(2, 3, 0);
  std::vector<double> out(2);
  States drawn(2, 2);
  Array3<double> marginals;
  for (const States* bad : {&outside, &wide}) {
    message([&] { bridge.log_normalizer(kContext, *bad, out); });
    message([&] { bridge.log_marginals(kContext, *bad, marginals); });
    message([&] { bridge.sample(kContext, *bad, {}, 0, drawn); });
    message([&] { bridge.log_conditional(kContext, good, *bad, out); });
    message([&] { bridge.log_transition_marginals(kContext, 4, 0, *bad, marginals); });
    message([&] { sample_pinned_trajectory(kContext, bridge, bridge.process(), 4, *bad, 0, 0); });
    message([&] { sample_markov_trajectory(kContext, bridge, 4, *bad, 0, 0); });
  }
  testing::contains(message([&] { bridge.log_conditional(kContext, good, shorter, out); }),
                    "the same rows, got 2 and 1");
  EXPECT_EQ(message([&] { bridge.log_transition_marginals(kContext, 4, 4, good, marginals); }),
            "[bridge] step must lie in 0..3, got 4");
  EXPECT_EQ(message([&] { bridge.log_phi(kContext, 4, -1, good, out); }),
            "[bridge] step must lie in 0..4, got -1");
  message([&] { bridge.log_transition(kContext, 4, 4, good, good, out); });
  testing::contains(message([&] { bridge.log_phi(kContext, 7, 0, good, out); }),
                    "num_steps must be a positive divisor of 128, got 7");
  for (const int num_steps : {0, -4}) {
    EXPECT_EQ(message([&] { sample_markov_trajectory(kContext, bridge, num_steps, good, 0, 0); }),
              fmt::format("[coupling] num_steps must be positive, got {}", num_steps));
  }
  testing::contains(message([&] { sample_markov_trajectory(kContext, bridge, 7, good, 0, 0); }),
                    "num_steps must be a positive divisor of 128, got 7");
  testing::contains(message([&] {
                      sample_pinned_trajectory(kContext, bridge, bridge.process(), -4, good, 0, 0);
                    }),
                    "num_steps must be a positive divisor of 128, got -4");
  EXPECT_FALSE(bridge.has_transitions(7));
  EXPECT_FALSE(bridge.has_transitions(0));
}

// A coupling that draws and can do nothing else.
class Copying : public Coupling {
 public:
  std::size_t dim() const override { return 1; }
  int num_categories() const override { return 2; }
  void sample(const Context&, StatesView, const DrawKey&, std::uint64_t,
              MutableStatesView) const override {}
};

TEST(Coupling, AbilitiesThatAreMissingAreRefused) {
  const Copying coupling;
  EXPECT_FALSE(coupling.has_marginals());
  EXPECT_FALSE(coupling.has_joint());
  EXPECT_FALSE(coupling.has_transitions(4));
  const States x(1, 1, 0);
  double value = 0.0;
  Array3<double> out;
  error_of<InvalidArgument>([&] { coupling.log_marginals(kContext, x, out); });
  error_of<InvalidArgument>([&] { coupling.log_conditional(kContext, x, x, {&value, 1}); });
  error_of<InvalidArgument>([&] { coupling.log_transition_marginals(kContext, 4, 0, x, out); });
  testing::contains(
      error_of<InvalidArgument>([&] { sample_markov_trajectory(kContext, coupling, 4, x, 0, 0); }),
      "num_steps = 4");
}

}  // namespace
}  // namespace bridgemark
