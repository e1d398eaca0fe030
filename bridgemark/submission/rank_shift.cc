#include "bridgemark/submission/rank_shift.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark {

namespace {

// The rank of each value, from -1/2 to 1/2, those of `a` first; their mean is 0.
std::vector<double> centred_ranks(std::span<const double> a, std::span<const double> b) {
  std::vector<double> values(a.begin(), a.end());
  values.insert(values.end(), b.begin(), b.end());
  if (std::ranges::any_of(values, [](double value) { return std::isnan(value); })) {
    throw_invalid("rank_shift", "values must be numbers, got NaN");
  }
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  const auto n = static_cast<double>(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    const double rank = static_cast<double>(first + end) / (2.0 * n) - 0.5;
    for (; first < end; ++first) ranks[order[first]] = rank;
  }
  return ranks;
}

}  // namespace

double log_chance_of_rank_shift(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) return 0.0;
  const std::vector<double> ranks = centred_ranks(a, b);
  const auto n = static_cast<double>(a.size()), all = static_cast<double>(ranks.size());
  const double shift =
      std::abs(std::accumulate(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(a.size()),
                               0.0)) /
      n;
  // Convex in λ, and a bound for each of them. The ranks lie symmetrically only where none are
  // equal, so both directions are asked and the weaker bound counts.
  std::vector<double> terms(ranks.size());
  const auto log_bound = [&](double lambda) {
    double most = -std::numeric_limits<double>::infinity();
    for (const double sign : {-1.0, 1.0}) {
      std::ranges::transform(ranks, terms.begin(), [&](double r) { return sign * lambda * r; });
      most = std::max(most, log_sum(terms.data(), terms.size()) - std::log(all));
    }
    return n * (most - lambda * shift);
  };
  constexpr double kMostLambda = 64.0;
  constexpr int kNarrowings = 60;  // by a third each
  double low = 0.0, high = kMostLambda;
  for (int i = 0; i < kNarrowings; ++i) {
    const double third = (high - low) / 3.0;
    if (log_bound(low + third) < log_bound(high - third)) {
      high -= third;
    } else {
      low += third;
    }
  }
  return std::min(0.0, std::log(2.0) + log_bound(0.5 * (low + high)));
}

}  // namespace bridgemark
