#include "bridgemark/report/draw_defect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace bridgemark {

namespace {

constexpr double kFrozen = 0.3;      // of the draws, more than the truth's
constexpr double kUncovered = 0.15;  // of the draws, over the twentieth that any have
constexpr double kTwentieth = 0.05;
constexpr double kNarrow = 0.7, kWide = 1.4;  // of the truth's variance

double distance(const std::int32_t* a, const std::int32_t* b, std::size_t dim) {
  double sum = 0.0;
  for (std::size_t d = 0; d < dim; ++d) sum += std::pow(static_cast<double>(a[d]) - b[d], 2);
  return std::sqrt(sum);
}

// From each row of `from` to the nearest of `to`; of the same rows, to the nearest other one.
std::vector<double> nearest(StatesView from, StatesView to) {
  std::vector<double> distances(from.rows, std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < from.rows; ++i) {
    for (std::size_t j = 0; j < to.rows; ++j) {
      if (from.data == to.data && i == j) continue;
      distances[i] = std::min(distances[i], distance(from.row(i), to.row(j), from.cols));
    }
  }
  return distances;
}

double share_beyond(const std::vector<double>& distances, double radius) {
  return static_cast<double>(
             std::ranges::count_if(distances, [&](double value) { return value > radius; })) /
         static_cast<double>(distances.size());
}

double mean(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double share_at(StatesView draws, std::size_t d, std::int32_t category) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < draws.rows; ++i) count += draws(i, d) == category;
  return static_cast<double>(count) / static_cast<double>(draws.rows);
}

// Summed over the coordinates.
double variance(StatesView draws) {
  double total = 0.0;
  for (std::size_t d = 0; d < draws.cols; ++d) {
    double sum = 0.0, squares = 0.0;
    for (std::size_t i = 0; i < draws.rows; ++i) {
      sum += draws(i, d);
      squares += std::pow(draws(i, d), 2);
    }
    const auto count = static_cast<double>(draws.rows);
    total += squares / count - std::pow(sum / count, 2);
  }
  return total;
}

std::string percent(double share) { return fmt::format("{:.0f} %", 100.0 * share); }

}  // namespace

std::string draw_defect(StatesView x0, StatesView solver, StatesView truth, StatesView anywhere) {
  for (std::size_t d = 0; d < x0.cols; ++d) {
    const double stays = share_at(solver, d, x0(0, d)), should = share_at(truth, d, x0(0, d));
    if (stays > should + kFrozen) {
      return fmt::format("coordinate {} stays at x0 in {} of its draws, the truth's in {}", d + 1,
                         percent(stays), percent(should));
    }
  }
  std::vector<double> among_truth = nearest(truth, truth);
  std::ranges::sort(among_truth);
  // Categories beside each other are near, also where the truth has a single one.
  const double radius = std::max(
      1.0, among_truth[static_cast<std::size_t>(
               std::floor((1.0 - kTwentieth) * static_cast<double>(among_truth.size() - 1)))]);
  const std::vector<double> to_truth = nearest(solver, truth);
  const double missed = share_beyond(nearest(truth, solver), radius);
  const double invented = share_beyond(to_truth, radius);
  const double limit = kUncovered + kTwentieth;
  const bool is_anywhere = mean(nearest(solver, anywhere)) < mean(to_truth);
  if (invented > limit && is_anywhere) {
    return "its draws look like x1 of p1 whatever x0 is";
  }
  if (missed > limit && missed >= invented) {
    return fmt::format("it misses {} of what the truth draws", percent(missed));
  }
  if (invented > limit) {
    return fmt::format("{} of its draws are where the truth has none", percent(invented));
  }
  const double wide = variance(solver), should = variance(truth);
  if (wide < kNarrow * should) {
    return fmt::format("its draws are too narrow: {:.2g} of the truth's variance", wide / should);
  }
  if (wide > kWide * should) {
    return fmt::format("its draws are too wide: {:.2g} times the truth's variance", wide / should);
  }
  return "its draws look like the truth's: what is wrong is rarer than they are, or in how the "
         "coordinates go together";
}

}  // namespace bridgemark
