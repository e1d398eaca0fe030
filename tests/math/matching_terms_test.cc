#include "bridgemark/math/matching_terms.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace bridgemark {
namespace {

constexpr double kStep = 1e-6;

double term_at(MatchingLoss kind, double t, double log_m) {
  return matching_term(kind, t, std::exp(log_m), std::log(t) - log_m);
}

TEST(MatchingTerms, SlopesAreThoseOfTheTerms) {
  for (const MatchingLoss kind : {MatchingLoss::kKl, MatchingLoss::kMse}) {
    for (const double t : {0.01, 0.3, 0.9}) {
      for (const double m : {0.02, 0.3, 0.7}) {
        const double up = term_at(kind, t, std::log(m) + kStep);
        const double down = term_at(kind, t, std::log(m) - kStep);
        EXPECT_NEAR(matching_slope(kind, t, m), (up - down) / (2.0 * kStep), 1e-8) << t << " " << m;
      }
    }
  }
}

TEST(MatchingTerms, NothingOfATargetIsNothing) {
  const double nothing = -std::numeric_limits<double>::infinity();
  const double undefined = nothing - nothing;
  EXPECT_EQ(matching_term(MatchingLoss::kKl, 0.0, 0.0, undefined), 0.0);
  EXPECT_EQ(matching_term(MatchingLoss::kKl, 0.0, 0.5, nothing), 0.0);
  EXPECT_EQ(matching_term(MatchingLoss::kMse, 0.0, 0.5, nothing), 0.25);
  EXPECT_EQ(matching_slope(MatchingLoss::kKl, 0.0, 0.5), 0.0);
  EXPECT_EQ(matching_slope(MatchingLoss::kMse, 0.25, 0.0), 0.0);
}

}  // namespace
}  // namespace bridgemark
