#include "bridgemark/solver/run/run.h"

#include <fmt/ranges.h>

#include <limits>
#include <optional>
#include <span>
#include <sstream>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/clock.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/rank_group.h"
#include "bridgemark/core/resources.h"
#include "bridgemark/core/version.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/folder_lock.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/io/disk/temporaries.h"
#include "bridgemark/io/json.h"
#include "bridgemark/pair/data_problem.h"
#include "bridgemark/pair/pair_record.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/pair/training_set.h"
#include "bridgemark/solver/core/checkpoint_shards.h"
#include "bridgemark/solver/core/diagnostics_json.h"
#include "bridgemark/solver/core/rank_agreement.h"
#include "bridgemark/solver/core/reverse_coupling.h"
#include "bridgemark/solver/core/trained_solver.h"
#include "bridgemark/solver/core/training_loop.h"
#include "bridgemark/solver/outside/outside_solver.h"
#include "bridgemark/solver/registry.h"
#include "bridgemark/solver/run/data_file.h"
#include "bridgemark/solver/run/run_files.h"
#include "bridgemark/solver/run/run_identity.h"
#include "bridgemark/solver/run/run_pair.h"
#include "bridgemark/solver/run/run_result.h"

namespace bridgemark {

namespace {

SolverOptions resolve_options(const Solver& solver, const RunConfig& config) {
  SolverOptions options(solver.options());
  for (const auto& [key, value] : config.options) options.set(key, value);
  solver.resolve(options);
  return options;
}

// The same where nothing is asked for that the rows of the problem have no use for.
SolverOptions options_with_use(const Solver& solver, const RunConfig& config,
                               const FitProblem& problem) {
  SolverOptions options = resolve_options(solver, config);
  options.refuse_unused_with(rows_of_run(config.rows, problem), problem.name());
  return options;
}

// Names the solvers that ranks can share, where this one is not among them.
void require_rank_support(const Context& context, const Solver& solver) {
  if (context.rank_count() == 1 || solver.runs_on_ranks()) return;
  std::vector<std::string> names;
  for (const auto& other : all_solvers()) {
    if (other->runs_on_ranks()) names.push_back(other->name());
  }
  throw_invalid("ranks", "solver must be {} on {} ranks, got {}", fmt::join(names, " or "),
                context.rank_count(), solver.name());
}

// What a run was fitted to.
nlohmann::json problem_record(const FitProblem& problem) {
  if (problem.pair()) return pair_record(*problem.pair());
  const DataEnds& ends = *problem.data();
  nlohmann::json data = {{"name", problem.name()},
                         {"x0_rows", ends.x0.states().rows()},
                         {"x1_rows", ends.x1.states().rows()},
                         {"dim", problem.dim()},
                         {"num_categories", problem.num_categories()},
                         {"reference", reference_kind_name(ends.reference.kind())},
                         {"total_steps", ends.reference.total_steps()}};
  if (ends.reference.kind() != ReferenceKind::kMatrix) data["gamma"] = ends.reference.gamma();
  return data;
}

void check_rows(const RunConfig& config, const FitProblem& problem) {
  check_training_rows(config.rows);
  if (config.rows.samples > 0 && !problem.pair()) {
    throw_invalid("run", "samples are rows of a pair's training set and must be 0 for data, got {}",
                  config.rows.samples);
  }
}

// Refuses other data than a run has.
void refuse_other_data(const FitProblem& problem, const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kRunData;
  const bool there = path_exists(path);
  if (problem.pair() ? there : !there || !same_data(problem, load_data(path))) {
    throw_file(folder.string(), "holds a run of other data (see {})", kRunData);
  }
}

void require_complete(const std::filesystem::path& folder) {
  if (is_complete_run(folder)) return;
  throw_file(folder.string(), "the run is not complete; resume its training");
}

// What a complete run learned, where its files are all of that run.
std::shared_ptr<const Coupling> load_model(const Context& context, const RunConfig& config,
                                           const FitProblem& problem,
                                           const std::filesystem::path& folder) {
  refuse_mixed_runs(config, folder);
  const Solver& solver = find_solver_of_file(config.solver, folder / kRunConfig);
  auto coupling = solver.load(context, problem, folder / kRunModel);
  refuse_other_model(load_run_result(folder), folder);
  return coupling;
}

[[noreturn]] void refuse_second_run(const std::filesystem::path& folder) {
  throw_file(folder.string(), "already holds a run; give another folder or resume it");
}

// What a diverged run leaves is not gone on from. A result without a configuration is not ours to
// replace.
void clear_remains(const std::filesystem::path& folder) {
  if (is_complete_run(folder)) {
    throw_file(folder.string(), "holds {} but no {}; give another folder", kRunResult, kRunConfig);
  }
  if (path_exists(folder / kRunLabels)) refuse_second_run(folder);
  for (const char* name : {kRunCheckpoint, kRunData, kRunLog}) {
    std::error_code error;
    std::filesystem::remove(folder / name, error);
    if (error) throw_file((folder / name).string(), "cannot be removed: {}", error.message());
  }
  remove_shards(folder / kRunCheckpoint, std::nullopt);
}

void refuse_other_run(const RunConfig& config, const FitProblem& problem,
                      const RunIdentity& identity, const std::filesystem::path& folder,
                      bool resume) {
  if (!resume) refuse_second_run(folder);
  const RunConfig before = load_run_config(folder);
  if (!is_same_request(before, folder, config, find_solver(config.solver).options())) {
    throw_file(folder.string(), "holds a run with another configuration (see {})", kRunConfig);
  }
  refuse_mixed_runs(before, folder);
  refuse_other_data(problem, folder);
  refuse_other_identity(identity, folder);
}

// The files that a run starts with: it needs nothing else to be read or to go on.
void begin_run(const RunConfig& config, const FitProblem& problem,
               const std::filesystem::path& folder) {
  save_run_config(config, folder);
  if (problem.data()) save_data(problem, folder / kRunData);
}

// The files that follow a fit. result.json comes last: its presence says that the run is complete.
void complete_run(const Context& context, const RunConfig& config, const RunIdentity& identity,
                  const Fitted& fitted, double seconds, const std::filesystem::path& folder) {
  if (fitted.coupling) find_solver(config.solver).save(*fitted.coupling, folder / kRunModel);
  if (!path_exists(folder / kRunLog)) {
    const nlohmann::json event = {{"event", "fitted"}, {"seconds", seconds}};
    write_file_atomically(folder / kRunLog,
                          fitted.history.empty() ? event.dump() + "\n" : log_text(fitted.history));
  }
  nlohmann::json result =
      run_result(context, config.solver, config.seed, config.options, fitted.diagnostics, seconds);
  add_identity(result, identity, folder / kRunModel);
  add_training_rows(result, config.rows);
  save_json(folder / kRunResult, result);
}

}  // namespace

bool is_complete_run(const std::filesystem::path& folder) {
  return path_exists(folder / kRunResult);
}

void train_run(const Context& context, const RunConfig& config, const std::filesystem::path& folder,
               bool resume) {
  resolve_options(find_solver(config.solver), config);  // complains before the pair is loaded
  train_run(context, config, load_pair(config.pair), folder, resume);
}

namespace {

// What a training finds in its folder.
enum class Found { kNothing, kUnfinished, kComplete };

// The folder, held for as long as the run is made. Of several ranks the first one has it, and tells
// the others what it found.
class RunFolder {
 public:
  RunFolder(const Context& context, const std::filesystem::path& folder, bool resume)
      : context_(context), folder_(folder), resume_(resume) {}

