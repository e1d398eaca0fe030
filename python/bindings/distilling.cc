#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "bridgemark/core/error.h"
#include "bridgemark/solver/run/distill.h"
#include "python/bindings/arguments.h"
#include "python/bindings/bindings.h"
#include "python/bindings/calls.h"
#include "python/bindings/solvers.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bridgemark::python {

namespace {

BenchmarkPair distilled(const FittedCoupling& coupling, const std::string& name, const Seed& seed,
                        const std::string& data_name, bool accept_overfitted) {
  if (coupling.forward) {
    throw_invalid("distill", "the coupling must be one as it was fitted, got a reversed one");
  }
  const LoadedRun run{coupling.config, coupling.problem, coupling.fitted.coupling};
  return distill(run, coupling.fitted.diagnostics,
                 {name, seed.draw(), data_name, accept_overfitted});
}

}  // namespace

void init_distilling(nb::module_& module) {
  module.def("distill", distilled, "coupling"_a, nb::kw_only(), "name"_a, "seed"_a.none(),
             "data_name"_a, "accept_overfitted"_a,
             nb::sig("def distill(coupling: Coupling, *, name: str, seed: int | "
                     "numpy.random.Generator | None, data_name: str, accept_overfitted: bool) -> "
                     "Pair"),
             "What bridgemark.distill wraps.");
}

}  // namespace bridgemark::python
