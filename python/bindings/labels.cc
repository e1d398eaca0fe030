#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/bridge/label_couplings.h"
#include "bridgemark/pair/label_problems.h"
#include "bridgemark/solver/core/diagnostics_json.h"
#include "bridgemark/solver/run/labelled_run.h"
#include "bridgemark/solver/run/run_result.h"
#include "python/bindings/arguments.h"
#include "python/bindings/bindings.h"
#include "python/bindings/calls.h"
#include "python/bindings/fit_call.h"
#include "python/bindings/label_dict.h"
#include "python/bindings/results.h"
#include "python/bindings/solvers.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bridgemark::python {

std::vector<LabelledFit> read_label_dict(const nb::dict& couplings) {
  std::vector<LabelledFit> fits;
  for (const auto [label, coupling] : couplings) {
    fits.push_back({nb::cast<Label>(label), &nb::cast<const FittedCoupling&>(coupling)});
  }
  std::ranges::sort(fits, {}, &LabelledFit::label);
  return fits;
}

LoadedRun run_of(const FittedCoupling& fit) {
  return {fit.config, fit.problem, fit.fitted.coupling};
}

std::vector<LabelledRun> runs_of(const std::vector<LabelledFit>& fits) {
  std::vector<LabelledRun> runs;
  for (const auto& [label, fit] : fits) runs.push_back({label, run_of(*fit)});
  return runs;
}

namespace {

LabelCouplings couplings_of(const nb::dict& couplings) {
  std::vector<LabelCoupling> read;
  for (const auto& [label, fit] : read_label_dict(couplings)) {
    read.push_back({label, fit->fitted.coupling});
  }
  return LabelCouplings(std::move(read));
}

nb::dict fit_labels(const std::string& name, const ArrayLike& x0, const ArrayLike& x1,
                    const ArrayLike& labels0, const ArrayLike& labels1, const ArrayLike& reference,
                    const std::optional<double>& gamma,
                    const std::optional<WholeNumber>& num_categories,
                    const WholeNumber& total_steps, const Seed& seed,
                    const std::optional<std::filesystem::path>& folder, bool resume,
                    nb::handle progress, const std::string& device, nb::handle on_log,
                    const std::optional<std::filesystem::path>& tensorboard,
                    const nb::kwargs& keywords) {
  const FitCall call{name, seed, folder, resume, progress, device, on_log, tensorboard, keywords};
  const Labels of_x0 = labels_argument("condition[0]", labels0),
               of_x1 = labels_argument("condition[1]", labels1);
  const FitProblem data = data_problem({x0, x1, reference, gamma, num_categories, total_steps});
  const RunConfig config = run_config(call, "");
  warn_if_still(data.reference());
  std::vector<LabelFit> fits = interruptible(
      [&](const Context& context, const SignalWatch& signals) {
        const std::vector<LabelProblem> problems = problems_by_label(data, of_x0, of_x1);
        const LabelWatch watch = [&](Label label) { return training_watch(call, signals, label); };
        if (!folder) return fit_by_label(context, config, problems, watch);
        return train_by_label(context, config, problems, *folder, resume, watch);
      },
      progress, parse_device(device));
  nb::dict couplings;
  for (LabelFit& fit : fits) {
    couplings[nb::int_(fit.label)] =
        FittedCoupling{config, std::move(fit.problem), std::move(fit.fitted), fit.seconds};
  }
  return couplings;
}

nb::object sample_labels(const nb::dict& couplings, const ArrayLike& x0, const ArrayLike& condition,
                         const Seed& seed) {
  const LabelCouplings by_label = couplings_of(couplings);
  const States given = states_of_any_space("x0", x0);
  const Labels labels = labels_argument("condition", condition);
  const std::uint64_t key = seed.draw();
  return x0.answer(to_numpy(interruptible(
      [&](const Context& context) { return by_label.sample(context, given, labels, key); })));
}

nb::object sample_trajectory_labels(const nb::dict& couplings, const ArrayLike& x0,
                                    const ArrayLike& condition,
                                    const std::optional<WholeNumber>& num_steps, const Seed& seed) {
  const LabelCouplings by_label = couplings_of(couplings);
  const States given = states_of_any_space("x0", x0);
  const Labels labels = labels_argument("condition", condition);
  const int steps = num_steps ? num_steps->positive_int("num_steps")
                              : read_label_dict(couplings)[0].fit->own_num_steps();
  const std::uint64_t key = seed.draw();
  return x0.answer(to_numpy(interruptible([&](const Context& context) {
    return by_label.sample_trajectory(context, steps, given, labels, key);
  })));
}

nb::object log_conditional_labels(const nb::dict& couplings, const ArrayLike& x0,
                                  const ArrayLike& x1, const ArrayLike& condition) {
  const LabelCouplings by_label = couplings_of(couplings);
  const States from = states_of_any_space("x0", x0), to = states_of_any_space("x1", x1);
  const Labels labels = labels_argument("condition", condition);
  check_same_rows(from.rows(), to.rows());
  return x0.answer(to_numpy(interruptible([&](const Context& context) {
    return by_label.log_conditional(context, from, to, labels);
  })));
}

void save_labels(const nb::dict& couplings, const PathArgument& given) {
  const std::filesystem::path folder = given.path("folder");
  std::vector<LabelFit> fits;
  const std::vector<LabelledFit> read = read_label_dict(couplings);
  for (const auto& [label, fit] : read) {
    fits.push_back({label, fit->problem, fit->fitted, fit->seconds});
  }
  interruptible([&](const Context& context) {
    save_by_label(context, read.at(0).fit->config, fits, folder);
    return 0;
  });
}

}  // namespace

