#include "bridgemark/solver/run/compare_runs.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>

#include "bridgemark/core/error.h"
#include "bridgemark/metric/own_data/compare_by_label.h"
#include "bridgemark/solver/run/run_contestant.h"

namespace bridgemark {

namespace {

DataContestant contestant_of(const Context& context, const std::string& name, const LoadedRun& run,
                             std::size_t x0_rows) {
  return run_contestant(context, name, run.config, run.problem, run.coupling, x0_rows);
}

DataContestant whole_contestant(const Context& context, const ComparedRun& compared,
                                std::size_t x0_rows) {
  if (compared.outside) return {.name = compared.name, .coupling = compared.outside};
  if (!compared.run) {
    throw_invalid("compare", "{} was trained with labels and needs a condition, got none",
                  compared.name);
  }
  return contestant_of(context, compared.name, *compared.run, x0_rows);
}

DataContestant label_contestant(const Context& context, const ComparedRun& compared, Label label,
                                std::size_t x0_rows) {
  if (compared.labels.empty()) {
    DataContestant contestant = whole_contestant(context, compared, x0_rows);
    contestant.rows_have_all_labels = true;
    return contestant;
  }
  const auto found = std::ranges::find(compared.labels, label, &LabelledRun::label);
  if (found == compared.labels.end()) {
    Labels known;
    for (const LabelledRun& each : compared.labels) known.push_back(each.label);
    throw_invalid("labels", "label must be one that {} was trained on, {}, got {}", compared.name,
                  fmt::join(known, ", "), label);
  }
  return contestant_of(context, compared.name, found->run, x0_rows);
}

}  // namespace

int ComparedRun::num_categories() const {
  if (outside) return outside->num_categories();
  return (run ? *run : labels.at(0).run).coupling->num_categories();
}

DataComparison compare_runs(const Context& context, std::span<const ComparedRun> runs,
                            StatesView x0, StatesView x1, const std::optional<Condition>& condition,
                            const DataComparisonOptions& options) {
  std::vector<DataContestant> contestants;
  if (!condition) {
    for (const ComparedRun& run : runs) {
      contestants.push_back(whole_contestant(context, run, x0.rows));
    }
    return compare_on(context, x0, x1, contestants, options);
  }
  const auto of_label = [&](Label label, std::size_t x0_rows) {
    std::vector<DataContestant> answering;
    for (const ComparedRun& run : runs) {
      answering.push_back(label_contestant(context, run, label, x0_rows));
    }
    return answering;
  };
  return compare_by_label(context, {x0, x1, condition->x0, condition->x1}, of_label, options);
}

}  // namespace bridgemark
