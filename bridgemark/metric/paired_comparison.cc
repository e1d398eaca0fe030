#include "bridgemark/metric/paired_comparison.h"

#include <algorithm>
#include <numbers>

#include "bridgemark/math/philox.h"
#include "bridgemark/metric/estimate.h"

namespace bridgemark {

namespace {

constexpr double kRoundOff = 1e-9;  // what is left of equal differences, relative to them
// A resample's standard error counts as this share of that of all blocks at least: where all blocks
// but a few are alike, a resample without those few has none, and would say that no gap, however
// large, can be told apart. Smaller than that it is by chance almost never.
constexpr double kLeastError = 0.25;

double mean_of(const BlockMeans& blocks) {
  double sum = 0.0;
  for (std::size_t b = 0; b < blocks.means.size(); ++b) {
    sum += static_cast<double>(blocks.block_rows(b)) * blocks.means[b];
  }
  return sum / static_cast<double>(blocks.rows);
}

bool comparable(const Trainings& first, const Trainings& second) {
  if (first.empty() || second.empty()) return false;
  const BlockMeans& one = *first[0];
  const auto alike = [&](const BlockMeans* other) {
    return other->rows == one.rows && other->means.size() == one.means.size();
  };
  return one.means.size() >= kFewestComparedBlocks && std::ranges::all_of(first, alike) &&
         std::ranges::all_of(second, alike);
}

// The mean over trainings of each block, first minus second.
BlockMeans differences_of(const Trainings& first, const Trainings& second) {
  BlockMeans differences{first[0]->rows, std::vector<double>(first[0]->means.size(), 0.0)};
  const auto add = [&](const Trainings& trainings, double sign) {
    const double share = sign / static_cast<double>(trainings.size());
    for (const BlockMeans* blocks : trainings) {
      for (std::size_t b = 0; b < differences.means.size(); ++b) {
        differences.means[b] += share * blocks->means[b];
      }
    }
  };
  add(first, 1.0);
  add(second, -1.0);
  double size = 0.0;
  for (const double mean : first[0]->means) size = std::max(size, std::abs(mean));
  for (double& difference : differences.means) {
    if (std::abs(difference) < kRoundOff * size) difference = 0.0;
  }
  return differences;
}

// Of the mean over trainings; 0 for a single one, which is then all there is.
struct TrainingSpread {
  double variance = 0.0;
  double degrees_of_freedom = 0.0;
};

TrainingSpread spread_of(const Trainings& trainings, const ExpectedSpread& expected) {
  const auto count = static_cast<double>(trainings.size());
  if (trainings.size() < 2) return {};
  std::vector<double> means;
  for (const BlockMeans* blocks : trainings) means.push_back(mean_of(*blocks));
  const double error = estimate_mean(means).standard_error, own = count * error * error;
  const double degrees = count - 1.0 + expected.degrees_of_freedom;
  const double both =
      ((count - 1.0) * own + expected.degrees_of_freedom * expected.variance) / degrees;
  return {std::max(own, both) / count, degrees};
}

double half_width_over_trainings(const TrainingSpread& first, const TrainingSpread& second) {
  double variance = 0.0, satterthwaite = 0.0;
  for (const TrainingSpread& spread : {first, second}) {
    if (spread.variance == 0.0) continue;
    variance += spread.variance;
    satterthwaite += spread.variance * spread.variance / spread.degrees_of_freedom;
  }
  if (variance == 0.0) return 0.0;
  const int degrees = std::max(1, static_cast<int>(variance * variance / satterthwaite));
  return student_quantile(degrees, kTrainingConfidence) * std::sqrt(variance);
}

// P(|T| <= t), the finite sums of Abramowitz and Stegun 26.7.3 and 26.7.4.
double student_probability(int degrees_of_freedom, double t) {
  const double angle = std::atan(t / std::sqrt(degrees_of_freedom));
  const bool odd = degrees_of_freedom % 2 == 1;
  double term = odd ? std::cos(angle) : 1.0, sum = degrees_of_freedom == 1 ? 0.0 : term;
  for (int k = odd ? 3 : 2; k < degrees_of_freedom; k += 2) {
    term *= std::cos(angle) * std::cos(angle) * (k - 1.0) / k;
    sum += term;
  }
  sum *= std::sin(angle);
  return odd ? 2.0 / std::numbers::pi * (angle + sum) : sum;
}

}  // namespace

double student_quantile(int degrees_of_freedom, double confidence) {
  double low = 0.0, high = 1.0;
  while (student_probability(degrees_of_freedom, high) < confidence) high *= 2.0;
  for (int halving = 0; halving < 60; ++halving) {
    const double middle = 0.5 * (low + high);
    (student_probability(degrees_of_freedom, middle) < confidence ? low : high) = middle;
  }
  return high;
}

const std::vector<double>& PairedComparer::resamples(std::size_t blocks) {
  std::vector<double>& counts = resamples_[blocks];
  if (!counts.empty()) return counts;
  counts.assign(kResamples * blocks, 0.0);
  for (std::size_t r = 0; r < kResamples; ++r) {
    DrawSequence draws({0, DrawPurpose::kBootstrap}, r);
    for (std::size_t i = 0; i < blocks; ++i) {
      const auto b = static_cast<std::size_t>(draws.uniform() * static_cast<double>(blocks));
      counts[r * blocks + std::min(b, blocks - 1)] += 1.0;
    }
  }
  return counts;
}

double PairedComparer::half_width_over_inputs(const BlockMeans& differences) {
  const std::size_t blocks = differences.means.size();
  const double mean = mean_of(differences);
  std::vector<double> weight(blocks), deviation(blocks);  // of each block: its share of the inputs
  double variance = 0.0;
  for (std::size_t b = 0; b < blocks; ++b) {
    weight[b] =
        static_cast<double>(differences.block_rows(b)) / static_cast<double>(differences.rows);
    deviation[b] = differences.means[b] - mean;
    variance += weight[b] * weight[b] * deviation[b] * deviation[b];
  }
  const double standard_error = std::sqrt(variance);
  if (standard_error <= kRoundOff * std::abs(mean)) return 0.0;
  const std::vector<double>& counts = resamples(blocks);
  std::vector<double> studentised(kResamples);
  for (std::size_t r = 0; r < kResamples; ++r) {
    const double* count = counts.data() + r * blocks;
    double weights = 0.0, sum = 0.0, squares = 0.0;
    for (std::size_t b = 0; b < blocks; ++b) {
      weights += count[b] * weight[b];
      sum += count[b] * weight[b] * deviation[b];
    }
    const double shift = sum / weights;
    for (std::size_t b = 0; b < blocks; ++b) {
      const double from_mean = weight[b] * (deviation[b] - shift);
      squares += count[b] * from_mean * from_mean;
    }
    studentised[r] = shift / std::max(std::sqrt(squares) / weights, kLeastError * standard_error);
  }
  constexpr double kTail = 0.5 * (1.0 - kComparisonConfidence);
  const auto rank = static_cast<std::ptrdiff_t>(kTail * kResamples);
  const auto low = studentised.begin() + rank, high = studentised.end() - 1 - rank;
  std::nth_element(studentised.begin(), low, studentised.end());
  std::nth_element(low + 1, high, studentised.end());
  return std::max(0.0, mean > 0.0 ? *high : -*low) * standard_error;
}

std::optional<Comparison> PairedComparer::compare(const Trainings& first, const Trainings& second,
                                                  const ExpectedSpread& of_first,
                                                  const ExpectedSpread& of_second) {
  if (!comparable(first, second)) return {};
  const BlockMeans differences = differences_of(first, second);
  return Comparison{mean_of(differences),
                    std::hypot(half_width_over_inputs(differences),
                               half_width_over_trainings(spread_of(first, of_first),
                                                         spread_of(second, of_second)))};
}

}  // namespace bridgemark
