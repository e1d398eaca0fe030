#include "bridgemark/solver/run/run_pair.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/pair/pair_record.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/solver/core/options.h"

namespace bridgemark {

namespace {

namespace fs = std::filesystem;

fs::path whole_path(const fs::path& path) {
  std::error_code error;
  fs::path whole = fs::weakly_canonical(fs::absolute(path, error), error);
  if (error) return path;
  return whole.has_filename() ? whole : whole.parent_path();
}

// Where the folder of the pair may be, the likeliest first; a preset has none.
std::vector<std::string> places_of_pair(const RunConfig& config, const fs::path& run_folder) {
  std::vector<std::string> places;
  if (config.pair_paths) {
    places = {whole_path(run_folder / config.pair_paths->from_run).string(),
              config.pair_paths->whole};
  }
  places.push_back(config.pair);
  return places;
}

// By its name or by its place.
bool names_same_pair(const RunConfig& run, const fs::path& run_folder, const std::string& asked) {
  if (run.pair == asked) return true;
  if (!run.pair_paths || find_preset(asked) || !is_folder(asked)) return false;
  const std::vector<std::string> places = places_of_pair(run, run_folder);
  return std::ranges::any_of(
      places, [&](const std::string& place) { return whole_path(place) == whole_path(asked); });
}

}  // namespace

std::optional<RunConfig::PairPaths> paths_of_pair(const std::string& pair,
                                                  const fs::path& run_folder) {
  if (pair.empty() || find_preset(pair) || !is_folder(pair)) return std::nullopt;
  const fs::path whole = whole_path(pair);
  return RunConfig::PairPaths{whole.string(),
                              whole.lexically_relative(whole_path(run_folder)).string()};
}

std::optional<BenchmarkPair> find_pair_of_run(const RunConfig& config, const fs::path& run_folder,
                                              const nlohmann::json& record) {
  if (find_preset(config.pair)) return load_pair(config.pair);
  for (const std::string& place : places_of_pair(config, run_folder)) {
    if (!is_folder(place)) continue;
    BenchmarkPair pair = load_pair(place);
    if (same_pair(pair_record(pair), record)) return pair;
  }
  return std::nullopt;
}

BenchmarkPair load_pair_of_run(const RunConfig& config, const fs::path& run_folder,
                               const nlohmann::json& record) {
  std::optional<BenchmarkPair> pair = find_pair_of_run(config, run_folder, record);
  if (pair) return *std::move(pair);
  std::vector<std::string> places = places_of_pair(config, run_folder);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  throw_file(run_folder.string(), "its pair {} must be in one of [{}]; none of them has it",
             pair_text(record), fmt::join(places, ", "));
}

bool is_same_request(const RunConfig& run, const fs::path& run_folder, const RunConfig& asked,
                     const std::vector<OptionSpec>& specs) {
  if (run.solver != asked.solver || run.seed != asked.seed || run.rows != asked.rows ||
      !names_same_pair(run, run_folder, asked.pair)) {
    return false;
  }
  if (run.options == asked.options) return true;
  const auto is_known = [&](const auto& option) {
    return std::ranges::find(specs, option.first, &OptionSpec::key) != specs.end();
  };
  return std::ranges::all_of(run.options, is_known) &&
         used_options(specs, run.options) == used_options(specs, asked.options);
}

}  // namespace bridgemark
