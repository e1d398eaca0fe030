#include <nanobind/nanobind.h>
#include <nanobind/typing.h>

#include "bridgemark/core/version.h"
#include "python/bindings/bindings.h"
#include "python/bindings/outside_solvers.h"

NB_MODULE(_core, module) {
  using namespace bridgemark::python;
  module.doc() = "The benchmark for Schrödinger bridges on discrete spaces: the native part.";
  module.attr("version") = bridgemark::kVersion;
  // An array of any library: what a call returns is of the kind it was given.
  module.attr("ArrayT") = nanobind::type_var("ArrayT");
  init_errors();
  init_pairs(module);
  init_batches(module);
  init_pair_building(module);
  init_solvers(module);
  init_distilling(module);
  init_labels(module);
  init_solver_specs(module);
  init_assignment(module);
  init_evaluation(module);
  init_outside_solvers(module);
  init_data_comparison(module);
  init_columns(module);
  init_gamma_scans(module);
  init_experiments(module);
  init_boards(module);
  init_published(module);
  init_tables(module);
  init_machine(module);
}
