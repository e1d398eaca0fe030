#include "bridgemark/experiment/grid/run_costs.h"

#include <algorithm>

namespace bridgemark {

namespace {

constexpr std::uint64_t kFirstGuessBytes = std::uint64_t{1} << 30;  // of a run not seen before

}  // namespace

void RunCosts::add_memory(const ExperimentRun& run, const std::vector<RunResult>& results) {
  Cost& cost = of(run);
  for (const RunResult& result : results) {
    cost.peak_bytes = std::max(cost.peak_bytes, result.peak_memory_bytes);
  }
}

void RunCosts::add_seconds(const ExperimentRun& run, double seconds) {
  for (Cost* cost : {&of(run), &all_}) {
    cost->seconds += seconds;
    ++cost->timed;
  }
}

const RunCosts::Cost* RunCosts::find(const ExperimentRun& run) const {
  const auto found = costs_.find({run.config.solver, run.dim});
  return found == costs_.end() ? nullptr : &found->second;
}

std::uint64_t RunCosts::expected_bytes(const ExperimentRun& run) const {
  const Cost* own = find(run);
  return own == nullptr ? kFirstGuessBytes : own->peak_bytes;
}

double RunCosts::expected_seconds(const ExperimentRun& run) const {
  const Cost* own = find(run);
  const Cost& known = own != nullptr && own->timed > 0 ? *own : all_;
  return known.timed > 0 ? known.seconds / known.timed : 0.0;
}

}  // namespace bridgemark
