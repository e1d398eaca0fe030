#pragma once

#include <cstdint>
#include <filesystem>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/pair/benchmark_pair.h"

// What an outside solver leaves for a report's figures, since nobody can ask it again.
namespace bridgemark {

inline constexpr std::size_t kAddedSamples = 1000;  // rows of samples.npy, where there are
inline constexpr char kAddedSamplesFile[] = "samples.npy";
inline constexpr char kAddedConditionalFile[] = "conditional.npy";
inline constexpr char kAddedTrajectoriesFile[] = "trajectories.npy";

struct FigureAnswers {
  States samples;                     // to the first test rows
  Array3<std::int32_t> conditional;   // [inputs of figure_inputs(), draws, D]; empty where not kept
  Array3<std::int32_t> trajectories;  // [paths, steps + 1, D]; empty where it has no steps
};

// Writes them to files of these names, those that the solver has. `conditional_samples` and the
// seed are those of the evaluation, which files of answers have draws for; `num_steps` is its grid.
void save_figure_answers(const Context& context, const BenchmarkPair& pair,
                         const Coupling& coupling, std::uint64_t seed,
                         std::size_t conditional_samples, int num_steps,
                         const std::filesystem::path& folder);

// Throws FileError for states that do not fit the pair. Draws and paths of more inputs than the
// figures have are left out.
FigureAnswers load_figure_answers(const BenchmarkPair& pair, const std::filesystem::path& folder);

}  // namespace bridgemark
