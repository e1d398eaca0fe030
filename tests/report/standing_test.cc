#include "bridgemark/report/standing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "bridgemark/pair/pair_spec.h"
#include "tests/experiment/results_testing.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using ::testing::ElementsAre;
using testing::kInfinity;
using testing::kNaN;
using testing::normal;

std::vector<std::string> preset_names(std::size_t count) {
  std::vector<std::string> names;
  for (const PairSpec& spec : preset_specs()) {
    if (names.size() < count) names.push_back(spec.name);
  }
  return names;
}

// A method on a pair: its joint KL in nats a coordinate (NaN: none) and its conditional trend.
RunResult run(const std::string& method, const std::string& pair, double distance, double trend,
              std::optional<double> bound_change = {}) {
  const std::string solver = method == "Oracle"        ? "oracle"
                             : method == "Independent" ? "independent"
                                                       : "outside";
  const int dim = find_preset(pair)->dim;
  RunResult made = testing::result(
      pair, solver, 0,
      {{"conditional_trend_score", trend, 0.001, {}}, {"joint_kl", distance * dim, 0.001, {}}});
  made.scores[1].bound_change = bound_change;
  made.method = method;
  made.dim = dim;
  return made;
}

// The ends of the way: a trend of 0.5 and of 0.9.
std::vector<RunResult> ends(const std::vector<std::string>& pairs) {
  std::vector<RunResult> results;
  for (const std::string& pair : pairs) {
    results.push_back(run("Oracle", pair, 0.0, 0.9));
    results.push_back(run("Independent", pair, kNaN, 0.5));
  }
  return results;
}

std::vector<std::string> names_of(const Standing& standing) {
  std::vector<std::string> names;
  for (const StandingRow& row : standing.rows) names.push_back(row.row->method);
  return names;
}

// Student's t of three degrees of freedom at 95 % is 3.182446305 in any book of tables.
TEST(Standing, AMeanHasStudentsInterval) {
  const OverPairs mean = mean_over_pairs({1.0, 2.0, 3.0, 4.0});
  EXPECT_DOUBLE_EQ(mean.mean, 2.5);
  EXPECT_NEAR(mean.half_width, 3.182446305 * std::sqrt(5.0 / 3.0) / 2.0, 1e-6);
  EXPECT_TRUE(std::isnan(mean_over_pairs({1.0}).half_width));
  EXPECT_TRUE(std::isnan(mean_over_pairs({}).mean));
  EXPECT_EQ(mean_over_pairs({1.0, kInfinity}).mean, kInfinity);
  EXPECT_TRUE(std::isnan(mean_over_pairs({1.0, kInfinity}).half_width));
}

// Of equal denominators it is the mean of the ratios; of others its error is that of the jackknife.
TEST(Standing, ARatioOfSumsHasItsLinearisedInterval) {
  const OverPairs equal = ratio_over_pairs({1.0, 2.0, 4.0}, {2.0, 2.0, 2.0});
  const OverPairs mean = mean_over_pairs({0.5, 1.0, 2.0});
  EXPECT_DOUBLE_EQ(equal.mean, mean.mean);
  EXPECT_NEAR(equal.half_width, mean.half_width, 1e-12);

  constexpr std::size_t kCount = 400;
  std::vector<double> above, below;
  for (std::size_t i = 0; i < kCount; ++i) {
    below.push_back(1.0 + 0.3 * normal(1, i));
    above.push_back(0.8 * below.back() + 0.1 * normal(2, i));
  }
  const auto sum = [](const std::vector<double>& v) {
    return std::accumulate(v.begin(), v.end(), 0.0);
  };
  double squares = 0.0;
  const OverPairs ratio = ratio_over_pairs(above, below);
  for (std::size_t i = 0; i < kCount; ++i) {
    const double without = (sum(above) - above[i]) / (sum(below) - below[i]);
    squares += std::pow(without - ratio.mean, 2);
  }
  const double jackknife = std::sqrt(squares * (kCount - 1.0) / kCount);
  EXPECT_NEAR(ratio.half_width / jackknife, 1.966, 0.02);  // Student's t of 399
  EXPECT_TRUE(std::isnan(ratio_over_pairs({1.0}, {0.0}).mean));
  EXPECT_TRUE(std::isnan(ratio_over_pairs({1.0}, {kNaN}).mean));
}

