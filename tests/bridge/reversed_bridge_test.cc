#include "bridgemark/bridge/reversed_bridge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "bridgemark/bridge/component_groups.h"
#include "bridgemark/bridge/reverse_envelope.h"
#include "bridgemark/core/error.h"
#include "bridgemark/math/log_domain.h"
#include "tests/support/chi_square.h"
#include "tests/support/context.h"
#include "tests/support/enumerate.h"
#include "tests/support/random_bridge.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::all_near;
using testing::BridgeCase;
using testing::fits;
using testing::is_near;
using testing::kContext;
using testing::Wide;

// A random p0: parts with independent coordinates each, that lie exp(spread) apart.
CpPotential random_source(std::size_t D, std::size_t S, std::size_t parts, double spread,
                          std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<double> log_shares(parts);
  Array3<double> log_p0(D, S, parts);
  for (std::size_t j = 0; j < parts; ++j) {
    log_shares[j] = parts > 1 ? testing::unit(generator) : 0.0;
    for (std::size_t d = 0; d < D; ++d) {
      double sum = 0.0;
      for (std::size_t s = 0; s < S; ++s) {
        sum += log_p0(d, s, j) = std::exp(spread * testing::unit(generator));
      }
      for (std::size_t s = 0; s < S; ++s) log_p0(d, s, j) = std::log(log_p0(d, s, j) / sum);
    }
  }
  const double log_total = log_sum(log_shares.data(), parts);
  for (double& log_share : log_shares) log_share -= log_total;
  return {std::move(log_shares), std::move(log_p0)};
}

CpPotential one_part(const Matrix<double>& log_p0) {
  return {{0.0},
          Array3<double>(log_p0.rows(), log_p0.cols(), 1,
                         {log_p0.data(), log_p0.data() + log_p0.size()})};
}

Matrix<double> log_p0_of(const CpPotential& one_part) {
  const Array3<double>& cores = one_part.log_cores();
  return {cores.extent(0), cores.extent(1), {cores.data(), cores.data() + cores.size()}};
}

// A bridge, its p0, and the law of both ends by enumeration.
struct ReverseCase {
  BridgeCase item;
  CpPotential source;
  Wide joint;  // [x0, x1]
  std::vector<double> p1;

  ReverseCase(BridgeCase made, std::uint64_t seed, std::size_t parts = 1, double spread = 2.0)
      : ReverseCase(std::move(made),
                    random_source(made.bridge.dim(), made.bridge.log_cores().extent(1), parts,
                                  spread, seed)) {}

  ReverseCase(BridgeCase made, CpPotential source_of_item)
      : item(std::move(made)),
        source(std::move(source_of_item)),
        joint(item.oracle.conditional()),
        p1(joint.rows()) {
    for (std::size_t i = 0; i < joint.rows(); ++i) {
      for (std::size_t j = 0; j < joint.rows(); ++j) {
        joint(i, j) *= p0(i);
        p1[j] += static_cast<double>(joint(i, j));
      }
    }
  }

  ReversedBridge reversed() const {
    const auto bridge = std::make_shared<CpBridge>(item.bridge);
    if (source.num_components() > 1) return {kContext, bridge, source};
    return {kContext, bridge, log_p0_of(source)};
  }

  // q(x0 | x1 = state j), also where v and so p1 is 0 there: v falls out.
  std::vector<double> law(std::size_t j) const {
    const Wide reference = item.oracle.reference(item.total_steps);
    const std::vector<long double> c = item.oracle.phi(item.total_steps);
    std::vector<long double> weights(c.size());
    long double total = 0.0L;
    for (std::size_t i = 0; i < c.size(); ++i) {
      total += weights[i] = p0(i) * reference(i, j) / c[i];
    }
    std::vector<double> law(c.size());
    for (std::size_t i = 0; i < c.size(); ++i) law[i] = static_cast<double>(weights[i] / total);
    return law;
  }

  long double p0(std::size_t i) const {
    long double sum = 0.0L;
    for (std::size_t j = 0; j < source.num_components(); ++j) {
      long double log_part = source.log_beta()[j];
      for (std::size_t d = 0; d < source.dim(); ++d) {
        log_part += source.log_cores()(d, static_cast<std::size_t>(item.oracle.states()(i, d)), j);
      }
      sum += std::exp(log_part);
    }
    return sum;
  }
};

