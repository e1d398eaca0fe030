#include "bridgemark/submission/challenge/open_distance.h"

#include <algorithm>
#include <cmath>

#include "bridgemark/metric/paired_comparison.h"

namespace bridgemark {

namespace {

std::vector<double> logs_of(const std::vector<double>& distances) {
  std::vector<double> logs;
  for (const double distance : distances)
    logs.push_back(std::log(std::max(distance, kLeastDistance)));
  return logs;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

}  // namespace

std::vector<PresetVerdict> compare_with_open(const std::vector<PresetDistances>& presets) {
  double squares = 0.0;
  int degrees = 0;
  for (const PresetDistances& preset : presets) {
    const std::vector<double> logs = logs_of(preset.revealed);
    const double mean = mean_of(logs);
    for (const double value : logs) squares += (value - mean) * (value - mean);
    degrees += static_cast<int>(logs.size()) - 1;
  }
  const double deviation = std::sqrt(squares / degrees);
  const double each = kFarByChance / static_cast<double>(presets.size());
  const double t = student_quantile(degrees, 1.0 - 2.0 * each);  // |T| exceeds it both ways
  std::vector<PresetVerdict> verdicts;
  for (const PresetDistances& preset : presets) {
    const double open = mean_of(logs_of(preset.open)), revealed = mean_of(logs_of(preset.revealed));
    const double limit =
        t * deviation * std::sqrt(1.0 + 1.0 / static_cast<double>(preset.revealed.size()));
    verdicts.push_back({preset.preset, std::exp(open), std::exp(revealed),
                        std::exp(revealed - open), std::exp(limit), revealed - open > limit});
  }
  return verdicts;
}

}  // namespace bridgemark
