#include <nanobind/nanobind.h>

#include <nlohmann/json.hpp>

#include "bridgemark/verify/doctor.h"
#include "python/bindings/bindings.h"
#include "python/bindings/results.h"

namespace nb = nanobind;

namespace bridgemark::python {

void init_machine(nb::module_& module) {
  module.def(
      "examine_machine", [] { return to_python(machine_report_json(examine_machine())); },
      nb::sig("def examine_machine() -> dict[str, typing.Any]"),
      "What `bridgemark doctor --json` prints, but for the ranks of its program.");
}

}  // namespace bridgemark::python