// Nats a coordinate decide, whatever the draws say; the share is of sums.
TEST(Standing, JointKlsDecideTheOrder) {
  const std::vector<std::string> pairs = {"d2-gaussian-0.02", "d64-gaussian-0.02"};
  std::vector<RunResult> results = ends(pairs);
  results.push_back(run("Near", pairs[0], 0.01, 0.8));
  results.push_back(run("Near", pairs[1], 0.03, 0.7));
  results.push_back(run("Far", pairs[0], 0.1, 0.85));
  results.push_back(run("Far", pairs[1], 0.0, 0.85));
  const std::vector<Table> tables = make_tables(results, false);
  const std::vector<Standing> all = standings(tables);
  ASSERT_EQ(all.size(), 1u);
  const Standing& standing = all[0];
  EXPECT_THAT(names_of(standing), ElementsAre("Near", "Far", "Independent"));
  EXPECT_EQ(standing.places, 3u);
  EXPECT_NEAR(standing.rows[0].all.distance.mean, 0.02, 1e-12);
  EXPECT_NEAR(standing.rows[0].all.share.mean, (0.3 + 0.2) / 0.8, 1e-12);
  EXPECT_NEAR(standing.lead.difference.mean, 0.03, 1e-12);
  EXPECT_EQ(standing.lead.nearer, 1u);
  EXPECT_FALSE(standing.lead.separated());
  ASSERT_EQ(standing.groups.size(), 2u);
  EXPECT_EQ(standing.groups[1].dim, 64);
  EXPECT_NEAR(standing.rows[0].groups[1].distance.mean, 0.03, 1e-12);
  // Without the first pair Far is first.
  ASSERT_EQ(standing.dropped.size(), 1u);
  EXPECT_EQ(standing.dropped[0].pair, "d2-gaussian-0.02");
  EXPECT_EQ(standing.dropped[0].first->method, "Far");
  EXPECT_EQ(standing.weakest_pair, "d2-gaussian-0.02");
  EXPECT_NEAR(standing.least_lead, -0.03, 1e-12);
}

// Every dropped pair against the ranking of results that never had it.
TEST(Standing, DroppedPairsAreThoseOfARankingWithoutThem) {
  const std::vector<std::string> pairs = preset_names(9);
  std::size_t changes = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<RunResult> results = ends(pairs);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto draw = [&](std::uint64_t index) { return normal(seed, 10 * i + index); };
      results.push_back(run("A", pairs[i], 0.10 + 0.05 * draw(0), 0.7 + 0.1 * draw(1)));
      results.push_back(run("B", pairs[i], 0.11 + 0.05 * draw(2), 0.7 + 0.1 * draw(3)));
      results.push_back(run("C", pairs[i], 0.12 + 0.05 * draw(4), 0.7 + 0.1 * draw(5)));
      results.push_back(run("Draws", pairs[i], kNaN, 0.75 + 0.1 * draw(6)));
    }
    const std::vector<Table> tables = make_tables(results, false);
    const Standing standing = standings(tables).at(0);
    double least = kInfinity;
    std::vector<std::string> expected, found;
    for (const std::string& pair : pairs) {
      std::vector<RunResult> others = results;
      std::erase_if(others, [&](const RunResult& one) { return one.pair == pair; });
      const std::vector<Table> remaining = make_tables(others, false);
      const Standing without = standings(remaining).at(0);
      if (without.rows[0].row->method != standing.rows[0].row->method) {
        expected.push_back(pair + without.rows[0].row->method);
      }
      const auto mean = [&](std::size_t place) {
        const std::string& name = standing.rows[place].row->method;
        const auto row = std::ranges::find(without.rows, name,
                                           [](const StandingRow& r) { return r.row->method; });
        return standing.lead.by_draws ? -row->all.share.mean : row->all.distance.mean;
      };
      least = std::min(least, mean(1) - mean(0));
    }
    for (const Dropped& one : standing.dropped) found.push_back(one.pair + one.first->method);
    std::ranges::sort(expected);
    std::ranges::sort(found);
    EXPECT_EQ(found, expected) << seed;
    EXPECT_NEAR(standing.least_lead, least, 1e-9) << seed;
    changes += found.size();
  }
  EXPECT_GT(changes, 0u);
}

