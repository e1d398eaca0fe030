#include "bridgemark/experiment/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/core/suggest.h"
#include "bridgemark/experiment/experiment_file.h"
#include "bridgemark/experiment/named_experiments.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/solver/outside/outside_solver.h"
#include "bridgemark/solver/registry.h"

namespace bridgemark {

namespace {

// What tables call a solver that may be one from outside.
std::string title_of(const std::string& solver) {
  const OutsideSolver* outside = find_outside_solver(solver);
  return outside ? outside->title() : solver_title(solver);
}

// Makes the runs of a file's tables.
class RunList {
 public:
  explicit RunList(const ExperimentFile& file)
      : file_(file), evaluation_(file.evaluation()), num_steps_line_(file.num_steps_line()) {}

  std::vector<ExperimentRun> expand() {
    for (const toml::table* grid : file_.grids()) expand(file_.read_grid(*grid));
    return std::move(runs_);
  }

 private:
  // What each run of a solver is trained on.
  static std::vector<TrainingRows> rows_of(const GridTable& grid, const Solver& solver) {
    if (!solver.learns_from_rows()) return {{}};
    std::vector<TrainingRows> all;
    for (const std::uint64_t samples : grid.samples) {
      for (const std::uint64_t set : grid.training_sets) {
        all.push_back(samples == 0 ? TrainingRows{} : TrainingRows{samples, set});
        if (samples == 0) break;
      }
    }
    return all;
  }

  const BenchmarkPair& pair_of(const std::string& name) {
    const auto found = pairs_.find(name);
    return found != pairs_.end() ? found->second
                                 : pairs_.emplace(name, load_pair(name)).first->second;
  }

  // What a check of options is about: whether rows are endless or few matters to it, and not which
  // they are, so that no more than some are drawn.
  const FitProblem& checked_problem(const std::string& pair_name, const TrainingRows& rows) {
    constexpr std::size_t kEnoughRows = 256;
    const std::size_t samples = std::min(rows.samples, kEnoughRows);
    const auto key = std::pair(pair_name, samples);
    const auto found = problems_.find(key);
    if (found != problems_.end()) return found->second;
    return problems_.emplace(key, training_problem({}, pair_of(pair_name), {samples, 0}))
        .first->second;
  }

  void expand(const GridTable& grid) {
    for (const auto& [pair, pair_line] : grid.pairs) {
      for (const auto& [solver, solver_line] : grid.solvers) {
        std::vector<std::size_t> chosen(grid.options.size(), 0);
        do {
          for (const TrainingRows& rows : rows_of(grid, find_solver(solver))) {
            for (const std::uint64_t seed : grid.seeds) {
              add_run(grid, pair, solver, solver_line, chosen, rows, seed);
            }
          }
        } while (next(grid, chosen));
      }
    }
  }

  // The next choice of options, the last key fastest; false after the last one.
  static bool next(const GridTable& grid, std::vector<std::size_t>& chosen) {
    for (std::size_t i = chosen.size(); i-- > 0;) {
      if (++chosen[i] < grid.options[i].values.size()) return true;
      chosen[i] = 0;
    }
    return false;
  }