  // Throws where the run may not be made here.
  Found open(const RunConfig& config, const FitProblem& problem, const RunIdentity& identity) {
    if (context_.is_first_rank()) {
      new_folder_ = !path_exists(folder_);
      create_folder(folder_);
      lock_.emplace(folder_);
      found_ = look(config, problem, identity);
      if (found_ != Found::kComplete) sweep_temporaries(folder_, kRunFiles);
    }
    if (context_.ranks) context_.ranks->broadcast(std::as_writable_bytes(std::span(&found_, 1)));
    if (!context_.is_first_rank()) held_.emplace(folder_);
    return found_;
  }

  // What was asked for cannot be: leaves no run behind.
  void undo() {
    if (!lock_) return;
    const bool there = lock_->folder().is_there();
    if (found_ == Found::kNothing) {
      lock_->folder().remove(kRunConfig);
      lock_->folder().remove(kRunData);
    }
    lock_.reset();
    std::error_code ignored;
    if (new_folder_ && there) std::filesystem::remove(folder_, ignored);
  }

  // It always will diverge: the next run here may be another.
  void free_for_others() {
    if (lock_) lock_->folder().remove(kRunConfig);
  }

 private:
  Found look(const RunConfig& config, const FitProblem& problem, const RunIdentity& identity) {
    if (!path_exists(folder_ / kRunConfig)) {
      clear_remains(folder_);
      return Found::kNothing;
    }
    refuse_other_run(config, problem, identity, folder_, resume_);
    if (!is_complete_run(folder_)) return Found::kUnfinished;
    // What cannot be read back is fitted again.
    const OutsideSolver* outside = find_outside_solver(config.solver);
    return outside && !outside->keeps_model() ? Found::kUnfinished : Found::kComplete;
  }

