#pragma once

#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/process/reference_process.h"

// Schrödinger bridges of a single coordinate, where everything is an S x S matrix.
namespace bridgemark {

struct OneDimensionalBridge {
  std::vector<double> log_potential;  // [S]: q(x1|x0) ~ exp(log_potential[x1]) q_ref(x1|x0)
  Matrix<double> log_joint;           // [S,S]: log q(x0,x1)
  int iterations = 0;
  double change = 0.0;     // total variation between the last two iterates
  bool converged = false;  // change fell to the tolerance
};

// The exact solution by alternating scaling (Sinkhorn) in the log domain, to `tolerance` in the
// total variation of the marginal that is off. p0 and p1 are log pmfs; a zero of p1 is allowed.
OneDimensionalBridge solve_exact(const Context& context, const ReferenceProcess& process,
                                 const std::vector<double>& log_p0,
                                 const std::vector<double>& log_p1, double tolerance = 1e-13,
                                 int max_iterations = 1000000);

// The solution by discrete-time iterative Markovian fitting: from the independent coupling,
// alternate the Markovian projection on a chain of num_steps steps with the reciprocal projection,
// until an iteration moves the coupling by at most `tolerance` in total variation.
// num_steps >= 2: with a single step both projections do nothing.
OneDimensionalBridge solve_d_imf(const Context& context, const ReferenceChain& chain,
                                 const std::vector<double>& log_p0,
                                 const std::vector<double>& log_p1, double tolerance = 1e-9,
                                 int max_iterations = 10000);

// Half the sum of |a - b| over all entries of two log-probability matrices.
double total_variation(const Matrix<double>& log_a, const Matrix<double>& log_b);

}  // namespace bridgemark
