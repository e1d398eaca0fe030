#include "bridgemark/process/same_process.h"

#include <fmt/format.h>

#include <cmath>

namespace bridgemark {

bool same_process(const ReferenceProcess& a, const ReferenceProcess& b) {
  if (a.kind() != b.kind() || a.num_categories() != b.num_categories() ||
      a.total_steps() != b.total_steps()) {
    return false;
  }
  if (a.kind() != ReferenceKind::kMatrix) return a.gamma() == b.gamma();
  const Matrix<double>&p = a.log_power({}, 1), &q = b.log_power({}, 1);
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (!(std::abs(std::exp(p.data()[i]) - std::exp(q.data()[i])) <= 1e-12)) return false;
  }
  return true;
}

std::string reference_text(const ReferenceProcess& process) {
  return process.kind() == ReferenceKind::kMatrix
             ? fmt::format("a matrix with {} steps", process.total_steps())
             : fmt::format("{} with gamma {} and {} steps", reference_kind_name(process.kind()),
                           process.gamma(), process.total_steps());
}

}  // namespace bridgemark
