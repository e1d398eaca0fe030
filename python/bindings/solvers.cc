#include "python/bindings/solvers.h"

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/core/terminal_text.h"
#include "bridgemark/metric/evaluation.h"
#include "bridgemark/solver/core/diagnostics_json.h"
#include "bridgemark/solver/core/reverse_coupling.h"
#include "bridgemark/solver/registry.h"
#include "bridgemark/solver/run/run_result.h"
#include "python/bindings/arguments.h"
#include "python/bindings/bindings.h"
#include "python/bindings/calls.h"
#include "python/bindings/couplings.h"
#include "python/bindings/fit_call.h"
#include "python/bindings/results.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bridgemark::python {

int FittedCoupling::own_num_steps() const { return trajectory_steps(*fitted.coupling, {}); }

namespace {

FittedCoupling fit_problem(const FitCall& call, const FitProblem& problem) {
  const RunConfig config =
      run_config(call, problem.pair() ? std::string(problem.name()) : std::string());
  warn_if_still(problem.reference());
  const auto started = std::chrono::steady_clock::now();
  Fitted fitted = interruptible(
      [&](const Context& context, const SignalWatch& signals) {
        const TrainingWatch watch = training_watch(call, signals);
        if (!call.folder) return fit_run(context, config, problem, {{}, {}, {}, {}, watch});
        return train_run(context, config, problem, *call.folder, call.resume, watch);
      },
      call.progress, parse_device(call.device));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return {config, problem, std::move(fitted), seconds};
}

FittedCoupling fit(const std::string& name, const PairArgument& pair, const Seed& seed,
                   const std::optional<std::filesystem::path>& folder, bool resume,
                   nb::handle progress, const std::string& device, const WholeNumber& samples,
                   const WholeNumber& training_set, nb::handle on_log,
                   const std::optional<std::filesystem::path>& tensorboard,
                   const nb::kwargs& keywords) {
  const TrainingRows rows{samples.in_range("samples", 0, kMaxTrainingRows),
                          training_set.in_range("training_set", 0, UINT64_MAX)};
  check_training_rows(rows);
  return fit_problem(
      {name, seed, folder, resume, progress, device, on_log, tensorboard, keywords, rows},
      pair.pair());
}

FittedCoupling fit_data(const std::string& name, const ArrayLike& x0, const ArrayLike& x1,
                        const ArrayLike& reference, const std::optional<double>& gamma,
                        const std::optional<WholeNumber>& num_categories,
                        const WholeNumber& total_steps, const Seed& seed,
                        const std::optional<std::filesystem::path>& folder, bool resume,
                        nb::handle progress, const std::string& device, nb::handle on_log,
                        const std::optional<std::filesystem::path>& tensorboard,
                        const nb::kwargs& keywords) {
  const FitProblem problem = data_problem({x0, x1, reference, gamma, num_categories, total_steps});
  return fit_problem({name, seed, folder, resume, progress, device, on_log, tensorboard, keywords},
                     problem);
}

// The log of a run is beside the point of loading it: one that cannot be read is warned about.
std::vector<LogLine> history_of_run(const std::filesystem::path& folder) {
  try {
    return load_run_history(folder);
  } catch (const FileError& error) {
    const std::string text = fmt::format("{}; history is empty", error.what());
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) != 0) throw nb::python_error();
    return {};
  }
}

FittedCoupling load_coupling(const PathArgument& named_folder,
                             const std::optional<PairArgument>& named) {
  const std::filesystem::path folder = named_folder.path("folder");
  const std::optional<BenchmarkPair> given = named ? std::optional(named->pair()) : std::nullopt;
  FittedCoupling loaded = interruptible([&](const Context& context) -> FittedCoupling {
    LoadedRun run =
        given ? LoadedRun{load_run_config(folder), *given, load_run(context, *given, folder)}
              : load_whole_run(context, folder);
    if (given && run.config.pair.empty()) run = load_whole_run(context, folder);  // of data
    const nlohmann::json result = load_run_result(folder);
    return {std::move(run.config),
            std::move(run.problem),
            {std::move(run.coupling), read_diagnostics(result.at("diagnostics"))},
            result.at("wall_seconds").get<double>()};
  });
  loaded.fitted.history = history_of_run(folder);
  return loaded;
}