// A method by draws has to show that it beats one with a joint KL; one of some pairs comes last.
TEST(Standing, MethodsOfDrawsAloneHaveTheirPlace) {
  const std::vector<std::string> pairs = preset_names(6);
  std::vector<RunResult> results = ends(pairs);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const double noise = 0.002 * normal(3, i);
    results.push_back(run("First", pairs[i], 0.001, 0.88));
    results.push_back(run("Second", pairs[i], 0.01, 0.80));
    results.push_back(run("Level", pairs[i], kNaN, 0.88 + noise));
    results.push_back(run("Between", pairs[i], kNaN, 0.84 + noise));
    results.push_back(run("Bound", pairs[i], 0.0001, 0.7 + noise, 0.01));
  }
  results.push_back(run("Stated", pairs[0], 0.005, 0.6));
  results.push_back(run("Drawn", pairs[1], kNaN, 0.81));
  const std::vector<Table> tables = make_tables(results, false);
  const Standing standing = standings(tables).at(0);
  EXPECT_THAT(names_of(standing), ElementsAre("First", "Level", "Between", "Second", "Bound",
                                              "Independent", "Drawn", "Stated"));
  EXPECT_EQ(standing.places, 6u);
  EXPECT_TRUE(standing.rows[1].by_draws);
  EXPECT_TRUE(standing.rows[4].by_draws);
  EXPECT_TRUE(standing.rows[4].all.upper_bound);
  EXPECT_EQ(standing.rows[4].ahead, 2u);
  EXPECT_EQ(standing.rows[6].ahead, 1u);  // 0.81 lies between
  EXPECT_EQ(standing.rows[7].ahead, 1u);  // 0.005 nats, whatever its draws
  EXPECT_FALSE(standing.rows[7].by_draws);
}

// A first place that only whoever has all pairs can have says who is nearer on some.
TEST(Standing, WhoIsNearerOnSomePairsIsMarked) {
  const std::vector<std::string> pairs = preset_names(4);
  std::vector<RunResult> results = ends(pairs);
  for (std::size_t i = 0; i < 3; ++i) {
    const double noise = 0.001 * normal(5, i);
    results.push_back(run("Near", pairs[i], 0.01 + noise, 0.88 + noise));
    results.push_back(run("Far", pairs[i], 1.0 + noise, 0.30 + noise));
    results.push_back(run("Level", pairs[i], kNaN, 0.5 + noise * (i == 1 ? -1.0 : 1.0)));
  }
  const std::vector<Table> tables = make_tables(results, false);
  const Standing standing = standings(tables).at(0);
  ASSERT_EQ(standing.rows[0].row->method, "Independent");  // the only one with all
  for (const StandingRow& row : standing.rows) {
    EXPECT_EQ(row.nearer_than_first, row.row->method == "Near") << row.row->method;
  }
}

