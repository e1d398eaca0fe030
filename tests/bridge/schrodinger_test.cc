#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/process/pinned_reference.h"
#include "tests/support/context.h"
#include "tests/support/enumerate.h"
#include "tests/support/random_bridge.h"
#include "tests/support/tolerance.h"

// The bridge from p0 is the Schrödinger bridge between p0 and its own end: it solves the
// Schrödinger system, and neither projection of the D-IMF procedure moves it.
namespace bridgemark {
namespace {

using testing::BridgeCase;
using testing::is_near;
using testing::kContext;
using testing::Tolerance;
using testing::Wide;

constexpr Tolerance kMarginal{1e-10, 1e-14};

// Tiny spaces of every reference kind; 12 elementary steps allow chains of 3 and of 4.
std::vector<BridgeCase> tiny_bridges() {
  const Matrix<double> matrix = testing::random_stochastic(2, 0.8, 31);
  const Matrix<double> line = testing::random_stochastic(5, 0.7, 32);
  std::vector<BridgeCase> cases;
  cases.push_back(testing::make_case("uniform", ReferenceProcess::uniform(3, 0.08, 12),
                                     testing::uniform_step(3, 0.08), {2, 3, 2, 2.0}, 33));
  cases.push_back(testing::make_case("gaussian", ReferenceProcess::gaussian(3, 0.7, 12),
                                     testing::gaussian_step(3, 0.7), {2, 3, 3, 2.0, 0.3}, 34));
  cases.push_back(testing::make_case("matrix", ReferenceProcess::from_matrix(matrix, 12),
                                     testing::widen(matrix), {3, 2, 4, 2.0}, 35));
  cases.push_back(testing::make_case("matrix, D 1", ReferenceProcess::from_matrix(line, 12),
                                     testing::widen(line), {1, 5, 1, 3.0}, 36));
  return cases;
}

// Any distribution over the states, the coordinates not independent.
std::vector<double> random_pmf(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<double> pmf(count);
  double sum = 0.0;
  for (double& p : pmf) sum += p = 0.05 + testing::unit(generator);
  for (double& p : pmf) p /= sum;
  return pmf;
}

// exp of log_transition for all pairs, [M,M].
Matrix<double> step_matrix(const BridgeCase& item, int num_steps, int n) {
  const std::size_t M = item.oracle.num_states();
  const testing::StatePairs pairs = testing::all_pairs(item.oracle.states());
  Matrix<double> law(M, M);
  item.bridge.log_transition(kContext, num_steps, n, pairs.from, pairs.to, {law.data(), M * M});
  for (std::size_t i = 0; i < law.size(); ++i) law.data()[i] = std::exp(law.data()[i]);
  return law;
}

TEST(Schrodinger, SystemHolds) {
  for (const BridgeCase& item : tiny_bridges()) {
    const std::size_t M = item.oracle.num_states();
    const std::vector<double> p0 = random_pmf(M, 41);
    const Matrix<double> conditional = step_matrix(item, 1, 0);
    const Wide reference = item.oracle.reference(item.total_steps);
    std::vector<double> log_c(M), log_v(M), p1(M, 0.0);
    item.bridge.log_normalizer(kContext, item.oracle.states(), log_c);
    item.bridge.potential().log_value(kContext, item.oracle.states(), log_v);
    for (std::size_t i = 0; i < M; ++i) {
      double row = 0.0;
      for (std::size_t j = 0; j < M; ++j) {
        const double joint = p0[i] * conditional(i, j);
        row += joint;
        p1[j] += joint;
        // phi0(x0) q_ref(x1|x0) phi1(x1) with phi0 = p0 / c, phi1 = v.
        const double product =
            p0[i] * std::exp(log_v[j] - log_c[i]) * static_cast<double>(reference(i, j));
        EXPECT_TRUE(is_near(joint, product, kMarginal)) << item.name;
      }
      EXPECT_TRUE(is_near(row, p0[i], kMarginal)) << item.name << ", first marginal";
    }
    for (std::size_t j = 0; j < M; ++j) {
      double backward = 0.0;  // phi1(x1) sum_x0 phi0(x0) q_ref(x1|x0)
      for (std::size_t i = 0; i < M; ++i) {
        backward += p0[i] / std::exp(log_c[i]) * static_cast<double>(reference(i, j));
      }
      EXPECT_TRUE(is_near(p1[j], std::exp(log_v[j]) * backward, kMarginal))
          << item.name << ", second marginal";
    }
  }
}

// Sinkhorn's iteration knows p0, p1 and the reference alone, and has one fixed point.
TEST(Schrodinger, SinkhornFindsTheSameCoupling) {
  for (const BridgeCase& item : tiny_bridges()) {
    const std::size_t M = item.oracle.num_states();
    const std::vector<double> p0 = random_pmf(M, 42);
    const Matrix<double> conditional = step_matrix(item, 1, 0);
    const Wide reference = item.oracle.reference(item.total_steps);
    std::vector<long double> p1(M, 0.0L), left(M, 1.0L), right(M, 1.0L);
    for (std::size_t i = 0; i < M; ++i) {
      for (std::size_t j = 0; j < M; ++j) p1[j] += p0[i] * conditional(i, j);
    }
    for (int iteration = 0; iteration < 3000; ++iteration) {
      for (std::size_t i = 0; i < M; ++i) {
        long double sum = 0.0L;
        for (std::size_t j = 0; j < M; ++j) sum += reference(i, j) * right[j];
        left[i] = p0[i] / sum;
      }
      for (std::size_t j = 0; j < M; ++j) {
        long double sum = 0.0L;
        for (std::size_t i = 0; i < M; ++i) sum += left[i] * reference(i, j);
        right[j] = p1[j] / sum;
      }
    }
    for (std::size_t i = 0; i < M; ++i) {
      for (std::size_t j = 0; j < M; ++j) {
        EXPECT_TRUE(is_near(p0[i] * conditional(i, j),
                            static_cast<double>(left[i] * reference(i, j) * right[j]),
                            {1e-9, 1e-13}))
            << item.name << ", " << i << " -> " << j;
      }
    }
  }
}

// Laws of the whole path (x_0, x_1st, ..., x_1), one entry for each of the M^(num_steps+1) paths.
struct PathLaws {
  States paths;                    // of state numbers
  std::vector<double> markov;      // p0 and the transitions
  std::vector<double> reciprocal;  // q*(x0, x1) and the pinned steps
  std::vector<double> enumerated;  // q*(x0, x1) and q_ref(inside | x0, x1) summed over paths
};

PathLaws path_laws(const BridgeCase& item, int num_steps, const std::vector<double>& p0) {
  const std::size_t M = item.oracle.num_states(), D = item.bridge.dim();
  const States& states = item.oracle.states();
  const auto steps = static_cast<std::size_t>(num_steps);
  const int S = item.bridge.num_categories();
  const ReferenceChain chain(item.bridge.process(), num_steps);
  const Matrix<double> conditional = step_matrix(item, 1, 0);
  const Wide one = item.oracle.reference(item.total_steps / num_steps);
  const Wide whole = item.oracle.reference(item.total_steps);
  std::vector<Matrix<double>> transitions;
  std::vector<Array3<double>> pinned;  // [x_n, x_1, x_{n+1}] of one coordinate
  for (int n = 0; n < num_steps; ++n) {
    transitions.push_back(step_matrix(item, num_steps, n));
    const PinnedReference step = PinnedReference::step(kContext, chain, n);
    const auto width = static_cast<std::size_t>(S);
    Array3<double> table(width, width, width);
    for (int from = 0; from < S; ++from) {
      for (int end = 0; end < S; ++end) {
        step.log_probabilities(
            from, end, table.row(static_cast<std::size_t>(from), static_cast<std::size_t>(end)));
      }
    }
    pinned.push_back(std::move(table));
  }

  PathLaws laws{testing::all_states(steps + 1, static_cast<int>(M)), {}, {}, {}};
  for (std::size_t i = 0; i < laws.paths.rows(); ++i) {
    const auto at = [&](std::size_t n) { return static_cast<std::size_t>(laws.paths(i, n)); };
    const std::size_t x0 = at(0), x1 = at(steps);
    const double joint = p0[x0] * conditional(x0, x1);
    double markov = p0[x0], reciprocal = joint;
    long double enumerated = joint / whole(x0, x1);
    for (std::size_t n = 0; n < steps; ++n) {
      markov *= transitions[n](at(n), at(n + 1));
      enumerated *= one(at(n), at(n + 1));
      for (std::size_t d = 0; d < D; ++d) {
        reciprocal *= std::exp(pinned[n](static_cast<std::size_t>(states(at(n), d)),
                                         static_cast<std::size_t>(states(x1, d)),
                                         static_cast<std::size_t>(states(at(n + 1), d))));
      }
    }
    laws.markov.push_back(markov);
    laws.reciprocal.push_back(reciprocal);
    laws.enumerated.push_back(static_cast<double>(enumerated));
  }
  return laws;
}

TEST(Schrodinger, ReciprocalProjectionLeavesTheTruth) {
  for (const BridgeCase& item : tiny_bridges()) {
    const std::vector<double> p0 = random_pmf(item.oracle.num_states(), 43);
    for (const int num_steps : {1, 2, 3, 4}) {
      const PathLaws laws = path_laws(item, num_steps, p0);
      double total = 0.0;
      for (const double p : laws.markov) total += p;
      EXPECT_TRUE(is_near(total, 1.0, kMarginal));
      EXPECT_TRUE(testing::all_near(laws.reciprocal, laws.markov, {1e-9, 1e-16}))
          << item.name << ", num_steps " << num_steps;
      EXPECT_TRUE(testing::all_near(laws.enumerated, laws.markov, {1e-9, 1e-16}))
          << item.name << ", num_steps " << num_steps;
    }
  }
}

// The Markov projection keeps the law of each consecutive pair; for the reciprocal process of the
// truth its transitions are those of the bridge.
TEST(Schrodinger, MarkovProjectionLeavesTheTruth) {
  for (const BridgeCase& item : tiny_bridges()) {
    const std::size_t M = item.oracle.num_states();
    const std::vector<double> p0 = random_pmf(M, 44);
    for (const int num_steps : {3, 4}) {
      const PathLaws laws = path_laws(item, num_steps, p0);
      for (int n = 0; n < num_steps; ++n) {
        Matrix<double> pairs(M, M, 0.0);
        const auto at = static_cast<std::size_t>(n);
        for (std::size_t i = 0; i < laws.paths.rows(); ++i) {
          pairs(static_cast<std::size_t>(laws.paths(i, at)),
                static_cast<std::size_t>(laws.paths(i, at + 1))) += laws.enumerated[i];
        }
        const Matrix<double> transition = step_matrix(item, num_steps, n);
        for (std::size_t from = 0; from < M; ++from) {
          double row = 0.0;
          for (std::size_t to = 0; to < M; ++to) row += pairs(from, to);
          for (std::size_t to = 0; to < M; ++to) {
            EXPECT_TRUE(is_near(transition(from, to), pairs(from, to) / row, kMarginal))
                << item.name << ", num_steps " << num_steps << ", n " << n;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace bridgemark