// A column of the lines of a log: int64 where all entries are whole, else float64, NaN for null.
nb::object column_of(const std::vector<nlohmann::json>& lines, const std::string& column) {
  const auto is_whole = [&](const nlohmann::json& line) {
    return line.contains(column) && line[column].is_number_integer();
  };
  if (lines.empty() ? column == "update" : std::ranges::all_of(lines, is_whole)) {
    std::vector<std::int64_t> values;
    for (const nlohmann::json& line : lines) values.push_back(line[column].get<std::int64_t>());
    return to_numpy(std::move(values));
  }
  std::vector<double> values;
  for (const nlohmann::json& line : lines) {
    const bool known = line.contains(column) && line[column].is_number();
    values.push_back(known ? line[column].get<double>() : std::nan(""));
  }
  return to_numpy(std::move(values));
}

nb::dict history(const FittedCoupling& self) {
  std::vector<nlohmann::json> lines;
  std::vector<std::string> columns = {"update", "loss", "seconds"};
  for (const LogLine& line : self.fitted.history) {
    lines.push_back(nlohmann::json::parse(line.text));
    for (const auto& [key, value] : lines.back().items()) {
      const bool known = std::ranges::find(columns, key) != columns.end();
      if (value.is_number() && !known) columns.push_back(key);
    }
  }
  nb::dict arrays;
  for (const std::string& column : columns) arrays[column.c_str()] = column_of(lines, column);
  return arrays;
}

// The name of a pair in quotes, or what there is to say of data.
std::string described(const FitProblem& problem, const TrainingRows& rows) {
  if (problem.pair()) {
    return rows.samples > 0 ? fmt::format("{} of '{}'", training_rows_text(rows), problem.name())
                            : fmt::format("'{}'", problem.name());
  }
  const ReferenceProcess reference = problem.reference();
  const std::string kind(reference_kind_name(reference.kind()));
  return fmt::format("data of {} dimensions, {} categories, {} reference{}", problem.dim(),
                     problem.num_categories(), kind,
                     reference.kind() == ReferenceKind::kMatrix
                         ? std::string()
                         : fmt::format(" with gamma {}", reference.gamma()));
}

void save(const FittedCoupling& self, const PathArgument& given) {
  const std::filesystem::path folder = given.path("folder");
  if (self.forward) {
    throw_invalid("coupling", "a coupling must be saved as it was fitted, got a reversed one");
  }
  interruptible([&](const Context& context) {
    save_run(context, self.config, self.problem, self.fitted, self.seconds, folder);
    return 0;
  });
}

// The ends of a problem in the order of its reverse.
FitProblem turned_round(const FitProblem& problem) {
  if (problem.pair()) return problem.pair()->reversed();
  const DataEnds& ends = *problem.data();
  return {ends.x1.states(), ends.x0.states(), ends.reference.time_reversed()};
}

FittedCoupling reverse(const FittedCoupling& self) {
  if (self.forward) return *self.forward;
  return interruptible([&](const Context& context) -> FittedCoupling {
    return {self.config,
            turned_round(self.problem),
            {reverse_coupling(context, trained_problem(context, self.config, self.problem),
                              self.fitted.coupling),
             self.fitted.diagnostics, self.fitted.history},
            self.seconds,
            std::make_shared<const FittedCoupling>(self)};
  });
}

nb::object sample(const FittedCoupling& self, const ArrayLike& x0, const Seed& seed) {
  return draw(*self.fitted.coupling, x0, seed);
}

nb::object sample_trajectory(const FittedCoupling& self, const ArrayLike& x0,
                             const std::optional<WholeNumber>& num_steps, const Seed& seed) {
  const int steps = num_steps ? num_steps->positive_int("num_steps") : self.own_num_steps();
  return draw_trajectory(*self.fitted.coupling, x0, steps, seed);
}

