#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <memory>

#include "bridgemark/bridge/coupling.h"
#include "python/bindings/arguments.h"

namespace bridgemark::python {

// A solver of the caller's own as a coupling: an object with sample(x0, seed) and any of
// log_marginals(x0), log_conditional(x0, x1), num_steps with log_transition_marginals(x, num_steps,
// n), sample_transition(x, num_steps, n, seed); or a callable x0 -> x1. Null for anything else.
// Arrays are handed to it in the library and on the device of `like`. Its methods run in the thread
// that asks, with the GIL held.
std::shared_ptr<const Coupling> outside_coupling(nanobind::handle object, ArrayLike like,
                                                 std::size_t dim, int num_categories);

}  // namespace bridgemark::python