// Two categories that hardly change and a p0 that makes up for it: for x1 = (1, ..., 1) every x0 is
// as likely as any other but for c, whose components are sharp and all different.
Matrix<double> rare_log_p0(std::size_t D, double gamma) {
  const double change = -0.5 * std::expm1(128.0 * std::log1p(-2.0 * gamma));
  Matrix<double> log_p0(D, 2);
  for (std::size_t d = 0; d < D; ++d) {
    log_p0(d, 0) = std::log1p(-change);
    log_p0(d, 1) = std::log(change);
  }
  return log_p0;
}

// Every reference kind, D from 1 to 6, targets whose envelope fits well and badly.
std::vector<ReverseCase> reverse_cases() {
  std::vector<ReverseCase> reverse_cases;
  std::uint64_t seed = 100;
  for (BridgeCase& item : testing::small_bridges())
    reverse_cases.emplace_back(std::move(item), ++seed);
  const Matrix<double> matrix = testing::random_stochastic(3, 0.99, 31);
  reverse_cases.emplace_back(
      testing::make_case("matrix, D 4, jagged", ReferenceProcess::from_matrix(matrix),
                         testing::widen(matrix), {4, 3, 6, 6.0}, 32),
      ++seed);
  reverse_cases.emplace_back(
      testing::make_case("uniform, D 5, jagged", ReferenceProcess::uniform(3, 0.001),
                         testing::uniform_step(3, 0.001), {5, 3, 9, 9.0}, 33),
      ++seed);
  reverse_cases.emplace_back(
      testing::make_case("rare, D 6", ReferenceProcess::uniform(2, 2e-5),
                         testing::uniform_step(2, 2e-5), {6, 2, 12, 9.0}, 34),
      one_part(rare_log_p0(6, 2e-5)));
  // A p0 of several parts, near each other and far apart.
  reverse_cases.emplace_back(
      testing::make_case("uniform, D 4, 3 parts", ReferenceProcess::uniform(3, 0.01),
                         testing::uniform_step(3, 0.01), {4, 3, 5, 3.0}, 35),
      ++seed, 3);
  reverse_cases.emplace_back(
      testing::make_case("matrix, D 3, 4 parts", ReferenceProcess::from_matrix(matrix),
                         testing::widen(matrix), {3, 3, 4, 4.0}, 36),
      ++seed, 4, 6.0);
  return reverse_cases;
}

// The states least, most and middling likely to accept a proposal.
std::vector<std::size_t> telling_targets(const ReverseCase& item, std::vector<double>& acceptance) {
  acceptance = item.reversed().acceptance(kContext, item.item.oracle.states(), 200);
  std::vector<std::size_t> order(acceptance.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return acceptance[a] < acceptance[b]; });
  return {order.front(), order[order.size() / 2], order.back()};
}

TEST(ReversedBridge, DrawsFollowTheEnumeration) {
  constexpr std::size_t kRows = 20000;
  double lowest = 1.0, highest = 0.0;
  for (const ReverseCase& item : reverse_cases()) {
    const ReversedBridge reversed = item.reversed();
    std::vector<double> acceptance;
    for (const std::size_t target : telling_targets(item, acceptance)) {
      lowest = std::min(lowest, acceptance[target]);
      highest = std::max(highest, acceptance[target]);
      const States x1 = testing::repeat_row(item.item.oracle.states(), target, kRows);
      States x0(kRows, x1.cols());
      reversed.sample(kContext, x1, {5, DrawPurpose::kConditional}, 0, x0);
      std::vector<std::size_t> counts(item.p1.size());
      for (std::size_t i = 0; i < kRows; ++i) {
        ++counts[testing::state_index(x0.row(i), x0.cols(), reversed.num_categories())];
      }
      EXPECT_TRUE(fits(counts, item.law(target)))
          << item.item.name << ", target " << target << ", acceptance " << acceptance[target];
    }
  }
  EXPECT_LT(lowest, 0.1);  // the reverse_cases hold both kinds of target
  EXPECT_GT(highest, 0.99);
}

TEST(ReversedBridge, SameDrawsForAnySplitAndThreads) {
  const ReverseCase item = std::move(reverse_cases()[1]);
  const ReversedBridge reversed = item.reversed();
  const States& x1 = item.item.oracle.states();
  const DrawKey key{9, DrawPurpose::kConditional};
  States whole(x1.rows(), x1.cols()), parts(x1.rows(), x1.cols());
  reversed.sample(kContext, x1, key, 40, whole);
  for (const int threads : {1, 3}) {
    Context context;
    context.num_threads = threads;
    for (std::size_t first = 0; first < x1.rows(); first += 7) {
      const std::size_t rows = std::min<std::size_t>(7, x1.rows() - first);
      reversed.sample(context, x1.view().slice(first, rows), key, 40 + first,
                      parts.view().slice(first, rows));
    }
    EXPECT_EQ(parts, whole) << threads;
  }
}

