#include <filesystem>
#include <map>
#include <set>

#include "bridgemark/core/error.h"
#include "bridgemark/core/suggest.h"
#include "bridgemark/experiment/experiment.h"
#include "bridgemark/experiment/name_pattern.h"
#include "bridgemark/pair/pair_spec.h"

// Runs by name: which are selected, what each is scored as, and how their ids come about.
namespace bridgemark {

std::vector<ExperimentRun> select_runs(const std::vector<ExperimentRun>& runs,
                                       const std::vector<std::string>& filters) {
  if (filters.empty()) return runs;
  std::set<std::string> used;
  std::vector<ExperimentRun> selected;
  for (const ExperimentRun& run : runs) {
    bool wanted = false;
    for (const std::string& filter : filters) {
      const bool hit =
          is_pattern(filter) ? matches(filter, run.id) : run.id.find(filter) != std::string::npos;
      if (hit) used.insert(filter);
      wanted = wanted || hit;
    }
    if (wanted) selected.push_back(run);
  }
  for (const std::string& filter : filters) {
    if (used.contains(filter)) continue;
    std::vector<std::string> ids;
    for (const ExperimentRun& run : runs) ids.push_back(run.id);
    throw_invalid("run", "only '{}' names no run{}", filter, nearest_hint(filter, ids));
  }
  return selected;
}

std::vector<ExperimentRun> scored_runs(const ExperimentRun& run) {
  if (!run.both_directions) return {run};
  ExperimentRun reverse = run;
  reverse.scored_pair = run.config.pair + std::string(kReverseSuffix);
  const std::string of_pair = run_id_text(run.config.pair, "");
  const bool named = run.id.starts_with(of_pair);  // as all that an experiment's file asks for
  reverse.id = run_id_text(reverse.scored_pair, named ? run.id.substr(of_pair.size()) : run.id);
  reverse.evaluation.c2st = true;  // as always for a reversed pair
  return {run, reverse};
}

std::string run_id_text(const std::string& pair, const std::string& rest) {
  std::string name = std::filesystem::path(pair).lexically_normal().string();
  while (name.ends_with('/')) name.pop_back();
  std::string id = name.substr(name.rfind('/') + 1) + "." + rest;
  for (char& c : id) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && c != '.' && c != '-' && c != '_') c = '-';
  }
  return id;
}

std::string solver_title(const std::string& solver) {
  static const std::map<std::string, std::string> titles = {{"oracle", "Oracle"},
                                                            {"independent", "Independent"},
                                                            {"reference", "Reference"},
                                                            {"feature-wise", "Feature-wise SB"},
                                                            {"sinkhorn", "Sinkhorn"},
                                                            {"dlightsb", "DLightSB"},
                                                            {"dlightsb-m", "DLightSB-M"},
                                                            {"csbm", "CSBM"},
                                                            {"alpha-csbm", "α-CSBM"},
                                                            {"dlightsb-chain", "DLightSB-chain"},
                                                            {"dlightsb-tree", "DLightSB-tree"}};
  const auto found = titles.find(solver);
  return found == titles.end() ? solver : found->second;
}

}  // namespace bridgemark
