#pragma once

#include <nanobind/nanobind.h>

namespace bridgemark::python {

// Classes of Python as solvers of experiments.
void init_outside_solvers(nanobind::module_& module);

}  // namespace bridgemark::python
