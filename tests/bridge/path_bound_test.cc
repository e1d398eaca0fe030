#include "bridgemark/bridge/path_bound.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "bridgemark/bridge/reverse_envelope.h"
#include "bridgemark/math/log_domain.h"
#include "tests/support/random_bridge.h"

namespace bridgemark {
namespace {

constexpr std::size_t kDim = 14, kCategories = 5, kStates = 3;

// A chain whose logarithms are up to `spread` from 0.
ReverseTables random_tables(double spread, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  const auto number = [&] { return spread * (2.0 * testing::unit(generator) - 1.0); };
  ReverseTables tables;
  for (std::size_t k = 0; k < kStates; ++k) tables.log_beta.push_back(number());
  tables.log_moves = Array3<double>(kDim - 1, kStates, kStates);
  tables.log_from = Array3<double>(kDim, kCategories, kStates);
  tables.log_parts = {0.0};
  tables.log_p0 = {Matrix<double>(kDim, kCategories)};
  tables.log_q_into = Matrix<double>(kCategories, kCategories);
  for (std::size_t i = 0; i < tables.log_moves.size(); ++i) tables.log_moves.data()[i] = number();
  for (std::size_t i = 0; i < tables.log_from.size(); ++i) tables.log_from.data()[i] = number();
  for (std::size_t s = 0; s < kCategories; ++s) tables.log_q_into(s, s) = 1.0;
  tables.set_linear();
  return tables;
}

// A law of paths by emissions [D,K] of its own, and what an envelope makes of it.
struct Law {
  Matrix<double> emission{kDim, kStates}, lambda{kDim, kStates}, gain{kDim, kCategories};
  HiddenChain paths;
  double log_bound = 0.0;  // log c is at least this plus the gains

  Law(const ReverseTables& tables, double spread, std::uint64_t seed)
      : paths(log_hidden_chain(kDim, 1, kStates, tables.log_beta.data(), tables.log_moves.data(),
                               emission.data())) {
    std::mt19937_64 generator(seed);
    for (std::size_t i = 0; i < emission.size(); ++i) {
      emission.data()[i] = spread * (2.0 * testing::unit(generator) - 1.0);
    }
    const std::vector<std::int32_t> zeros(kDim);
    std::vector<double> scratch(kDim * kStates);
    log_other_paths(paths, zeros.data(), lambda.data(), scratch.data());
    double mean = 0.0, log_total = 0.0;
    for (std::size_t d = 0; d < kDim; ++d) {
      for (std::size_t k = 0; k < kStates; ++k) lambda(d, k) += emission(d, k);
      log_total = log_sum(lambda.row(d), kStates);
      for (std::size_t k = 0; k < kStates; ++k) {
        lambda(d, k) = std::exp(lambda(d, k) - log_total);
        mean += lambda(d, k) * emission(d, k);
        for (std::size_t s = 0; s < kCategories; ++s) {
          gain(d, s) += lambda(d, k) * tables.log_from(d, s, k);
        }
      }
    }
    log_bound = log_total - mean;
  }
};

// From 0 down to the whole proposal's own logarithm, which the log domain gives as well.
TEST(PathBound, FallsToTheProbabilityToKeep) {
  std::size_t exact = 0, all = 0;
  for (const double spread : {1.0, 10.0, 80.0, 500.0}) {
    const ReverseTables tables = random_tables(spread, 3);
    const Law law(tables, spread, 4);
    const HiddenChain chain = tables.chain();
    const PathBound bound(chain, law.paths, law.lambda, law.gain);
    std::mt19937_64 generator(5);
    for (int proposal = 0; proposal < 200; ++proposal) {
      std::vector<double> weights(kStates), scratch(2 * kStates);
      std::vector<std::int32_t> x0(kDim);
      PathBound::Beginning beginning;
      bound.start(chain, weights.data());
      const double rounding = 1e-10 * spread;
      double last = bound.log_bound(0, weights.data(), beginning);
      EXPECT_NEAR(last, 0.0, rounding);
      double log_keep = law.log_bound;
      for (std::size_t d = 0; d < kDim; ++d) {
        const std::size_t s = generator() % kCategories;
        x0[d] = static_cast<std::int32_t>(s);
        log_keep += law.gain(d, s);
        bound.add(chain, d, s, weights.data(), scratch.data(), beginning);
        if (d + 1 == kDim) break;
        const double next = bound.log_bound(d + 1, weights.data(), beginning);
        if (!std::isfinite(next)) continue;
        EXPECT_LE(next, last + rounding) << "coordinate " << d << ", spread " << spread;
        last = next;
      }
      log_keep -= log_all_paths(chain, x0.data(), scratch.data());
      EXPECT_LE(log_keep, last + rounding) << "spread " << spread;
      ++all;
      if (!PathBound::is_exact(beginning)) continue;
      ++exact;
      EXPECT_NEAR(bound.log_keep(beginning), log_keep, rounding) << "spread " << spread;
    }
  }
  EXPECT_GT(exact, all / 2);  // and the largest logarithms lose too much,
  EXPECT_LT(exact, all);      // which is_exact must tell
}

// Giving up early changes no decision, and saves coordinates.
TEST(ReverseEnvelope, KeepsWhatItsProposalsSay) {
  std::size_t unfinished = 0, kept = 0;
  for (const double spread : {1.0, 3.0, 100.0}) {
    const ReverseTables tables = random_tables(spread, 7);
    const std::vector<std::int32_t> x1(kDim, 1);
    const ReverseEnvelope envelope(tables, 0, x1.data());
    std::vector<double> scratch(2 * kStates);
    std::vector<std::int32_t> x0(kDim), again(kDim);
    for (std::uint32_t i = 0; i < 2000; ++i) {
      const DrawKey key{1, DrawPurpose::kConditional};
      const double log_uniform = std::log(draw_uniform({2, DrawPurpose::kConditional}, i, 0));
      DrawSequence draws(key, i), same(key, i);
      const double expected = envelope.propose(tables, draws, x0.data(), scratch.data());
      std::fill(again.begin(), again.end(), -1);
      double log_keep = 0.0;
      const bool keeps =
          envelope.keeps(tables, same, log_uniform, again.data(), scratch.data(), log_keep);
      EXPECT_EQ(keeps, log_uniform < expected) << i;
      EXPECT_GE(log_keep, expected - 1e-9) << i;
      if (keeps) {
        EXPECT_EQ(again, x0);
      }
      kept += keeps;
      unfinished += again.back() == -1;
    }
  }
  EXPECT_GT(kept, 100);
  EXPECT_GT(unfinished, 1000);
}

}  // namespace
}  // namespace bridgemark
