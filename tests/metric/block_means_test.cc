#include "bridgemark/metric/block_means.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/io/json.h"
#include "bridgemark/metric/record/evaluation_json.h"

namespace bridgemark {
namespace {

TEST(BlockMeans, EveryInputIsInOneBlock) {
  for (const std::size_t rows : {0u, 1u, 39u, 40u, 41u, 157u, 1000u, 20000u}) {
    std::vector<double> values(rows);
    std::iota(values.begin(), values.end(), 0.0);
    const BlockMeans blocks = block_means(values);
    ASSERT_EQ(blocks.means.size(), std::min(rows, kMeanBlocks));
    std::size_t counted = 0;
    for (std::size_t b = 0; b < blocks.means.size(); ++b) {
      const std::size_t count = blocks.block_rows(b);
      EXPECT_NEAR(static_cast<double>(count),
                  static_cast<double>(rows) / static_cast<double>(blocks.means.size()), 1.0);
      const double middle = static_cast<double>(counted) + (static_cast<double>(count) - 1.0) / 2.0;
      EXPECT_NEAR(blocks.means[b], middle, 5e-6 * (middle + 1.0)) << rows << " " << b;
      counted += count;
    }
    EXPECT_EQ(counted, rows);
  }
}

TEST(BlockMeans, HaveSixDigitsAndAreFinite) {
  EXPECT_EQ(block_means(std::vector{1.0 / 3.0, -2e-20 / 3.0}).means,
            (std::vector{0.333333, -6.66667e-21}));
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(block_means(std::vector{1.0, infinity}).means.empty());
  EXPECT_TRUE(block_means(std::vector{1.0, -1e101}).means.empty());
  EXPECT_TRUE(block_means(std::vector{1.0, infinity - infinity}).means.empty());
}

TEST(BlockMeans, MeanOfRepetitions) {
  const std::vector<BlockMeans> both = {{4, {1.0, 2.0}}, {4, {3.0, 2.5}}};
  EXPECT_EQ(mean_of_blocks(both), (BlockMeans{4, {2.0, 2.25}}));
  EXPECT_EQ(mean_of_blocks({}), BlockMeans{});
  const std::vector<BlockMeans> one_without = {{4, {1.0, 2.0}}, {}};
  EXPECT_TRUE(mean_of_blocks(one_without).means.empty());
}

TEST(BlockMeans, SurviveTheWayThroughJson) {
  const BlockMeans blocks{157, {0.25, -1.5, 0.333333}};
  const nlohmann::json written = {{"blocks", blocks_json(blocks)}};
  EXPECT_EQ(blocks_from_json(parse_json(written.dump(), "x"), "blocks", "x"), blocks);
  EXPECT_EQ(blocks_from_json(nlohmann::json::object(), "blocks", "x"), BlockMeans{});
}

TEST(BlockMeans, RefusesWhatIsNone) {
  std::string many = "1";
  for (std::size_t i = 0; i < kMeanBlocks; ++i) many += ",1";
  for (const std::string& text : std::vector<std::string>{
           R"([1, 2])", R"({"means": [1]})", R"({"rows": 1})", R"({"rows": 1, "means": []})",
           R"({"rows": 1, "means": [1, 2]})", R"({"rows": 2, "means": [1, null]})",
           R"({"rows": 2, "means": [1, "inf"]})", R"({"rows": 2, "means": [1, -1e101]})",
           R"({"rows": -2, "means": [1]})", R"({"rows": 18446744073709551615, "means": [1]})",
           R"({"rows": 1000, "means": [)" + many + "]}"}) {
    const nlohmann::json object = parse_json("{\"blocks\": " + text + "}", "x");
    EXPECT_THROW(blocks_from_json(object, "blocks", "x"), FileError) << text;
  }
}

}  // namespace
}  // namespace bridgemark
