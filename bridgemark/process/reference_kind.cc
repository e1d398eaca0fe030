#include <fmt/format.h>

#include <vector>

#include "bridgemark/process/reference_process.h"

namespace bridgemark {

namespace {

constexpr ReferenceKind kKinds[] = {ReferenceKind::kUniform,    ReferenceKind::kGaussian,
                                    ReferenceKind::kMatrix,     ReferenceKind::kLowRank,
                                    ReferenceKind::kBirthDeath, ReferenceKind::kAbsorbing,
                                    ReferenceKind::kGraph};

}  // namespace

std::string_view reference_kind_name(ReferenceKind kind) {
  switch (kind) {
    case ReferenceKind::kUniform:
      return "uniform";
    case ReferenceKind::kGaussian:
      return "gaussian";
    case ReferenceKind::kMatrix:
      return "matrix";
    case ReferenceKind::kLowRank:
      return "lowrank";
    case ReferenceKind::kBirthDeath:
      return "birth-death";
    case ReferenceKind::kAbsorbing:
      return "absorbing";
    case ReferenceKind::kGraph:
      return "graph";
  }
  return "";
}

std::string reference_kind_names() {
  std::vector<std::string_view> names;
  for (const ReferenceKind kind : kKinds) names.push_back(reference_kind_name(kind));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::optional<ReferenceKind> parse_reference_kind(std::string_view name) {
  for (const ReferenceKind kind : kKinds) {
    if (reference_kind_name(kind) == name) return kind;
  }
  return std::nullopt;
}

bool has_gamma_alone(ReferenceKind kind) {
  return kind == ReferenceKind::kUniform || kind == ReferenceKind::kGaussian ||
         kind == ReferenceKind::kBirthDeath || kind == ReferenceKind::kAbsorbing;
}

}  // namespace bridgemark
