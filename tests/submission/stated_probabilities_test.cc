#include "bridgemark/submission/stated_probabilities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/small_pair.h"

namespace bridgemark {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using CouplingPtr = std::shared_ptr<const Coupling>;

constexpr std::size_t kStatedRows = 8000;

// Draws like one coupling, and states the probabilities of others, the joint one times e^shift.
class Stating : public Coupling {
 public:
  Stating(CouplingPtr drawn, CouplingPtr joint, CouplingPtr marginals = nullptr, double shift = 0.0)
      : drawn_(std::move(drawn)),
        joint_(std::move(joint)),
        marginals_(std::move(marginals)),
        shift_(shift) {}

  std::size_t dim() const override { return drawn_->dim(); }
  int num_categories() const override { return drawn_->num_categories(); }
  void sample(const Context& context, StatesView x0, const DrawKey& key, std::uint64_t first,
              MutableStatesView x1) const override {
    drawn_->sample(context, x0, key, first, x1);
  }
  bool has_joint() const override { return joint_ != nullptr; }
  void log_conditional(const Context& context, StatesView x0, StatesView x1,
                       std::span<double> out) const override {
    joint_->log_conditional(context, x0, x1, out);
    for (double& value : out) value += shift_;
  }
  bool has_marginals() const override { return marginals_ != nullptr; }
  void write_log_marginals(const Context& context, StatesView x0,
                           MatrixView<double> out) const override {
    marginals_->write_log_marginals(context, x0, out);
  }

 private:
  CouplingPtr drawn_, joint_, marginals_;
  double shift_;
};

// Says that every row is certain.
class Certain : public Stating {
 public:
  explicit Certain(const CouplingPtr& drawn) : Stating(drawn, drawn) {}
  void log_conditional(const Context&, StatesView, StatesView,
                       std::span<double> out) const override {
    std::ranges::fill(out, 0.0);
  }
};

PairSpec larger_spec() {
  PairSpec spec = testing::small_spec();
  spec.dim = 6;  // no x1 comes twice
  spec.num_categories = 8;
  spec.gamma = 0.16;  // x1 depends on x0
  return spec;
}

// The truth with every weight and core entry disturbed.
CouplingPtr disturbed_truth(const BenchmarkPair& pair, double noise, std::uint64_t seed) {
  const CpPotential& truth = pair.cp_bridge().potential();
  std::mt19937_64 generator(seed);
  std::vector<double> log_beta(truth.log_beta());
  Array3<double> log_cores = truth.log_cores();
  const auto disturb = [&](double& value) {
    value += noise * (2.0 * testing::unit(generator) - 1.0);
  };
  for (double& value : log_beta) disturb(value);
  for (std::size_t i = 0; i < log_cores.size(); ++i) disturb(log_cores.data()[i]);
  return std::make_shared<CpBridge>(pair.cp_bridge().process(),
                                    CpPotential(std::move(log_beta), std::move(log_cores)));
}

std::vector<std::string> refusals_of(const BenchmarkPair& pair, const Coupling& answers) {
  return impossible_statements({}, pair, answers);
}

// E|X/n - p| by the sum over all X.
double enumerated(double p, std::size_t n) {
  double sum = 0.0;
  for (std::size_t x = 0; x <= n; ++x) {
    const auto k = static_cast<double>(x), trials = static_cast<double>(n);
    const double log_choose =
        std::lgamma(trials + 1.0) - std::lgamma(k + 1.0) - std::lgamma(trials - k + 1.0);
    sum += std::exp(log_choose + k * std::log(p) + (trials - k) * std::log1p(-p)) *
           std::abs(k / trials - p);
  }
  return sum;
}

TEST(StatedProbabilities, FrequenciesMissByWhatEnumerationSays) {
  constexpr double kTolerance = 1e-12;
  for (const std::size_t n : {1u, 2u, 7u, 1000u}) {
    for (const double p : {1e-9, 0.001, 0.02, 0.3, 0.5, 0.7, 0.999, 1.0 - 1e-9}) {
      EXPECT_NEAR(mean_frequency_error(p, n), enumerated(p, n), kTolerance) << n << " " << p;
    }
  }
  EXPECT_EQ(mean_frequency_error(0.0, 10), 0.0);
  EXPECT_EQ(mean_frequency_error(1.0, 10), 0.0);
}

// Solvers of every distance to the truth, each on test sets of its own.
TEST(StatedProbabilities, AreTakenFromHonestSolvers) {
  for (const PairSpec& spec : {testing::small_spec(), larger_spec()}) {
    BenchmarkPair pair = build_pair(spec);
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      pair.store_test_set(pair.sample_joint({}, kStatedRows, 100 + seed));
      const CouplingPtr own = disturbed_truth(pair, 0.1 * static_cast<double>(seed % 10), seed);
      EXPECT_THAT(refusals_of(pair, Stating(own, own, own)), IsEmpty()) << seed;
    }
    for (const char* name : {"independent", "reference", "feature-wise"}) {
      const CouplingPtr own = testing::fit_solver(name, pair).coupling;
      const CouplingPtr joint = own->has_joint() ? own : nullptr;
      EXPECT_THAT(refusals_of(pair, Stating(own, joint, own->has_marginals() ? own : nullptr)),
                  IsEmpty())
          << name;
    }
  }
}

