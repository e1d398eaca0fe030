#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/pair/pair_equality.h"
#include "bridgemark/pair/pair_folder.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/pair/reachable_rows.h"
#include "tests/io/io_testing.h"
#include "tests/support/chi_square.h"
#include "tests/support/context.h"
#include "tests/support/dense_oracle.h"
#include "tests/support/enumerate.h"
#include "tests/support/random_bridge.h"
#include "tests/support/sparse_steps.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tolerance.h"

// Pairs over a reference with probabilities of 0.
namespace bridgemark {
namespace {

using testing::contains;
using testing::error_of;
using testing::kContext;
using testing::Wide;

constexpr int kMask = 3;  // of four categories

// An absorbing pair of two coordinates and the law of its ends, [x0, x1].
struct MaskPair {
  BenchmarkPair pair;
  testing::DenseOracle oracle;
  Wide joint;
};

MaskPair mask_pair() {
  testing::BridgeCase made =
      testing::make_case("absorbing", ReferenceProcess::absorbing(kMask + 1, 0.3, 4),
                         testing::absorbing_step(kMask + 1, 0.3), {2, kMask + 1, 3, 2.0}, 21);
  Matrix<double> pmf(2, kMask + 1, 0.25);
  const auto source = SourceDistribution::product(pmf);
  Wide joint = made.oracle.conditional();
  for (std::size_t i = 0; i < joint.size(); ++i) joint.data()[i] /= 16.0L;
  return {BenchmarkPair({"mask", 1, 21}, source, std::move(made.bridge)), std::move(made.oracle),
          std::move(joint)};
}

TEST(SparsePair, AbsorbingConditionalIsExact) {
  const MaskPair mask = mask_pair();
  const testing::StatePairs pairs = testing::all_pairs(mask.oracle.states());
  std::vector<double> log_q(pairs.from.rows());
  for (const int num_steps : {1, 2, 4}) {
    for (int n = 0; n < num_steps; ++n) {
      mask.pair.bridge().log_transition(kContext, num_steps, n, pairs.from, pairs.to, log_q);
      const Wide law = mask.oracle.transition(num_steps, n);
      for (std::size_t i = 0; i < log_q.size(); ++i) {
        ASSERT_TRUE(testing::is_near(log_q[i], static_cast<double>(std::log(law.data()[i])),
                                     {1e-12, 1e-11}));
      }
    }
  }
  // A category stays or is masked, and a mask stays.
  const PairedStates drawn = mask.pair.sample_joint(kContext, 4000, 1);
  for (std::size_t i = 0; i < drawn.x0.size(); ++i) {
    EXPECT_TRUE(drawn.x1.data()[i] == kMask || drawn.x1.data()[i] == drawn.x0.data()[i]);
  }
}

// The reverse needs no reversal of the reference for its conditional and its draws.
TEST(SparsePair, AbsorbingReverseIsDrawnExactly) {
  constexpr std::size_t kRows = 20000;
  const MaskPair mask = mask_pair();
  const BenchmarkPair reversed = mask.pair.reversed();
  const States& states = mask.oracle.states();
  const std::size_t M = states.rows();
  const auto count = [&](const PairedStates& rows, const States& x0) {
    std::vector<std::size_t> counts(M * M);
    for (std::size_t i = 0; i < kRows; ++i) {
      ++counts[testing::state_index(x0.row(i), 2, kMask + 1) * M +
               testing::state_index(rows.x1.row(i), 2, kMask + 1)];
    }
    return counts;
  };
  std::vector<double> law(M * M);
  for (std::size_t i = 0; i < law.size(); ++i) law[i] = static_cast<double>(mask.joint.data()[i]);
  const PairedStates drawn = mask.pair.sample_joint(kContext, kRows, 2);
  EXPECT_TRUE(testing::fits(count(drawn, drawn.x0), law));
  EXPECT_TRUE(testing::fits(count(drawn, reversed.sample_conditional(kContext, drawn.x1, 3)), law));

  const LogEstimates p1 = mask.pair.log_p1(kContext, states);
  for (std::size_t j = 0; j < M; ++j) {
    long double sum = 0.0L;
    for (std::size_t i = 0; i < M; ++i) sum += mask.joint(i, j);
    EXPECT_NEAR(p1.value[j], static_cast<double>(std::log(sum)),
                5.0 * p1.standard_error[j] + 1e-12);
  }
  // Its steps would be those of a reference that leads back from the mask.
  EXPECT_FALSE(reversed.require_truth(kContext)->has_transitions(4));
  EXPECT_TRUE(contains(error_of<InvalidArgument>([&] { reversed.reference(); }),
                       "must lead from each category to each other to be seen backwards"));
}

TEST(SparsePair, AbsorbingReverseNeedsNoClosedForm) {
  PairSpec spec;
  spec.num_categories = 4;
  spec.reference = ReferenceKind::kAbsorbing;
  spec.gamma = 0.1;
  spec.source = SourceDistribution::empirical(States(2, 2, {0, 1, 2, 3}), 4);
  spec.reverse = true;
  EXPECT_TRUE(contains(error_of<InvalidArgument>([&] { build_pair(spec).require_truth(kContext); }),
                       "a reference that leads from each category to each other, got absorbing"));
}

// 6000 words and a mask, without a table: of each row four ends are all there are.
TEST(SparsePair, AbsorbingNeedsNoTable) {
  constexpr int kS = 6001;
  PairSpec spec;
  spec.num_categories = kS;
  spec.num_components = 2;
  spec.reference = ReferenceKind::kAbsorbing;
  spec.gamma = 0.01;
  spec.sigma = 3000.0;
  const BenchmarkPair pair = build_pair(spec);
  EXPECT_FALSE(pair.bridge().process().has_tables());
  const PairedStates drawn = pair.sample_joint(kContext, 50, 1);
  const States back = pair.reversed().sample_conditional(kContext, drawn.x1, 2);
  for (std::size_t i = 0; i < drawn.x1.size(); ++i) {
    EXPECT_TRUE(drawn.x1.data()[i] == kS - 1 || drawn.x1.data()[i] == drawn.x0.data()[i]);
    EXPECT_TRUE(drawn.x1.data()[i] == kS - 1 || drawn.x1.data()[i] == back.data()[i]);
  }
  const std::int32_t a = drawn.x0(0, 0), b = drawn.x0(0, 1);
  const States x1(4, 2, {a, b, a, kS - 1, kS - 1, b, kS - 1, kS - 1});
  std::vector<double> log_q(4);
  pair.bridge().log_conditional(kContext, testing::repeat_row(drawn.x0, 0, 4), x1, log_q);
  EXPECT_NEAR(log_sum(log_q.data(), 4), 0.0, 1e-12);
}

TEST(SparsePair, FoldersKeepTheReference) {
  const testing::TempDir dir;
  PairSpec spec;
  spec.num_categories = 12;
  spec.gamma = 0.25;
  spec.total_steps = 8;
  spec.graph = testing::uneven_ring(12);
  for (const ReferenceKind kind :
       {ReferenceKind::kBirthDeath, ReferenceKind::kAbsorbing, ReferenceKind::kGraph}) {
    spec.reference = kind;
    const BenchmarkPair pair = build_pair(spec);
    const auto folder = dir.path() / std::string(reference_kind_name(kind));
    write_pair_folder(kContext, pair, folder);
    const BenchmarkPair read = read_pair_folder(folder);
    EXPECT_EQ(read.bridge().process().kind(), kind);
    EXPECT_TRUE(equal_pairs(kContext, pair, read)) << reference_kind_name(kind);
    EXPECT_EQ(read.sample_x1(kContext, 50, 3), pair.sample_x1(kContext, 50, 3));
  }
}

TEST(SparsePair, RowsThatCannotMeetAreNamed) {
  const ReferenceProcess counts = ReferenceProcess::birth_death(20, 0.3, 4);
  const States x0(2, 2, {3, 3, 10, 10});
  const auto message = [&](const States& from, const States& to, const ReferenceProcess& process) {
    return error_of<InvalidArgument>([&] { require_reachable(kContext, from, to, process); });
  };
  EXPECT_NO_THROW(require_reachable(kContext, x0, States(2, 2, {7, 0, 14, 6}), counts));
  EXPECT_TRUE(contains(message(x0, States(2, 2, {7, 0, 14, 5}), counts),
                       "row 1 of x1 cannot be reached from any row of x0 in 4 steps of the "
                       "birth-death reference"));
  EXPECT_TRUE(contains(message(x0, States(1, 2, {7, 0}), counts), "row 1 of x0 leads to no row"));
  const ReferenceProcess mask = ReferenceProcess::absorbing(20, 0.3, 4);
  EXPECT_NO_THROW(require_reachable(kContext, x0, States(2, 2, {19, 3, 10, 19}), mask));
  EXPECT_TRUE(contains(message(x0, States(2, 2, {19, 3, 3, 10}), mask), "row 1 of x1"));
  // What every step can reach is not asked.
  EXPECT_NO_THROW(
      require_reachable(kContext, x0, States(1, 2, {0, 19}), ReferenceProcess::uniform(20, 0.1)));
}

}  // namespace
}  // namespace bridgemark
