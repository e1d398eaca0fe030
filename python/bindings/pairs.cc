#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/bridge/enumerated_coupling.h"
#include "bridgemark/core/error.h"
#include "bridgemark/pair/pair_spec.h"
#include "python/bindings/arguments.h"
#include "python/bindings/bindings.h"
#include "python/bindings/calls.h"
#include "python/bindings/results.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bridgemark::python {

namespace {

using StatesPair = std::pair<Numpy2<std::int32_t>, Numpy2<std::int32_t>>;

StatesArgument states_of(const BenchmarkPair& pair, std::string_view name, const ArrayLike& x) {
  return {name, x.array, pair.dim(), pair.num_categories()};
}

StatesPair both_to_numpy(PairedStates&& states) {
  return {to_numpy(std::move(states.x0)), to_numpy(std::move(states.x1))};
}

std::shared_ptr<const Coupling> require_truth(const Context& context, const BenchmarkPair& pair) {
  std::shared_ptr<const Coupling> truth = pair.truth(context);
  if (!truth) {
    throw_invalid(
        "pair", "the conditional of a reversed pair needs at most {} states, got {}^{} in '{}'",
        EnumeratedCoupling::kMaxStates, pair.num_categories(), pair.dim(), pair.identity().name);
  }
  return truth;
}

void require_trajectories(const BenchmarkPair& pair) {
  if (pair.reverse()) {
    throw_invalid("pair", "trajectories of a reversed pair have no closed form, got pair '{}'",
                  pair.identity().name);
  }
}

BenchmarkPair load(const std::filesystem::path& name_or_folder) {
  return without_gil([&] { return load_pair(name_or_folder.string()); });
}

std::vector<std::string> presets() {
  std::vector<std::string> names;
  for (const PairSpec& spec : preset_specs()) names.push_back(spec.name);
  return names;
}

Numpy2<std::int32_t> sample_x0(const BenchmarkPair& pair, const WholeNumber& n,
                               const WholeNumber& seed) {
  const std::size_t rows = n.rows("n");
  const std::uint64_t key = seed.seed();
  return to_numpy(without_gil([&] { return pair.sample_x0(interruptible_context(), rows, key); }));
}

Numpy2<std::int32_t> sample_x1(const BenchmarkPair& pair, const WholeNumber& n,
                               const WholeNumber& seed) {
  const std::size_t rows = n.rows("n");
  const std::uint64_t key = seed.seed();
  return to_numpy(without_gil([&] { return pair.sample_x1(interruptible_context(), rows, key); }));
}

StatesPair sample_joint(const BenchmarkPair& pair, const WholeNumber& n, const WholeNumber& seed) {
  const std::size_t rows = n.rows("n");
  const std::uint64_t key = seed.seed();
  return both_to_numpy(
      without_gil([&] { return pair.sample_joint(interruptible_context(), rows, key); }));
}

Numpy2<std::int32_t> sample_conditional(const BenchmarkPair& pair, const ArrayLike& x0,
                                        const WholeNumber& seed) {
  const StatesArgument given = states_of(pair, "x0", x0);
  const std::uint64_t key = seed.seed();
  return to_numpy(without_gil(
      [&] { return pair.sample_conditional(interruptible_context(), given.view(), key); }));
}

Numpy3<std::int32_t> sample_trajectory(const BenchmarkPair& pair, const ArrayLike& x0,
                                       const WholeNumber& num_steps, const WholeNumber& seed) {
  const StatesArgument given = states_of(pair, "x0", x0);
  const int steps = num_steps.positive_int("num_steps");
  const std::uint64_t key = seed.seed();
  require_trajectories(pair);
  const ReferenceChain chain(pair.bridge().process(),
                             steps);  // refuses steps before memory is taken
  return to_numpy(without_gil([&] {
    return sample_markov_trajectory(interruptible_context(), pair.bridge(), chain.num_steps(),
                                    given.view(), key, 0);
  }));
}

Numpy1<double> log_conditional(const BenchmarkPair& pair, const ArrayLike& x0,
                               const ArrayLike& x1) {
  const StatesArgument from = states_of(pair, "x0", x0);
  const StatesArgument to = states_of(pair, "x1", x1);
  check_same_rows(from, to);
  return to_numpy(without_gil([&] {
    const Context context = interruptible_context();
    std::vector<double> out(from.rows());
    require_truth(context, pair)->log_conditional(context, from.view(), to.view(), out);
    return out;
  }));
}

Numpy3<double> log_marginals(const BenchmarkPair& pair, const ArrayLike& x0) {
  const StatesArgument given = states_of(pair, "x0", x0);
  return to_numpy(without_gil([&] {
    const Context context = interruptible_context();
    Array3<double> out;
    require_truth(context, pair)->log_marginals(context, given.view(), out);
    return out;
  }));
}

Numpy3<double> log_transition_marginals(const BenchmarkPair& pair, const ArrayLike& x,
                                        const WholeNumber& num_steps, const WholeNumber& n) {
  const StatesArgument given = states_of(pair, "x", x);
  const int steps = num_steps.positive_int("num_steps");
  const int step = static_cast<int>(n.in_range("n", 0, static_cast<std::uint64_t>(steps) - 1));
  require_trajectories(pair);
  return to_numpy(without_gil([&] {
    Array3<double> out;
    pair.bridge().log_transition_marginals(interruptible_context(), steps, step, given.view(), out);
    return out;
  }));
}

StatesPair test_set(const BenchmarkPair& pair) {
  return both_to_numpy(without_gil([&] { return pair.test_set(interruptible_context()); }));
}

Numpy2<std::int32_t> inputs_of(const BenchmarkPair& pair) {
  return to_numpy(
      without_gil([&] { return conditional_inputs(pair.test_set(interruptible_context()).x0); }));
}

std::string describe(const BenchmarkPair& pair) {
  return fmt::format("<bridgemark.Pair '{}': {} dimensions, {} categories>", pair.identity().name,
                     pair.dim(), pair.num_categories());
}

}  // namespace

