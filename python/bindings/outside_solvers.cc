#include "python/bindings/outside_solvers.h"

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/io/safetensors.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/solver/core/diagnostics_json.h"
#include "bridgemark/solver/outside/outside_solver.h"
#include "bridgemark/solver/run/run.h"
#include "python/bindings/outside_coupling.h"
#include "python/bindings/results.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bridgemark::python {

namespace {

constexpr char kSolverFolder[] = "solver";  // of a run's folder, for the solver's own files

// The rows of an end as an array of Python.
nb::object rows_of(const SourceDistribution& end) {
  const States& rows = end.states();
  return to_numpy(States(rows));
}

nb::dict options_of(const OptionValues& values) {
  nb::dict options;
  for (const auto& [key, value] : values) options[key.c_str()] = value;
  return options;
}

// A class of Python as a solver, by the object that the package makes for it
// (bridgemark._outside_solvers.OutsideClass), which is never let go.
class PythonSolver : public OutsideSolver {
 public:
  PythonSolver(std::string name, OutsideDescription description, nb::handle made)
      : OutsideSolver(std::move(name), std::move(description)), made_(made) {
    made_.inc_ref();
  }

  bool runs_here() const override { return true; }

  using Solver::fit;
  Fitted fit(const Context&, const FitProblem& problem, const SolverOptions& options,
             std::uint64_t seed, const TrainingFiles& files) const override {
    const nb::gil_scoped_acquire acquire;
    nb::object x0, x1 = nb::none();
    if (const DataEnds* rows = problem.data()) {
      x0 = rows_of(rows->x0);
      x1 = rows_of(rows->x1);
    } else {
      x0 = nb::cast(*problem.pair());
    }
    const nb::object folder = files.checkpoint.empty()
                                  ? nb::none()
                                  : nb::cast(files.checkpoint.parent_path() / kSolverFolder);
    const nb::object answer = made_.attr("fit")(x0, x1, options_of(options.values()), seed, folder);
    const auto said = nb::cast<std::string>(answer[1]);
    return {coupling_of(answer[0], problem), read_diagnostics(nlohmann::json::parse(said))};
  }

  // The solver's own files have the model; this one says whose they are.
  void save(const Coupling&, const std::filesystem::path& path) const override {
    SafetensorsWriter writer;
    writer.set_metadata("outside_solver", name());
    writer.write(path);
  }

  std::shared_ptr<const Coupling> load(const Context&, const FitProblem& problem,
                                       const std::filesystem::path& path) const override {
    const std::filesystem::path folder = path.parent_path();
    const RunConfig config = load_run_config(folder);
    BenchmarkPair pair = load_pair(config.pair);
    const nb::gil_scoped_acquire acquire;
    return coupling_of(made_.attr("load")(nb::cast(std::move(pair)), options_of(config.options),
                                          config.seed, nb::cast(folder / kSolverFolder)),
                       problem);
  }

 private:
  std::shared_ptr<const Coupling> coupling_of(const nb::object& fitted,
                                              const FitProblem& problem) const {
    const nb::object like = nb::getattr(fitted, "like", nb::none());
    auto coupling = outside_coupling(fitted, {like}, problem.dim(), problem.num_categories());
    if (coupling) return coupling;
    throw_invalid("solver", "what {} fitted must have sample(x0, seed), got {}", name(),
                  nb::repr(fitted.type()).c_str());
  }

  nb::handle made_;
};

// What a Python function raises on purpose, in our terms.
template <typename Work>
auto in_python(Work&& work) {
  const nb::gil_scoped_acquire acquire;
  try {
    return work();
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_ValueError)) throw;
    throw InvalidArgument(message_text(nb::str(error.value()).c_str()));
  }
}

std::unique_ptr<OutsideSolver> find_here(nb::handle find, const std::string& name) {
  return in_python([&]() -> std::unique_ptr<OutsideSolver> {
    const nb::object made = find(name);
    if (made.is_none()) return nullptr;
    const auto said = nb::cast<std::string>(made.attr("describe")());
    return std::make_unique<PythonSolver>(name, parse_outside_description(name, said), made);
  });
}

void find_solvers_by(const nb::callable& find, const nb::callable& find_loaded,
                     const nb::callable& names) {
  // Kept for good: they may be asked until the process ends.
  const auto kept = [](const nb::callable& function) { return nb::object(function).release(); };
  set_outside_solvers(
      {.find = [by = kept(find)](const std::string& name) { return find_here(by, name); },
       .find_loaded =
           [by = kept(find_loaded)](const std::string& name) { return find_here(by, name); },
       .names =
           [by = kept(names)] {
             return in_python([&] { return nb::cast<std::vector<std::string>>(by()); });
           }});
}

}  // namespace

void init_outside_solvers(nb::module_& module) {
  module.def("find_solvers_by", find_solvers_by, "find"_a, "find_loaded"_a, "names"_a,
             nb::sig("def find_solvers_by(find: collections.abc.Callable[[str], typing.Any], "
                     "find_loaded: collections.abc.Callable[[str], typing.Any], names: "
                     "collections.abc.Callable[[], list[str]]) -> None"),
             "Who knows solvers that are not the library's: one by its name, or None, the same\n"
             "without an import, and the names that packages give.");
}

}  // namespace bridgemark::python