  void add_run(const GridTable& grid, const std::string& pair_name, const std::string& solver_name,
               toml::source_index solver_line, const std::vector<std::size_t>& chosen,
               const TrainingRows& rows, std::uint64_t seed) {
    const Solver& solver = find_solver(solver_name);
    const BenchmarkPair& pair = pair_of(pair_name);
    SolverOptions options(solver.options());
    toml::source_index line = solver_line;  // what a refusal is about
    ExperimentRun run;
    run.method = grid.label.empty() ? title_of(solver_name) : grid.label;
    try {
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        const OptionChoices& option = grid.options[i];
        const OptionValue& value = option.values[chosen[i]];
        line = value.line;
        options.give(option.key, value.text);
        run.assignments.push_back(option.key + "=" + value.text);
        // Tables have columns for these two.
        if (option.varied && option.key != "loss" && option.key != "num_steps") {
          run.method += fmt::format(", {} {}", option.key, value.text);
        }
      }
      line = solver_line;
      solver.resolve(options);
      const FitProblem& problem = checked_problem(pair_name, rows);
      options.refuse_unused_with(rows_of_run(rows, problem), pair_name);
      solver.check({}, problem, options);
    } catch (const InvalidArgument& error) {
      file_.toml().fail(blame(grid, chosen, error.what(), line), "{} on {}: {}", solver_name,
                        pair_name, error.what());
    }
    run.config = {solver_name, pair_name, seed, options.values(), rows};
    run.dim = static_cast<int>(pair.dim());
    run.evaluation = evaluation_;
    // Each seed has draws of its own also where the solver has nothing to train.
    run.evaluation.seed = seed * static_cast<std::uint64_t>(evaluation_.num_seeds);
    run.evaluation.c2st = evaluation_.c2st || pair.reverse();
    // The number that evaluate would take by itself is named, so that a run's record says it.
    const auto own_steps = options.values().find("num_steps");
    run.evaluation.num_steps = own_steps != options.values().end()
                                   ? options.integer("num_steps")
                                   : evaluation_.num_steps.value_or(kTrajectorySteps);
    if (const int total = pair.bridge().process().total_steps();
        total % *run.evaluation.num_steps != 0) {
      file_.toml().fail(num_steps_line_ != 0 ? num_steps_line_ : solver_line,
                        "num_steps of the evaluation must divide the {} steps of {}, got {}", total,
                        pair_name, *run.evaluation.num_steps);
    }
    refuse_taken_method(run, solver_line);
    run.id = run_id(run, options);
    run.both_directions = grid.both_directions;
    for (const ExperimentRun& scored : scored_runs(run)) {
      if (!scored.scored_pair.empty() && !find_preset(scored.scored_pair)) {
        file_.toml().fail(solver_line,
                          "both_directions needs presets that are not reversed, got {}", pair_name);
      }
      if (ids_.insert(scored.id).second) continue;
      file_.toml().fail(
          solver_line,
          "the run {} is there already; give this grid a label of its own or drop one of the two",
          scored.id);
    }
    if (runs_.size() == kMaxRuns) file_.toml().fail(solver_line, "more than {} runs", kMaxRuns);
    runs_.push_back(std::move(run));
  }

  // The line of the option that a message names, else `line`.
  static toml::source_index blame(const GridTable& grid, const std::vector<std::size_t>& chosen,
                                  const std::string& message, toml::source_index line) {
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const bool named = message.find(" " + grid.options[i].key + " must") != message.npos;
      if (named) return grid.options[i].values[chosen[i]].line;
    }
    return line;
  }

  // Tables tell solvers apart by their methods, and a class of Python calls itself what it likes.
  void refuse_taken_method(const ExperimentRun& run, toml::source_index line) {
    const auto& [method, owner] = *owners_.try_emplace(run.method, run.config.solver).first;
    if (owner == run.config.solver) return;
    if (is_library_solver(owner) && is_library_solver(run.config.solver)) return;
    file_.toml().fail(line, "{} and {} must have titles or labels of their own, got '{}' for both",
                      owner, run.config.solver, method);
  }

  // pair.method[.loss][.steps][.nN.setI].seed
  static std::string run_id(const ExperimentRun& run, const SolverOptions& options) {
    std::string rest = run.method;
    if (rest == title_of(run.config.solver)) rest = run.config.solver;
    for (const char* key : {"loss", "num_steps"}) {
      const auto value = options.values().find(key);
      if (value != options.values().end()) rest += "." + value->second;
    }
    rest += training_rows_suffix(run.config.rows);
    return run_id_text(run.config.pair, rest + fmt::format(".seed{}", run.config.seed));
  }

  const ExperimentFile& file_;
  const EvaluationOptions evaluation_;
  const toml::source_index num_steps_line_;
  std::map<std::string, BenchmarkPair> pairs_;
  std::map<std::pair<std::string, std::size_t>, FitProblem> problems_;
  std::map<std::string, std::string> owners_;  // the solver of a method
  std::set<std::string> ids_;
  std::vector<ExperimentRun> runs_;
};

}  // namespace

Experiment load_experiment(const std::filesystem::path& path) {
  Experiment experiment;
  const std::string name = path.string();
  const std::optional<NamedExperiment> named =
      path_exists(path) ? std::nullopt : find_named_experiment(name);
  if (!named && !path_exists(path) && name.find_first_of("/.") == name.npos) {
    std::vector<std::string> known;
    for (const NamedExperiment& each : named_experiments()) known.emplace_back(each.name);
    throw_invalid("experiment", "experiment must be a file or one of {}, got '{}'{}",
                  fmt::join(known, ", "), name, nearest_hint(name, known));
  }
  experiment.text = named ? std::string(named->text) : read_file(path, kMaxExperimentBytes);
  const ExperimentFile file(name, experiment.text);
  experiment.name = file.name();
  experiment.description = file.description();
  experiment.runs = RunList(file).expand();
  return experiment;
}

}  // namespace bridgemark
