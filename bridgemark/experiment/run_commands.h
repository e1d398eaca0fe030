#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bridgemark/experiment/experiment.h"

// The two commands of a run, without the program's name: what reproduces it by hand.
namespace bridgemark {

std::vector<std::string> train_arguments(const ExperimentRun& run,
                                         const std::filesystem::path& run_folder);
std::vector<std::string> evaluate_arguments(const ExperimentRun& run,
                                            const std::filesystem::path& run_folder);

}  // namespace bridgemark
