#include "bridgemark/metric/held_out_objective.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <utility>

#include "bridgemark/bridge/column_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/states.h"

namespace bridgemark {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool rules_out(const HeldOutObjective& objective) { return objective.value == -kInfinity; }

bool has_zero(std::span<const double> logs) {
  return std::ranges::find(logs, -kInfinity) != logs.end();
}

// mean at_x1 - mean at_x0 with its error, for finite values.
MeanEstimate difference_of_means(std::span<const double> at_x1, std::span<const double> at_x0) {
  const MeanEstimate v = estimate_mean(at_x1), c = estimate_mean(at_x0);
  const bool known = at_x1.size() > 1 && at_x0.size() > 1;
  return {v.mean - c.mean, known ? std::hypot(v.standard_error, c.standard_error) : kInfinity};
}

std::vector<double> minus(std::span<const double> a, std::span<const double> b) {
  std::vector<double> difference(a.size());
  std::ranges::transform(a, b, difference.begin(), std::minus<>());
  return difference;
}

}  // namespace

namespace {

template <typename AnyBridge>
HeldOutObjective objective_of(const Context& context, const AnyBridge& bridge, StatesView x0,
                              StatesView x1) {
  std::vector<double> log_v(x1.rows), log_c(x0.rows);
  bridge.log_potential(context, x1, log_v);
  bridge.log_normalizer(context, x0, log_c);
  return held_out_objective(std::move(log_v), std::move(log_c));
}

}  // namespace

HeldOutObjective held_out_objective(const Context& context, const Bridge& bridge, StatesView x0,
                                    StatesView x1) {
  check_states("x0", x0, bridge.dim(), bridge.num_categories());
  check_states("x1", x1, bridge.dim(), bridge.num_categories());
  return objective_of(context, bridge, x0, x1);
}

HeldOutObjective held_out_objective(const Context& context, const ColumnBridge& bridge,
                                    StatesView x0, StatesView x1) {
  bridge.reference().check("x0", x0);
  bridge.reference().check("x1", x1);
  return objective_of(context, bridge, x0, x1);
}

HeldOutObjective held_out_objective(std::vector<double> log_v, std::vector<double> log_c) {
  if (log_c.empty() || log_v.empty()) {
    throw_invalid("objective", "rows must be there at both ends, got {} of x0 and {} of x1",
                  log_c.size(), log_v.size());
  }
  HeldOutObjective objective;
  objective.log_v = std::move(log_v);
  objective.log_c = std::move(log_c);
  if (has_zero(objective.log_v) || has_zero(objective.log_c)) {
    objective.value = -kInfinity;
    return objective;
  }
  const MeanEstimate estimate = difference_of_means(objective.log_v, objective.log_c);
  objective.value = estimate.mean;
  objective.standard_error = estimate.standard_error;
  return objective;
}

MeanEstimate objective_difference(const HeldOutObjective& a, const HeldOutObjective& b) {
  if (a.log_v.size() != b.log_v.size() || a.log_c.size() != b.log_c.size()) {
    throw_invalid("objective",
                  "objectives must be of the same rows, got {} and {} of x0, {} and {} of x1",
                  a.log_c.size(), b.log_c.size(), a.log_v.size(), b.log_v.size());
  }
  if (rules_out(a) && rules_out(b)) return {0.0, kInfinity};
  if (rules_out(a)) return {-kInfinity, 0.0};
  if (rules_out(b)) return {kInfinity, 0.0};
  return difference_of_means(minus(a.log_v, b.log_v), minus(a.log_c, b.log_c));
}

}  // namespace bridgemark
