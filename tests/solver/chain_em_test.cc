#include "bridgemark/solver/direction/chain_em.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "bridgemark/bridge/source_law.h"
#include "bridgemark/math/categorical.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/solver/direction/source_starts.h"
#include "tests/support/enumerate.h"
#include "tests/support/random_chain.h"

namespace bridgemark {
namespace {

// A chain whose start, moves and cores are laws.
ChainPotential random_chain_of_laws(std::size_t D, std::size_t S, std::size_t J, double spread,
                                    std::uint64_t seed) {
  const ChainPotential chain = testing::random_chain(D, S, J, spread, seed);
  std::vector<double> log_start = chain.log_start();
  Array3<double> log_moves = chain.log_moves(), log_cores = chain.log_cores();
  log_normalize(log_start.data(), J);
  for (std::size_t i = 0; i < (D - 1) * J; ++i) log_normalize(log_moves.data() + i * J, J);
  for (std::size_t d = 0; d < D; ++d) {
    for (std::size_t j = 0; j < J; ++j) {
      const double log_total = log_sum(log_cores.row(d, 0) + j, S, J);
      for (std::size_t s = 0; s < S; ++s) log_cores(d, s, j) -= log_total;
    }
  }
  return {std::move(log_start), std::move(log_moves), std::move(log_cores)};
}

States draw_chain_rows(const ChainPotential& law, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  const std::size_t J = law.num_components(), S = law.log_cores().extent(1);
  std::vector<double> weights, cumulative(std::max(J, S));
  const auto draw = [&] {
    cumulate_log(weights.data(), weights.size(), cumulative.data());
    return draw_category(cumulative.data(), weights.size(), testing::unit(generator));
  };
  States rows(count, law.dim());
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t state = 0;
    for (std::size_t d = 0; d < law.dim(); ++d) {
      const double* from = d == 0 ? law.log_start().data() : law.log_moves().row(d - 1, state);
      weights.assign(from, from + J);
      state = draw();
      weights.clear();
      for (std::size_t s = 0; s < S; ++s) weights.push_back(law.log_cores()(d, s, state));
      rows(i, d) = static_cast<std::int32_t>(draw());
    }
  }
  return rows;
}

double mean_log_of(const SourceLaw& law, const States& rows) {
  std::vector<double> log_p(rows.rows());
  law.log_probability({}, rows, log_p);
  double sum = 0.0;
  for (const double value : log_p) sum += value;
  return sum / static_cast<double>(rows.rows());
}

Matrix<double> even_law_of_categories(std::size_t D, std::size_t S) {
  return {D, S, 1.0 / static_cast<double>(S)};
}

// Every path of every row by its share, which its states, moves and categories are counted with.
TEST(ChainEm, AStepIsThatOfTheDefinition) {
  constexpr std::size_t kD = 3, kS = 4, kJ = 2;
  constexpr double kPseudo = 1.5;
  const ChainPotential before = random_chain_of_laws(kD, kS, kJ, 2.0, 1);
  const States rows = draw_chain_rows(before, 40, 2), paths = testing::all_states(kD, kJ);
  const ChainPotential after =
      ChainEm(rows, even_law_of_categories(kD, kS), kPseudo).step({}, before);
  Array3<double> counts(kD, kS, kJ), moves(kD - 1, kJ, kJ);
  Matrix<double> shares(kD, kJ);
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    std::vector<double> p(paths.rows());
    double total = 0.0;
    for (std::size_t z = 0; z < paths.rows(); ++z) {
      double log_p = 0.0;
      for (std::size_t d = 0; d < kD; ++d) {
        const auto j = static_cast<std::size_t>(paths(z, d));
        log_p += d == 0 ? before.log_start()[j]
                        : before.log_moves()(d - 1, static_cast<std::size_t>(paths(z, d - 1)), j);
        log_p += before.log_cores()(d, static_cast<std::size_t>(rows(i, d)), j);
      }
      total += p[z] = std::exp(log_p);
    }
    for (std::size_t z = 0; z < paths.rows(); ++z) {
      for (std::size_t d = 0; d < kD; ++d) {
        const auto j = static_cast<std::size_t>(paths(z, d));
        shares(d, j) += p[z] / total;
        counts(d, static_cast<std::size_t>(rows(i, d)), j) += p[z] / total;
        if (d + 1 < kD) moves(d, j, static_cast<std::size_t>(paths(z, d + 1))) += p[z] / total;
      }
    }
  }
  for (std::size_t j = 0; j < kJ; ++j) {
    EXPECT_NEAR(std::exp(after.log_start()[j]), shares(0, j) / 40.0, 1e-12);
    for (std::size_t d = 0; d < kD; ++d) {
      for (std::size_t s = 0; s < kS; ++s) {
        EXPECT_NEAR(std::exp(after.log_cores()(d, s, j)),
                    (counts(d, s, j) + kPseudo / kS) / (shares(d, j) + kPseudo), 1e-12);
      }
      for (std::size_t to = 0; d + 1 < kD && to < kJ; ++to) {
        EXPECT_NEAR(std::exp(after.log_moves()(d, j, to)),
                    (moves(d, j, to) + kPseudo / kJ) / (shares(d, j) + kPseudo), 1e-12);
      }
    }
  }
}

