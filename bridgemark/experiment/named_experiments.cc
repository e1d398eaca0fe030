#include "bridgemark/experiment/named_experiments.h"

namespace bridgemark {

std::optional<NamedExperiment> find_named_experiment(std::string_view name) {
  for (const NamedExperiment& experiment : named_experiments()) {
    if (experiment.name == name) return experiment;
  }
  return std::nullopt;
}

}  // namespace bridgemark
