#include "bridgemark/solver/direction/source_density.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/math/categorical.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/solver/core/reverse_coupling.h"
#include "bridgemark/solver/direction/mixture_em.h"
#include "bridgemark/solver/run/run.h"
#include "tests/support/enumerate.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

using ::testing::HasSubstr;

// Two parts far apart, three coordinates of six categories each.
CpPotential two_parts() {
  Array3<double> log_cores(3, 6, 2);
  for (std::size_t d = 0; d < 3; ++d) {
    for (std::size_t s = 0; s < 6; ++s) {
      log_cores(d, s, 0) = std::log(s < 2 ? 0.49 : 0.005);
      log_cores(d, s, 1) = std::log(s > 3 ? 0.49 : 0.005);
    }
  }
  return {{std::log(0.7), std::log(0.3)}, std::move(log_cores)};
}

States draw_rows_of(const CpPotential& law, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  const auto S = static_cast<std::size_t>(law.num_categories());
  States rows(count, law.dim());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t j = testing::unit(generator) < std::exp(law.log_beta()[0]) ? 0 : 1;
    for (std::size_t d = 0; d < law.dim(); ++d) {
      double left = testing::unit(generator);
      std::size_t s = 0;
      while (s + 1 < S && (left -= std::exp(law.log_cores()(d, s, j))) > 0.0) ++s;
      rows(i, d) = static_cast<std::int32_t>(s);
    }
  }
  return rows;
}

std::vector<double> log_of(const SourceLaw& law, const States& rows) {
  std::vector<double> log_p(rows.rows());
  law.log_probability({}, rows, log_p);
  return log_p;
}

// Ten coordinates in the lower or the upper half of six categories, which changes with 0.2.
States draw_switching_rows(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  States rows(count, 10);
  for (std::size_t i = 0; i < count; ++i) {
    bool upper = testing::unit(generator) < 0.5;
    for (std::size_t d = 0; d < rows.cols(); ++d) {
      rows(i, d) = static_cast<std::int32_t>(3.0 * testing::unit(generator)) + (upper ? 3 : 0);
      upper ^= testing::unit(generator) < 0.2;
    }
  }
  return rows;
}

double mean_log(const SourceLaw& law, const States& rows) {
  double sum = 0.0;
  for (const double value : log_of(law, rows)) sum += value;
  return sum / static_cast<double>(rows.rows());
}

Matrix<double> even_base(std::size_t D, std::size_t S) {
  return {D, S, 1.0 / static_cast<double>(S)};
}

// KL(p || law) over all states, p as probabilities in their order.
double kl_to(const std::vector<double>& p, const States& states, const SourceLaw& law) {
  const std::vector<double> log_law = log_of(law, states);
  double kl = 0.0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] > 0.0) kl += p[i] * (std::log(p[i]) - log_law[i]);
  }
  return kl;
}

// A step is Bayes' rule for the parts and weighed counts for their laws.
TEST(MixtureEm, AStepIsThatOfTheDefinition) {
  const States rows = draw_rows_of(two_parts(), 50, 1);
  constexpr double kPseudo = 1.5;
  const CpPotential before = two_parts(),
                    after = MixtureEm(rows, even_base(3, 6), kPseudo).step({}, before);
  std::vector<double> shares(2);
  Array3<double> counts(3, 6, 2);
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    double p[2], total = 0.0;
    for (std::size_t j = 0; j < 2; ++j) {
      p[j] = std::exp(before.log_beta()[j]);
      for (std::size_t d = 0; d < 3; ++d) {
        p[j] *= std::exp(before.log_cores()(d, static_cast<std::size_t>(rows(i, d)), j));
      }
      total += p[j];
    }
    for (std::size_t j = 0; j < 2; ++j) {
      shares[j] += p[j] / total;
      for (std::size_t d = 0; d < 3; ++d) {
        counts(d, static_cast<std::size_t>(rows(i, d)), j) += p[j] / total;
      }
    }
  }
  for (std::size_t j = 0; j < 2; ++j) {
    EXPECT_NEAR(std::exp(after.log_beta()[j]), shares[j] / 50.0, 1e-12);
    for (std::size_t d = 0; d < 3; ++d) {
      for (std::size_t s = 0; s < 6; ++s) {
        EXPECT_NEAR(std::exp(after.log_cores()(d, s, j)),
                    (counts(d, s, j) + kPseudo / 6.0) / (shares[j] + kPseudo), 1e-12);
      }
    }
  }
}

