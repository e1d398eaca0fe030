#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace bridgemark {

// An experiment file of this repository, which the library has in it: "paper-cpu" is
// experiments/paper-cpu.toml.
struct NamedExperiment {
  std::string_view name;
  std::string_view text;
};

// All of them, by name.
std::span<const NamedExperiment> named_experiments();

// Empty for a name that is none of them.
std::optional<NamedExperiment> find_named_experiment(std::string_view name);

}  // namespace bridgemark
