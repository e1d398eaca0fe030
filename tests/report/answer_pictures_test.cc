#include "bridgemark/report/answer_pictures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "bridgemark/math/log_domain.h"
#include "bridgemark/pair/pair_spec.h"

namespace bridgemark {
namespace {

using nlohmann::json;

PairSpec quadtree_spec(std::size_t side) {
  PairSpec spec;
  spec.family = PairFamily::kTree;
  spec.dim = static_cast<int>(side * side);
  spec.num_categories = 12;
  spec.num_components = 2;
  spec.min_distance = 0.0;
  spec.tree = TreeShape::quadtree(side);
  return spec;
}

TEST(AnswerPictures, AreOfQuadtreesAndAlphabets) {
  PairSpec spec = quadtree_spec(3);
  const json picture = row_form(build_pair(spec));
  EXPECT_EQ(picture["side"], 3);
  EXPECT_EQ(picture["ordered"], true);
  EXPECT_EQ(picture["colours"].size(), 12u);
  EXPECT_EQ(picture["colours"][0], "#000000");
  EXPECT_EQ(picture["colours"][11], "#ffffff");
  spec.reference = ReferenceKind::kUniform;
  EXPECT_EQ(row_form(build_pair(spec))["ordered"], false);
  EXPECT_EQ(row_form(build_pair(quadtree_spec(2))), nullptr);  // too small to be looked at
  spec.tree.reset();                                           // halves of a line
  EXPECT_EQ(row_form(build_pair(spec)), nullptr);
  EXPECT_EQ(row_form(load_pair("d16-uniform-0.01")), nullptr);
  EXPECT_EQ(row_form(load_pair("data-digits-3-8"))["side"], 8);
  EXPECT_EQ(row_form(load_pair("data-brick-gravel"))["side"], 16);
  const json words = row_form(load_pair("data-words"));
  EXPECT_EQ(words["letters"].size(), 28u);
  EXPECT_EQ(words["letters"][0], "a");
  EXPECT_EQ(words["letters"][27], " ");
  EXPECT_EQ(row_form(load_pair("data-text"))["letters"][27], ".");
}

// Whatever a folder says, what is shown is a plain letter for each category.
TEST(AnswerPictures, TakeNoOtherAlphabet) {
  const BenchmarkPair text = load_pair("data-text");
  const auto with_alphabet = [&](const json& alphabet) {
    PairIdentity identity = text.identity();
    identity.origin = json({{"alphabet", alphabet}}).dump();
    const auto bridge = std::shared_ptr<const Bridge>(&text.bridge(), [](const Bridge*) {});
    return row_form(BenchmarkPair::of_bridge(identity, bridge));
  };
  EXPECT_FALSE(with_alphabet(std::string(28, 'x')).is_null());
  EXPECT_TRUE(with_alphabet(std::string(27, 'x')).is_null());
  EXPECT_TRUE(with_alphabet(std::string(28, '\n')).is_null());
  EXPECT_TRUE(with_alphabet(7).is_null());
}

TEST(AnswerPictures, DrawsAreTheFirstOfEachInput) {
  States draws(12, 2);
  for (std::size_t i = 0; i < 12; ++i) draws(i, 0) = static_cast<std::int32_t>(i);
  const json shown = pictured_draws(draws, 6);
  ASSERT_EQ(shown.size(), 2u);
  ASSERT_EQ(shown[1].size(), kPicturedDraws);
  EXPECT_EQ(shown[0][3], json({3, 0}));
  EXPECT_EQ(shown[1][0], json({6, 0}));
  EXPECT_EQ(pictured_draws(draws, 1).size(), 12u);
}

TEST(AnswerPictures, TruthIsItsMomentsOrItsLikeliest) {
  Array3<double> log_marginals(1, 2, 3, kLogZero);
  log_marginals(0, 0, 0) = std::log(0.25);
  log_marginals(0, 0, 2) = std::log(0.75);
  log_marginals(0, 1, 1) = 0.0;
  const json ordered = pictured_truth(log_marginals, true);
  EXPECT_EQ(ordered["mean"], json({{1.5, 1.0}}));
  EXPECT_EQ(ordered["deviation"], json({{0.866, 0.0}}));  // sqrt(0.25 * 0.75) * 2
  const json likeliest = pictured_truth(log_marginals, false);
  EXPECT_EQ(likeliest["likeliest"], json({{2, 1}}));
  EXPECT_EQ(likeliest["share"], json({{0.75, 1.0}}));
}

}  // namespace
}  // namespace bridgemark
