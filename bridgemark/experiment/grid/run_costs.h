#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/experiment/experiment.h"
#include "bridgemark/experiment/results.h"

namespace bridgemark {

// What finished runs took, by solver and dimension, and so what others of their kind may take.
class RunCosts {
 public:
  void add_memory(const ExperimentRun& run, const std::vector<RunResult>& results);
  void add_seconds(const ExperimentRun& run, double seconds);

  // Of memory, at its peak; a guess where no run of this kind is known.
  std::uint64_t expected_bytes(const ExperimentRun& run) const;
  // The mean of its kind, or of all runs where none of its kind is known.
  double expected_seconds(const ExperimentRun& run) const;
  bool knows_seconds() const { return all_.timed > 0; }

 private:
  struct Cost {
    double seconds = 0.0;
    int timed = 0;  // runs of these seconds
    std::uint64_t peak_bytes = 0;
  };

  const Cost* find(const ExperimentRun& run) const;
  Cost& of(const ExperimentRun& run) { return costs_[{run.config.solver, run.dim}]; }

  std::map<std::pair<std::string, int>, Cost> costs_;
  Cost all_;
};

}  // namespace bridgemark
