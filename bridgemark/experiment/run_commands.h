#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bridgemark/experiment/experiment.h"

// The commands of a run, without the program's name: what reproduces it by hand.
namespace bridgemark {

std::vector<std::string> train_arguments(const ExperimentRun& run,
                                         const std::filesystem::path& run_folder);
// The command that makes it in the grid of an experiment's file, for a solver that `train` leaves
// to grids (outside_solver.h).
std::vector<std::string> grid_arguments(const ExperimentRun& run, const std::string& experiment,
                                        const std::filesystem::path& folder);
std::vector<std::string> evaluate_arguments(const ExperimentRun& run,
                                            const std::filesystem::path& run_folder);

}  // namespace bridgemark
