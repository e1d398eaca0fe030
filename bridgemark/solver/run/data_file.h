#pragma once

#include <filesystem>

#include "bridgemark/pair/fit_problem.h"

// The data that a run was fitted to, in its folder: the run needs nothing else to be read or to go
// on.
namespace bridgemark {

inline constexpr char kRunData[] = "data.safetensors";

// x0 [n,D] and x1 [m,D] as int32, a matrix reference as reference_matrix [S,S]; kind, gamma, steps
// and categories of the reference in the metadata. The problem is one of data.
void save_data(const FitProblem& problem, const std::filesystem::path& path);

// Throws FileError.
FitProblem load_data(const std::filesystem::path& path);

// Whether both are the same rows over the same reference, a matrix to 1e-12.
bool same_data(const FitProblem& a, const FitProblem& b);

}  // namespace bridgemark