TEST(ReversedBridge, EnvelopeLiesAboveWithTheSmallestMass) {
  for (const ReverseCase& item : reverse_cases()) {
    const ReversedBridge reversed = item.reversed();
    const std::vector<double> acceptance =
        reversed.acceptance(kContext, item.item.oracle.states(), 4000);
    const LogEstimates estimates = reversed.log_p1(kContext, item.item.oracle.states(), 0, 0.01);
    for (std::size_t j = 0; j < item.p1.size(); ++j) {
      if (item.p1[j] == 0.0) {
        EXPECT_EQ(estimates.value[j], -std::numeric_limits<double>::infinity());
        continue;
      }
      EXPECT_LE(acceptance[j], 1.0 + 1e-12);
      EXPECT_GT(acceptance[j], 0.0);
      // Three hundred checks: 5 standard errors, and the error is an estimate itself.
      EXPECT_NEAR(std::exp(estimates.value[j]) / item.p1[j], 1.0, 6.0 * estimates.standard_error[j])
          << item.item.name << ", state " << j;
      EXPECT_LT(estimates.standard_error[j], 0.03);
    }
  }
}

TEST(ReversedBridge, EstimateOfP1HasNoBias) {
  constexpr std::size_t kRows = 1500;
  for (const ReverseCase& item : reverse_cases()) {
    SCOPED_TRACE(item.item.name);
    const ReversedBridge reversed = item.reversed();
    std::vector<double> acceptance;
    const std::size_t target = telling_targets(item, acceptance).front();
    const States x1 = testing::repeat_row(item.item.oracle.states(), target, kRows);
    const LogEstimates estimates = reversed.log_p1(kContext, x1, 3, 0.05);
    double mean = 0.0, square = 0.0, claimed = 0.0;
    for (std::size_t i = 0; i < kRows; ++i) {
      const double ratio = std::exp(estimates.value[i]) / item.p1[target];
      mean += ratio / kRows;
      square += ratio * ratio / kRows;
      claimed += std::pow(estimates.standard_error[i] * ratio, 2) / kRows;
    }
    const double spread = std::sqrt(std::max(square - mean * mean, 0.0));
    EXPECT_NEAR(mean, 1.0, 5.0 * spread / std::sqrt(kRows) + 1e-12);
    // The errors are no smaller than they say; the few proposals that an easy target takes say
    // more.
    EXPECT_LT(spread, 1.1 * std::sqrt(claimed));
    if (acceptance[target] < 0.5) {
      EXPECT_GT(spread, 0.9 * std::sqrt(claimed));
    }
    // And so has the logarithm that log_conditional takes, to second order.
    std::vector<double> log_joint(kRows), log_conditional(kRows);
    const States x0 = testing::repeat_row(item.item.oracle.states(), 1, kRows);
    reversed.log_joint(kContext, x1, x0, log_joint);
    reversed.log_conditional(kContext, x1, x0, log_conditional);
    double log_mean = 0.0;
    for (std::size_t i = 0; i < kRows; ++i) log_mean += (log_joint[i] - log_conditional[i]) / kRows;
    EXPECT_NEAR(log_mean, std::log(item.p1[target]),
                5.0 * ReversedBridge::kRelativeError / std::sqrt(kRows) + 1e-4);
  }
}

TEST(ReversedBridge, JointIsTheClosedForm) {
  for (const ReverseCase& item : reverse_cases()) {
    const testing::StatePairs pairs = testing::all_pairs(item.item.oracle.states());
    std::vector<double> log_joint(pairs.from.rows()), expected(pairs.from.rows());
    item.reversed().log_joint(kContext, pairs.from, pairs.to, log_joint);
    const std::size_t M = item.p1.size();
    for (std::size_t j = 0; j < M; ++j) {
      for (std::size_t i = 0; i < M; ++i) {
        expected[j * M + i] = static_cast<double>(std::log(item.joint(i, j)));
      }
    }
    EXPECT_TRUE(all_near(log_joint, expected, {1e-12, 1e-12})) << item.item.name;
  }
}

