#include <nanobind/nanobind.h>

#include "bridgemark/core/version.h"
#include "python/bindings/bindings.h"

NB_MODULE(_core, module) {
  using namespace bridgemark::python;
  module.doc() = "The benchmark for Schrödinger bridges on discrete spaces: the native part.";
  module.attr("version") = bridgemark::kVersion;
  init_errors();
  init_pairs(module);
  init_solvers(module);
  init_evaluation(module);
}
