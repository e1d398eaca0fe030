#include "bridgemark/metric/evaluation.h"

#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/core/resources.h"
#include "bridgemark/core/version.h"
#include "bridgemark/metric/evaluation_json.h"
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
  CallableCoupling(nb::handle function, std::size_t dim, int num_categories)
      : function_(function), dim_(dim), num_categories_(num_categories) {}

  std::size_t dim() const override { return dim_; }
  int num_categories() const override { return num_categories_; }

  void sample(const Context&, StatesView x0, const DrawKey&, std::uint64_t,
              MutableStatesView x1) const override {
    const nb::gil_scoped_acquire acquire;
    States given(x0.rows, x0.cols, {x0.data, x0.data + x0.size()});  // the function may keep it
    const nb::object answer = function_(to_numpy(std::move(given)));
    const StatesArgument states("the x1 that the callable returned", answer, dim_, num_categories_);
    if (states.rows() != x0.rows) {
      throw_invalid("evaluate", "the callable must return as many rows as it is given, {}, got {}",
                    x0.rows, states.rows());
    }
    std::copy_n(states.view().data, states.view().size(), x1.data);
  }

 private:
  nb::handle function_;  // borrowed from the caller of evaluate
  std::size_t dim_;
  int num_categories_;
};

std::shared_ptr<const Coupling> coupling_of(const BenchmarkPair& pair, nb::handle given) {
  if (nb::isinstance<FittedCoupling>(given)) {
    return nb::cast<const FittedCoupling&>(given).coupling;
  }
  if (PyCallable_Check(given.ptr()) != 0) {
    return std::make_shared<CallableCoupling>(given, pair.dim(), pair.num_categories());
  }
  throw nb::type_error(
      fmt::format("[evaluate] coupling must be a bridgemark.Coupling or a callable "
                  "x0 -> x1, got {}",
                  nb::repr(given.type()).c_str())
          .c_str());
}

nb::dict evaluate_pair(const BenchmarkPair& pair, nb::handle coupling, const WholeNumber& seed,
                       const WholeNumber& num_seeds, const WholeNumber& num_steps,
                       const WholeNumber& num_trajectories, bool c2st) {
  EvaluationOptions options;
  options.seed = seed.seed();
  options.num_seeds = num_seeds.positive_int("num_seeds");
  options.num_steps = num_steps.positive_int("num_steps");
  options.num_trajectories = num_trajectories.in_range("num_trajectories", 1, kMaxRows);
  options.c2st = c2st || pair.reverse();
  const std::shared_ptr<const Coupling> scored = coupling_of(pair, coupling);
  const auto started = std::chrono::steady_clock::now();
  const Evaluation evaluation =
      without_gil([&] { return evaluate(interruptible_context(), pair, *scored, options); });
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  nlohmann::json json = evaluation_json(evaluation);
  json["pair"] = pair.identity().name;
  json["seed"] = options.seed;
  json["num_seeds"] = options.num_seeds;
  json["num_steps"] = evaluation.num_steps;
  json["version"] = kVersion;
  json["device"] = device_name(Device::kCpu);
  json["machine"] = machine_description();
  json["wall_seconds"] = seconds;
  json["peak_memory_bytes"] = peak_memory_bytes();
  return nb::borrow<nb::dict>(to_python(json));
}

}  // namespace

void init_evaluation(nb::module_& module) {
  module.def(
      "evaluate", evaluate_pair, "pair"_a, "coupling"_a.none(), nb::kw_only(), "seed"_a = 0,
      "num_seeds"_a = 1, "num_steps"_a = 16, "num_trajectories"_a = 1000, "c2st"_a = false,
      nb::sig("def evaluate(pair: Pair, coupling: Coupling | "
              "collections.abc.Callable[[numpy.typing.NDArray[numpy.int32]], "
              "numpy.typing.ArrayLike], *, seed: int = 0, num_seeds: int = 1, num_steps: int = 16, "
              "num_trajectories: int = 1000, c2st: bool = False) -> dict"),
      "Score a coupling against the truth of a pair.\n\n"
      "`coupling` is a Coupling or a callable that takes x0, int32 [B,D], and returns x1, "
      "integers\n"
      "[B,D]: it is called in this thread once for the test set [20000,D] and once for each of "
      "the\n"
      "157 conditional inputs, repeated [1000,D]. `seed` decides the draws of the protocol and of "
      "a\n"
      "Coupling; a callable has its own randomness.\n\n"
      "Returns the object that `bridgemark evaluate --json` prints: each score's mean by its name\n"
      "(None where the coupling cannot give it), `standard_errors`, `values` for each seed, and "
      "how\n"
      "the result came about. A reversed pair always has the c2st scores.");
}

}  // namespace bridgemark::python
