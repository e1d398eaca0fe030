#include "bridgemark/report/gamma_figure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace bridgemark {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; ++at) ++found;
  return found;
}

GammaPoint point(double gamma, double told) {
  GammaPoint made;
  made.gamma = gamma;
  made.movement_share = 1.0 - told;
  made.told = {told, 0.01};
  made.relative_cost = 0.5;
  made.fits = true;
  made.scores.scores = {{kDataShape, {0.8, 0.01}, MeanEstimate{0.9, 0.01}}};
  return made;
}

GammaScan scan() {
  GammaScan made;
  made.proposed = 0.1;
  made.points = {point(0.01, 0.9), point(0.1, 0.6), point(1.0, 0.2)};
  made.half_told = 0.2;
  return made;
}

TEST(GammaFigure, HasAPointOfEachCurveAtEachGamma) {
  const std::string svg = gamma_figure(scan());
  EXPECT_EQ(count(svg, "<circle"), 4u * 3u);
  EXPECT_EQ(count(svg, "<path"), 4u);
  EXPECT_THAT(svg, HasSubstr(">proposed 0.1<"));
  EXPECT_THAT(svg, HasSubstr(">half told 0.2<"));
}

// The middle gamma lies in the middle, a share of 1 at the top.
TEST(GammaFigure, LiesWhereItsAxesSay) {
  GammaScan made = scan();
  made.points[1].told.mean = 1.0;
  EXPECT_THAT(gamma_figure(made), HasSubstr("<circle cx=\"326.0\" cy=\"92.0\""));
}

TEST(GammaFigure, LeavesOutWhatIsNotKnown) {
  GammaScan made = scan();
  made.half_told.reset();
  made.points[0].told.mean = std::numeric_limits<double>::quiet_NaN();
  made.points[2].fits = false;
  made.points[2].failure = "it diverged";
  const std::string svg = gamma_figure(made);
  EXPECT_EQ(count(svg, "<circle"), 3u + 4u);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("half told")));
}

TEST(GammaFigure, PointsThatDoNotFitAreHollow) {
  GammaScan made = scan();
  made.points[0].fits = false;
  EXPECT_EQ(count(gamma_figure(made), "r=\"3.5\" fill=\"#ffffff\""), 4u);
}

}  // namespace
}  // namespace bridgemark
