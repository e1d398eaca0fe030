#include "bridgemark/metric/own_data/row_distance.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <unordered_map>

#include "bridgemark/core/parallel.h"

namespace bridgemark {

namespace {

using SmallStates = Matrix<std::uint16_t>;  // kMaxCategories fits, and twice as many fit a register

SmallStates small_states(StatesView states) {
  SmallStates small(states.rows, states.cols);
  std::transform(states.data, states.data + states.size(), small.data(),
                 [](std::int32_t s) { return static_cast<std::uint16_t>(s); });
  return small;
}

template <RowMetric metric, typename T>
std::uint32_t distance_of(const T* a, const T* b, std::size_t count) {
  std::uint32_t sum = 0;
  for (std::size_t d = 0; d < count; ++d) {
    if constexpr (metric == RowMetric::kChanged) {
      sum += a[d] != b[d] ? 1u : 0u;
    } else {
      sum += static_cast<std::uint32_t>(std::abs(static_cast<int>(a[d]) - static_cast<int>(b[d])));
    }
  }
  return sum;
}

// The distance, or at least `bound` where it is that much.
template <RowMetric metric>
std::uint32_t bounded_distance(const std::uint16_t* a, const std::uint16_t* b, std::size_t dim,
                               std::uint32_t bound) {
  constexpr std::size_t kPart = 128;  // coordinates between two looks at the bound
  std::uint32_t sum = 0;
  for (std::size_t d = 0; d < dim && sum < bound; d += kPart) {
    sum += distance_of<metric>(a + d, b + d, std::min(kPart, dim - d));
  }
  return sum;
}

template <RowMetric metric>
void write_nearest(const Context& context, const SmallStates& rows, const SmallStates& among,
                   std::vector<double>& out) {
  const std::size_t D = rows.cols(), grain = prompt_grain(64, among.rows() * D);
  parallel_blocks(context, rows.rows(), grain, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      std::uint32_t nearest = UINT32_MAX;
      for (std::size_t j = 0; j < among.rows() && nearest > 0; ++j) {
        nearest =
            std::min(nearest, bounded_distance<metric>(rows.row(i), among.row(j), D, nearest));
      }
      out[i] = nearest;
    }
  });
}

// [D,S], the share of each category at each coordinate.
Matrix<double> marginal_shares(StatesView states, int num_categories) {
  Matrix<double> shares(states.cols, static_cast<std::size_t>(num_categories), 0.0);
  for (std::size_t i = 0; i < states.rows; ++i) {
    for (std::size_t d = 0; d < states.cols; ++d) {
      shares(d, static_cast<std::size_t>(states(i, d))) += 1.0;
    }
  }
  for (std::size_t i = 0; i < shares.size(); ++i) {
    shares.data()[i] /= static_cast<double>(states.rows);
  }
  return shares;
}

std::string_view bytes_of(StatesView states, std::size_t row) {
  return {reinterpret_cast<const char*>(states.row(row)), states.cols * sizeof(std::int32_t)};
}

}  // namespace

std::vector<double> row_distances(StatesView from, StatesView to, RowMetric metric) {
  std::vector<double> distances(from.rows);
  for (std::size_t i = 0; i < from.rows; ++i) {
    distances[i] = metric == RowMetric::kChanged
                       ? distance_of<RowMetric::kChanged>(from.row(i), to.row(i), from.cols)
                       : distance_of<RowMetric::kMoved>(from.row(i), to.row(i), from.cols);
  }
  return distances;
}

std::vector<double> nearest_distances(const Context& context, StatesView rows, StatesView among,
                                      RowMetric metric) {
  const SmallStates small_rows = small_states(rows), small_among = small_states(among);
  std::vector<double> nearest(rows.rows);
  if (metric == RowMetric::kChanged) {
    write_nearest<RowMetric::kChanged>(context, small_rows, small_among, nearest);
  } else {
    write_nearest<RowMetric::kMoved>(context, small_rows, small_among, nearest);
  }
  return nearest;
}

double unpaired_distance(StatesView x0, StatesView x1, int num_categories, RowMetric metric) {
  const Matrix<double> p = marginal_shares(x0, num_categories),
                       q = marginal_shares(x1, num_categories);
  double sum = 0.0;
  for (std::size_t d = 0; d < p.rows(); ++d) {
    // E|a - b| = sum_s F(s) (1 - G(s)) + G(s) (1 - F(s)) of the distribution functions.
    double below_p = 0.0, below_q = 0.0, equal = 0.0, moved = 0.0;
    for (std::size_t s = 0; s < p.cols(); ++s) {
      below_p += p(d, s);
      below_q += q(d, s);
      equal += p(d, s) * q(d, s);
      moved += below_p * (1.0 - below_q) + below_q * (1.0 - below_p);
    }
    sum += metric == RowMetric::kChanged ? 1.0 - equal : moved;
  }
  return sum;
}

RowOverlap row_overlap(StatesView given, StatesView training) {
  std::unordered_map<std::string_view, std::size_t> times;
  times.reserve(training.rows);
  for (std::size_t i = 0; i < training.rows; ++i) ++times[bytes_of(training, i)];
  std::size_t repeated = 0;
  for (const auto& [row, count] : times) {
    if (count > 1) repeated += count;
  }
  RowOverlap overlap;
  overlap.rows = given.rows;
  for (std::size_t i = 0; i < given.rows; ++i) overlap.known += times.count(bytes_of(given, i));
  const auto n = static_cast<double>(given.rows), m = static_cast<double>(training.rows);
  overlap.share_by_chance = static_cast<double>(repeated) / m;
  overlap.same_rows = given.rows == training.rows &&
                      std::equal(given.data, given.data + given.size(), training.data);
  const double chance = (static_cast<double>(repeated) + 1.0) / (m + 2.0);  // never 0 or 1
  const double error = std::sqrt(n * chance * (1.0 - chance) * (1.0 + n / m));
  constexpr double kErrors = 5.0;
  overlap.trained_on =
      overlap.same_rows || static_cast<double>(overlap.known) >
                               n * overlap.share_by_chance + std::max(1.0, kErrors * error);
  return overlap;
}

}  // namespace bridgemark
