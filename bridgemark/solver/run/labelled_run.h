#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "bridgemark/core/context.h"
#include "bridgemark/core/labels.h"
#include "bridgemark/pair/label_problems.h"
#include "bridgemark/solver/run/run.h"

// A labelled run is one solver fitted to the rows of each label by themselves, in a folder of its
// own:
//   labels.json   the labels
//   label-LABEL/  the run of a label, a run folder like any other
namespace bridgemark {

// What was fitted to the rows of a label.
struct LabelFit {
  Label label = 0;
  FitProblem problem;
  Fitted fitted;
  double seconds = 0.0;
};

// Who follows the training of a label (TrainingWatch). An event folder gets one of its own for each
// label. Empty: nobody.
using LabelWatch = std::function<TrainingWatch(Label)>;

// Fits one label after the other, all with config.seed. With a folder each label's run is kept:
// train_run() says how, and `resume` goes on with the labels that are not done. A folder with other
// labels is refused, and one that this call began is removed where a label cannot be fitted; the
// message then begins with the label. config.pair is empty.
std::vector<LabelFit> train_by_label(const Context& context, const RunConfig& config,
                                     std::span<const LabelProblem> problems,
                                     const std::filesystem::path& folder, bool resume,
                                     const LabelWatch& watch = {});

// The same fits without a folder.
std::vector<LabelFit> fit_by_label(const Context& context, const RunConfig& config,
                                   std::span<const LabelProblem> problems,
                                   const LabelWatch& watch = {});

// Keeps what was fitted without a folder, as save_run() does. A folder that already holds a run is
// refused.
void save_by_label(const Context& context, const RunConfig& config, std::span<const LabelFit> fits,
                   const std::filesystem::path& folder);

// Whether the folder holds a labelled run, complete or not.
bool is_labelled_run(const std::filesystem::path& folder);

// Its labels, ascending. Throws FileError for a folder that is none, or not ours.
Labels load_run_labels(const std::filesystem::path& folder);

// The folder of a label's run.
std::filesystem::path label_folder(const std::filesystem::path& folder, Label label);

// The complete run of a label.
struct LabelledRun {
  Label label = 0;
  LoadedRun run;
};

// All of them, labels ascending. Throws FileError where one is not complete.
std::vector<LabelledRun> load_labelled_run(const Context& context,
                                           const std::filesystem::path& folder);

}  // namespace bridgemark