nb::object log_conditional(const FittedCoupling& self, const ArrayLike& x0, const ArrayLike& x1) {
  return joint_probability(*self.fitted.coupling, x0, x1);
}

nb::object log_marginals(const FittedCoupling& self, const ArrayLike& x0) {
  return marginals(*self.fitted.coupling, x0);
}

nb::object log_transition_marginals(const FittedCoupling& self, const ArrayLike& x,
                                    const WholeNumber& num_steps, const WholeNumber& n) {
  return transition_marginals(*self.fitted.coupling, x, num_steps.positive_int("num_steps"), n);
}

using CouplingClass = nb::class_<FittedCoupling>;

void define_properties(CouplingClass& coupling) {
  coupling
      .def_prop_ro(
          "solver", [](const FittedCoupling& self) { return self.config.solver; },
          "Name of the solver.")
      .def_prop_ro(
          "pair",
          [](const FittedCoupling& self) {
            const BenchmarkPair* pair = self.problem.pair();
            return pair ? std::optional(*pair) : std::nullopt;
          },
          nb::sig("def pair(self) -> Pair | None"), "The pair it was fitted to; None for data.")
      .def_prop_ro(
          "reference",
          [](const FittedCoupling& self) {
            return std::string(reference_kind_name(self.problem.reference().kind()));
          },
          "Kind of the reference process: 'gaussian', 'uniform', 'birth-death', 'absorbing',\n"
          "'matrix', 'lowrank' or 'graph'.")
      .def_prop_ro(
          "gamma",
          [](const FittedCoupling& self) {
            const double gamma = self.problem.reference().gamma();
            return std::isnan(gamma) ? std::nullopt : std::optional(gamma);
          },
          nb::sig("def gamma(self) -> float | None"),
          "Stochasticity of the reference process, given or chosen; None for a matrix.")
      .def_prop_ro(
          "samples", [](const FittedCoupling& self) { return self.config.rows.samples; },
          "Rows a side of the training set of the pair that it was fitted to; 0 for endless draws\n"
          "and for data.")
      .def_prop_ro(
          "training_set", [](const FittedCoupling& self) { return self.config.rows.training_set; },
          "Which training set of the pair; 0 where there is none.")
      .def_prop_ro(
          "seed", [](const FittedCoupling& self) { return self.config.seed; }, "Seed of the fit.")
      .def_prop_ro(
          "options",
          [](const FittedCoupling& self) {
            nb::dict options;
            for (const auto& [key, value] : self.config.options) options[key.c_str()] = value;
            return options;
          },
          nb::sig("def options(self) -> dict[str, str]"),
          "Every option of the fit, the recipe's included.")
      .def_prop_ro(
          "dim", [](const FittedCoupling& self) { return self.fitted.coupling->dim(); },
          "D, the number of coordinates.")
      .def_prop_ro(
          "num_categories",
          [](const FittedCoupling& self) { return self.fitted.coupling->num_categories(); },
          "S, the number of categories of each coordinate.")
      .def_prop_ro(
          "diagnostics",
          [](const FittedCoupling& self) {
            return nb::borrow<nb::dict>(to_python(diagnostics_json(self.fitted.diagnostics)));
          },
          nb::sig("def diagnostics(self) -> dict[str, typing.Any]"),
          "What the solver says of the fit; empty for those that have nothing to say.")
      .def_prop_ro(
          "history", history,
          nb::sig("def history(self) -> dict[str, numpy.typing.NDArray[typing.Any]]"),
          "The training by column, one entry every log_every updates: 'update' int64,\n"
          "'loss' (the mean since the entry before) and 'seconds' float64, and what the\n"
          "solver adds ('imf_iteration' of CSBM), NaN where an entry lacks it. Of length 0\n"
          "for solvers that do not train. It is that of log.jsonl, and is kept by save, load and "
          "pickles.")
      .def_ro("seconds", &FittedCoupling::seconds, "Wall time of the fit.")
      .def_prop_ro(
          "is_reversed", [](const FittedCoupling& self) { return self.forward != nullptr; },
          "Whether this is what `reversed` made of a fitted coupling.");
}

