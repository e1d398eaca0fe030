#include "bridgemark/backend/cpu/cp/matching_bands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "bridgemark/process/chain_tables.h"
#include "tests/support/cp_problem.h"

namespace bridgemark::backend::cpu {
namespace {

using testing::CpProblem;

// Rows on the way of the pinned reference, of a reference that moves little.
CpProblem narrow_problem(double gamma = 0.02) {
  CpProblem problem =
      testing::make_problem({ReferenceProcess::gaussian(50, gamma, 128), 64}, 2, 1, 45, 1.0, 5);
  testing::visit(problem);
  return problem;
}

template <typename T>
class MatchingBandsTest : public ::testing::Test {
 protected:
  static auto all_levels() { return typename MatchingBands<T>::Levels().set(); }
};
using Elements = ::testing::Types<float, double>;
TYPED_TEST_SUITE(MatchingBandsTest, Elements);

// Each end of a source row that a band leaves out is negligible beside q[x1] and the lowest core,
// and one category more would not be.
TYPED_TEST(MatchingBandsTest, LeaveOutWhatIsNegligible) {
  using T = TypeParam;
  using Bands = MatchingBands<T>;
  const CpProblem problem = narrow_problem();
  const auto chain = make_chain_tables<T>({.num_threads = 1}, problem.chain);
  Bands bands(chain, problem.x_n, problem.x1, problem.n, false);
  std::size_t narrow = 0;
  for (std::size_t d = 0; d < 2; ++d) {
    bands.find(d, this->all_levels());
    for (std::size_t b = 0; b < problem.x_n.rows(); ++b) {
      const T* q = chain.linear_power(64 - problem.n[b]) + 50 * problem.x_n(b, d);
      for (std::size_t level = 0; level < Bands::kLevels; ++level) {
        const double limit = 0.25 * std::numeric_limits<T>::epsilon() *
                             static_cast<double>(Bands::kLowest[level]) *
                             static_cast<double>(q[problem.x1(b, d)]);
        const Band band = bands.band(d, level, b);
        ASSERT_LT(band.first, band.last);
        if (level + 1 == Bands::kLevels || limit < std::numeric_limits<T>::min()) {
          EXPECT_EQ(band.first, 0u);
          EXPECT_EQ(band.last, 50u);
          continue;
        }
        double before = 0.0, behind = 0.0;
        for (std::size_t t = 0; t < band.first; ++t) before += static_cast<double>(q[t]);
        for (std::size_t t = band.last; t < 50; ++t) behind += static_cast<double>(q[t]);
        EXPECT_LE(before, 1.0001 * limit);
        EXPECT_LE(behind, 1.0001 * limit);
        EXPECT_GT(1.0001 * (before + static_cast<double>(q[band.first])), limit);
        EXPECT_GT(1.0001 * (behind + static_cast<double>(q[band.last - 1])), limit);
        narrow += band.last - band.first < 40;
        if (level == 0) {
          EXPECT_NEAR(bands.counts_from(d, b), std::log(4.0 * limit), 1e-4);
        }
      }
    }
  }
  EXPECT_GT(narrow, 100u);
}

// Whatever a band holds is in the terms of its groups, and these end behind a readable index.
TYPED_TEST(MatchingBandsTest, TermsHoldTheBands) {
  using T = TypeParam;
  using Bands = MatchingBands<T>;
  const CpProblem problem = narrow_problem();
  const std::size_t B = problem.x_n.rows();
  const auto chain = make_chain_tables<T>({.num_threads = 1}, problem.chain);
  Bands bands(chain, problem.x_n, problem.x1, problem.n, false);
  bands.find(1, this->all_levels());
  const auto order = bands.order(1);
  EXPECT_EQ(std::set<std::uint32_t>(order.begin(), order.end()).size(), B);
  for (std::size_t level = 0; level < Bands::kLevels; ++level) {
    const auto rows = bands.rows_of_categories(1, level);
    const auto categories = bands.categories_of_rows(1, level);
    std::size_t listed = 0;
    for (const Terms& terms : rows) {
      ASSERT_GE(terms.count, 1u);
      EXPECT_LT(terms.indices[terms.count], B);
      listed += terms.count;
    }
    EXPECT_EQ(listed == B * rows.size(), level + 1 == Bands::kLevels);
    for (std::size_t i = 0; i < B; ++i) {
      const Band own = bands.band(1, level, order[i]);
      const Band joint = bands.bands_of_rows(1, level)[i / kGroupRows];
      EXPECT_LE(joint.first, own.first);
      EXPECT_GE(joint.last, own.last);
      const Terms& terms = categories[i / kGroupRows];
      EXPECT_EQ(terms.indices[0], joint.first);
      EXPECT_EQ(terms.count, joint.last - joint.first);
      EXPECT_LT(terms.indices[terms.count], 50u);
      for (std::size_t t = own.first; t < own.last; ++t) {
        const Terms& of_category = rows[t / kGroupRows];
        EXPECT_TRUE(std::binary_search(of_category.indices, of_category.indices + of_category.count,
                                       order[i]));
      }
    }
  }
}

// Categories that no row reaches have a term nevertheless.
TYPED_TEST(MatchingBandsTest, NoGroupIsEmpty) {
  using T = TypeParam;
  CpProblem problem = narrow_problem();
  for (States* states : {&problem.x_n, &problem.x1}) {
    for (std::size_t i = 0; i < states->size(); ++i) states->data()[i] = 49;
  }
  const auto chain = make_chain_tables<T>({.num_threads = 1}, problem.chain);
  MatchingBands<T> bands(chain, problem.x_n, problem.x1, problem.n, false);
  bands.find(0, this->all_levels());
  const Terms& first = bands.rows_of_categories(0, 0)[0];
  EXPECT_EQ(first.count, 1u);
  EXPECT_EQ(first.indices[0], 0u);
  EXPECT_EQ(first.indices[1], 0u);
}

// Ends that the reference hardly reaches get all categories, though the rest of their source row is
// small beside nothing; and so does who asks for them.
TYPED_TEST(MatchingBandsTest, AllCategoriesWhereTheyCount) {
  using T = TypeParam;
  CpProblem problem = narrow_problem(0.005);
  for (std::size_t b = 0; b < problem.x_n.rows(); ++b) {
    for (std::size_t d = 0; d < 2; ++d) {
      problem.x_n(b, d) = 2;
      problem.x1(b, d) = static_cast<std::int32_t>(2 + b);
    }
    problem.n[b] = 63 - static_cast<std::int32_t>(b) / 4;
  }
  const auto chain = make_chain_tables<T>({.num_threads = 1}, problem.chain);
  for (const bool all : {false, true}) {
    MatchingBands<T> bands(chain, problem.x_n, problem.x1, problem.n, all);
    bands.find(0, this->all_levels());
    std::size_t whole = 0;
    for (std::size_t b = 0; b < problem.x_n.rows(); ++b) {
      const T* q = chain.linear_power(64 - problem.n[b]) + 2 * 50;
      const double limit =
          0x1p-10 * std::numeric_limits<T>::epsilon() * static_cast<double>(q[problem.x1(b, 0)]);
      if (!all && limit >= 2.0 * std::numeric_limits<T>::min()) continue;
      ++whole;
      EXPECT_EQ(bands.band(0, 0, b).first, 0u) << b;
      EXPECT_EQ(bands.band(0, 0, b).last, 50u) << b;
      EXPECT_EQ(bands.counts_from(0, b), std::numeric_limits<T>::lowest()) << b;
    }
    EXPECT_GE(whole, 5u);
  }
}

TYPED_TEST(MatchingBandsTest, LevelsFollowTheLowestCore) {
  using Bands = MatchingBands<TypeParam>;
  EXPECT_EQ(Bands::level_of(1), 0u);
  EXPECT_EQ(Bands::level_of(Bands::kLowest[0]), 0u);
  EXPECT_EQ(Bands::level_of(Bands::kLowest[0] / 2), 1u);
  EXPECT_EQ(Bands::level_of(0), Bands::kLevels - 1);
}

}  // namespace
}  // namespace bridgemark::backend::cpu