void init_labels(nb::module_& module) {
  const char* reason = "what LabelledCoupling and Solver wrap.";
  module.def(
      "fit_labels", fit_labels, "solver"_a, "x0"_a, "x1"_a, "labels0"_a.none(), "labels1"_a.none(),
      nb::kw_only(), "reference"_a, "gamma"_a.none(), "num_categories"_a.none(), "total_steps"_a,
      "seed"_a.none(), "folder"_a.none(), "resume"_a, "progress"_a.none(), "device"_a,
      "on_log"_a.none(), "tensorboard"_a.none(), "options"_a,
      nb::sig("def fit_labels(solver: str, x0: typing.Any, x1: typing.Any, labels0: typing.Any, "
              "labels1: typing.Any, *, reference: typing.Any, gamma: float | None, num_categories: "
              "int | None, total_steps: int, seed: int | numpy.random.Generator | None, folder: "
              "str | os.PathLike[str] | None, resume: bool, progress: "
              "collections.abc.Callable[[str, int, int, str], object] | None, device: str, on_log: "
              "collections.abc.Callable[[dict[str, typing.Any]], object] | None, tensorboard: str "
              "| os.PathLike[str] | None, **options: typing.Any) -> dict[int, Coupling]"),
      fmt::format("Fit a solver to the rows of each label by themselves: {}", reason).c_str());
  module.def("sample_labels", sample_labels, "couplings"_a, "x0"_a.none(), "condition"_a.none(),
             "seed"_a.none(),
             nb::sig("def sample_labels(couplings: dict[int, Coupling], x0: ArrayT, condition: "
                     "typing.Any, seed: int | numpy.random.Generator | None) -> ArrayT"),
             fmt::format("Draw x1 given x0 and a label: {}", reason).c_str());
  module.def(
      "sample_trajectory_labels", sample_trajectory_labels, "couplings"_a, "x0"_a.none(),
      "condition"_a.none(), "num_steps"_a.none(), "seed"_a.none(),
      nb::sig("def sample_trajectory_labels(couplings: dict[int, Coupling], x0: ArrayT, condition: "
              "typing.Any, num_steps: int | None, seed: int | numpy.random.Generator | None) -> "
              "ArrayT"),
      fmt::format("Draw trajectories given x0 and a label: {}", reason).c_str());
  module.def("log_conditional_labels", log_conditional_labels, "couplings"_a, "x0"_a.none(),
             "x1"_a.none(), "condition"_a.none(),
             nb::sig("def log_conditional_labels(couplings: dict[int, Coupling], x0: ArrayT, x1: "
                     "ArrayT, condition: typing.Any) -> ArrayT"),
             fmt::format("log q(x1|x0) given a label: {}", reason).c_str());
  module.def("save_labels", save_labels, "couplings"_a, "folder"_a.none(),
             nb::sig("def save_labels(couplings: dict[int, Coupling], folder: str | "
                     "os.PathLike[str]) -> None"),
             fmt::format("Keep couplings by label as a labelled run: {}", reason).c_str());
  module.def(
      "run_labels",
      [](const PathArgument& given) -> std::optional<nb::dict> {
        const std::filesystem::path folder = given.path("folder");
        if (!is_labelled_run(folder)) return std::nullopt;
        nb::dict folders;
        for (const Label label : load_run_labels(folder)) {
          folders[nb::int_(label)] = label_folder(folder, label).string();
        }
        return folders;
      },
      "folder"_a.none(),
      nb::sig("def run_labels(folder: str | os.PathLike[str]) -> dict[int, str] | None"),
      "The run folders of a labelled run by their labels; None for any other folder.");
}

}  // namespace bridgemark::python
