#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/pair/pair_spec.h"

// A draw is a function of (seed, purpose, row) alone: threads, batches and prepared tables do not
// change it.
namespace bridgemark {
namespace {

constexpr std::size_t kUnevenRows = 3001;  // no multiple of a block
constexpr int kThreads[] = {1, 2, 5};

CpBridge make_bridge(const char* preset) { return build_pair(*find_preset(preset)).cp_bridge(); }

States some_x0(std::size_t rows, std::size_t dim) {
  States x0(rows, dim);
  for (std::size_t i = 0; i < x0.size(); ++i) {
    x0.data()[i] = static_cast<std::int32_t>((i * 7 + i / dim) % 50);
  }
  return x0;
}

States draw(const CpBridge& bridge, const Context& context, StatesView x0, std::uint64_t first) {
  States x1(x0.rows, x0.cols);
  bridge.sample(context, x0, {8, DrawPurpose::kConditional}, first, x1);
  return x1;
}

TEST(BridgeDeterminism, SameStatesForAnyNumberOfThreads) {
  for (const char* preset : {"d16-gaussian-0.02", "d16-uniform-0.01"}) {
    const States x0 = some_x0(kUnevenRows, 16);
    const CpBridge bridge = make_bridge(preset);
    const Context one{.num_threads = 1};
    const States expected = draw(bridge, one, x0, 0);
    const auto markov = sample_markov_trajectory(one, bridge, 4, x0, 8, 0);
    const auto pinned = sample_pinned_trajectory(one, bridge, bridge.process(), 4, x0, 8, 0);
    for (const int threads : kThreads) {
      const Context context{.num_threads = threads};
      const CpBridge fresh = make_bridge(preset);  // prepares its tables on these threads
      EXPECT_EQ(draw(fresh, context, x0, 0), expected) << preset << ", " << threads;
      EXPECT_EQ(sample_markov_trajectory(context, fresh, 4, x0, 8, 0), markov) << threads;
      EXPECT_EQ(sample_pinned_trajectory(context, fresh, fresh.process(), 4, x0, 8, 0), pinned)
          << threads;
    }
  }
}

TEST(BridgeDeterminism, SameStatesAfterAnInterrupt) {
  const States x0 = some_x0(kUnevenRows, 16);
  const States expected = draw(make_bridge("d16-gaussian-0.02"), {}, x0, 0);
  const CpBridge bridge = make_bridge("d16-gaussian-0.02");
  // While powers, tables and cumulative sums are made, and among the draws.
  for (int interrupted_at = 1;; interrupted_at *= 2) {
    std::atomic<int> asked = 0;
    Context context;
    context.interrupt = [&] { return ++asked >= interrupted_at; };
    try {
      EXPECT_EQ(draw(bridge, context, x0, 0), expected);
      ASSERT_GT(interrupted_at, 8);
      break;
    } catch (const Interrupted&) {
    }
  }
}

TEST(BridgeDeterminism, SameNumbersForAnyNumberOfThreads) {
  const States x = some_x0(300, 16);
  const CpBridge bridge = make_bridge("d16-gaussian-0.05");
  const Context one{.num_threads = 1};
  std::vector<double> log_c(300), actual_c(300), log_q(300), actual_q(300);
  Array3<double> marginals, actual_marginals;
  bridge.log_normalizer(one, x, log_c);
  bridge.log_transition(one, 8, 3, x, x, log_q);
  bridge.log_transition_marginals(one, 8, 3, x, marginals);
  for (const int threads : kThreads) {
    const Context context{.num_threads = threads};
    const CpBridge fresh = make_bridge("d16-gaussian-0.05");
    fresh.log_normalizer(context, x, actual_c);
    fresh.log_transition(context, 8, 3, x, x, actual_q);
    fresh.log_transition_marginals(context, 8, 3, x, actual_marginals);
    EXPECT_EQ(actual_c, log_c) << threads;
    EXPECT_EQ(actual_q, log_q) << threads;
    EXPECT_EQ(actual_marginals, marginals) << threads;
  }
}

TEST(BridgeDeterminism, SameStatesForAnySplitIntoBatches) {
  const Context context{};
  const States x0 = some_x0(kUnevenRows, 16);
  const CpBridge bridge = make_bridge("d16-gaussian-0.02");
  constexpr std::uint64_t kFirst = (std::uint64_t{1} << 33) + 5;  // beyond 32 bits
  const States expected = draw(bridge, context, x0, kFirst);
  const auto markov = sample_markov_trajectory(context, bridge, 2, x0, 8, kFirst);
  const auto pinned = sample_pinned_trajectory(context, bridge, bridge.process(), 2, x0, 8, kFirst);
  EXPECT_NE(draw(bridge, context, x0, 0), expected) << "first_index must matter";
  for (const std::size_t batch : {13u, 512u, 1777u}) {
    for (std::size_t first = 0; first < kUnevenRows; first += batch) {
      const StatesView part = x0.view().slice(first, std::min(batch, kUnevenRows - first));
      const States drawn = draw(bridge, context, part, kFirst + first);
      ASSERT_TRUE(std::equal(drawn.data(), drawn.data() + drawn.size(), expected.row(first)));
      if (batch == 13) continue;  // a trajectory prepares its steps anew for each batch
      const auto m = sample_markov_trajectory(context, bridge, 2, part, 8, kFirst + first);
      const auto p =
          sample_pinned_trajectory(context, bridge, bridge.process(), 2, part, 8, kFirst + first);
      ASSERT_TRUE(std::equal(m.data(), m.data() + m.size(), markov.row(first, 0)));
      ASSERT_TRUE(std::equal(p.data(), p.data() + p.size(), pinned.row(first, 0)));
    }
  }
}

// A few rows go the direct way, many through cumulative sums prepared for every row of every core.
TEST(BridgeDeterminism, TabulatedAndDirectDrawsAgree) {
  const Context context{};
  const States x0 = some_x0(kUnevenRows, 16);
  const States few = draw(make_bridge("d16-gaussian-0.02"), context, x0.view().slice(0, 20), 0);
  const States many = draw(make_bridge("d16-gaussian-0.02"), context, x0, 0);
  EXPECT_TRUE(std::equal(few.data(), few.data() + few.size(), many.data()));

  const CpBridge bridge = make_bridge("d16-uniform-0.005");
  const ReferenceChain chain(bridge.process(), 4);
  const backend::BridgeStep direct = backend::make_bridge_step(
      {}, bridge.potential().log_beta(), bridge.propagated_cores(context, chain, 1),
      chain.log_onestep(context).matrix(), bridge.propagated_cores(context, chain, 2));
  ASSERT_TRUE(backend::worth_tabulating(direct, kUnevenRows));
  ASSERT_FALSE(backend::worth_tabulating(direct, 20));
  const backend::BridgeStep table = backend::tabulated(context, direct);
  ASSERT_GT(table.cumulative.size(), 0u);
  const DrawKey key{1, DrawPurpose::kTransition, 1};
  States a(kUnevenRows, 16), b(kUnevenRows, 16);
  backend::of(context).sample_bridge_step(context, direct, x0, key, 0, a);
  backend::of(context).sample_bridge_step(context, table, x0, key, 0, b);
  EXPECT_EQ(a, b);
}

TEST(BridgeDeterminism, SeedsAndPurposesGiveDifferentDraws) {
  const Context context{};
  const States x0 = some_x0(200, 16);
  const CpBridge bridge = make_bridge("d16-gaussian-0.05");
  const auto with = [&](const DrawKey& key) {
    States x1(200, 16);
    bridge.sample(context, x0, key, 0, x1);
    return x1;
  };
  const States base = with({1, DrawPurpose::kConditional, 0});
  EXPECT_EQ(with({1, DrawPurpose::kConditional, 0}), base);
  EXPECT_NE(with({2, DrawPurpose::kConditional, 0}), base);
  EXPECT_NE(with({(std::uint64_t{1} << 32) + 1, DrawPurpose::kConditional, 0}), base);
  EXPECT_NE(with({1, DrawPurpose::kTargetConditional, 0}), base);
  EXPECT_NE(with({1, DrawPurpose::kConditional, 1}), base);
}

}  // namespace
}  // namespace bridgemark
