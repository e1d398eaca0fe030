#pragma once

#include <nanobind/nanobind.h>

// Each area lives in a file of its own and offers one function that adds it to the module. A
// binding converts its arguments, calls the library and converts the result; it computes nothing.
namespace bridgemark::python {

void init_errors();
void init_pairs(nanobind::module_& module);
void init_batches(nanobind::module_& module);
void init_pair_building(nanobind::module_& module);
void init_solvers(nanobind::module_& module);
void init_labels(nanobind::module_& module);
void init_solver_specs(nanobind::module_& module);
void init_assignment(nanobind::module_& module);
void init_evaluation(nanobind::module_& module);
void init_data_comparison(nanobind::module_& module);
void init_distilling(nanobind::module_& module);
void init_columns(nanobind::module_& module);
void init_gamma_scans(nanobind::module_& module);
void init_experiments(nanobind::module_& module);
void init_boards(nanobind::module_& module);
void init_published(nanobind::module_& module);
void init_tables(nanobind::module_& module);
void init_machine(nanobind::module_& module);

}  // namespace bridgemark::python
