#include "bridgemark/metric/evaluation.h"

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/metric/evaluation_record.h"
#include "bridgemark/metric/prediction_files.h"
#include "python/bindings/arguments.h"
#include "python/bindings/bindings.h"
#include "python/bindings/calls.h"
#include "python/bindings/results.h"
#include "python/bindings/solvers.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bridgemark::python {

namespace {

// A Python function x0 [B,D] -> x1 [B,D] as a coupling. The protocol draws from the thread that
// called evaluate; the GIL is held during the function.
class CallableCoupling : public Coupling {
 public:
  CallableCoupling(nb::handle function, ArrayLike like, std::size_t dim, int num_categories)
      : function_(function), like_(std::move(like)), dim_(dim), num_categories_(num_categories) {}

  std::size_t dim() const override { return dim_; }
  int num_categories() const override { return num_categories_; }

  void sample(const Context&, StatesView x0, const DrawKey&, std::uint64_t,
              MutableStatesView x1) const override {
    const nb::gil_scoped_acquire acquire;
    States given(x0.rows, x0.cols, {x0.data, x0.data + x0.size()});  // the function may keep it
    const nb::object answer = function_(like_.answer(to_numpy(std::move(given))));
    const StatesArgument states("the x1 that the callable returned", {answer}, dim_,
                                num_categories_);
    if (states.rows() != x0.rows) {
      throw_invalid("evaluate", "the callable must return as many rows as it is given, {}, got {}",
                    x0.rows, states.rows());
    }
    std::copy_n(states.view().data, states.view().size(), x1.data);
  }

 private:
  nb::handle function_;  // borrowed from the caller of evaluate
  ArrayLike like_;       // x0 comes in its library and on its device
  std::size_t dim_;
  int num_categories_;
};

// (x1 [test rows, D], conditional_x1 [inputs, conditional_samples, D]) as a coupling.
std::shared_ptr<const Coupling> coupling_of_answers(const BenchmarkPair& pair, nb::handle answers,
                                                    std::size_t conditional_samples) {
  const nb::object conditional = ArrayLike{nb::borrow(answers[1])}.to_numpy("conditional_x1");
  const nb::object shape = conditional.attr("shape");
  if (nb::len(shape) != 3 || nb::cast<std::size_t>(shape[1]) != conditional_samples) {
    throw_invalid("evaluate",
                  "conditional_x1 must have shape [inputs, {}, {}], got {}; conditional_samples "
                  "says how many there are",
                  conditional_samples, pair.dim(), nb::str(shape).c_str());
  }
  const nb::object flat = conditional.attr("reshape")(-1, shape[2]);
  StatesArgument x1("x1", {nb::borrow(answers[0])}, pair.dim(), pair.num_categories());
  StatesArgument conditional_x1("conditional_x1", {flat}, pair.dim(), pair.num_categories());
  States rows = std::move(x1).take(), conditional_rows = std::move(conditional_x1).take();
  return interruptible([&](const Context& context) -> std::shared_ptr<const Coupling> {
    return make_predictions(context, pair, std::move(rows), std::move(conditional_rows),
                            conditional_samples);
  });
}

std::shared_ptr<const Coupling> coupling_of(const BenchmarkPair& pair, nb::handle given,
                                            nb::handle like, std::size_t conditional_samples) {
  if (nb::isinstance<FittedCoupling>(given)) {
    return nb::cast<const FittedCoupling&>(given).fitted.coupling;
  }
  if (PyCallable_Check(given.ptr()) != 0) {
    return std::make_shared<CallableCoupling>(given, ArrayLike{nb::borrow(like)}, pair.dim(),
                                              pair.num_categories());
  }
  if (nb::isinstance<nb::tuple>(given) && nb::len(given) == 2) {
    return coupling_of_answers(pair, given, conditional_samples);
  }
  throw nb::type_error(
      fmt::format("[evaluate] coupling must be a solver or coupling of bridgemark, a callable "
                  "x0 -> x1 or the arrays (x1, conditional_x1), got {}",
                  nb::repr(given.type()).c_str())
          .c_str());
}

nb::dict evaluate_pair(const BenchmarkPair& pair, nb::handle coupling, const WholeNumber& seed,
                       const WholeNumber& num_seeds, const std::optional<WholeNumber>& num_steps,
                       const WholeNumber& num_trajectories, const WholeNumber& conditional_samples,
                       bool c2st, nb::handle like, nb::handle progress,
                       const std::string& device_text) {
  const Device device = parse_device(device_text);
  EvaluationOptions options;
  options.seed = seed.seed();
  options.num_seeds = num_seeds.to_int("num_seeds");
  if (num_steps) options.num_steps = num_steps->positive_int("num_steps");
  options.num_trajectories = num_trajectories.rows("num_trajectories");
  options.conditional_samples = conditional_samples.rows("conditional_samples");
  options.c2st = c2st;
  const std::shared_ptr<const Coupling> scored =
      coupling_of(pair, coupling, like, options.conditional_samples);
  const EvaluationRecord record = interruptible(
      [&](const Context& context) { return evaluate_and_record(context, pair, *scored, options); },
      progress, device);
  nb::dict result;
  for (const Score& score : record.evaluation.scores) {  // in the order of the protocol
    result[score.name.c_str()] = to_python(record.json[score.name]);
  }
  for (const auto& [key, value] : record.json.items()) {
    if (!result.contains(key.c_str())) result[key.c_str()] = to_python(value);
  }
  return result;
}

}  // namespace

void init_evaluation(nb::module_& module) {
  const EvaluationOptions defaults;
  module.attr("DEFAULT_SEEDS") = defaults.num_seeds;
  module.attr("DEFAULT_TRAJECTORIES") = defaults.num_trajectories;
  module.attr("DEFAULT_CONDITIONAL_SAMPLES") = defaults.conditional_samples;
  module.def(
      "evaluate", evaluate_pair, "pair"_a, "coupling"_a.none(), nb::kw_only(), "seed"_a,
      "num_seeds"_a, "num_steps"_a.none(), "num_trajectories"_a, "conditional_samples"_a, "c2st"_a,
      "like"_a.none(), "progress"_a.none(), "device"_a,
      nb::sig("def evaluate(pair: Pair, coupling: typing.Any, *, seed: int, num_seeds: int, "
              "num_steps: int | None, num_trajectories: int, conditional_samples: int, c2st: bool, "
              "like: typing.Any, progress: collections.abc.Callable[[str, int, int, str], object] "
              "| None, device: str) -> dict[str, typing.Any]"),
      "The object that `bridgemark evaluate --json` prints: what bridgemark.evaluate wraps.");
}

}  // namespace bridgemark::python