TEST(MixtureEm, StepsNeverMakeTheRowsLessLikely) {
  const States rows = draw_rows_of(two_parts(), 400, 2);
  const MixtureEm em(rows, even_base(3, 6), 1e-9);
  CpPotential law = two_parts();
  // Nearly equal parts: a long way to go.
  Array3<double> cores = law.log_cores();
  for (std::size_t i = 0; i < cores.size(); ++i) {
    cores.data()[i] = std::log(1.0 / 6.0 + 0.01 * std::sin(static_cast<double>(i)));
  }
  law = CpPotential(law.log_beta(), std::move(cores));
  double before = mean_log(em.step({}, law), rows);
  const double first = before;
  law = em.step({}, law);
  for (int i = 0; i < 60; ++i) {
    law = em.step({}, law);
    const double now = mean_log(law, rows);
    EXPECT_GE(now, before - 1e-9);
    before = now;
  }
  EXPECT_GT(before, first + 0.3);
}

TEST(MixtureEm, IsTheSameOnAnyNumberOfThreads) {
  const States rows = draw_rows_of(two_parts(), 3000, 3);
  const MixtureEm em(rows, even_base(3, 6), 0.5);
  Context one, three;
  one.num_threads = 1;
  three.num_threads = 3;
  const CpPotential a = em.run(one, two_parts(), 5, 0.0), b = em.run(three, two_parts(), 5, 0.0);
  EXPECT_EQ(a.log_beta(), b.log_beta());
  EXPECT_TRUE(std::equal(a.log_cores().data(), a.log_cores().data() + a.log_cores().size(),
                         b.log_cores().data()));
}

class SourceDensity : public ::testing::Test {
 protected:
  static SourceLaw fit(const FitProblem& problem, SourceForm form = SourceForm::kBest) {
    return fit_source_density({}, TrainingData(problem, "", "", 0), problem.reference(),
                              problem.dim(), form);
  }
  static FitProblem rows_of_two_parts(std::size_t count) {
    return {draw_rows_of(two_parts(), count, 4), draw_rows_of(two_parts(), count, 5),
            ReferenceProcess::gaussian(6, 0.25, 16)};
  }
};

// p0 of the pair has independent coordinates.
TEST_F(SourceDensity, OfEndlessDrawsIsNearTheLaw) {
  const BenchmarkPair pair = build_pair(testing::small_spec());
  const States states = testing::all_states(2, 6);
  const SourceLaw law = fit(pair);
  EXPECT_NE(law.mixture(), nullptr);
  EXPECT_EQ(law.num_components(), 1u);
  EXPECT_LT(kl_to(testing::source_probabilities(pair, states), states, law), 1e-3);
}

TEST_F(SourceDensity, FindsTheParts) {
  const FitProblem problem = rows_of_two_parts(600);
  const SourceLaw law = fit(problem), product = fit(problem, SourceForm::kProduct);
  EXPECT_NE(law.mixture(), nullptr);
  EXPECT_GE(law.num_components(), 2u);
  EXPECT_EQ(product.num_components(), 1u);
  const States others = draw_rows_of(two_parts(), 4000, 6);
  EXPECT_GT(mean_log(law, others), mean_log(two_parts(), others) - 0.1);
  EXPECT_LT(mean_log(product, others), mean_log(two_parts(), others) - 0.5);
}

