#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bridgemark/solver/core/solver.h"

// Solvers that are not the library's, by name: "python:MODULE:CLASS", or the name that an installed
// package gives to one.
namespace bridgemark {

inline constexpr char kPythonPrefix[] = "python:";

// What such a solver says of itself.
struct OutsideDescription {
  std::string title;        // what tables call it
  std::string description;  // in a line
  std::vector<OptionSpec> options;
  bool has_both_directions = false;
  bool keeps_model = false;  // whether what it fitted can be read back from its run's folder
};

// Reads the JSON that a solver's own language writes. Throws InvalidArgument, which names the
// solver, for what is none and for defaults that its own options would refuse.
OutsideDescription parse_outside_description(const std::string& name, const std::string& json);

// One of them, as far as this process knows it: its options are checked here, and it is fitted
// where its language is.
class OutsideSolver : public Solver {
 public:
  OutsideSolver(std::string name, OutsideDescription description)
      : name_(std::move(name)), description_(std::move(description)) {}

  std::string name() const override { return name_; }
  std::string description() const override { return description_.description; }
  std::vector<OptionSpec> options() const override { return description_.options; }
  bool has_both_directions() const override { return description_.has_both_directions; }
  const std::string& title() const { return description_.title; }
  bool keeps_model() const { return description_.keeps_model; }

  // Whether this process can fit it.
  virtual bool runs_here() const { return false; }

  void check(const Context&, const FitProblem&, const SolverOptions& options) const override;

  // These throw InvalidArgument where it does not run here.
  using Solver::fit;
  Fitted fit(const Context& context, const FitProblem& problem, const SolverOptions& options,
             std::uint64_t seed, const TrainingFiles& files) const override;
  void save(const Coupling& coupling, const std::filesystem::path& path) const override;
  std::shared_ptr<const Coupling> load(const Context& context, const FitProblem& problem,
                                       const std::filesystem::path& path) const override;

 private:
  std::string name_;
  OutsideDescription description_;
};

// Where they are found.
struct OutsideSolvers {
  // The one of a name, null where none has it. Throws InvalidArgument that says what is wrong with
  // a name that can be nobody else's.
  std::function<std::unique_ptr<OutsideSolver>(const std::string& name)> find;
  // The same without a line of its code run that was not before; may be empty.
  std::function<std::unique_ptr<OutsideSolver>(const std::string& name)> find_loaded = {};
  // The names that installed packages give.
  std::function<std::vector<std::string>()> names;
};

// From now on find_solver (registry.h) asks here for names that are not the library's, once for
// each. Without a call it knows the library's alone.
void set_outside_solvers(OutsideSolvers solvers);

// Whether it is the name of one of the library's.
bool is_library_solver(const std::string& name);

// Null for a name of the library, and for one that nobody has.
const OutsideSolver* find_outside_solver(const std::string& name);

// One of the library's. Throws InvalidArgument for another name; of one from outside it says who
// trains that, and asks nobody what it is.
const Solver& find_library_solver(const std::string& name);

// The solver that a file names, which must not make this process run code: one of the library, or
// one that is known or loaded already. Throws FileError of that file for another.
const Solver& find_solver_of_file(const std::string& name, const std::filesystem::path& file);

// What installed packages offer; empty where that cannot be asked.
std::vector<std::string> outside_solver_names();

}  // namespace bridgemark
