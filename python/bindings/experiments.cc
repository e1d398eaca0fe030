#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/experiment/grid/grid_runner.h"
#include "bridgemark/experiment/grid_estimate.h"
#include "bridgemark/experiment/make_run.h"
#include "bridgemark/experiment/results.h"
#include "bridgemark/io/disk/folder_lock.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/report/write_report.h"
#include "python/bindings/arguments.h"
#include "python/bindings/bindings.h"
#include "python/bindings/calls.h"
#include "python/bindings/results.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bridgemark::python {

namespace {

std::string active_runs(const Overview& overview) {
  std::string text;
  for (const Overview::Active& run : overview.active) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", run.id, run.stage);
  }
  return text;
}

nb::list run_experiment(const std::filesystem::path& file, const std::filesystem::path& folder,
                        const std::vector<std::string>& command,
                        const std::vector<std::string>& only, const WholeNumber& jobs, bool resume,
                        nb::handle progress, const std::string& device) {
  WorkerOptions options;
  options.program = command.at(0);
  options.program_arguments.assign(command.begin() + 1, command.end());
  options.only = only;
  options.jobs = static_cast<int>(jobs.in_range("jobs", 0, 4096));
  options.resume = resume;
  options.note = log_info;
  const GridSummary summary = interruptible(
      [&](const Context& context) {
        options.overview = [&](const Overview& overview) {
          context.report("runs", overview.done, overview.total, active_runs(overview));
        };
        return run_grid(context, load_experiment(file), folder, options);
      },
      progress, parse_device(device));
  nb::list failed;
  for (const FailedRun& run : summary.failed) failed.append(nb::make_tuple(run.id, run.reason));
  return failed;
}

// The exit status of the process that makes it.
int make_one_run(const std::string& text, const std::filesystem::path& folder,
                 const WholeNumber& threads, nb::handle progress, const std::string& device,
                 const WholeNumber& sharers) {
  const ExperimentRun run = parse_run(text);
  const int count = static_cast<int>(threads.in_range("threads", 0, 4096));
  const int together = static_cast<int>(sharers.in_range("sharers", 1, 4096));
  return interruptible(
      [&](const Context& watched) {
        Context context = watched;
        context.num_threads = count;
        context.device_sharers = together;
        try {
          make_run(context, run, load_pair(run.config.pair), folder);
        } catch (const FolderBusy&) {
          return kRunBusy;
        }
        return 0;
      },
      progress, parse_device(device));
}

// Seconds of training and of scoring.
std::pair<double, double> estimate_one_run(const std::string& text, const WholeNumber& threads,
                                           const std::string& device) {
  const ExperimentRun run = parse_run(text);
  const int count = static_cast<int>(threads.in_range("threads", 0, 4096));
  const RunEstimate estimate = interruptible(
      [&](const Context& watched) {
        Context context = watched;
        context.num_threads = count;
        return estimate_run(context, run);
      },
      nb::none(), parse_device(device));
  return {estimate.train, estimate.evaluate};
}

nb::list rows_of_folder(const std::filesystem::path& folder) {
  return result_rows(
      interruptible([&](const Context&) { return load_results(folder / kResultsJsonl); }));
}

std::vector<std::filesystem::path> report(const std::filesystem::path& folder,
                                          const std::filesystem::path& output, bool whole,
                                          bool tables_only,
                                          const std::optional<std::filesystem::path>& vega,
                                          nb::handle progress) {
  ReportRequest request{folder, output, whole, tables_only, {}};
  if (vega) request.options.vega = *vega;
  return interruptible([&](const Context& context) { return write_report(context, request).files; },
                       progress);
}

}  // namespace

void init_experiments(nb::module_& module) {
  module.attr("CELL_COMMAND") = kMakeRunCommand;
  module.attr("ESTIMATE_COMMAND") = kEstimateRunCommand;
  module.def("run_experiment", run_experiment, "file"_a, "folder"_a, nb::kw_only(), "command"_a,
             "only"_a, "jobs"_a, "resume"_a, "progress"_a.none(), "device"_a,
             nb::sig("def run_experiment(file: str | os.PathLike[str], folder: str | "
                     "os.PathLike[str], *, command: list[str], only: list[str], jobs: int, resume: "
                     "bool, progress: collections.abc.Callable[[str, int, int, str], object] | "
                     "None, device: str) -> list[tuple[str, str]]"),
             "Makes the runs of an experiment, each by `command`; those that failed and why.");
  module.def("make_run", make_one_run, "text"_a, "folder"_a, nb::kw_only(), "threads"_a,
             "progress"_a.none(), "device"_a, "sharers"_a,
             nb::sig("def make_run(text: str, folder: str | os.PathLike[str], *, threads: int, "
                     "progress: collections.abc.Callable[[str, int, int, str], object] | None, "
                     "device: str, sharers: int) -> int"),
             "One run of a grid, as run_experiment hands it to a process of its own, whose exit "
             "status it returns.");
  module.def("estimate_run", estimate_one_run, "text"_a, nb::kw_only(), "threads"_a, "device"_a,
             nb::sig("def estimate_run(text: str, *, threads: int, device: str) -> tuple[float, "
                     "float]"),
             "Seconds that such a run will train and be scored, by training a little of it.");
  module.def("result_rows", rows_of_folder, "folder"_a,
             nb::sig("def result_rows(folder: str | os.PathLike[str]) -> list[tuple[str, str, str, "
                     "int, int, int, str, float | None, float | None]]"),
             "(run, method, pair, seed, samples, training_set, score, value, standard_error) of "
             "results.jsonl.");
  module.def("write_report", report, "folder"_a, "output"_a, nb::kw_only(), "whole"_a,
             "tables_only"_a, "vega"_a.none(), "progress"_a.none(),
             nb::sig("def write_report(folder: str | os.PathLike[str], output: str | "
                     "os.PathLike[str], *, whole: bool, tables_only: bool, vega: str | "
                     "os.PathLike[str] | None, progress: collections.abc.Callable[[str, int, int, "
                     "str], object] | None) -> list[pathlib.Path]"),
             "Tables and report of a folder's results: the files written.");
}

}  // namespace bridgemark::python
