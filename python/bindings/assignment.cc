#include <nanobind/nanobind.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/solver/csbm/assignment.h"
#include "python/bindings/arguments.h"
#include "python/bindings/bindings.h"
#include "python/bindings/calls.h"
#include "python/bindings/results.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bridgemark::python {

namespace {

nb::object assignment(const ArrayLike& cost) {
  const Doubles given = cost.doubles("assignment", "cost", "[n,n]");
  if (given.shape(0) != given.shape(1)) {
    throw_invalid("assignment", "cost must be square, got shape [{}, {}]", given.shape(0),
                  given.shape(1));
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (std::isfinite(given.data()[i])) continue;
    throw_invalid("assignment", "cost must be finite, got {} at [{}, {}]", given.data()[i],
                  i / given.shape(1), i % given.shape(1));
  }
  const MatrixView<const double> matrix{given.data(), given.shape(0), given.shape(1)};
  const auto columns =
      interruptible([&](const Context& context) { return least_cost_assignment(context, matrix); });
  return to_numpy(std::vector<std::int32_t>(columns.begin(), columns.end()));
}

}  // namespace

void init_assignment(nb::module_& module) {
  module.def("assignment", assignment, "cost"_a,
             nb::sig("def assignment(cost: numpy.typing.ArrayLike) -> "
                     "numpy.typing.NDArray[numpy.int32]"),
             "The column of each row of a square cost in an assignment of least total cost: [n].");
}

}  // namespace bridgemark::python
