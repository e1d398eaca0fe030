#include <gtest/gtest.h>

#include <string>

#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/solver/core/solver.h"
#include "tests/support/small_pair.h"

namespace bridgemark {
namespace {

using testing::fit_solver;
using testing::joint_kl;
using testing::nonsymmetric_spec;
using testing::small_spec;

TEST(FeatureWise, IsExactForAPairThatFactorises) {
  for (PairSpec spec : {small_spec(), nonsymmetric_spec()}) {
    for (const bool reverse : {false, true}) {
      SCOPED_TRACE(spec.name + (reverse ? " reversed" : ""));
      spec.num_components = 1;
      spec.reverse = reverse;
      const BenchmarkPair pair = build_pair(spec);
      const Fitted fitted = fit_solver("feature-wise", pair);
      EXPECT_TRUE(std::get<bool>(fitted.diagnostics.at("converged")));
      EXPECT_LT(std::get<double>(fitted.diagnostics.at("largest_change")), 1e-10);
      EXPECT_LT(std::get<double>(fitted.diagnostics.at("largest_error_against_exact")), 1e-7);
      EXPECT_GT(std::get<std::int64_t>(fitted.diagnostics.at("iterations")), 1);
      const double kl = joint_kl(pair, *fitted.coupling);
      // Two estimated marginals of 6 categories a coordinate from 100,000 draws: about
      // 2 coordinates * 2 * 5 / (2 * 100,000) = 1e-4 in the mean.
      EXPECT_GT(kl, 0.0);
      EXPECT_LT(kl, 5e-4);
    }
  }
}

TEST(FeatureWise, IsWrongForAPairThatDoesNot) {
  const BenchmarkPair pair = build_pair(small_spec());
  const Fitted fitted = fit_solver("feature-wise", pair);
  EXPECT_GT(joint_kl(pair, *fitted.coupling), 0.05);
  EXPECT_LT(joint_kl(pair, *fitted.coupling),
            joint_kl(pair, *fit_solver("reference", pair).coupling));
  EXPECT_TRUE(fitted.coupling->has_marginals());
  EXPECT_TRUE(fitted.coupling->has_transitions(16));
}

TEST(FeatureWise, SaysWhenItHasNotConverged) {
  const BenchmarkPair pair = build_pair(small_spec());
  const Fitted fitted =
      fit_solver("feature-wise", pair, {"max_iterations=3", "marginal_samples=5000"});
  EXPECT_FALSE(std::get<bool>(fitted.diagnostics.at("converged")));
  EXPECT_EQ(std::get<std::int64_t>(fitted.diagnostics.at("iterations")), 3);
  EXPECT_GT(std::get<double>(fitted.diagnostics.at("largest_error_against_exact")), 1e-4);
  for (const char* steps : {"imf_steps=1", "imf_steps=3"}) {
    EXPECT_THROW(fit_solver("feature-wise", pair, {steps}), InvalidArgument);
  }
}

TEST(FeatureWise, DoesNotDependOnThreads) {
  const BenchmarkPair pair = build_pair(small_spec());
  const auto cores = [&](int threads, std::uint64_t seed) {
    const Fitted fitted = fit_solver("feature-wise", pair, {"marginal_samples=5000"}, seed,
                                     testing::with_threads(threads));
    return dynamic_cast<const CpBridge&>(*fitted.coupling).potential().log_cores();
  };
  EXPECT_EQ(cores(1, 0), cores(2, 0));
  EXPECT_EQ(cores(1, 0), cores(5, 0));
  EXPECT_NE(cores(1, 0), cores(1, 1));
}

}  // namespace
}  // namespace bridgemark