TEST(ReversedBridge, MarginalsAreWithinTheirErrors) {
  for (const ReverseCase& item : reverse_cases()) {
    const States& states = item.item.oracle.states();
    const std::size_t M = states.rows(), rows = std::min<std::size_t>(M, 9);
    const MarginalEstimates estimates =
        item.reversed().estimate_marginals(kContext, states.view().slice(0, rows), 2000, 4);
    for (std::size_t j = 0; j < rows; ++j) {
      const std::vector<double> law = item.law(j);
      for (std::size_t d = 0; d < states.cols(); ++d) {
        for (int s = 0; s < item.item.bridge.num_categories(); ++s) {
          double expected = 0.0;
          for (std::size_t i = 0; i < M; ++i) expected += states(i, d) == s ? law[i] : 0.0;
          const auto at = static_cast<std::size_t>(s);
          EXPECT_NEAR(estimates.probability(j, d, at), expected,
                      6.0 * estimates.standard_error(j, d, at))
              << item.item.name << " " << j << " " << d << " " << s;
          // Better than counting the draws.
          EXPECT_LE(estimates.standard_error(j, d, at),
                    1.1 * std::sqrt(expected * (1.0 - expected) / 2000.0) + 1.0 / 2000.0);
        }
      }
    }
  }
}

TEST(ReversedBridge, TrajectoriesFollowTheReversedChain) {
  constexpr std::size_t kRows = 40000;
  const ReverseCase item =
      std::move(reverse_cases()[3]);  // 9 states, a matrix that is not symmetric
  const std::size_t M = item.p1.size(), target = 4;
  const States x1 = testing::repeat_row(item.item.oracle.states(), target, kRows);
  const ReversedBridge reversed = item.reversed();
  const Array3<std::int32_t> drawn = sample_pinned_trajectory(
      kContext, reversed, item.item.bridge.process().time_reversed(), 2, x1, 6, 0);
  // q(x0, x_half | x1) by enumeration of the forward chain.
  const Wide first = item.item.oracle.transition(2, 0), second = item.item.oracle.transition(2, 1),
             conditional = item.item.oracle.conditional();
  std::vector<double> law(M * M);
  std::vector<std::size_t> counts(M * M);
  for (std::size_t i = 0; i < M; ++i) {
    for (std::size_t h = 0; h < M; ++h) {
      law[h * M + i] = static_cast<double>(item.joint(i, target) / conditional(i, target) *
                                           first(i, h) * second(h, target)) /
                       item.p1[target];
    }
  }
  for (std::size_t b = 0; b < kRows; ++b) {
    const std::size_t half = testing::state_index(drawn.row(b, 1), 2, 3),
                      end = testing::state_index(drawn.row(b, 2), 2, 3);
    ++counts[half * M + end];
  }
  EXPECT_TRUE(fits(counts, law));
}

// Many sharp components in many dimensions, and an x1 that leaves all of x0 open: no product comes
// near.
TEST(ReversedBridge, HopelessTargetsAreNamed) {
  std::mt19937_64 generator(8);
  Array3<double> log_cores(60, 2, 16);
  for (std::size_t i = 0; i < log_cores.size(); ++i) {
    log_cores.data()[i] = testing::unit(generator) < 0.5 ? 0.0 : 25.0;
  }
  const CpBridge bridge(ReferenceProcess::uniform(2, 1e-9),
                        CpPotential(std::vector<double>(16, 0.0), std::move(log_cores)));
  const ReversedBridge reversed(kContext, std::make_shared<CpBridge>(bridge),
                                rare_log_p0(60, 1e-9));
  const States x1(1, 60, 1);
  States x0(1, 60);
  try {
    reversed.sample(kContext, x1, {1, DrawPurpose::kConditional}, 0, x0);
    FAIL() << "acceptance " << reversed.acceptance(kContext, x1, 100)[0];
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), ::testing::AllOf(::testing::HasSubstr("row 0"),
                                               ::testing::HasSubstr("acceptance")));
  }
}

// With one component every proposal is kept, and the conditional is its closed form.
TEST(ReversedBridge, OneComponentIsExact) {
  const ReverseCase item = std::move(reverse_cases()[6]);
  ASSERT_EQ(item.item.bridge.potential().num_components(), 1u);
  const testing::StatePairs pairs = testing::all_pairs(item.item.oracle.states());
  const std::size_t M = item.p1.size();
  std::vector<double> log_q(M * M);
  item.reversed().log_conditional(kContext, pairs.from, pairs.to, log_q);
  for (std::size_t j = 0; j < M; ++j) {
    const std::vector<double> law = item.law(j);
    for (std::size_t i = 0; i < M; ++i) {
      EXPECT_TRUE(is_near(log_q[j * M + i], std::log(law[i]), {1e-12, 1e-12}));
    }
  }
}