void define_calls(CouplingClass& coupling) {
  coupling
      .def("sample", sample, "x0"_a.none(), "seed"_a.none() = nb::none(),
           nb::sig(
               "def sample(self, x0: ArrayT, seed: int | numpy.random.Generator | None = None) -> "
               "ArrayT"),
           "Draw x1 ~ q(.|x0) for each row of x0 [B,D]: int32 [B,D].")
      .def("sample_trajectory", sample_trajectory, "x0"_a.none(), "num_steps"_a.none() = nb::none(),
           "seed"_a.none() = nb::none(),
           nb::sig("def sample_trajectory(self, x0: ArrayT, num_steps: int | None = None, "
                   "seed: int | numpy.random.Generator | None = None) -> ArrayT"),
           "Draw trajectories from x0 [B,D]: int32 [B,num_steps+1,D]. Without num_steps: those\n"
           "that the solver trained with, else 16.")
      .def("log_conditional", log_conditional, "x0"_a.none(), "x1"_a.none(),
           nb::sig("def log_conditional(self, x0: ArrayT, x1: ArrayT) -> ArrayT"),
           "log q(x1|x0) for the rows of x0 [B,D] and x1 [B,D]: float64 [B].")
      .def("log_marginals", log_marginals, "x0"_a.none(),
           nb::sig("def log_marginals(self, x0: ArrayT) -> ArrayT"),
           "log q(x1^d = s | x0) for x0 [B,D]: float64 [B,D,S].")
      .def("log_transition_marginals", log_transition_marginals, "x"_a.none(), "num_steps"_a.none(),
           "n"_a.none(),
           nb::sig("def log_transition_marginals(self, x: ArrayT, num_steps: int, n: int) -> "
                   "ArrayT"),
           "log q(x_{n+1}^d = s | x_n = x) for x [B,D] and step n in 0..num_steps-1:\n"
           "float64 [B,D,S].")
      .def("reversed", reverse, nb::sig("def reversed(self) -> Coupling"),
           "The same coupling read from x1 to x0: its sample draws x0 given x1. A solver of both\n"
           "directions answers itself; a bridge over the reference is turned round by Bayes' rule\n"
           "with the x0 that it was fitted to, so that for data x0 is one of its rows. Raises\n"
           "ValueError where neither is possible.")
      .def("save", save, "folder"_a.none(),
           nb::sig("def save(self, folder: str | os.PathLike[str]) -> None"),
           "Keep the coupling as a run folder, which load_solver and `bridgemark evaluate --run`\n"
           "read. A folder that already holds a run is refused.");
}

// A coupling as a value: equality, pickles, copies.
void define_values(CouplingClass& coupling) {
  coupling
      .def(
          "__eq__",
          [](nb::handle self, nb::handle other) {
            return nb::module_::import_("bridgemark._values").attr("equal_couplings")(self, other);
          },
          "other"_a.none(), nb::sig("def __eq__(self, other: object, /) -> bool"),
          "The same fit of the same solver, with the same parameters.")
      .def("__hash__",
           [](const FittedCoupling& self) {
             return nb::hash(nb::make_tuple(self.config.solver, self.config.seed,
                                            std::string(self.problem.name())));
           })
      .def(
          "__reduce__",
          [](nb::handle self) {
            return nb::module_::import_("bridgemark._values").attr("reduce_coupling")(self);
          },
          nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"))
      .def("__copy__", [](const nb::object& self) { return self; })  // nothing of it can change
      .def("__deepcopy__", [](const nb::object& self, nb::handle) { return self; })
      .def("__repr__", [](const FittedCoupling& self) {
        return terminal_text(fmt::format(
            "<bridgemark.Coupling of '{}' on {}{}>", self.config.solver,
            described(self.problem, self.config.rows), self.forward ? ", reversed" : ""));
      });
}

}  // namespace

