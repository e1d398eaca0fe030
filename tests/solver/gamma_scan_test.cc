#include "bridgemark/solver/gamma/gamma_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bridgemark/core/error.h"
#include "bridgemark/process/gamma_proposal.h"
#include "bridgemark/solver/gamma/gamma_scan_text.h"

namespace bridgemark {
namespace {

using ::testing::HasSubstr;

constexpr int kCategories = 12;

// Two clouds of two columns that depend on each other.
States cloud(std::size_t rows, int centre, std::uint64_t seed) {
  States states(rows, 2);
  for (std::size_t i = 0; i < rows; ++i) {
    const double first = draw_uniform({seed, DrawPurpose::kSource}, i, 0),
                 second = draw_uniform({seed, DrawPurpose::kSource}, i, 1);
    states(i, 0) = centre + static_cast<std::int32_t>(4.0 * first);
    states(i, 1) = centre + static_cast<std::int32_t>(2.0 * first + 2.0 * second);
  }
  return states;
}

DataParts parts(const std::string& reference = "gaussian") {
  return {.x0 = cloud(200, 1, 1),
          .x1 = cloud(220, 7, 2),
          .reference = reference,
          .num_categories = kCategories};
}

GammaScanOptions quick(std::vector<double> gammas = {}) {
  return {.gammas = std::move(gammas),
          .settings = {"components=8", "updates=150", "batch_size=128"}};
}

// One scan for several tests.
const GammaScan& scanned() {
  static const GammaScan scan = scan_gamma({}, parts(), quick());
  return scan;
}

TEST(GammaScan, X0TellsLessTheLargerGammaIs) {
  const GammaScan& scan = scanned();
  ASSERT_EQ(scan.points.size(), std::size(kScannedShares));
  EXPECT_EQ(scan.x0_rows, 50u);  // the least that is held out
  EXPECT_EQ(scan.training_x1_rows, 170u);
  for (std::size_t i = 1; i < scan.points.size(); ++i) {
    const GammaPoint &below = scan.points[i - 1], &above = scan.points[i];
    EXPECT_LT(below.gamma, above.gamma);
    EXPECT_LT(below.movement_share, above.movement_share);
    if (!below.fits || !above.fits) continue;
    EXPECT_GT(below.told.mean, above.told.mean);
    EXPECT_LT(below.relative_cost, above.relative_cost + 0.03);  // of draws
  }
  EXPECT_LT(scan.points.back().told.mean, 0.1);
  EXPECT_NEAR(scan.points.back().relative_cost, 1.0, 0.1);
  EXPECT_TRUE(scan.points.back().fits);
}

TEST(GammaScan, ProposesWhatFitDoes) {
  const GammaScan& scan = scanned();
  EXPECT_EQ(scan.proposed, propose_gamma({}, ReferenceKind::kGaussian, kCategories));
  EXPECT_TRUE(std::ranges::any_of(
      scan.points, [&](const GammaPoint& point) { return point.gamma == scan.proposed; }));
}

TEST(GammaScan, HalfLiesBetweenItsNeighbours) {
  const GammaScan& scan = scanned();
  ASSERT_TRUE(scan.half_told.has_value());
  const double half = 0.5 * scan.points[*scan.most_told].told.mean;
  for (const GammaPoint& point : scan.points) {
    EXPECT_TRUE(!point.fits || point.told.mean <= 2.0 * half);
  }
  const auto above = std::ranges::find_if(
      scan.points, [&](const GammaPoint& point) { return point.gamma >= *scan.half_told; });
  ASSERT_NE(above, scan.points.begin());
  ASSERT_NE(above, scan.points.end());
  EXPECT_LT(above->told.mean, half);
  EXPECT_GE((above - 1)->told.mean, half);
  EXPECT_TRUE(above->fits && (above - 1)->fits);
  // No two lines have it between them: none is named.
  const double largest = scan.points.back().gamma;
  const GammaScan alike = scan_gamma({}, parts(), quick({0.999 * largest, largest}));
  EXPECT_FALSE(alike.half_told.has_value());
  EXPECT_THAT(gamma_scan_text(alike), HasSubstr("no two neighbours that fit"));
}

TEST(GammaScan, IsAFunctionOfItsSeed) {
  Context one_thread;
  one_thread.num_threads = 1;
  const GammaScan again = scan_gamma(one_thread, parts(), quick());
  EXPECT_EQ(gamma_scan_json(again).dump(), gamma_scan_json(scanned()).dump());
}

TEST(GammaScan, TellsAllOfItAndSaysWhatItCannot) {
  const std::string text = gamma_scan_text(scanned());
  EXPECT_THAT(text, HasSubstr("objectives over different gammas do not compare"));
  EXPECT_THAT(text, HasSubstr("(refit=no source=none components=8"));
  const nlohmann::json json = gamma_scan_json(scanned());
  EXPECT_EQ(json["points"].size(), scanned().points.size());
  EXPECT_EQ(json["points"][3]["told"], scanned().points[3].told.mean);
  EXPECT_EQ(json["half_told"], *scanned().half_told);
  EXPECT_EQ(json["most_told"], scanned().points[*scanned().most_told].gamma);
  EXPECT_TRUE(json["points"][0]["scores"].contains(kHeldOutObjective));
}

// Another solver, another reference; categories without an order have no cost in categories.
TEST(GammaScan, TakesOtherSolversAndReferences) {
  GammaScanOptions options{.gammas = {0.002, 0.02}, .solver = "feature-wise"};
  const GammaScan scan = scan_gamma({}, parts("uniform"), options);
  EXPECT_TRUE(scan.settings.empty());
  EXPECT_GT(scan.points[0].told.mean, scan.points[1].told.mean);
  options.solver = "independent";  // neither marginals nor a joint
  const GammaScan rows = scan_gamma({}, parts("uniform"), options);
  EXPECT_TRUE(std::isnan(rows.points[0].conditional_entropy.mean));
  EXPECT_NEAR(rows.points[0].relative_cost, 1.0, 0.1);
  EXPECT_TRUE(gamma_scan_json(rows)["points"][0]["conditional_entropy"].is_null());
}

TEST(GammaScan, RefusesWhatHasNoScan) {
  const auto message = [](DataParts given, const GammaScanOptions& options) {
    try {
      scan_gamma({}, std::move(given), options);
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string("nothing is thrown");
  };
  EXPECT_THAT(message(parts(), quick({0.1})), HasSubstr("two gammas or more, got 1"));
  EXPECT_THAT(message(parts(), quick({0.1, -1.0})), HasSubstr("above 0, got -1"));
  EXPECT_THAT(message(parts(), quick({0.1, std::nan("")})), HasSubstr("above 0, got nan"));
  EXPECT_THAT(message(parts("uniform"), quick({0.1, 1.5})),
              HasSubstr("must lie in (0, 1), got 1.5"));
  EXPECT_THAT(message(parts("triangle"), quick()), HasSubstr("triangle"));
  DataParts matrix = parts();
  matrix.reference = Matrix<double>(12, 12, 1.0 / 12);
  EXPECT_THAT(message(matrix, quick()), HasSubstr("got a matrix"));
  DataParts single = parts();
  single.gamma = 0.1;
  EXPECT_THAT(message(single, quick()), HasSubstr("got the single gamma 0.1"));
  GammaScanOptions unknown = quick();
  unknown.settings = {"componets=3"};
  EXPECT_THAT(message(parts(), unknown), HasSubstr("components"));
  DataParts one_row = parts();
  one_row.x0 = cloud(1, 1, 1);
  EXPECT_THAT(message(one_row, quick()), HasSubstr("holdout must leave rows"));
}

}  // namespace
}  // namespace bridgemark
