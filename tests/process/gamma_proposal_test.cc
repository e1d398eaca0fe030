#include "bridgemark/process/gamma_proposal.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "bridgemark/core/error.h"

namespace bridgemark {
namespace {

// Two digits of gamma leave the share within a few per cent of what was meant.
TEST(GammaProposal, LeadsAsFarAsItSays) {
  for (const int S : {2, 3, 5, 17, 50, 300}) {
    for (const int steps : {16, 128}) {
      const double gaussian = propose_gamma({}, ReferenceKind::kGaussian, S, steps);
      EXPECT_NEAR(movement_share({}, ReferenceProcess::gaussian(S, gaussian, steps)),
                  kProposedShare, 0.05)
          << "gaussian, S = " << S << ", gamma " << gaussian;
      const double uniform = propose_gamma({}, ReferenceKind::kUniform, S, steps);
      EXPECT_NEAR(movement_share({}, ReferenceProcess::uniform(S, uniform, steps)), kProposedShare,
                  0.02)
          << "uniform, S = " << S << ", gamma " << uniform;
    }
  }
}

// Known ends of the scale: a process that stays and one that forgets.
TEST(GammaProposal, ShareOfStayingAndForgetting) {
  EXPECT_NEAR(movement_share({}, ReferenceProcess::uniform(7, 1e-9, 4)), 0.0, 1e-6);
  EXPECT_NEAR(movement_share({}, ReferenceProcess::gaussian(9, 3.0, 128)), 1.0, 1e-3);
  const Matrix<double> independent(5, 5, 0.2);
  EXPECT_NEAR(movement_share({}, ReferenceProcess::from_matrix(independent, 1)), 1.0, 1e-12);
}

// Any other share as well; many categories are answered by fewer.
TEST(GammaProposal, GammaOfAnyShare) {
  for (const double share : {0.05, 0.6, 0.9}) {
    for (const ReferenceKind kind : {ReferenceKind::kGaussian, ReferenceKind::kUniform}) {
      const double gamma = gamma_of_share({}, kind, 40, share, 128);
      EXPECT_NEAR(movement_share({}, kind, 40, gamma, 128), share, 0.02) << gamma;
    }
  }
  EXPECT_NEAR(movement_share({}, ReferenceKind::kGaussian, 400, 0.05, 128),
              movement_share({}, ReferenceProcess::gaussian(400, 0.05, 128)), 0.01);
}

TEST(GammaProposal, HasTwoDigits) {
  for (int S = 2; S < 40; ++S) {
    const std::string text = fmt::format("{}", propose_gamma({}, ReferenceKind::kGaussian, S));
    EXPECT_LE(text.size(), 5u) << text;  // 0.071
  }
}

TEST(GammaProposal, AMatrixHasNone) {
  EXPECT_THROW(propose_gamma({}, ReferenceKind::kMatrix, 5), InvalidArgument);
}

}  // namespace
}  // namespace bridgemark