// With more components than take part in the envelope it is still exact.
TEST(ReversedBridge, ManyComponents) {
  const ReverseCase item(testing::make_case("uniform, K 40", ReferenceProcess::uniform(4, 0.01),
                                            testing::uniform_step(4, 0.01), {3, 4, 40, 2.0}, 41),
                         42);
  constexpr std::size_t kRows = 20000;
  const States x1 = testing::repeat_row(item.item.oracle.states(), 27, kRows);
  States x0(kRows, 3);
  item.reversed().sample(kContext, x1, {5, DrawPurpose::kConditional}, 0, x0);
  std::vector<std::size_t> counts(64);
  for (std::size_t i = 0; i < kRows; ++i) ++counts[testing::state_index(x0.row(i), 3, 4)];
  EXPECT_TRUE(fits(counts, item.law(27)));
}

// And with more than there are groups of them, alike or not.
TEST(ReversedBridge, ComponentsInGroups) {
  for (const double spread : {0.05, 2.0}) {
    const ReverseCase item(
        testing::make_case("uniform, K 150", ReferenceProcess::uniform(4, 0.01),
                           testing::uniform_step(4, 0.01), {3, 4, 150, spread}, 43),
        44, 2);
    constexpr std::size_t kRows = 20000;
    const States x1 = testing::repeat_row(item.item.oracle.states(), 14, kRows);
    States x0(kRows, 3);
    item.reversed().sample(kContext, x1, {5, DrawPurpose::kConditional}, 0, x0);
    std::vector<std::size_t> counts(64);
    for (std::size_t i = 0; i < kRows; ++i) ++counts[testing::state_index(x0.row(i), 3, 4)];
    EXPECT_TRUE(fits(counts, item.law(14))) << spread;
    if (spread < 1.0) {
      EXPECT_GT(item.reversed().acceptance(kContext, x1.view().slice(0, 1), 1000)[0], 0.95);
    }
  }
}

// A trained model: a thousand components around four.
TEST(ComponentGroups, LieBelowAndLoseLittleWhereComponentsAreAlike) {
  constexpr std::size_t D = 3, S = 4, K = 1000;
  std::mt19937_64 generator(45);
  const auto number = [&] { return 2.0 * testing::unit(generator) - 1.0; };
  Array3<double> centres(D, S, 4);
  for (std::size_t i = 0; i < centres.size(); ++i) centres.data()[i] = 3.0 * number();
  ReverseTables tables;
  tables.log_parts = {0.0};
  tables.log_p0 = {log_p0_of(random_source(D, S, 1, 2.0, 46))};
  tables.log_beta.resize(K);
  tables.log_from = Array3<double>(D, S, K);
  for (std::size_t k = 0; k < K; ++k) {
    tables.log_beta[k] = number();
    for (std::size_t d = 0; d < D; ++d) {
      for (std::size_t s = 0; s < S; ++s) {
        tables.log_from(d, s, k) = centres(d, s, k % 4) + 0.1 * number();
      }
    }
  }
  const ComponentGroups groups = group_components(tables, 16);
  ASSERT_LE(groups.log_beta.size(), 16u);
  const CpPotential all(tables.log_beta, tables.log_from), below(groups.log_beta, groups.log_from);
  const States states = testing::all_states(D, S);
  std::vector<double> log_all(states.rows()), log_below(states.rows());
  all.log_value(kContext, states, log_all);
  below.log_value(kContext, states, log_below);
  for (std::size_t i = 0; i < states.rows(); ++i) {
    EXPECT_LE(log_below[i], log_all[i] + 1e-12);
    EXPECT_GT(log_below[i], log_all[i] - 0.05);
  }
}

TEST(ReversedBridge, RefusesBadInput) {
  const ReverseCase item = std::move(reverse_cases()[0]);
  EXPECT_THROW(
      ReversedBridge(kContext, std::make_shared<CpBridge>(item.item.bridge), Matrix<double>(2, 3)),
      InvalidArgument);
  EXPECT_THROW(ReversedBridge(kContext, std::make_shared<CpBridge>(item.item.bridge),
                              random_source(3, 4, 2, 1.0, 1)),
               InvalidArgument);
  const ReversedBridge reversed = item.reversed();
  States bad(1, 3, {0, 1, 3}), out(1, 3);
  EXPECT_THROW(reversed.sample(kContext, bad, {1, DrawPurpose::kConditional}, 0, out),
               InvalidArgument);
  EXPECT_THROW(reversed.estimate_marginals(kContext, States(1, 3), 1), InvalidArgument);
  EXPECT_THROW(reversed.acceptance(kContext, States(1, 3), 1), InvalidArgument);
}

}  // namespace
}  // namespace bridgemark
