#pragma once

#include <nanobind/nanobind.h>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "bridgemark/pair/fit_problem.h"
#include "bridgemark/solver/run/run.h"
#include "python/bindings/arguments.h"
#include "python/bindings/calls.h"

// What the calls that fit a solver have in common.
namespace bridgemark::python {

using OptionValues = std::map<std::string, std::string, std::less<>>;

// Every option of a solver by its key: what was given over the defaults and the recipe.
OptionValues resolve_options(const std::string& solver, const nanobind::kwargs& keywords);

// How a fit is kept and watched, whatever it is fitted to.
struct FitCall {
  const std::string& solver;
  const Seed& seed;
  const std::optional<std::filesystem::path>& folder;
  bool resume;
  nanobind::handle progress;
  const std::string& device;
  nanobind::handle on_log;
  const std::optional<std::filesystem::path>& tensorboard;
  const nanobind::kwargs& keywords;
  TrainingRows rows = {};
};

// The run that the call asks for. The seed is drawn.
RunConfig run_config(const FitCall& call, std::string pair);

// Who follows the training: the caller's function gets each line as a dict, with the label that is
// trained where there is one.
TrainingWatch training_watch(const FitCall& call, const SignalWatch& signals,
                             std::optional<int> label = {});

// Own data as Python gives it.
struct DataCall {
  const ArrayLike& x0;
  const ArrayLike& x1;
  const ArrayLike& reference;
  const std::optional<double>& gamma;
  const std::optional<WholeNumber>& num_categories;
  const WholeNumber& total_steps;
};

// Tells the package's logger what was chosen for the caller.
FitProblem data_problem(const DataCall& call);

}  // namespace bridgemark::python