void init_solvers(nb::module_& module) {
  CouplingClass coupling(
      module, "Coupling",
      "What a fit made: draws x1 given x0, and more where it can.\n\n"
      "It never changes; a Solver holds the one of its last fit and answers by it. One meets a\n"
      "Coupling by itself as `solver.coupling`, with what it was fitted to, and as what "
      "`reversed`\n"
      "returns; evaluate takes both.\n\n"
      "Results are in the library and on the device of the array given. Asking for what the\n"
      "coupling cannot give raises ValueError.");
  coupling.def(
      "__init__",
      [](FittedCoupling*, const nb::args&, const nb::kwargs&) {
        throw nb::type_error("[coupling] a Coupling is made by Solver.fit: DLightSB().fit(pair)");
      },
      nb::sig("def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None"));
  define_properties(coupling);
  define_calls(coupling);
  define_values(coupling);

  module.def("fit", fit, "solver"_a, "pair"_a, "seed"_a.none() = 0, "folder"_a.none() = nb::none(),
             "resume"_a = false, "progress"_a.none() = nb::none(), "device"_a = "cpu",
             "samples"_a.none() = 0, "training_set"_a.none() = 0, "on_log"_a.none() = nb::none(),
             "tensorboard"_a.none() = nb::none(), "options"_a,
             nb::sig("def fit(solver: str, pair: Pair | str | os.PathLike[str], seed: int | "
                     "numpy.random.Generator | None = 0, folder: str | "
                     "os.PathLike[str] | None = None, resume: bool = False, progress: "
                     "collections.abc.Callable[[str, int, int, str], object] | None = None, "
                     "device: str = 'cpu', samples: int = 0, training_set: int = 0, on_log: "
                     "collections.abc.Callable[[dict[str, typing.Any]], object] | None = None, "
                     "tensorboard: str | os.PathLike[str] | None = None, **options: "
                     "typing.Any) -> Coupling"),
             "Fit a solver to unpaired samples of a pair: what Solver.fit(pair) wraps.");
  module.attr("DEFAULT_TOTAL_STEPS") = kDefaultTotalSteps;
  module.def(
      "fit_data", fit_data, "solver"_a, "x0"_a, "x1"_a, nb::kw_only(), "reference"_a,
      "gamma"_a.none(), "num_categories"_a.none(), "total_steps"_a, "seed"_a.none(),
      "folder"_a.none(), "resume"_a, "progress"_a.none(), "device"_a, "on_log"_a.none(),
      "tensorboard"_a.none(), "options"_a,
      nb::sig("def fit_data(solver: str, x0: typing.Any, x1: typing.Any, *, reference: typing.Any, "
              "gamma: float | None, num_categories: int | None, total_steps: int, seed: int | "
              "numpy.random.Generator | None, "
              "folder: str | os.PathLike[str] | None, resume: bool, progress: "
              "collections.abc.Callable[[str, int, int, str], object] | None, device: str, "
              "on_log: collections.abc.Callable[[dict[str, typing.Any]], object] | None, "
              "tensorboard: str | os.PathLike[str] | None, **options: typing.Any) -> Coupling"),
      "Fit a solver to two sets of states: what Solver.fit(x0, x1) wraps.");
  module.def(
      "load_coupling", load_coupling, "folder"_a.none(), "pair"_a.none() = nb::none(),
      nb::sig("def load_coupling(folder: str | os.PathLike[str], pair: Pair | str | "
              "os.PathLike[str] | None = None) "
              "-> Coupling"),
      "The coupling of a run folder: what load_solver wraps. `pair` is the one it was fitted to;\n"
      "it may be left out for a preset, and is for a run of data.");
  module.def("resolve_options", resolve_options, "solver"_a, "options"_a,
             nb::sig("def resolve_options(solver: str, **options: typing.Any) -> dict[str, str]"),
             "Every option of a solver by its key: those given over the defaults and the recipe.\n"
             "Raises ValueError for an unknown key.");
}

}  // namespace bridgemark::python
