#include "bridgemark/pair/label_problems.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>

#include "bridgemark/core/error.h"

namespace bridgemark {

namespace {

// Labels of `a` that `b` has not.
Labels missing_labels(std::span<const LabelGroup> a, std::span<const LabelGroup> b) {
  Labels missing;
  for (const LabelGroup& group : a) {
    if (std::ranges::find(b, group.label, &LabelGroup::label) == b.end()) {
      missing.push_back(group.label);
    }
  }
  return missing;
}

}  // namespace

void check_same_labels(std::span<const LabelGroup> x0, std::span<const LabelGroup> x1) {
  const auto require = [](const Labels& missing, const char* there, const char* not_there) {
    if (missing.empty()) return;
    throw_invalid("labels", "a label must be one of both ends, got {} of {} and no row of {}",
                  fmt::join(missing, ", "), there, not_there);
  };
  require(missing_labels(x0, x1), "x0", "x1");
  require(missing_labels(x1, x0), "x1", "x0");
}

std::vector<LabelProblem> problems_by_label(const FitProblem& data, std::span<const Label> labels0,
                                            std::span<const Label> labels1) {
  const DataEnds* ends = data.data();
  if (!ends) {
    throw_invalid("labels", "a condition must be of own data, got pair '{}'", data.name());
  }
  const States &x0 = ends->x0.states(), &x1 = ends->x1.states();
  check_labels("the condition of x0", labels0.size(), "x0", x0.rows());
  check_labels("the condition of x1", labels1.size(), "x1", x1.rows());
  const std::vector<LabelGroup> groups0 = group_by_label(labels0),
                                groups1 = group_by_label(labels1);
  check_same_labels(groups0, groups1);
  std::vector<LabelProblem> problems;
  for (std::size_t i = 0; i < groups0.size(); ++i) {
    problems.push_back(
        {groups0[i].label, FitProblem(take_rows(x0, groups0[i].rows),
                                      take_rows(x1, groups1[i].rows), ends->reference)});
  }
  return problems;
}

}  // namespace bridgemark
