#include "bridgemark/metric/evaluation.h"

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/metric/joint_kl.h"
#include "bridgemark/metric/prediction_files.h"
#include "bridgemark/metric/record/evaluation_record.h"
#include "bridgemark/metric/score_spec.h"
#include "bridgemark/pair/data_problem.h"
#include "bridgemark/submission/score_destination.h"
#include "python/bindings/arguments.h"
#include "python/bindings/bindings.h"
#include "python/bindings/calls.h"
#include "python/bindings/device_arrays.h"
#include "python/bindings/outside_coupling.h"
#include "python/bindings/results.h"
#include "python/bindings/solvers.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bridgemark::python {

namespace {

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
    const auto& fitted = nb::cast<const FittedCoupling&>(given);
    if (!fitted.problem.pair()) require_data_of_pair(fitted.problem, pair, fitted.config.solver);
    return fitted.fitted.coupling;
  }
  if (auto outside =
          outside_coupling(given, ArrayLike{nb::borrow(like)}, pair.dim(), pair.num_categories())) {
    return outside;
  }
  if (nb::isinstance<nb::tuple>(given) && nb::len(given) == 2) {
    return coupling_of_answers(pair, given, conditional_samples);
  }
  throw nb::type_error(
      fmt::format("[evaluate] coupling must be a solver or coupling of bridgemark, an object with "
                  "sample(x0, seed), a callable x0 -> x1 or the arrays (x1, conditional_x1), got "
                  "{}",
                  nb::repr(given.type()).c_str())
          .c_str());
}

constexpr DestinationWords kDestinationWords = {
    .add_to = "add_to",
    .submission = "submission",
    .answer = "answer",
    .label = "label",
    .training_seconds = "training_seconds",
    .rows_are_known = "samples is of solvers other than Bridgemark's, which know their own",
    .none = "None"};

// own_scores(seed, num_seeds) of Python: (name, value of each repetition, mean, standard error or
// None) of each of a caller's metrics.
std::vector<Score> ask_own_scores(nb::handle own_scores, const EvaluationOptions& options) {
  using Given = std::tuple<std::string, std::vector<double>, double, std::optional<double>>;
  const nb::gil_scoped_acquire acquire;
  std::vector<Score> scores;
  for (auto& [name, values, mean, error] :
       nb::cast<std::vector<Given>>(own_scores(options.seed, options.num_seeds))) {
    scores.push_back(
        {name, mean, error.value_or(std::numeric_limits<double>::quiet_NaN()), values});
  }
  return scores;
}

nb::dict evaluate_pair(const PairArgument& given, nb::handle coupling, const Seed& seed,
                       const WholeNumber& num_seeds, const std::optional<WholeNumber>& num_steps,
                       const WholeNumber& num_trajectories, const WholeNumber& conditional_samples,
                       bool c2st, const WholeNumber& particles, double max_seconds, nb::handle like,
                       const std::optional<std::filesystem::path>& add_to,
                       const std::optional<std::filesystem::path>& submission,
                       const std::optional<std::filesystem::path>& answer,
                       const Seed& training_seed, std::optional<double> training_seconds,
                       const WholeNumber& samples, const WholeNumber& training_set,
                       const std::optional<std::string>& label, nb::handle own_scores,
                       nb::handle progress, const std::string& device_text) {
  const bool is_fit = nb::isinstance<FittedCoupling>(coupling);
  ScoreDestination destination{.add_to = add_to,
                               .submission = submission,
                               .answer = answer,
                               .label = label,
                               .rows = {samples.in_range("samples", 0, kMaxTrainingRows),
                                        training_set.in_range("training_set", 0, UINT64_MAX)},
                               .training_seconds = training_seconds};
  check_destination(destination, {.rows = is_fit}, kDestinationWords);
  if (is_fit) destination.rows = nb::cast<const FittedCoupling&>(coupling).config.rows;
  if (submission) destination.training_seed = training_seed.draw();
  const BenchmarkPair pair = given.pair();
  destination.pair_name = pair.identity().name;
  destination.note = log_info;
  // A solver that works on a GPU's arrays is scored there.
  const Device device = is_on_gpu({nb::borrow(like)}) ? Device::kCuda : parse_device(device_text);
  EvaluationOptions options;
  options.seed = seed.draw();
  options.num_seeds = num_seeds.to_int("num_seeds");
  if (num_steps) options.num_steps = num_steps->positive_int("num_steps");
  options.num_trajectories = num_trajectories.rows("num_trajectories");
  options.conditional_samples = conditional_samples.rows("conditional_samples");
  options.c2st = c2st;
  options.particles = particles.in_range("particles", 0, kMaxParticles);
  options.max_seconds = max_seconds;
  if (!own_scores.is_none()) {
    destination.own_scores = [&] { return ask_own_scores(own_scores, options); };
  }
  const std::shared_ptr<const Coupling> scored =
      coupling_of(pair, coupling, like, options.conditional_samples);
  const EvaluationRecord record = interruptible(
      [&](const Context& context) {
        return evaluate_to(context, pair, *scored, options, destination);
      },
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

std::string text_of_joint_kl(std::size_t rows, std::size_t particles, std::optional<double> change,
                             std::optional<double> worst_share) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  return joint_kl_text(
      {rows, particles, change.value_or(kNaN), worst_share.value_or(kNaN), {}, {}});
}

bool is_of_conditional_samples(const std::string& name) {
  const ScoreSpec* score = find_score(name);
  return score && score->of_conditional_samples;
}

}  // namespace