TEST(ChainEm, StepsNeverMakeTheRowsLessLikely) {
  const ChainPotential truth = random_chain_of_laws(5, 6, 3, 4.0, 3);
  const States rows = draw_chain_rows(truth, 400, 4);
  const ChainEm em(rows, even_law_of_categories(5, 6), 1e-9);
  ChainPotential law = em.step({}, random_chain_of_laws(5, 6, 3, 0.5, 5));  // a long way to go
  const double first = mean_log_of(law, rows);
  double before = first;
  for (int i = 0; i < 60; ++i) {
    law = em.step({}, law);
    const double now = mean_log_of(law, rows);
    EXPECT_GE(now, before - 1e-9);
    before = now;
  }
  EXPECT_GT(before, first + 0.1);
}

TEST(ChainEm, IsTheSameOnAnyNumberOfThreads) {
  const ChainPotential start = random_chain_of_laws(4, 5, 3, 1.0, 6);
  const States rows = draw_chain_rows(random_chain_of_laws(4, 5, 3, 3.0, 7), 3000, 8);
  const ChainEm em(rows, even_law_of_categories(4, 5), 0.5);
  Context one, three;
  one.num_threads = 1;
  three.num_threads = 3;
  const ChainPotential a = em.run(one, start, 5, 0.0), b = em.run(three, start, 5, 0.0);
  EXPECT_EQ(a.log_start(), b.log_start());
  const auto same = [](const Array3<double>& x, const Array3<double>& y) {
    return std::equal(x.data(), x.data() + x.size(), y.data(), y.data() + y.size());
  };
  EXPECT_TRUE(same(a.log_moves(), b.log_moves()));
  EXPECT_TRUE(same(a.log_cores(), b.log_cores()));
}

// Counts of ranges: laws, whatever the rows, and near the truth where a state is a range.
TEST(ChainOfRanges, IsAChainOfLaws) {
  const States rows = draw_chain_rows(random_chain_of_laws(4, 6, 3, 3.0, 9), 50, 10);
  for (const std::size_t count : {1, 2, 50}) {
    for (const std::size_t states : {2, 4, 16}) {
      const States some(count, 4, {rows.data(), rows.data() + count * 4});
      const ChainPotential chain = chain_of_ranges(even_law_of_categories(4, 6), some, states);
      EXPECT_NEAR(chain.log_total(), 0.0, 1e-12);
      EXPECT_NEAR(log_sum(chain.log_start().data(), states), 0.0, 1e-12);
      for (std::size_t i = 0; i < 3 * states; ++i) {
        EXPECT_NEAR(log_sum(chain.log_moves().data() + i * states, states), 0.0, 1e-12);
      }
    }
  }
  ChainPotential ranges = random_chain_of_laws(8, 6, 2, 0.0, 11);
  Array3<double> cores = ranges.log_cores(), moves = ranges.log_moves();
  for (std::size_t d = 0; d < 8; ++d) {
    for (std::size_t s = 0; s < 6; ++s) {
      for (std::size_t j = 0; j < 2; ++j) {
        cores(d, s, j) = std::log((s < 3) == (j == 0) ? 0.33 : 1e-2 / 3.0);
      }
    }
    for (std::size_t j = 0; d < 7 && j < 2; ++j) {
      for (std::size_t to = 0; to < 2; ++to) moves(d, j, to) = std::log(j == to ? 0.9 : 0.1);
    }
  }
  ranges = ChainPotential(ranges.log_start(), std::move(moves), std::move(cores));
  const States many = draw_chain_rows(ranges, 4000, 12), others = draw_chain_rows(ranges, 4000, 13);
  EXPECT_GT(mean_log_of(chain_of_ranges(even_law_of_categories(8, 6), many, 2), others),
            mean_log_of(ranges, others) - 0.5);
}

}  // namespace
}  // namespace bridgemark
