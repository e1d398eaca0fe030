#include "bridgemark/pair/quantizer.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "bridgemark/core/error.h"
#include "tests/io/io_testing.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::error_of;
using testing::kInfinity;

TEST(Quantizer, EdgesAreEvenAndBelongToTheCategoryBelow) {
  const Quantizer quantizer(4, -1.0, 1.0);
  EXPECT_EQ(quantizer.edges(), (std::vector<double>{-1.0, 0.0, 1.0}));
  EXPECT_EQ(quantizer.num_categories(), 4);
  // Category s holds (edge[s-1], edge[s]].
  EXPECT_EQ(quantizer.category(-kInfinity), 0);
  EXPECT_EQ(quantizer.category(-1.0), 0);
  EXPECT_EQ(quantizer.category(std::nextafter(-1.0, 0.0)), 1);
  EXPECT_EQ(quantizer.category(0.0), 1);
  EXPECT_EQ(quantizer.category(std::nextafter(0.0, 1.0)), 2);
  EXPECT_EQ(quantizer.category(1.0), 2);
  EXPECT_EQ(quantizer.category(std::nextafter(1.0, 2.0)), 3);
  EXPECT_EQ(quantizer.category(kInfinity), 3);
}

TEST(Quantizer, FiftyCategoriesOnThePaperRange) {
  const Quantizer quantizer(50, -5.0, 5.0);
  ASSERT_EQ(quantizer.edges().size(), 49u);
  EXPECT_EQ(quantizer.edges().front(), -5.0);
  EXPECT_EQ(quantizer.edges().back(), 5.0);
  EXPECT_EQ(quantizer.edges()[24], 0.0);
  EXPECT_EQ(quantizer.category(0.0), 24);
  EXPECT_EQ(quantizer.category(0.1), 25);
}

TEST(Quantizer, TwoCategoriesSplitInTheMiddle) {
  const Quantizer quantizer(2, -1.0, 3.0);
  EXPECT_EQ(quantizer.edges(), std::vector<double>{1.0});
  EXPECT_EQ(quantizer.category(1.0), 0);
  EXPECT_EQ(quantizer.category(1.5), 1);
}

TEST(Quantizer, RefusesBadInput) {
  EXPECT_EQ(error_of<InvalidArgument>([] { Quantizer(1, 0.0, 1.0); }),
            "[quantizer] num_categories must be at least 2, got 1");
  EXPECT_EQ(error_of<InvalidArgument>([] { Quantizer(3, 1.0, 1.0); }),
            "[quantizer] range must be finite and increasing, got [1, 1]");
  error_of<InvalidArgument>([] { Quantizer(3, 0.0, kInfinity); });
  error_of<InvalidArgument>([] { Quantizer(3, std::numeric_limits<double>::quiet_NaN(), 1.0); });
}

}  // namespace
}  // namespace bridgemark
