#include "python/bindings/solvers.h"

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "bridgemark/solver/solver.h"
#include "python/bindings/arguments.h"
#include "python/bindings/bindings.h"
#include "python/bindings/calls.h"
#include "python/bindings/results.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bridgemark::python {

namespace {

// An option as the command line would spell it: a sequence is joined by commas.
std::string option_text(const std::string& key, nb::handle value) {
  if (nb::isinstance<nb::bool_>(value)) return nb::cast<bool>(value) ? "true" : "false";
  if (nb::isinstance<nb::str>(value) || PyNumber_Check(value.ptr())) {
    return nb::str(value).c_str();
  }
  if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value)) {
    std::string joined;
    for (const nb::handle part : value) {
      joined += (joined.empty() ? "" : ",") + option_text(key, part);
    }
    return joined;
  }
  throw nb::type_error(fmt::format("[python] option {} must be a number, a string or a list of "
                                   "them, got {}",
                                   key, nb::repr(value.type()).c_str())
                           .c_str());
}

FittedCoupling fit(const std::string& name, const BenchmarkPair& pair, const WholeNumber& seed,
                   const nb::kwargs& keywords) {
  const Solver& solver = find_solver(name);
  SolverOptions options(solver.options());
  for (const auto [key, value] : keywords) {
    const auto text = nb::cast<std::string>(key);
    options.set(text, option_text(text, value));
  }
  solver.resolve(options);
  const std::uint64_t key = seed.seed();
  Fitted fitted = without_gil(
      [&] { return solver.fit(interruptible_context(), pair, options, key, TrainingFiles{}); });
  return {name, std::move(fitted.coupling), std::move(fitted.diagnostics)};
}

std::vector<std::string> solvers() {
  std::vector<std::string> names;
  for (const auto& solver : all_solvers()) names.push_back(solver->name());
  return names;
}

Numpy2<std::int32_t> sample(const FittedCoupling& fitted, const ArrayLike& x0,
                            const WholeNumber& seed) {
  const Coupling& coupling = *fitted.coupling;
  const StatesArgument given("x0", x0.array, coupling.dim(), coupling.num_categories());
  const DrawKey key{seed.seed(), DrawPurpose::kConditional};
  return to_numpy(without_gil([&] {
    States x1(given.rows(), coupling.dim());
    coupling.sample(interruptible_context(), given.view(), key, 0, x1);
    return x1;
  }));
}

}  // namespace

void init_solvers(nb::module_& module) {
  nb::class_<FittedCoupling>(module, "Coupling", "What a solver made: draws x1 given x0.")
      .def_ro("solver", &FittedCoupling::solver, "Name of the solver.")
      .def_prop_ro("dim", [](const FittedCoupling& fitted) { return fitted.coupling->dim(); })
      .def_prop_ro("num_categories",
                   [](const FittedCoupling& fitted) { return fitted.coupling->num_categories(); })
      .def_prop_ro(
          "diagnostics",
          [](const FittedCoupling& fitted) {
            return nb::borrow<nb::dict>(to_python(fitted.diagnostics));
          },
          "What the solver says of the fit; empty for those that have nothing to say.")
      .def("sample", sample, "x0"_a, "seed"_a = 0,
           "Draw x1 ~ q(.|x0) for each row of x0 [B,D]: int32 [B,D].")
      .def("__repr__", [](const FittedCoupling& fitted) {
        return fmt::format("<bridgemark.Coupling of '{}'>", fitted.solver);
      });

  module.def("fit", fit, "solver"_a, "pair"_a, "seed"_a = 0, "options"_a,
             "Fit a solver to unpaired samples of a pair.\n\n"
             "`options` are the keys of `bridgemark train --set`; an unknown one is refused with\n"
             "the nearest known. Ctrl-C stops the fit.");
  module.def("solvers", solvers, "Names of the solvers that `fit` knows.");
}

}  // namespace bridgemark::python
