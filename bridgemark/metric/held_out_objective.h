#pragma once

#include <vector>

#include "bridgemark/bridge/bridge.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/metric/estimate.h"

// How close a bridge is to the one behind unpaired rows, without knowing it.
namespace bridgemark {

class ColumnBridge;

// D(v) = mean log v(x1) - mean log c(x0) over rows that the bridge was not trained on. The KL of
// the true bridge to this one is OPT - D(v) with the same unknown OPT for every potential, so that
// a difference of two objectives estimates the difference of the two KLs, without bias.
struct HeldOutObjective {
  // -inf where the bridge rules a row out: its v(x1) or c(x0) is 0.
  double value = 0.0;
  // sqrt(Var(log v) / n1 + Var(log c) / n0); 0 where the value is -inf, +inf where an end has a
  // single row.
  double standard_error = 0.0;
  std::vector<double> log_v;  // [n1], of each row of x1
  std::vector<double> log_c;  // [n0], of each row of x0
};

// Throws InvalidArgument for an end without rows, and for states of another space.
HeldOutObjective held_out_objective(const Context& context, const Bridge& bridge, StatesView x0,
                                    StatesView x1);

HeldOutObjective held_out_objective(const Context& context, const ColumnBridge& bridge,
                                    StatesView x0, StatesView x1);

// The same of values that are known already; throws InvalidArgument for an end without any.
HeldOutObjective held_out_objective(std::vector<double> log_v, std::vector<double> log_c);

// a - b of two objectives on the same rows, which is KL(truth || b) - KL(truth || a): positive
// where a is closer. The error is that of the differences row by row. Where one of them is -inf, so
// is the difference or its negative, with error 0; where both are, it is 0 with error +inf. Throws
// InvalidArgument for objectives of different numbers of rows.
MeanEstimate objective_difference(const HeldOutObjective& a, const HeldOutObjective& b);

}  // namespace bridgemark
