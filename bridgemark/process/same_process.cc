#include "bridgemark/process/same_process.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "bridgemark/process/low_rank_step.h"

namespace bridgemark {

namespace {

// Whether all entries agree to 1e-12 as `of` sees them.
template <typename Of = std::identity>
bool is_near(const Matrix<double>& a, const Matrix<double>& b, Of of = {}) {
  if (a.rows() != b.rows() || a.cols() != b.cols()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(of(a.data()[i]) - of(b.data()[i])) <= 1e-12)) return false;
  }
  return true;
}

}  // namespace

bool same_process(const ReferenceProcess& a, const ReferenceProcess& b) {
  if (a.kind() != b.kind() || a.num_categories() != b.num_categories() ||
      a.total_steps() != b.total_steps()) {
    return false;
  }
  if (const LowRankStep* const step = a.low_rank_step()) {
    return a.gamma() == b.gamma() && is_near(step->u(), b.low_rank_step()->u()) &&
           is_near(step->v(), b.low_rank_step()->v());
  }
  if (a.kind() != ReferenceKind::kMatrix) return a.gamma() == b.gamma();
  return is_near(a.log_power_once({}, 1), b.log_power_once({}, 1),
                 [](double log) { return std::exp(log); });
}

std::string reference_text(const ReferenceProcess& process) {
  if (const LowRankStep* const step = process.low_rank_step()) {
    return fmt::format("of rank {} with gamma {} and {} steps", step->rank(), process.gamma(),
                       process.total_steps());
  }
  return process.kind() == ReferenceKind::kMatrix
             ? fmt::format("a matrix with {} steps", process.total_steps())
             : fmt::format("{} with gamma {} and {} steps", reference_kind_name(process.kind()),
                           process.gamma(), process.total_steps());
}

}  // namespace bridgemark