// Whoever joins, methods with a joint KL keep their order, and each pair the score that decides.
// One by draws keeps its place unless the newcomer has a joint KL, which it then has to beat.
TEST(Standing, ANewcomerTurnsNoOrderOfOthers) {
  const std::vector<std::string> pairs = preset_names(5);
  std::size_t amid = 0;  // times that draws stand before somebody
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::vector<RunResult> results = ends(pairs);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto draw = [&](std::uint64_t index) { return normal(100 + seed, 10 * i + index); };
      for (const char* method : {"A", "B", "C"}) {
        const auto own = static_cast<std::uint64_t>(method[0] - 'A');
        results.push_back(run(method, pairs[i], std::exp(draw(own)),
                              0.7 + 0.05 * normal(seed, own) + 0.02 * draw(own + 3)));
      }
      results.push_back(run("Draws", pairs[i], kNaN, 0.75 + 0.02 * draw(6)));
    }
    std::vector<RunResult> joined = results;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto draw = [&](std::uint64_t index) { return normal(900 + seed, 10 * i + index); };
      if (seed % 3 == 0 && i > 2) continue;  // some pairs alone
      joined.push_back(
          run("New", pairs[i], seed % 2 == 0 ? kNaN : std::exp(draw(0)), 0.7 + 0.2 * draw(1)));
      joined.back().scores.push_back({"forward_trajectory_kl", 0.01, 0.001, {}});
      joined.back().scores.push_back({"exact_conditional_shape_score", 0.99, 0.001, {}});
    }
    const std::vector<Table> before = make_tables(results, false),
                             after = make_tables(joined, false);
    std::vector<std::string> kept = names_of(standings(after).at(0)),
                             own = names_of(standings(before).at(0));
    std::erase(kept, "New");
    amid += own.back() != "Independent" || own[own.size() - 2] != "Draws";
    if (seed % 2 == 1) {
      std::erase(kept, "Draws");
      std::erase(own, "Draws");
    }
    EXPECT_EQ(kept, own) << seed;
    const std::vector<PairBest> best = best_of_pairs(before), others = best_of_pairs(after);
    ASSERT_EQ(best.size(), others.size());
    for (std::size_t i = 0; i < best.size(); ++i) {
      EXPECT_EQ(best[i].table->score, others[i].table->score);
    }
  }
  EXPECT_GT(amid, 5u);
}

// Pairs that the Oracle was not scored on are no part of it; without any Oracle all are.
TEST(Standing, PairsAreThoseOfTheOracle) {
  const std::vector<std::string> pairs = preset_names(3);
  std::vector<RunResult> results = ends({pairs[0], pairs[1]});
  for (const std::string& pair : pairs) results.push_back(run("A", pair, 0.1, 0.7));
  const std::vector<Table> tables = make_tables(results, false);
  const Standing standing = standings(tables).at(0);
  EXPECT_THAT(standing.pairs, ElementsAre(pairs[0], pairs[1]));
  EXPECT_EQ(standing.rows[0].all.pairs, 2u);
  EXPECT_TRUE(standing.rows[0].whole);

  std::vector<RunResult> alone;
  for (const std::string& pair : pairs) {
    alone.push_back(run("A", pair, kNaN, 0.7 + 0.01 * normal(7, alone.size())));
    alone.push_back(run("B", pair, kNaN, 0.8));
  }
  const std::vector<Table> of_draws = make_tables(alone, false);
  const Standing without = standings(of_draws).at(0);
  EXPECT_EQ(without.pairs.size(), 3u);
  EXPECT_TRUE(std::isnan(without.rows[0].all.share.mean));
  EXPECT_TRUE(standings({}).empty());
}

// A method that rules out what happens still has a place, the last one: no draws have to beat it.
TEST(Standing, InfiniteDistancesComeLast) {
  const std::vector<std::string> pairs = preset_names(3);
  std::vector<RunResult> results = ends(pairs);
  for (const std::string& pair : pairs) {
    results.push_back(run("Hole", pair, pair == pairs[0] ? kInfinity : 0.0, 0.9));
    results.push_back(run("Coarse", pair, 3.0, 0.6));
    results.push_back(run("Draws", pair, kNaN, 0.7));
  }
  const std::vector<Table> tables = make_tables(results, false);
  const Standing standing = standings(tables).at(0);
  EXPECT_THAT(names_of(standing), ElementsAre("Draws", "Coarse", "Independent", "Hole"));
  EXPECT_EQ(standing.rows[3].all.distance.mean, kInfinity);
  ASSERT_EQ(standing.dropped.size(), 1u);
  EXPECT_EQ(standing.dropped[0].first->method, "Hole");
}

}  // namespace
}  // namespace bridgemark
