#include "bridgemark/solver/core/training_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "bridgemark/backend/plan/sparse_power.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/free_memory.h"
#include "bridgemark/math/log_domain.h"

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
  if (!process.has_tables()) {
    throw_invalid("reference", "{} takes at most {} categories of a {} reference, got {}", who,
                  kMaxFactoredTable, reference_kind_name(process.kind()), process.num_categories());
  }
  const auto power = process.sparse_power({}, process.total_steps());
  if (!power || power->is_positive()) return;
  std::size_t from = 0;
  while (power->first[from + 1] - power->first[from] == power->num_categories()) ++from;
  std::size_t to = 0;
  while (power->log_entry(from, to) != kLogZero) ++to;
  throw_invalid("reference",
                "{} needs a reference that leads from each category to each other, and the {} one "
                "does not lead from {} to {} in {} steps; dlightsb takes it",
                who, reference_kind_name(process.kind()), from, to, process.total_steps());
}

double matching_tables_bytes(const FitProblem& problem, int num_steps) {
  // Doubles: the power, its logarithm, log and linear rows of both sides; floats: two more.
  constexpr double kBytes = 6.0 * sizeof(double) + 2.0 * sizeof(float);
  const double S = problem.num_categories();
  return kBytes * S * S * (num_steps + 1.0);
}

}  // namespace bridgemark
