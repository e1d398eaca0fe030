#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "bridgemark/metric/evaluation.h"
#include "bridgemark/solver/run/run.h"

// An experiment is what a file asks for, a list of runs, and a run is one training of a solver with
// its options and seed on a pair, with its scores. A grid is the runs of an experiment while they
// are made in a folder (grid/); cells are those of the tables, and none of this folder's.
namespace bridgemark {

// What makes a run, and how it is scored.
struct ExperimentRun {
  std::string id;                        // unique in the experiment; the name of its folder
  std::string method;                    // what tables call it
  RunConfig config;                      // with every option of the solver
  std::vector<std::string> assignments;  // the options the file sets, key=value
  EvaluationOptions evaluation;
  int dim = 0;
  bool both_directions = false;  // scored on the reversed pair as well, by the same training
  std::string scored_pair = {};  // where that is another one than the training's
};

// Read from a file, each [[grid]] of which has the runs of pairs x solvers x options x
// seeds:
//
//   name = "quick"
//   description = "what it is for"
//
//   [evaluation]
//   seeds = 3             # repetitions of the protocol for each run
//   num_steps = 16        # grid of the trajectory KL; a solver with num_steps uses its own
//   trajectories = 1000
//   conditional_samples = 1000  # draws for each conditional input
//   c2st = false
//   particles = 256       # of a test row, for the joint KL of solvers with steps alone; 0: none
//   max_seconds = 120     # for these, after which the test rows done so far are enough
//
//   [[grid]]
//   pairs = ["d2-*"]      # presets, patterns of presets, pair folders
//   instances = [0, 1]    # of each pair, which must be presets; 0 is the preset itself
//   solvers = ["dlightsb-m"]
//   samples = [0, 1000]   # rows a side of a training set; 0, as without the key: endless draws
//   training_sets = [0, 1]  # which sets, each for every number of samples but 0
//   seeds = [0, 1]        # of training; a number n, as for the two above, is 0 .. n - 1
//   label = "..."         # what tables call the method, instead of the solver's name
//   both_directions = true  # each training is scored on the reversed pair as well
//   [grid.options]
//   loss = ["kl", "mse"]  # a list: each of its values
//
// The runs come in the order of the grids, pairs, instances, solvers, options, samples, training
// sets and seeds. A solver that does not learn from rows (Oracle, Reference) is run once for all
// samples, without a training set; tables show it beside those of every number of rows.
struct Experiment {
  std::string name;
  std::string description;
  std::string text;  // the file, for the record
  std::vector<ExperimentRun> runs;
};

// The longest experiment file.
inline constexpr std::size_t kMaxExperimentBytes = std::size_t{1} << 20;

// Reads and checks the whole file, or one of named_experiments(). Throws FileError for unknown
// keys, wrong types, names that do not exist, options that a solver does not have or would refuse,
// and a run that appears twice. It names the line and the fault, and suggests the nearest name.
Experiment load_experiment(const std::filesystem::path& path);

// Keeps the runs that one of the filters names: a pattern with * and ? must match the whole id,
// other text a part of it. No filters keep all. Throws InvalidArgument for a filter without a run.
std::vector<ExperimentRun> select_runs(const std::vector<ExperimentRun>& runs,
                                       const std::vector<std::string>& filters);

// What a run is scored as: itself, and where it is scored in both directions the same on the
// reversed pair, with an id of its own.
std::vector<ExperimentRun> scored_runs(const ExperimentRun& run);

// The last part of a pair's name or path, a dot and the rest, in characters that any file system
// takes: how ids of runs begin.
std::string run_id_text(const std::string& pair, const std::string& rest);

// What tables call a solver: "DLightSB-M" for dlightsb-m; its own name for one they do not know.
std::string solver_title(const std::string& solver);

}  // namespace bridgemark