// Two states, seldom left: 2^10 products, of which no mixture of a few is near.
TEST_F(SourceDensity, FindsTheChain) {
  const States rows = draw_switching_rows(600, 7), others = draw_switching_rows(2000, 8);
  const FitProblem problem(rows, rows, ReferenceProcess::gaussian(6, 0.25, 16));
  const SourceLaw law = fit(problem), chain = fit(problem, SourceForm::kChain),
                  mixture = fit(problem, SourceForm::kMixture);
  ASSERT_NE(law.chain(), nullptr);
  EXPECT_EQ(log_of(law, others), log_of(chain, others));
  EXPECT_GT(mean_log(law, others), mean_log(mixture, others) + 0.1);
}

TEST_F(SourceDensity, OfOneCoordinateIsNoChain) {
  const States all = draw_rows_of(two_parts(), 200, 9);
  States rows(200, 1);
  for (std::size_t i = 0; i < rows.rows(); ++i) rows(i, 0) = all(i, 0);
  const FitProblem problem(rows, rows, ReferenceProcess::gaussian(6, 0.25, 16));
  EXPECT_EQ(fit(problem).chain(), nullptr);
  EXPECT_NEAR(mean_log(fit(problem, SourceForm::kChain), rows), mean_log(fit(problem), rows), 0.1);
}

TEST_F(SourceDensity, IsALawWithoutImpossibleCategories) {
  for (const std::size_t rows : {1, 2, 3, 40}) {
    for (const SourceForm form : {SourceForm::kBest, SourceForm::kChain}) {
      const SourceLaw law = fit(rows_of_two_parts(rows), form);
      EXPECT_EQ(law.chain() != nullptr, form == SourceForm::kChain && rows == 40) << rows;
      double total = 0.0;
      for (const double value : log_of(law, testing::all_states(3, 6))) {
        EXPECT_TRUE(std::isfinite(value)) << rows;
        total += std::exp(value);
      }
      EXPECT_NEAR(total, 1.0, 1e-12) << rows;
    }
  }
}

RunConfig quick_run(const std::string& solver, const std::string& source) {
  RunConfig config{solver, "", 1, {{"updates", "60"}, {"batch_size", "64"}}};
  config.options[solver == "dlightsb-chain" ? "states" : "components"] = "6";
  config.options["source"] = source;
  if (solver == "dlightsb-m") config.options["num_steps"] = "8";
  return config;
}

// KL of the two backward answers = KL(p0 || law) + KL of the forward answers - KL(p1 || its own).
TEST(LearnedReverse, IsBayesRuleWithTheLawOfTheRun) {
  const BenchmarkPair pair = build_pair(testing::small_spec());
  const States states = testing::all_states(2, 6);
  const std::vector<double> p0 = testing::source_probabilities(pair, states);
  const testing::Wide joint = testing::dense_joint(pair);
  const testing::StatePairs pairs = testing::all_pairs(states);
  for (const auto& [solver, source] :
       std::vector<std::pair<std::string, std::string>>{{"dlightsb", "mixture"},
                                                        {"dlightsb-m", "mixture"},
                                                        {"dlightsb-chain", "mixture"},
                                                        {"dlightsb", "chain"},
                                                        {"dlightsb-chain", "chain"}}) {
    const testing::TempDir dir;
    train_run({}, quick_run(solver, source), pair, dir.path() / "run", false);
    const auto forward = load_run({}, pair, dir.path() / "run");
    const auto backward = load_run({}, pair.reversed(), dir.path() / "run");
    const SourceLaw& law = *dynamic_cast<const Bridge&>(*forward).source();
    EXPECT_EQ(law.chain() != nullptr, source == "chain");
    std::vector<double> log_q(pairs.from.rows()), own(states.rows()), p1(states.rows());
    forward->log_conditional({}, pairs.from, pairs.to, log_q);
    const std::vector<double> log_law = log_of(law, states);
    for (std::size_t i = 0; i < states.rows(); ++i) {
      for (std::size_t j = 0; j < states.rows(); ++j) {
        own[j] += std::exp(log_law[i] + log_q[i * states.rows() + j]);
        p1[j] += static_cast<double>(joint(i, j));
      }
    }
    double kl_of_ends = 0.0;
    for (std::size_t j = 0; j < states.rows(); ++j) kl_of_ends += p1[j] * std::log(p1[j] / own[j]);
    EXPECT_NEAR(testing::joint_kl(pair.reversed(), *backward),
                kl_to(p0, states, law) + testing::joint_kl(pair, *forward) - kl_of_ends, 1e-9)
        << solver << ", " << source;
  }
}

