#include "python/bindings/fit_call.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "bridgemark/pair/data_problem.h"
#include "bridgemark/solver/registry.h"
#include "python/bindings/results.h"

namespace nb = nanobind;

namespace bridgemark::python {

namespace {

// An option as the command line would spell it: a sequence is joined by commas.
std::string option_text(const std::string& key, nb::handle value) {
  if (nb::isinstance<nb::bool_>(value)) return nb::cast<bool>(value) ? "true" : "false";
  if (nb::isinstance<nb::str>(value) || PyNumber_Check(value.ptr()) ||
      nb::hasattr(value, "__fspath__")) {
    return nb::str(value).c_str();
  }
  if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value)) {
    std::string joined;
    for (const nb::handle part : value) {
      joined += (joined.empty() ? "" : ",") + option_text(key, part);
    }
    return joined;
  }
  throw nb::type_error(fmt::format("[python] option {} must be a number, a string or a list of "
                                   "them, got {}",
                                   key, nb::repr(value.type()).c_str())
                           .c_str());
}

}  // namespace

OptionValues resolve_options(const std::string& name, const nb::kwargs& keywords) {
  const Solver& solver = find_solver(name);
  SolverOptions options(solver.options());
  for (const auto [key, value] : keywords) {
    const auto text = nb::cast<std::string>(key);
    options.set(text, option_text(text, value));
  }
  solver.resolve(options);
  return options.values();
}

RunConfig run_config(const FitCall& call, std::string pair) {
  return {call.solver, std::move(pair), call.seed.draw(),
          resolve_options(call.solver, call.keywords), call.rows};
}

TrainingWatch training_watch(const FitCall& call, const SignalWatch& signals,
                             std::optional<int> label) {
  TrainingWatch watch;
  if (call.tensorboard) watch.event_folder = *call.tensorboard;
  if (!call.on_log.is_none()) {
    watch.on_line = [&call, &signals, label](const LogLine& line) {
      signals.visit([&] {
        nlohmann::json record = nlohmann::json::parse(line.text);
        if (label) record["label"] = *label;
        call.on_log(to_python(record));
      });
    };
  }
  return watch;
}

FitProblem data_problem(const DataCall& call) {
  DataParts parts{.x0 = states_of_any_space("x0", call.x0),
                  .x1 = states_of_any_space("x1", call.x1),
                  .reference = call.reference.reference("data"),
                  .gamma = call.gamma,
                  .total_steps = call.total_steps.to_int("total_steps")};
  if (call.num_categories) parts.num_categories = call.num_categories->to_int("num_categories");
  DataProblem made = interruptible(
      [&](const Context& context) { return make_data_problem(context, std::move(parts)); });
  if (!made.note.empty()) log_info(made.note);
  return std::move(made.problem);
}

}  // namespace bridgemark::python
