#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "bridgemark/core/labels.h"
#include "bridgemark/solver/run/labelled_run.h"
#include "python/bindings/solvers.h"

namespace bridgemark::python {

// One fitted coupling of a label.
struct LabelledFit {
  Label label = 0;
  const FittedCoupling* fit = nullptr;
};

// A dict of couplings by their labels, labels ascending. It must outlive the answer.
std::vector<LabelledFit> read_label_dict(const nanobind::dict& couplings);

// A fitted coupling as a run, with what was fitted alone.
LoadedRun run_of(const FittedCoupling& fit);

// The same of all.
std::vector<LabelledRun> runs_of(const std::vector<LabelledFit>& fits);

}  // namespace bridgemark::python
