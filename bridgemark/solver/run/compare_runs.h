#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bridgemark/core/context.h"
#include "bridgemark/core/labels.h"
#include "bridgemark/metric/own_data/compare_on.h"
#include "bridgemark/solver/run/labelled_run.h"
#include "bridgemark/solver/run/run.h"

namespace bridgemark {

// A run that is compared on data: one of the three is there.
struct ComparedRun {
  std::string name;
  std::optional<LoadedRun> run = {};                  // that knows no labels
  std::vector<LabelledRun> labels = {};               // of a labelled run
  std::shared_ptr<const Coupling> outside = nullptr;  // a sampler that is no run of ours

  int num_categories() const;
};

// The labels of the rows of both ends.
struct Condition {
  Labels x0, x1;
};

// compare_on(), or with a condition compare_by_label(). A run that knows no labels answers every
// label alike. Throws InvalidArgument for what they refuse, for a labelled run without a condition
// and for a label that it was not trained on.
DataComparison compare_runs(const Context& context, std::span<const ComparedRun> runs,
                            StatesView x0, StatesView x1, const std::optional<Condition>& condition,
                            const DataComparisonOptions& options = {});

}  // namespace bridgemark
