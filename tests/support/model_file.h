#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bridgemark/io/safetensors.h"

namespace bridgemark::testing {

// All values of a run's model, tensor after tensor.
inline std::vector<double> parameters_of(const std::filesystem::path& folder) {
  const SafetensorsFile file = SafetensorsFile::load(folder / "model.safetensors");
  std::vector<double> all;
  for (const std::string& name : file.names()) {
    const std::vector<double> values = file.read_doubles(name);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

}  // namespace bridgemark::testing
