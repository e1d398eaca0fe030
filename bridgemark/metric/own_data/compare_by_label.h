#pragma once

#include <functional>
#include <span>
#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/core/labels.h"
#include "bridgemark/metric/own_data/compare_on.h"
#include "bridgemark/metric/own_data/data_contestant.h"

namespace bridgemark {

// Rows of both ends with a label each.
struct LabelledRows {
  StatesView x0, x1;
  std::span<const Label> labels0, labels1;
};

// The samplers that answer a label, of whose rows `x0_rows` are given: the same names in the same
// order for every label.
using LabelContestants =
    std::function<std::vector<DataContestant>(Label label, std::size_t x0_rows)>;

// compare_on() for the rows of each label by themselves, and the means over labels: of each score
// and difference, a label counts by its share of the rows of x0. A bridge's objective on a label's
// rows is held against the true bridge of that label, so samplers that know labels and samplers
// that do not compare. A label's seed is derived from that of the options and is in its comparison.
// Throws InvalidArgument for what compare_on() refuses, and for labels that one end alone has.
DataComparison compare_by_label(const Context& context, const LabelledRows& rows,
                                const LabelContestants& contestants,
                                const DataComparisonOptions& options = {});

}  // namespace bridgemark
