#pragma once

#include <nanobind/nanobind.h>

#include "bridgemark/pair/benchmark_pair.h"

namespace bridgemark::python {

// What a pair is: its sizes, its reference and the parameters of its truth.
void define_pair_properties(nanobind::class_<BenchmarkPair>& pair_class);

}  // namespace bridgemark::python
