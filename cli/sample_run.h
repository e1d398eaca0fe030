#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bridgemark/core/context.h"

namespace bridgemark::cli {

struct RunSample {
  std::string run;        // folder
  std::string given;      // .npy [rows,D]
  std::string condition;  // labels of the given rows, .npy [rows]; empty: the run knows none
  bool trajectory = false;
  std::optional<int> num_steps;  // of a trajectory; else those that the run was trained with
  bool reverse = false;          // x0 given x1
  std::uint64_t seed = 0;
  std::string output;
};

// Draws from what a run has learned, whatever it was fitted to: x1 [rows,D] for the given rows, or
// trajectories [rows,M+1,D] from them.
void sample_run(const Context& context, const RunSample& request);

}  // namespace bridgemark::cli