TEST(StatedProbabilities, AreRefusedByNameWhereTheyAreNotThoseOfTheDraws) {
  const BenchmarkPair pair = testing::pair_with_test_set(larger_spec(), kStatedRows);
  const CouplingPtr truth = pair.truth({}), near = disturbed_truth(pair, 0.3, 1),
                    far = testing::fit_solver("reference", pair).coupling,
                    independent = testing::fit_solver("independent", pair).coupling;
  // Of a better solver than the one that drew.
  EXPECT_THAT(refusals_of(pair, Stating(independent, truth)),
              ElementsAre(HasSubstr("pred_log_conditional.npy is not of the solver that drew "
                                    "pred_x1.npy: it is within a total variation of")));
  EXPECT_THAT(refusals_of(pair, Stating(far, truth)),
              Contains(HasSubstr("but the draws are at least")));
  // Of a worse one, or something sharper or duller than what drew.
  EXPECT_THAT(refusals_of(pair, Stating(truth, far)),
              Contains(HasSubstr("pred_log_answers.npy is not of the solver that drew")));
  EXPECT_THAT(refusals_of(pair, Stating(truth, near)),
              Contains(HasSubstr("answers are more probable under the truth")));
  // Marginals of another.
  EXPECT_THAT(refusals_of(pair, Stating(far, nullptr, truth)),
              ElementsAre(HasSubstr("pred_log_marginals.npy overlaps with the draws of")));
  EXPECT_THAT(refusals_of(pair, Stating(truth, truth, truth, 5.0)),
              Contains(HasSubstr("but pred_log_marginals.npy only")));
}

TEST(StatedProbabilities, OfOneInputSumToOne) {
  const BenchmarkPair pair = testing::pair_with_test_set(testing::small_spec(), kStatedRows);
  const CouplingPtr truth = pair.truth({});
  EXPECT_THAT(refusals_of(pair, Stating(truth, truth)), IsEmpty());
  EXPECT_THAT(refusals_of(pair, Certain(truth)),
              Contains(HasSubstr("different x1 given one x0 sum to")));
  EXPECT_THAT(refusals_of(pair, Stating(truth, truth, nullptr, 0.05)),
              Contains(HasSubstr("given one x0 sum to 1.05")));
  EXPECT_THAT(refusals_of(pair, Stating(testing::fit_solver("reference", pair).coupling, truth)),
              Contains(HasSubstr("but the draws are at least")));
}

}  // namespace
}  // namespace bridgemark
