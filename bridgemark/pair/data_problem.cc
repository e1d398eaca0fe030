#include "bridgemark/pair/data_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/pair/custom_pair.h"
#include "bridgemark/pair/reachable_rows.h"
#include "bridgemark/process/gamma_proposal.h"
#include "bridgemark/process/same_process.h"

namespace bridgemark {

namespace {

int largest_category(const States& states) {
  const std::span<const std::int32_t> values(states.data(), states.size());
  return values.empty() ? 0 : *std::ranges::max_element(values);
}

// Rows of a reference that is given by arrays.
std::optional<std::size_t> rows_of(const GivenReference& reference) {
  if (const auto* matrix = std::get_if<Matrix<double>>(&reference)) return matrix->rows();
  if (const auto* low_rank = std::get_if<LowRankFactors>(&reference)) return low_rank->u.rows();
  if (const auto* graph = std::get_if<GraphWeights>(&reference)) return graph->num_categories();
  return std::nullopt;
}

// S: given, else the reference's, else one more than the largest category.
int categories_of(const DataParts& parts) {
  const std::optional<std::size_t> rows = rows_of(parts.reference);
  if (rows && parts.num_categories &&
      *rows != static_cast<std::size_t>(std::max(*parts.num_categories, 0))) {
    throw_invalid("data", "num_categories must be {} like the reference's rows, got {}", *rows,
                  *parts.num_categories);
  }
  if (parts.num_categories) return *parts.num_categories;
  if (rows) return static_cast<int>(*rows);
  const int largest = std::max(largest_category(parts.x0), largest_category(parts.x1));
  if (largest >= kMaxCategories) {
    throw_invalid("data", "x0 and x1 must hold categories below {}, got {}", kMaxCategories,
                  largest);
  }
  return std::max(largest + 1, 2);
}

// Of a reference for which none is proposed.
double given_gamma(const DataParts& parts, std::string_view reference) {
  if (parts.gamma) return *parts.gamma;
  throw_invalid("data", "gamma must be given with {}, got none", reference);
}

}  // namespace

DataProblem make_data_problem(const Context& context, DataParts parts) {
  const int S = categories_of(parts);
  std::string note;
  const auto make_reference = [&] {
    if (const auto* matrix = std::get_if<Matrix<double>>(&parts.reference)) {
      if (parts.gamma) {
        throw_invalid("data", "gamma belongs to any reference but a matrix, got {} and a matrix",
                      *parts.gamma);
      }
      return ReferenceProcess::from_matrix(*matrix, parts.total_steps);
    }
    if (const auto* low_rank = std::get_if<LowRankFactors>(&parts.reference)) {
      return ReferenceProcess::low_rank(low_rank->u, low_rank->v,
                                        given_gamma(parts, "a reference of low rank"),
                                        parts.total_steps);
    }
    if (const auto* graph = std::get_if<GraphWeights>(&parts.reference)) {
      return ReferenceProcess::graph(*graph, given_gamma(parts, "a graph"), parts.total_steps);
    }
    const ReferenceKind kind = named_reference(std::get<std::string>(parts.reference));
    if (kind == ReferenceKind::kBirthDeath || kind == ReferenceKind::kAbsorbing) {
      given_gamma(parts, fmt::format("a reference {}", reference_kind_name(kind)));
    }
    if (!parts.gamma) {
      parts.gamma = propose_gamma(context, kind, S, parts.total_steps);
      note = fmt::format(
          "[data] gamma {} was chosen for {} categories: the {} reference leads {:.0f} % as far as "
          "independent ends lie apart",
          *parts.gamma, S, reference_kind_name(kind), 100.0 * kProposedShare);
    }
    return ReferenceProcess::of_gamma(kind, S, *parts.gamma, parts.total_steps);
  };
  ReferenceProcess reference = make_reference();
  require_reachable(context, parts.x0, parts.x1, reference);
  return {FitProblem(std::move(parts.x0), std::move(parts.x1), std::move(reference)),
          std::move(note)};
}

void require_data_of_pair(const FitProblem& data, const BenchmarkPair& pair,
                          std::string_view what) {
  const auto refuse = [&](std::string_view part, const auto& here, const auto& there) {
    throw_invalid("data", "{} was fitted to data whose {} must be that of pair '{}', {}, got {}",
                  what, part, pair.identity().name, there, here);
  };
  const ReferenceProcess ours = data.reference(), theirs = pair.reference();
  if (data.dim() != pair.dim()) refuse("D", data.dim(), pair.dim());
  if (data.num_categories() != pair.num_categories()) {
    refuse("S", data.num_categories(), pair.num_categories());
  }
  if (!same_process(ours, theirs)) {
    const std::string here = reference_text(ours), there = reference_text(theirs);
    refuse("reference", here == there ? "another " + here : here, there);
  }
}

}  // namespace bridgemark
