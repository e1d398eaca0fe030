#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bridgemark/backend/plan/row_kernel.h"
#include "bridgemark/core/context.h"

namespace bridgemark {

// Entropic transport between n0 and n1 rows of equal weight: the plan k_ij exp(f_i + h_j) that has
// both marginals right.
struct RowTransport {
  std::vector<double> f;  // [n0]
  std::vector<double> h;  // [n1]
  int iterations = 0;     // times that both sums were made, refused steps included
  double error = 0.0;     // total variation of the marginal of x1; that of x0 is right to rounding
  bool converged = false;
};

struct TransportSettings {
  double tolerance = 1e-4;  // of the error
  int max_iterations = 10000;
};

// Sinkhorn's iteration in the log domain, accelerated: Anderson's combination of the last steps is
// taken where the dual objective grows by it at least half as much as Sinkhorn's own step
// guarantees, else that step; so it converges wherever Sinkhorn's does. `start` is an h [n1] to
// begin with, or empty. Throws InvalidArgument that names a row which the reference leads nowhere.
RowTransport solve_row_transport(const Context& context, const backend::RowKernel& kernel,
                                 std::size_t n0, std::size_t n1, const TransportSettings& settings,
                                 std::span<const double> start = {});

}  // namespace bridgemark