TEST(LearnedReverse, NeedsALawOfX0) {
  const BenchmarkPair pair = build_pair(testing::small_spec());
  const testing::TempDir dir;
  train_run({}, quick_run("dlightsb", "none"), pair, dir.path() / "run", false);
  EXPECT_EQ(dynamic_cast<const Bridge&>(*load_run({}, pair, dir.path() / "run")).source(), nullptr);
  try {
    load_run({}, pair.reversed(), dir.path() / "run");
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("answers that direction alone"));
    EXPECT_THAT(error.what(), HasSubstr("train it on one rank, without source=none"));
  }
}

// A space too large to list: draws come from the envelope.
TEST(LearnedReverse, OfAMixtureInALargeSpaceIsBayesRule) {
  const std::size_t D = 5, S = 6;
  testing::BridgeCase item = testing::make_case("", ReferenceProcess::gaussian(6, 0.3, 16),
                                                testing::gaussian_step(6, 0.3), {D, S, 3, 1.0}, 8);
  CpPotential law = two_parts();
  Array3<double> log_cores(D, S, 2);
  for (std::size_t d = 0; d < D; ++d) {
    for (std::size_t s = 0; s < S; ++s) {
      for (std::size_t j = 0; j < 2; ++j) log_cores(d, s, j) = law.log_cores()(d % 3, s, j);
    }
  }
  law = CpPotential(law.log_beta(), std::move(log_cores));
  const auto bridge = item.bridge.with_source(law);
  const FitProblem problem(States(1, D), States(1, D), item.bridge.process());
  const auto backward = learned_reverse({}, problem, bridge);
  const States x0 = testing::all_states(D, 6);
  States x1(x0.rows(), D);
  for (std::size_t i = 0; i < x1.rows(); ++i) x1(i, 1) = 5;
  std::vector<double> log_joint(x0.rows()), log_back(x0.rows());
  bridge->log_conditional({}, x0, x1, log_joint);
  const std::vector<double> log_law = log_of(law, x0);
  for (std::size_t i = 0; i < x0.rows(); ++i) log_joint[i] += log_law[i];
  const double log_total = log_sum(log_joint.data(), log_joint.size());
  backward->log_conditional({}, x1, x0, log_back);
  const double kept = std::dynamic_pointer_cast<const ReversedBridge>(backward) != nullptr;
  EXPECT_TRUE(kept);
  for (std::size_t i = 0; i < x0.rows(); i += 997) {
    EXPECT_NEAR(log_back[i], log_joint[i] - log_total, 4.0 * ReversedBridge::kRelativeError);
  }
}

// Either component explains half of the coordinates of what x1 came from, and one of an odd number
// is left: no product comes near that.
TEST(LearnedReverse, RefusesWhatHardlyAnyProposalSurvives) {
  constexpr std::size_t kDim = 13;
  constexpr double kMove = 1e-11;
  Array3<double> log_cores(kDim, 2, 2), log_p0(kDim, 2, 1);
  for (std::size_t d = 0; d < kDim; ++d) {
    log_cores(d, 1, 0) = log_cores(d, 0, 1) = -1000.0;
    log_p0(d, 0, 0) = std::log(kMove);
    log_p0(d, 1, 0) = std::log1p(-kMove);
  }
  const ReferenceProcess process = ReferenceProcess::uniform(2, kMove, 1);
  const auto bridge = CpBridge(process, CpPotential({0.0, 0.0}, std::move(log_cores)))
                          .with_source(CpPotential({0.0}, std::move(log_p0)));
  const FitProblem problem(States(1, kDim), States(1, kDim), process);
  try {
    learned_reverse({}, problem, bridge);
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("at least 0.0001 of the proposals must be kept to turn"));
  }
}

}  // namespace
}  // namespace bridgemark
