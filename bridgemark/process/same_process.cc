#include "bridgemark/process/same_process.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "bridgemark/process/low_rank_step.h"
#include "bridgemark/process/sparse_step.h"

namespace bridgemark {

namespace {

constexpr double kTolerance = 1e-12;

// Whether all entries agree as `of` sees them.
template <typename Of = std::identity>
bool is_near(const Matrix<double>& a, const Matrix<double>& b, Of of = {}) {
  if (a.rows() != b.rows() || a.cols() != b.cols()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(of(a.data()[i]) - of(b.data()[i])) <= kTolerance)) return false;
  }
  return true;
}

bool is_near(const backend::SparsePower& a, const backend::SparsePower& b) {
  if (a.first != b.first || a.to != b.to) return false;
  for (std::size_t i = 0; i < a.log.size(); ++i) {
    if (!(std::abs(std::exp(a.log[i]) - std::exp(b.log[i])) <= kTolerance)) return false;
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
  if (a.kind() == ReferenceKind::kGraph) {
    return a.gamma() == b.gamma() && is_near(*a.sparse_step()->step(), *b.sparse_step()->step());
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
