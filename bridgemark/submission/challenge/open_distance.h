#pragma once

#include <string>
#include <vector>

// Whether a solver is as good on pairs that it could not know as on those that everybody knows.
namespace bridgemark {

// A distance below this cannot be told from 0: for a law d nats from the truth the mean of
// log q*/q over the 20,000 test rows has an error of about sqrt(2 d / 20,000), which is d / 2 where
// d is 8 / 20,000.
inline constexpr double kLeastDistance = 4e-4;

// How often a solver that is equally good on all instances of a preset is named far, over all
// presets that are compared.
inline constexpr double kFarByChance = 0.01;

// A solver's distances from the truth on a preset and on instances of it.
struct PresetDistances {
  std::string preset;
  std::vector<double> open;      // of the preset, one for each training
  std::vector<double> revealed;  // of its instances, one for each
};

struct PresetVerdict {
  std::string preset;
  double open = 0.0;  // geometric means
  double revealed = 0.0;
  double times = 0.0;   // revealed / open
  double may_be = 0.0;  // what the spread over instances explains
  bool far = false;     // times is more than that
};

// A preset is one more draw of its family. So the logarithm of its distance belongs to those of its
// instances, and exceeds their mean by no more than Student's t times their standard deviation,
// times sqrt(1 + 1 / instances): one-sided, the deviation pooled over the presets. Distances count
// as at least kLeastDistance; they are finite, and each preset has one of its own and two of
// instances at least.
std::vector<PresetVerdict> compare_with_open(const std::vector<PresetDistances>& presets);

}  // namespace bridgemark
