#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/context.h"
#include "bridgemark/io/safetensors.h"
#include "bridgemark/solver/core/training_data.h"

namespace bridgemark {

// Whether the walks of a training lose their ends from one D-IMF iteration to the next. Rows of
// either end are walked to the other after each iteration; the marginals where they end are held
// against rows of that end. The first iteration trains on rows of both ends, so what later ones
// lack of its agreement is drift.
class WalkEnds {
 public:
  static constexpr std::size_t kRows = 8192;
  // A loss of shape that is drift: where walks keep their ends iterations move it by less
  // (results/csbm).
  static constexpr double kDrift = 0.015;

  // Walks run on `context`, rows are drawn by `host`.
  WalkEnds(const Context& context, const Context& host, const TrainingData& data,
           std::uint64_t seed, double drift = kDrift);

  // Looks at the coupling that iteration `of_iteration` has ended in.
  void look(int of_iteration, const Coupling& coupling);

  // Whether there was a look, and none saw drift.
  bool have_kept() const { return !shapes_.empty() && drifted_after_ == 0; }

  // The iteration after which drift was first seen; 0 for none.
  int drifted_after() const { return drifted_after_; }

  // "0.975, 0.950": the shape forward (0) or backward (1) after each iteration.
  std::string shapes(std::size_t direction) const;

  void save(SafetensorsWriter& writer) const;
  void load(const SafetensorsFile& file);

 private:
  double shape(const Coupling& coupling, StatesView from, StatesView to, std::uint32_t walk) const;
  void note_drift();

  Context context_;
  std::uint64_t seed_;
  double drift_;
  States x0_, x1_;
  std::vector<double> shapes_;  // forward and backward, iteration after iteration
  int drifted_after_ = 0;
};

}  // namespace bridgemark
