#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bridgemark/math/philox.h"
#include "bridgemark/process/pinned_reference.h"
#include "tests/support/chi_square.h"
#include "tests/support/context.h"
#include "tests/support/random_pair.h"
#include "tests/support/tolerance.h"

// Pairs that nobody thought of, each quantity of both directions beside enumeration. How many of
// them, and from which number on, is said by BRIDGEMARK_RANDOM_PAIRS and BRIDGEMARK_FIRST_PAIR;
// then the largest errors are printed as well.
namespace bridgemark {
namespace {

using testing::kContext;
using testing::RandomPair;
using testing::Tolerance;
using testing::Wide;

constexpr int kPairs = 1000;
constexpr Tolerance kOfLogarithms{1e-12, 1e-11};

// Of a chi-square test of draws; there are three a pair. Its law is nearly known only where few are
// expected in a cell, so this lies far below what chance does.
constexpr double kLeastPValue = 1e-12;

std::uint64_t number_in(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// What was found of one quantity in all pairs.
struct FoundOfPairs {
  std::size_t compared = 0, wrong = 0;
  double worst = 0.0;  // the largest error, or the smallest p-value
  std::string of = "none";
};

class RandomPairs : public ::testing::Test {
 protected:
  // Logarithms beside probabilities.
  void compare(const char* quantity, double log_actual, long double expected) {
    FoundOfPairs& found = found_[quantity];
    ++found.compared;
    const auto log_expected = static_cast<double>(std::log(expected));
    const double error = log_actual == log_expected ? 0.0 : std::abs(log_actual - log_expected);
    if (!(error <= found.worst)) {
      found.worst = error;
      found.of = name_;
    }
    if (!testing::near(log_actual, log_expected, kOfLogarithms) && ++found.wrong == 1) {
      ADD_FAILURE() << quantity << " of " << name_ << " is " << log_actual << ", by enumeration "
                    << log_expected;
    }
  }

  void compare_draws(const char* quantity, const std::vector<std::size_t>& counts,
                     const std::vector<double>& law) {
    FoundOfPairs& found = draws_[quantity];
    const double p = testing::chi_square_p_value(counts, law);
    if (found.compared++ == 0 || p < found.worst) {
      found.worst = p;
      found.of = name_;
    }
    EXPECT_GE(p, kLeastPValue) << quantity << " of " << name_;
  }

  // Every pair of states, as rows.
  void compare_law(const char* quantity, const std::vector<double>& log_actual, const Wide& law,
                   const std::vector<long double>& weights) {
    for (std::size_t i = 0; i < law.rows(); ++i) {
      if (weights[i] == 0.0L) continue;  // a state that never occurs: what follows it is nobody's
      for (std::size_t j = 0; j < law.cols(); ++j) {
        compare(quantity, log_actual[i * law.cols() + j], law(i, j));
      }
    }
  }

  void compare_marginals(const char* quantity, const Array3<double>& log_actual,
                         const Array3<long double>& law, const std::vector<long double>& weights) {
    const std::size_t each = law.size() / law.extent(0);
    for (std::size_t i = 0; i < law.size(); ++i) {
      if (weights[i / each] != 0.0L) compare(quantity, log_actual.data()[i], law.data()[i]);
    }
  }

  void compare_reference(const RandomPair& made, std::mt19937_64& choose) {
    const ReferenceProcess& process = made.pair.bridge().process();
    const int T = process.total_steps(), n = 1 + static_cast<int>(choose() % T);
    const Wide expected = testing::power(made.step, n);
    const SharedMatrix found = process.log_power(kContext, n);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      compare("power of the reference", found.data()[i], expected.data()[i]);
    }
    // Pinned: q(x_n | x_0, x_1) for every pair of ends.
    const ReferenceChain chain(process, T);
    const auto S = static_cast<std::size_t>(process.num_categories());
    const PinnedReference pinned = PinnedReference::marginal(kContext, chain, n);
    const Wide rest = testing::power(made.step, T - n), whole = testing::power(made.step, T);
    std::vector<double> log_p(S);
    for (std::size_t from = 0; from < S; ++from) {
      for (std::size_t end = 0; end < S; ++end) {
        pinned.log_probabilities(static_cast<int>(from), static_cast<int>(end), log_p.data());
        for (std::size_t s = 0; s < S; ++s) {
          compare("pinned reference", log_p[s],
                  expected(from, s) * rest(s, end) / whole(from, end));
        }
      }
    }
  }

  void compare_bridge(const RandomPair& made, int num_steps, int n) {
    const Bridge& bridge = made.pair.bridge();
    const std::size_t M = made.count();
    const int skip = made.total_steps() / num_steps;
    const std::vector<long double> all(M, 1.0L);
    std::vector<double> values(M);
    bridge.log_potential(kContext, made.states, values);
    for (std::size_t i = 0; i < M; ++i) compare("potential v", values[i], made.v[i]);
    const std::vector<long double> c = made.phi(made.total_steps()),
                                   phi = made.phi((num_steps - n) * skip);
    bridge.log_normalizer(kContext, made.states, values);
    for (std::size_t i = 0; i < M; ++i) compare("normalizer c", values[i], c[i]);
    bridge.log_phi(kContext, num_steps, n, made.states, values);
    for (std::size_t i = 0; i < M; ++i) compare("phi", values[i], phi[i]);
    const testing::StatePairs pairs = testing::all_pairs(made.states);
    std::vector<double> log_q(M * M);
    bridge.log_transition(kContext, num_steps, n, pairs.from, pairs.to, log_q);
    const Wide step = made.transition(num_steps, n);
    compare_law("transition", log_q, step, all);
    Array3<double> marginals;
    bridge.log_transition_marginals(kContext, num_steps, n, made.states, marginals);
    compare_marginals("marginals of a transition", marginals, made.marginals(step), all);
  }

  // Ends, conditionals and their marginals, and draws, of the pair or of its reverse.
  void compare_direction(const RandomPair& made, bool reverse, std::uint64_t seed) {
    const BenchmarkPair pair = reverse ? made.pair.reversed() : made.pair;
    const std::size_t M = made.count();
    const Wide forward = made.transition(1, 0);
    const std::vector<long double> p1 = made.law_at(1, 1), &start = reverse ? p1 : made.p0,
                                   &end = reverse ? made.p0 : p1;
    const auto name = [&](const char* ahead, const char* back) { return reverse ? back : ahead; };
    const LogEstimates log_p0 = pair.log_p0(kContext, made.states),
                       log_p1 = pair.log_p1(kContext, made.states);
    for (std::size_t i = 0; i < M; ++i) {
      compare(name("p0", "p0, reversed"), log_p0.value[i], start[i]);
      compare(name("p1", "p1, reversed"), log_p1.value[i], end[i]);
    }
    Wide law(M, M);
    for (std::size_t i = 0; i < M; ++i) {
      for (std::size_t j = 0; j < M; ++j) {
        law(i, j) = !reverse           ? forward(i, j)
                    : start[i] == 0.0L ? 0.0L
                                       : made.p0[j] * forward(j, i) / start[i];
      }
    }
    const testing::StatePairs pairs = testing::all_pairs(made.states);
    const std::shared_ptr<const Coupling> truth = pair.require_truth(kContext);
    std::vector<double> log_q(M * M);
    truth->log_conditional(kContext, pairs.from, pairs.to, log_q);
    compare_law(name("conditional", "conditional, reversed"), log_q, law, start);
    Array3<double> marginals;
    truth->log_marginals(kContext, made.states, marginals);
    compare_marginals(name("marginals", "marginals, reversed"), marginals, made.marginals(law),
                      start);
    compare_drawn(made, pair, law, start, reverse, seed);
  }

  void compare_drawn(const RandomPair& made, const BenchmarkPair& pair, const Wide& law,
                     const std::vector<long double>& start, bool reverse, std::uint64_t seed) {
    constexpr std::size_t kDraws = 1000;
    const std::size_t M = made.count(), D = made.states.cols();
    const int S = made.pair.num_categories();
    const PairedStates drawn = pair.sample_joint(kContext, kDraws, seed);
    std::vector<std::size_t> ends(M);
    std::vector<double> end_law(M);
    for (std::size_t i = 0; i < M; ++i) {
      for (std::size_t j = 0; j < M; ++j) {
        end_law[j] += static_cast<double>(start[i] * law(i, j));
      }
    }
    for (std::size_t i = 0; i < kDraws; ++i) {
      ++ends[testing::state_index(drawn.x1.row(i), D, S)];
    }
    compare_draws(reverse ? "draws of x1, reversed" : "draws of x1", ends, end_law);
    // Given the x0 of one of them.
    const std::size_t given = testing::state_index(drawn.x0.row(0), D, S);
    const States x1 =
        pair.sample_conditional(kContext, testing::repeat_row(made.states, given, kDraws), seed);
    std::vector<std::size_t> counts(M);
    std::vector<double> row(M);
    for (std::size_t j = 0; j < M; ++j) row[j] = static_cast<double>(law(given, j));
    for (std::size_t i = 0; i < kDraws; ++i) ++counts[testing::state_index(x1.row(i), D, S)];
    compare_draws(reverse ? "draws given x0, reversed" : "draws given x0", counts, row);
  }

  // q(x_n | x_{n+1}), by Bayes' rule.
  void compare_reversed_step(const RandomPair& made, int num_steps, int n) {
    const std::size_t M = made.count();
    const Wide ahead = made.transition(num_steps, n);
    const std::vector<long double> before = made.law_at(num_steps, n),
                                   after = made.law_at(num_steps, n + 1);
    Wide back(M, M);
    for (std::size_t i = 0; i < M; ++i) {
      for (std::size_t j = 0; j < M; ++j) {
        back(j, i) = after[j] == 0.0L ? 0.0L : before[i] * ahead(i, j) / after[j];
      }
    }
    const std::shared_ptr<const Coupling> truth = made.pair.reversed().require_truth(kContext);
    const testing::StatePairs pairs = testing::all_pairs(made.states);
    std::vector<double> log_q(M * M);
    truth->log_transition(kContext, num_steps, num_steps - 1 - n, pairs.from, pairs.to, log_q);
    compare_law("transition, reversed", log_q, back, after);
  }

  void compare_pair(std::uint64_t number) {
    testing::RandomPairMaker maker(derive_seed(number, 0));
    const RandomPair made = maker.make();
    name_ = fmt::format("pair {} ({})", number, made.name);
    std::mt19937_64 choose(derive_seed(number, 1));
    std::vector<int> divisors;
    for (int steps = 1; steps <= made.total_steps(); ++steps) {
      if (made.total_steps() % steps == 0) divisors.push_back(steps);
    }
    const int num_steps = divisors[choose() % divisors.size()],
              n = static_cast<int>(choose() % static_cast<std::uint64_t>(num_steps));
    compare_reference(made, choose);
    compare_bridge(made, num_steps, n);
    compare_direction(made, false, number);
    compare_direction(made, true, number);
    compare_reversed_step(made, num_steps, n);
  }

  void print() const {
    std::string text =
        "| quantity | compared | largest error of the logarithm | of |\n| --- | --- | --- | --- "
        "|\n";
    for (const auto& [quantity, found] : found_) {
      text += fmt::format("| {} | {} | {:.1e} | {} |\n", quantity, found.compared, found.worst,
                          found.of);
    }
    text += "\n| draws | tests | smallest p-value | of |\n| --- | --- | --- | --- |\n";
    for (const auto& [quantity, found] : draws_) {
      text += fmt::format("| {} | {} | {:.1e} | {} |\n", quantity, found.compared, found.worst,
                          found.of);
    }
    fmt::print("{}", text);
  }

  std::string name_;
  std::map<std::string, FoundOfPairs> found_, draws_;
};

TEST_F(RandomPairs, AreWhatEnumerationSays) {
  const std::uint64_t first = number_in("BRIDGEMARK_FIRST_PAIR", 0),
                      pairs = number_in("BRIDGEMARK_RANDOM_PAIRS", kPairs);
  for (std::uint64_t number = first; number < first + pairs; ++number) compare_pair(number);
  EXPECT_GT(found_.size(), 10u);
  if (std::getenv("BRIDGEMARK_RANDOM_PAIRS")) print();
}

}  // namespace
}  // namespace bridgemark
