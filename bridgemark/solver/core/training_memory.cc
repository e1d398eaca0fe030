#include "bridgemark/solver/core/training_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "bridgemark/core/error.h"
#include "bridgemark/core/free_memory.h"

namespace bridgemark {

void require_training_memory(std::string_view solver, const FitProblem& problem,
                             std::initializer_list<MemoryPart> parts) {
  double bytes = 0.0;
  for (const MemoryPart& part : parts) bytes += part.bytes;
  const auto largest = std::ranges::max_element(parts, {}, &MemoryPart::bytes);
  require_memory(bytes,
                 fmt::format("a training of {} on D = {}, S = {}", solver, problem.dim(),
                             problem.num_categories()),
                 largest->lower);
}

void require_tables(std::string_view who, const FitProblem& problem) {
  const ReferenceProcess process = problem.reference();
  if (process.has_tables()) return;
  throw_invalid("reference", "{} takes at most {} categories of a {} reference, got {}", who,
                kMaxFactoredTable, reference_kind_name(process.kind()), process.num_categories());
}

double matching_tables_bytes(const FitProblem& problem, int num_steps) {
  // Doubles: the power, its logarithm, log and linear rows of both sides; floats: two more.
  constexpr double kBytes = 6.0 * sizeof(double) + 2.0 * sizeof(float);
  const double S = problem.num_categories();
  return kBytes * S * S * (num_steps + 1.0);
}

}  // namespace bridgemark
