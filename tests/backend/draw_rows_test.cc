#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bridgemark/backend/plan/row_source.h"
#include "bridgemark/math/categorical.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/process/pinned_reference.h"
#include "tests/support/chi_square.h"
#include "tests/support/device_test.h"

namespace bridgemark {
namespace {

std::vector<std::int32_t> drawn_steps(DrawPurpose purpose, std::uint64_t seed, int num_steps,
                                      std::size_t rows) {
  std::vector<std::int32_t> steps(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    DrawSequence draws({seed, purpose}, i);
    steps[i] = static_cast<std::int32_t>(draws.uniform() * num_steps);
  }
  return steps;
}

// The step that matching looks at has draws of its own: no split or shuffle of the same seed moves
// with it.
TEST(DrawRows, StepsHaveAPurposeOfTheirOwn) {
  constexpr std::size_t kRows = 200;
  const backend::PinnedRows points =
      pinned_rows({}, {ReferenceProcess::uniform(5, 0.1, 16), 16}, 7);
  const std::vector<std::int32_t> steps = backend::draw_steps(points, kRows, 0);
  EXPECT_EQ(steps, drawn_steps(DrawPurpose::kMatchingTime, 7, 16, kRows));
  for (std::uint32_t other = 1; other < 64; ++other) {
    if (other == static_cast<std::uint32_t>(DrawPurpose::kMatchingTime)) continue;
    EXPECT_NE(steps, drawn_steps(static_cast<DrawPurpose>(other), 7, 16, kRows)) << other;
  }
}

// Steps of the ends are drawn as often as said, and weighed back to one draw of each step.
TEST(DrawRows, EndsByTheirShare) {
  constexpr std::size_t kRows = 40000;
  constexpr int kSteps = 16;
  const StepDraws steps = steps_of_ends(kSteps);
  const backend::PinnedRows points =
      pinned_rows({}, {ReferenceProcess::uniform(5, 0.1, kSteps), kSteps}, 3, steps);
  std::vector<std::size_t> counts(kSteps);
  std::vector<double> probabilities(kSteps);
  for (const std::int32_t n : backend::draw_steps(points, kRows, 0)) ++counts[n];
  double before = 0.0;
  for (int n = 0; n < kSteps; ++n) {
    const double share = (steps.cumulative[n] - before) / steps.cumulative.back();
    before = steps.cumulative[n];
    EXPECT_NEAR(share * steps.weights[n] * kSteps, 1.0, 1e-12) << n;
    probabilities[n] = share;
  }
  EXPECT_TRUE(testing::fits(counts, probabilities));
}

class DrawRowsOnDevice : public testing::DeviceTest {};
RUN_ON_EVERY_DEVICE(DrawRowsOnDevice);

// Rows of both ends by the keys and the mathematics of a single thread, for p0 of every kind: its
// coordinates, a mixture, observed states.
TEST_P(DrawRowsOnDevice, EndsOfAPairAreThoseOfTheMathematics) {
  constexpr std::size_t kRows = 5000;
  PairSpec observed = *find_preset("d16-uniform-0.01");
  observed.source = SourceDistribution::empirical(
      build_pair(observed).sample_x0({.num_threads = 1}, 100, 5), observed.num_categories);
  for (const PairSpec& spec :
       {*find_preset("d16-uniform-0.01"), *find_preset("d16-uniform-0.01-twosided"),
        *find_preset("d16-uniform-0.01-chain"), observed}) {
    const BenchmarkPair pair = build_pair(spec);
    const backend::RowSource source = pair.target_rows({}, 9);
    const PairedStates drawn = pair.sample_joint(context(), kRows, 9, 40);
    States x0(kRows, pair.dim()), x1(kRows, pair.dim());
    for (std::size_t b = 0; b < kRows; ++b) {
      DrawSequence draws({9, DrawPurpose::kSource}, 40 + b);
      if (source.observed.rows() > 0) {
        const double position = draws.uniform() * static_cast<double>(source.observed.rows());
        std::copy_n(source.observed.row(static_cast<std::size_t>(position)), pair.dim(), x0.row(b));
        continue;
      }
      const std::size_t component =
          source.components.empty()
              ? 0
              : draw_category(source.components.data(), source.components.size(), draws.uniform());
      for (std::size_t d = 0; d < pair.dim(); ++d) {
        x0(b, d) = static_cast<std::int32_t>(
            draw_category(source.cumulative.row(component * pair.dim() + d),
                          source.cumulative.cols(), draws.uniform()));
      }
    }
    EXPECT_EQ(drawn.x0, x0) << spec.name << (spec.source ? ", observed" : "");
    pair.bridge().sample({}, x0, {9, DrawPurpose::kConditional}, 40, x1);
    EXPECT_EQ(drawn.x1, x1) << spec.name << (spec.source ? ", observed" : "");
  }
}

}  // namespace
}  // namespace bridgemark
