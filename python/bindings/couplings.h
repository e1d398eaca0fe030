#pragma once

#include <nanobind/nanobind.h>

#include "bridgemark/bridge/coupling.h"
#include "python/bindings/arguments.h"

// What Python asks of a coupling, be it the truth of a pair or what a solver made. Results are in
// the library and on the device of the first array argument.
namespace bridgemark::python {

// int32 [B,D] given x0 [B,D].
nanobind::object draw(const Coupling& coupling, const ArrayLike& x0, const Seed& seed);

// int32 [B,num_steps+1,D] from x0 [B,D]. Throws InvalidArgument where the coupling has no
// transitions on that grid.
nanobind::object draw_trajectory(const Coupling& coupling, const ArrayLike& x0, int num_steps,
                                 const Seed& seed);

// float64 [B] for the rows of x0 [B,D] and x1 [B,D].
nanobind::object joint_probability(const Coupling& coupling, const ArrayLike& x0,
                                   const ArrayLike& x1);

// float64 [B,D,S] for x0 [B,D].
nanobind::object marginals(const Coupling& coupling, const ArrayLike& x0);

// float64 [B,D,S] for x [B,D] at step n of num_steps.
nanobind::object transition_marginals(const Coupling& coupling, const ArrayLike& x, int num_steps,
                                      const WholeNumber& n);

}  // namespace bridgemark::python