void init_evaluation(nb::module_& module) {
  const EvaluationOptions defaults;
  module.attr("DEFAULT_SEEDS") = defaults.num_seeds;
  module.attr("DEFAULT_TRAJECTORIES") = defaults.num_trajectories;
  module.attr("DEFAULT_CONDITIONAL_SAMPLES") = defaults.conditional_samples;
  module.attr("DEFAULT_PARTICLES") = defaults.particles;
  module.attr("DEFAULT_MAX_SECONDS") = defaults.max_seconds;
  module.attr("JOINT_KL") = kJointKl;
  module.def("is_of_conditional_samples", is_of_conditional_samples, "score"_a,
             "Whether the number of conditional samples decides the ceiling of a score.");
  module.def("joint_kl_text", text_of_joint_kl, "rows"_a, "particles"_a, "change"_a.none(),
             "worst_share"_a.none(),
             "How a joint KL came about, as `bridgemark evaluate` says it.");
  module.def(
      "evaluate", evaluate_pair, "pair"_a, "coupling"_a.none(), nb::kw_only(), "seed"_a.none(),
      "num_seeds"_a, "num_steps"_a.none(), "num_trajectories"_a, "conditional_samples"_a, "c2st"_a,
      "particles"_a, "max_seconds"_a, "like"_a.none(), "add_to"_a.none(), "submission"_a.none(),
      "answer"_a.none(), "training_seed"_a, "training_seconds"_a.none(), "samples"_a.none(),
      "training_set"_a.none(), "label"_a.none(), "own_scores"_a.none(), "progress"_a.none(),
      "device"_a,
      nb::sig("def evaluate(pair: Pair | str | os.PathLike[str], coupling: typing.Any, *, seed: "
              "int | numpy.random.Generator | None, "
              "num_seeds: int, "
              "num_steps: int | None, num_trajectories: int, conditional_samples: int, c2st: bool, "
              "particles: int, max_seconds: float, like: typing.Any, add_to: str | "
              "os.PathLike[str] | None, submission: str | "
              "os.PathLike[str] | None, answer: str | os.PathLike[str] | None, training_seed: int, "
              "training_seconds: float | None, samples: "
              "int, training_set: int, label: str | None, "
              "own_scores: collections.abc.Callable[[int, int], list[tuple[str, list[float], "
              "float, float | None]]] | None, "
              "progress: "
              "collections.abc.Callable[[str, int, int, str], object] "
              "| None, device: str) -> dict[str, typing.Any]"),
      "The object that `bridgemark evaluate --json` prints: what bridgemark.evaluate wraps.");
}

}  // namespace bridgemark::python
