#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/context.h"
#include "bridgemark/pair/fit_problem.h"
#include "bridgemark/solver/core/options.h"
#include "bridgemark/solver/core/training_files.h"
#include "bridgemark/solver/core/training_log.h"

namespace bridgemark {

// What a fit has to say about itself, by name: whether it converged, its last loss.
using Diagnostics =
    std::map<std::string, std::variant<bool, std::int64_t, double, std::string>, std::less<>>;

// A coupling made from data.
struct Fitted {
  std::shared_ptr<const Coupling> coupling;  // empty where ranks share it: it is in their file
  Diagnostics diagnostics = {};
  std::vector<LogLine> history = {};  // of the training, earlier parts of it included
};

// Makes a coupling from the unpaired samples of a pair or of own data. Stateless: everything about
// a run is in its options and seed.
class Solver {
 public:
  virtual ~Solver() = default;

  virtual std::string name() const = 0;
  virtual std::string description() const = 0;
  virtual std::vector<OptionSpec> options() const = 0;

  // Whether one fit answers both directions, so that it can be scored on the reversed pair as well.
  virtual bool has_both_directions() const { return false; }

  // Whether another training set makes another coupling. One that does not learn from rows is run
  // once in a grid, without a training set, and is compared with the solvers of every number of
  // rows.
  virtual bool learns_from_rows() const { return true; }

  // Fills in what the options leave to others (a recipe's values), so that a run records every
  // value it used.
  virtual void resolve(SolverOptions& options) const { options.resolve(); }

  // Throws InvalidArgument for what fit would refuse, without its work: a grid of runs is refused
  // before the first of them starts. The options are resolved. Memory is that of the context's
  // machine, and of its ranks' shares where it has ranks.
  virtual void check(const Context&, const FitProblem&, const SolverOptions&) const {}

  // Whether ranks can share its model.
  virtual bool runs_on_ranks() const { return false; }

  // Trained solvers keep checkpoint and log in `files`, and go on from a checkpoint that is there.
  virtual Fitted fit(const Context& context, const FitProblem& problem,
                     const SolverOptions& options, std::uint64_t seed,
                     const TrainingFiles& files) const = 0;

  // The same without checkpoint and log.
  Fitted fit(const Context& context, const FitProblem& problem, const SolverOptions& options,
             std::uint64_t seed) const {
    return fit(context, problem, options, seed, TrainingFiles{});
  }

  // The parameters of a coupling this solver made, and the coupling they belong to.
  virtual void save(const Coupling& coupling, const std::filesystem::path& path) const = 0;
  virtual std::shared_ptr<const Coupling> load(const Context& context, const FitProblem& problem,
                                               const std::filesystem::path& path) const = 0;
};

}  // namespace bridgemark
