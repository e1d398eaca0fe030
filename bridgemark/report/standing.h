#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "bridgemark/report/tables/tables.h"

// One ranking of methods over all pairs, and how sure it is.
namespace bridgemark {

inline constexpr double kStandingConfidence = 0.95;

// A mean and the half width of its interval by Student's t over the pairs; NaN where not known.
struct OverPairs {
  double mean = std::numeric_limits<double>::quiet_NaN();
  double half_width = std::numeric_limits<double>::quiet_NaN();
};

// A ratio of two sums over the same pairs, sum(numerators) / sum(denominators), with the interval
// of the linearised ratio: pairs with little room between its ends weigh little.
OverPairs ratio_over_pairs(const std::vector<double>& numerators,
                           const std::vector<double>& denominators);
OverPairs mean_over_pairs(const std::vector<double>& values);

// What a method reaches on a set of pairs.
struct Reach {
  std::size_t pairs = 0;  // of the set, that it was measured on
  // Joint KL by D, in nats a coordinate; NaN where some of its pairs have none. Infinite where one
  // is.
  OverPairs distance;
  bool upper_bound = false;  // of some pair the joint KL is one
  // Of the way from Independent to the Oracle, by the conditional trend of draws: the sum over the
  // pairs of what it gained by the sum of what there was to gain.
  OverPairs share;
};

// The pairs of a family, dimension and direction.
struct PairGroup {
  std::string_view family;  // "own" for a pair that is no preset
  int dim = 0;
  bool reverse = false;
  std::vector<std::string> pairs;
};

struct StandingRow {
  const TableRow* row = nullptr;  // of the table of draws, for the method's name
  Reach all;
  std::vector<Reach> groups;  // of Standing::groups
  bool whole = false;         // measured on all pairs
  bool by_draws = false;      // some of its pairs have no joint KL that is more than a bound
  // Methods with a joint KL on all pairs that stand before it; of a method of some pairs, that are
  // nearer on these.
  std::size_t ahead = 0;
  // Of a method of some pairs: it is shown to be nearer than the first on those that both have; of
  // two pairs or fewer, it is nearer.
  bool nearer_than_first = false;
};

// One method against another, on the pairs that both have.
struct Lead {
  OverPairs difference;  // of joint KL in nats a coordinate, or of the share; over 0: nearer
  bool by_draws = false;
  std::size_t nearer = 0;  // pairs on which it is
  std::size_t pairs = 0;

  bool separated() const { return difference.mean > difference.half_width; }
};

// What becomes of the first place where one pair is left out.
struct Dropped {
  std::string pair;
  const TableRow* first = nullptr;
};

// All methods of one number of training rows.
//
// Methods with a joint KL on all pairs are in the order of its mean in nats a coordinate, which no
// third method can turn. One that has all pairs, but not such a joint KL, stands behind all of them
// with a finite mean that it is not shown to beat by draws: the interval of the difference of the
// shares must exclude 0. These are the numbered places. Then come the methods of some pairs, those
// of most pairs first; of them `ahead` says how many are nearer on the same pairs, by the joint KL
// where it has that.
struct Standing {
  std::size_t samples = 0;
  std::vector<std::string> pairs;  // that the Oracle has; without any Oracle all
  std::vector<PairGroup> groups;
  std::vector<StandingRow> rows;  // without the Oracle
  std::size_t places = 0;         // rows with all pairs, which come first
  Lead lead;                      // of the first over the second; no pairs where there are not two
  std::vector<Dropped> dropped;   // the pairs without which another one is first
  // The pair whose loss leaves the first the least of its lead over the second, and that lead.
  std::string weakest_pair;
  double least_lead = std::numeric_limits<double>::quiet_NaN();
};

// One for each number of training rows, of tables as make_tables makes them, which must outlive it.
std::vector<Standing> standings(const std::vector<Table>& tables);

}  // namespace bridgemark
