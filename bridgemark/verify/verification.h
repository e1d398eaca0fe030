#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bridgemark/core/context.h"

namespace bridgemark {

// The largest error of one recomputed tensor, and what is allowed.
struct TensorCheck {
  std::string tensor;
  double max_error = 0.0;
  double tolerance = 0.0;

  bool passed() const { return max_error <= tolerance; }  // NaN fails
};

struct Verification {
  std::string kind;
  std::vector<TensorCheck> checks;

  bool passed() const;
};

// Recomputes the reference values in a safetensors file. Its kind is told by the tensors it holds;
// throws FileError for a kind that is not known, with the names of those that are.
Verification verify_file(const Context& context, const std::filesystem::path& path);

}  // namespace bridgemark
