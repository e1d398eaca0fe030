#include "cli/solver_text.h"

#include <fmt/format.h>

namespace bridgemark::cli {

std::string solver_text(const Solver& solver) {
  std::string text = fmt::format("  {:<14} {}\n", solver.name(), solver.description());
  for (const OptionSpec& spec : solver.options()) {
    text += fmt::format("    {}={}  {}\n", spec.key, spec.initial_value(), spec.described());
  }
  return text;
}

}  // namespace bridgemark::cli
