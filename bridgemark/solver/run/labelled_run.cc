#include "bridgemark/solver/run/labelled_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "bridgemark/core/clock.h"
#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/folder_lock.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/io/json.h"
#include "bridgemark/solver/registry.h"
#include "bridgemark/solver/run/run_files.h"

namespace bridgemark {

namespace {

constexpr char kLabelsKey[] = "labels";

std::string label_name(Label label) { return fmt::format("label-{}", label); }

// Calls `work` for a label; what it refuses is refused with the label.
void with_label(Label label, const std::function<void()>& work) {
  try {
    work();
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(fmt::format("label {}: {}", label, error.what()));
  }
}

// What any label's fit would refuse, before the first of them.
void check_all(const Context& context, const RunConfig& config,
               std::span<const LabelProblem> problems) {
  if (problems.empty()) throw_invalid("labels", "there must be a label, got none");
  const Solver& solver = find_solver(config.solver);
  SolverOptions options(solver.options());
  for (const auto& [key, value] : config.options) options.set(key, value);
  solver.resolve(options);
  for (const LabelProblem& each : problems) {
    with_label(each.label, [&] { solver.check(context, each.problem, options); });
  }
}

TrainingWatch watch_of(const LabelWatch& watch, Label label) {
  TrainingWatch own = watch ? watch(label) : TrainingWatch{};
  if (!own.event_folder.empty()) own.event_folder /= label_name(label);
  return own;
}

using FitOne = std::function<Fitted(const LabelProblem&, const TrainingWatch&)>;

std::vector<LabelFit> fit_all(std::span<const LabelProblem> problems, const LabelWatch& watch,
                              const FitOne& fit) {
  std::vector<LabelFit> fits;
  for (const LabelProblem& each : problems) {
    with_label(each.label, [&] {
      const auto started = Clock::now();
      Fitted fitted = fit(each, watch_of(watch, each.label));
      fits.push_back({each.label, each.problem, std::move(fitted), seconds_since(started)});
    });
  }
  return fits;
}

Labels labels_of(std::span<const LabelProblem> problems) {
  Labels labels;
  for (const LabelProblem& each : problems) labels.push_back(each.label);
  return labels;
}

// The folder of all labels, held while they are fitted.
class LabelsFolder {
 public:
  LabelsFolder(const std::filesystem::path& folder, const Labels& labels, bool resume)
      : folder_(folder), new_folder_(!path_exists(folder)) {
    create_folder(folder);
    lock_.emplace(folder);
    const bool begun = is_labelled_run(folder);
    if (path_exists(folder / kRunConfig) || (begun && !resume)) {
      throw_file(folder.string(), "already holds a run; give another folder or resume it");
    }
    if (begun && load_run_labels(folder) != labels) {
      throw_file(folder.string(), "holds a run with other labels (see {})", kRunLabels);
    }
    if (begun) return;
    save_json(folder / kRunLabels, {{kLabelsKey, labels}});
    began_ = true;
  }

  // No label could be fitted: leaves nothing behind.
  void undo() {
    if (!began_ || !lock_->folder().is_there()) return;
    lock_->folder().remove(kRunLabels);
    lock_.reset();
    std::error_code ignored;
    if (new_folder_) std::filesystem::remove(folder_, ignored);
  }

 private:
  const std::filesystem::path& folder_;
  bool new_folder_;
  bool began_ = false;
  std::optional<FolderLock> lock_;
};

}  // namespace

std::vector<LabelFit> train_by_label(const Context& context, const RunConfig& config,
                                     std::span<const LabelProblem> problems,
                                     const std::filesystem::path& folder, bool resume,
                                     const LabelWatch& watch) {
  check_all(context, config, problems);
  std::optional<LabelsFolder> place;
  if (context.is_first_rank()) place.emplace(folder, labels_of(problems), resume);
  bool any_begun = false;
  try {
    return fit_all(problems, watch, [&](const LabelProblem& each, const TrainingWatch& own) {
      Fitted fitted =
          train_run(context, config, each.problem, label_folder(folder, each.label), resume, own);
      any_begun = true;
      return fitted;
    });
  } catch (const InvalidArgument&) {
    if (place && !any_begun) place->undo();
    throw;
  }
}

std::vector<LabelFit> fit_by_label(const Context& context, const RunConfig& config,
                                   std::span<const LabelProblem> problems,
                                   const LabelWatch& watch) {
  check_all(context, config, problems);
  return fit_all(problems, watch, [&](const LabelProblem& each, const TrainingWatch& own) {
    return fit_run(context, config, each.problem, {{}, {}, {}, {}, own});
  });
}

void save_by_label(const Context& context, const RunConfig& config, std::span<const LabelFit> fits,
                   const std::filesystem::path& folder) {
  Labels labels;
  for (const LabelFit& fit : fits) labels.push_back(fit.label);
  const LabelsFolder place(folder, labels, false);
  for (const LabelFit& fit : fits) {
    save_run(context, config, fit.problem, fit.fitted, fit.seconds,
             label_folder(folder, fit.label));
  }
}

bool is_labelled_run(const std::filesystem::path& folder) {
  return path_exists(folder / kRunLabels);
}

Labels load_run_labels(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kRunLabels;
  const nlohmann::json file = load_json(path);
  const auto refuse = [&] {
    throw_file(path.string(), "'{}' must be whole numbers that ascend, one at least", kLabelsKey);
  };
  Labels labels;
  for (const nlohmann::json& entry :
       json_part(file, kLabelsKey, nlohmann::json::value_t::array, path.string())) {
    const bool whole = entry.is_number_integer();
    if (!whole || entry.get<std::int64_t>() != static_cast<Label>(entry.get<std::int64_t>())) {
      refuse();
    }
    labels.push_back(entry.get<Label>());
  }
  const bool ascend =
      std::ranges::adjacent_find(labels, std::ranges::greater_equal{}) == labels.end();
  if (labels.empty() || !ascend) refuse();
  return labels;
}

std::filesystem::path label_folder(const std::filesystem::path& folder, Label label) {
  return folder / label_name(label);
}

std::vector<LabelledRun> load_labelled_run(const Context& context,
                                           const std::filesystem::path& folder) {
  std::vector<LabelledRun> runs;
  for (const Label label : load_run_labels(folder)) {
    runs.push_back({label, load_whole_run(context, label_folder(folder, label))});
  }
  return runs;
}

}  // namespace bridgemark