  const Context& context_;
  const std::filesystem::path& folder_;
  bool resume_;
  bool new_folder_ = false;
  Found found_ = Found::kNothing;
  std::optional<FolderLock> lock_;
  std::optional<HeldFolder> held_;  // by a rank that has no lock
};

// Ranks that were started for runs of their own would each train a part of none.
void require_one_run(const Context& context, const RunConfig& config,
                     const std::filesystem::path& folder) {
  std::ostringstream text;
  text << config.solver << '\0' << config.pair << '\0' << config.seed << '\0' << config.rows.samples
       << '\0' << config.rows.training_set << '\0' << folder.string();
  for (const auto& [key, value] : config.options) text << '\0' << key << '\0' << value;
  if (same_on_all_ranks(context, text.view())) return;
  throw_invalid("ranks",
                "the {} ranks of a launch must be given the same run, got others; start runs of "
                "their own without mpirun, or with srun --mpi=none",
                context.rank_count());
}

}  // namespace

Fitted train_run(const Context& context, const RunConfig& request, const FitProblem& problem,
                 const std::filesystem::path& folder, bool resume, const TrainingWatch& watch) {
  const Solver& solver = find_solver(request.solver);
  const SolverOptions options = options_with_use(solver, request, problem);
  RunConfig config = request;
  config.options = options.values();
  check_rows(config, problem);
  require_rank_support(context, solver);
  require_one_run(context, config, folder);
  RunIdentity identity = run_identity(problem_record(problem), config);

  if (!watch.event_folder.empty()) {
    if (dynamic_cast<const TrainedSolver*>(&solver) == nullptr) {
      throw_invalid("train", "tensorboard goes with a solver that trains by updates, got {}",
                    solver.name());
    }
    create_folder(watch.event_folder);
  }
  RunFolder place(context, folder, resume);
  const Found found = place.open(config, problem, identity);
  const bool first = context.is_first_rank();
  if (first) {  // which writes what says so
    config.identity =
        found == Found::kNothing ? new_run_identity() : load_run_config(folder).identity;
    identity.run = config.identity;
  }
  if (found == Found::kComplete) {
    if (context.rank_count() > 1) return {};
    return {problem.pair() ? load_run(context, *problem.pair(), folder)
                           : load_model(context, config, problem, folder),
            read_diagnostics(load_run_result(folder).at("diagnostics")), load_run_history(folder)};
  }

  const auto started = Clock::now();
  Fitted fitted;
  try {
    if (found == Found::kNothing && first) begin_run(config, problem, folder);
    fitted = fit_run(context, config, problem,
                     {folder / kRunCheckpoint, folder / kRunLog, identity_metadata(identity),
                      folder / kRunModel, watch});
  } catch (const InvalidArgument&) {
    place.undo();
    throw;
  } catch (const Diverged&) {
    place.free_for_others();
    throw;
  }
  const double seconds = seconds_since(started);
  if (first) complete_run(context, config, identity, fitted, seconds, folder);
  return fitted;
}

Fitted fit_run(const Context& context, const RunConfig& config, const FitProblem& problem,
               TrainingFiles files) {
  const Solver& solver = find_solver(config.solver);
  if (problem.pair()) files.watch.truth = *problem.pair();
  return solver.fit(context, trained_problem(context, config, problem),
                    options_with_use(solver, config, problem), config.seed, files);
}

RowKind rows_of_run(const TrainingRows& rows, const FitProblem& problem) {
  return problem.pair() && rows.samples == 0 ? RowKind::kEndless : RowKind::kThatEnd;
}

FitProblem trained_problem(const Context& context, const RunConfig& config,
                           const FitProblem& problem) {
  check_rows(config, problem);
  return config.rows.samples > 0 ? training_problem(context, *problem.pair(), config.rows)
                                 : problem;
}

void save_run(const Context& context, const RunConfig& request, const FitProblem& problem,
              const Fitted& fitted, double seconds, const std::filesystem::path& folder) {
  check_rows(request, problem);
  RunConfig config = request;
  config.options = resolve_options(find_solver(request.solver), request).values();
  config.identity = new_run_identity();
  const RunIdentity identity = run_identity(problem_record(problem), config);
  create_folder(folder);
  const FolderLock lock(folder);
  if (path_exists(folder / kRunConfig)) refuse_second_run(folder);
  clear_remains(folder);
  sweep_temporaries(folder, kRunFiles);
  begin_run(config, problem, folder);
  complete_run(context, config, identity, fitted, seconds, folder);
}

nlohmann::json run_result(const Context& context, std::string_view solver, std::uint64_t seed,
                          const std::map<std::string, std::string, std::less<>>& options,
                          const Diagnostics& diagnostics, double seconds) {
  return {{"solver", solver},
          {"seed", seed},
          {"options", options},
          {"version", kVersion},
          {"device", device_name(context.device)},
          {"machine", backend::of(context).machine()},
          {"threads", context.threads()},
          {"wall_seconds", seconds},
          {"peak_memory_bytes", peak_memory_bytes()},
          {"diagnostics", diagnostics_json(diagnostics)}};
}

nlohmann::json load_run_result(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kRunResult;
  nlohmann::json result = load_json(path);
  const auto require = [&](const char* key, bool (nlohmann::json::*is)() const noexcept,
                           const char* kind) {
    if (!result.contains(key) || !(result[key].*is)()) {
      throw_file(path.string(), "'{}' must be {}", key, kind);
    }
  };
  require("pair", &nlohmann::json::is_object, "an object");
  check_pair_record(result["pair"], path.string());
  require("diagnostics", &nlohmann::json::is_object, "an object");
  require("wall_seconds", &nlohmann::json::is_number, "a number");
  for (const auto& [key, value] : result["diagnostics"].items()) {
    if (value.is_structured()) {
      throw_file(path.string(), "diagnostic '{}' must be a number, text or true or false", key);
    }
  }
  return result;
}

double training_seconds(const nlohmann::json& run_result, std::string_view file) {
  return json_get_or<double>(run_result.at("diagnostics"), "training_seconds",
                             json_get<double>(run_result, "wall_seconds", file), file);
}

std::vector<LogLine> load_run_history(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kRunLog;
  return path_exists(path) ? read_training_log(path) : std::vector<LogLine>();
}

LoadedRun load_whole_run(const Context& context, const std::filesystem::path& folder) {
  RunConfig config = load_run_config(folder);
  if (!path_exists(folder / kRunData)) {
    require_complete(folder);
    const BenchmarkPair pair = load_pair_of_run(config, folder, load_run_result(folder).at("pair"));
    return {std::move(config), pair, load_run(context, pair, folder)};
  }
  require_complete(folder);
  FitProblem problem = load_data(folder / kRunData);
  auto coupling = load_model(context, config, problem, folder);
  return {std::move(config), std::move(problem), std::move(coupling)};
}

std::shared_ptr<const Coupling> load_run(const Context& context, const BenchmarkPair& pair,
                                         const std::filesystem::path& folder) {
  const RunConfig config = load_run_config(folder);
  require_complete(folder);
  if (path_exists(folder / kRunData)) {
    const FitProblem data = load_data(folder / kRunData);
    require_data_of_pair(data, pair, folder.string());
    return load_model(context, config, data, folder);
  }
  const auto load = [&](const BenchmarkPair& of) {
    return load_model(context, config, trained_problem(context, config, of), folder);
  };
  const nlohmann::json fitted_to = load_run_result(folder).at("pair"), asked = pair_record(pair);
  if (same_pair(fitted_to, asked)) return load(pair);

  // The same truth in the other direction, whatever its name: some solvers answer both.
  nlohmann::json backwards = asked;
  backwards["reverse"] = !pair.reverse();
  backwards.erase("name");
  if (!same_pair(fitted_to, backwards)) {
    throw_invalid("run", "{} was fitted to pair {}, got {}", folder.string(), pair_text(fitted_to),
                  pair_text(asked));
  }
  const BenchmarkPair fitted = pair.reversed();
  const auto coupling =
      learned_reverse(context, trained_problem(context, config, fitted), load(fitted));
  if (!coupling) {
    throw_invalid("run",
                  "{} was fitted to pair '{}', and {} answers that direction alone, got '{}'{}",
                  folder.string(), fitted_to.value("name", ""), config.solver, pair.identity().name,
                  find_solver(config.solver).has_both_directions()
                      ? "; train it on one rank, without source=none"
                      : "");
  }
  return coupling;
}

}  // namespace bridgemark