void init_pairs(nb::module_& module) {
  nb::class_<BenchmarkPair>(
      module, "Pair",
      "Two distributions p0, p1 on {0..S-1}^D and the Schrödinger bridge between them.\n\n"
      "States are int32 arrays [B,D]; every integer dtype is taken. The same seed gives the same\n"
      "states for any number of threads; row i of a seed does not depend on how many are drawn.\n"
      "A reversed pair asks for p1 -> p0.")
      .def_prop_ro("name", [](const BenchmarkPair& pair) { return pair.identity().name; })
      .def_prop_ro("dim", &BenchmarkPair::dim, "D, the number of coordinates.")
      .def_prop_ro("num_categories", &BenchmarkPair::num_categories,
                   "S, the number of categories of each coordinate.")
      .def_prop_ro(
          "seed", [](const BenchmarkPair& pair) { return pair.identity().seed; },
          "Seed of the pair's own parameters and test set.")
      .def_prop_ro("version", [](const BenchmarkPair& pair) { return pair.identity().version; })
      .def_prop_ro("reverse", &BenchmarkPair::reverse)
      .def("sample_x0", sample_x0, "n"_a, "seed"_a = 0,
           "Draw x0 ~ p0: int32 [n,D]. Independent of sample_x1 for every seed.")
      .def("sample_x1", sample_x1, "n"_a, "seed"_a = 0,
           "Draw x1 ~ p1: int32 [n,D]. Independent of sample_x0 for every seed.")
      .def("sample_joint", sample_joint, "n"_a, "seed"_a = 0,
           "Draw (x0, x1) from the truth: two int32 arrays [n,D].")
      .def("sample_conditional", sample_conditional, "x0"_a, "seed"_a = 0,
           "Draw x1 ~ q*(.|x0) for each row of x0 [B,D]: int32 [B,D].")
      .def("sample_trajectory", sample_trajectory, "x0"_a, "num_steps"_a = 16, "seed"_a = 0,
           "Draw trajectories of the truth from x0 [B,D]: int32 [B,num_steps+1,D].")
      .def("log_conditional", log_conditional, "x0"_a, "x1"_a,
           "log q*(x1|x0), exact, for the rows of x0 [B,D] and x1 [B,D]: float64 [B].")
      .def("log_marginals", log_marginals, "x0"_a,
           "log q*(x1^d = s | x0), exact, for x0 [B,D]: float64 [B,D,S].")
      .def("log_transition_marginals", log_transition_marginals, "x"_a, "num_steps"_a, "n"_a,
           "log q*(x_{n+1}^d = s | x_n = x), exact, for x [B,D] and step n in 0..num_steps-1:\n"
           "float64 [B,D,S].")
      .def("test_set", test_set,
           "The held-out rows (x0, x1): two int32 arrays [rows,D], 20000 rows for a preset.")
      .def("conditional_inputs", inputs_of,
           "The x0 of the conditional scores, test rows 0, 128, 256, ...: int32 [rows,D], 157\n"
           "rows for a preset.")
      .def("__repr__", describe);

  module.def("load", load, "name_or_folder"_a,
             "The pair of a preset's name (NAME-reverse for p1 -> p0) or of a pair folder.");
  module.def("presets", presets, "Names of the pairs that come built in.");
}

}  // namespace bridgemark::python
