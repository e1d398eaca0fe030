#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/solver/core/option_spec.h"
#include "bridgemark/solver/run/run.h"

// How a run finds the pair that it was fitted to again: by a preset's name, or by the folder, as it
// lies from the run, where both have moved together, by its whole path, where the run alone has
// moved, or as it was given.
namespace bridgemark {

// The paths that config.toml keeps of a pair's folder; nothing for a preset.
std::optional<RunConfig::PairPaths> paths_of_pair(const std::string& pair,
                                                  const std::filesystem::path& run_folder);

// The pair of the run; a folder that holds another pair than the record says is passed over.
// Nothing where there is none of them.
std::optional<BenchmarkPair> find_pair_of_run(const RunConfig& config,
                                              const std::filesystem::path& run_folder,
                                              const nlohmann::json& record);

// Throws FileError, naming the paths, where there is none.
BenchmarkPair load_pair_of_run(const RunConfig& config, const std::filesystem::path& run_folder,
                               const nlohmann::json& record);

// Whether the run in the folder is the one that is asked for: the same solver, pair, seed and rows,
// and every option that is used. `specs` are the solver's.
bool is_same_request(const RunConfig& run, const std::filesystem::path& run_folder,
                     const RunConfig& asked, const std::vector<OptionSpec>& specs);

}  // namespace bridgemark
