#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/core/free_memory.h"
#include "bridgemark/core/terminal_text.h"
#include "bridgemark/metric/evaluation.h"
#include "bridgemark/pair/pair_equality.h"
#include "bridgemark/pair/pair_folder.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/pair/training_set.h"
#include "bridgemark/report/tables/value_table.h"
#include "python/bindings/arguments.h"
#include "python/bindings/bindings.h"
#include "python/bindings/calls.h"
#include "python/bindings/couplings.h"
#include "python/bindings/pair_properties.h"
#include "python/bindings/results.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bridgemark::python {

namespace {

nb::tuple both_to_numpy(PairedStates&& states) {
  return nb::make_tuple(to_numpy(std::move(states.x0)), to_numpy(std::move(states.x1)));
}

std::shared_ptr<const Coupling> truth_of(const BenchmarkPair& pair) {
  return interruptible([&](const Context& context) { return pair.require_truth(context); });
}

// num_steps of a chain of the truth.
int require_chain(const BenchmarkPair& pair, const WholeNumber& num_steps) {
  const int steps = num_steps.positive_int("num_steps");
  return ReferenceChain(pair.bridge().process(), steps).num_steps();
}

BenchmarkPair load(const PathArgument& name_or_folder) {
  const std::string name = name_or_folder.path("name_or_folder").string();
  return interruptible([&](const Context&) { return load_pair(name); });
}

std::vector<std::string> presets() {
  std::vector<std::string> names;
  for (const PairSpec& spec : preset_specs()) names.push_back(spec.name);
  return names;
}

// States [n,D] that a call is about to draw.
class DrawnStates {
 public:
  // `arrays`: how many of them the call makes.
  DrawnStates(const BenchmarkPair& pair, std::size_t rows, int arrays = 1)
      : rows_(rows), dim_(pair.dim()), values_(size(rows, dim_, arrays)) {}

  MutableStatesView view() const { return {values_.data(), rows_, dim_}; }
  nb::object to_numpy() { return own<std::int32_t>(std::move(values_), {rows_, dim_}); }

 private:
  static std::size_t size(std::size_t rows, std::size_t dim, int arrays) {
    require_states_memory(rows, dim, arrays);
    return rows * dim;
  }

  std::size_t rows_, dim_;
  UnwrittenValues<std::int32_t> values_;
};

nb::object sample_x0(const BenchmarkPair& pair, const WholeNumber& n, const Seed& seed) {
  DrawnStates x0(pair, n.rows("n"));
  const std::uint64_t key = seed.draw();
  interruptible(
      [&](const Context& context) { return pair.write_x0(context, key, 0, x0.view()), 0; });
  return x0.to_numpy();
}

nb::object sample_x1(const BenchmarkPair& pair, const WholeNumber& n, const Seed& seed) {
  DrawnStates x1(pair, n.rows("n"));
  const std::uint64_t key = seed.draw();
  interruptible(
      [&](const Context& context) { return pair.write_x1(context, key, 0, x1.view()), 0; });
  return x1.to_numpy();
}

nb::tuple sample_joint(const BenchmarkPair& pair, const WholeNumber& n, const Seed& seed) {
  const std::size_t rows = n.rows("n");
  DrawnStates x0(pair, rows, 2), x1(pair, rows);
  const std::uint64_t key = seed.draw();
  interruptible([&](const Context& context) {
    return pair.write_joint(context, key, 0, x0.view(), x1.view()), 0;
  });
  return nb::make_tuple(x0.to_numpy(), x1.to_numpy());
}

nb::object sample_conditional(const BenchmarkPair& pair, const ArrayLike& x0, const Seed& seed) {
  return draw(*truth_of(pair), x0, seed);
}

nb::object sample_trajectory(const BenchmarkPair& pair, const ArrayLike& x0,
                             const WholeNumber& num_steps, const Seed& seed) {
  const StatesArgument given("x0", x0, pair.dim(), pair.num_categories());
  const int steps = require_chain(pair, num_steps);
  const std::uint64_t key = seed.draw();
  return x0.answer(to_numpy(interruptible([&](const Context& context) {
    return pair.sample_trajectory(context, steps, given.view(), key);
  })));
}

nb::object log_conditional(const BenchmarkPair& pair, const ArrayLike& x0, const ArrayLike& x1) {
  return joint_probability(*truth_of(pair), x0, x1);
}

nb::object log_marginals(const BenchmarkPair& pair, const ArrayLike& x0) {
  return marginals(*truth_of(pair), x0);
}

nb::object log_transition_marginals(const BenchmarkPair& pair, const ArrayLike& x,
                                    const WholeNumber& num_steps, const WholeNumber& n) {
  return transition_marginals(*truth_of(pair), x, require_chain(pair, num_steps), n);
}

// log p0 or log p1, whichever `end` is: (value, standard_error), or the value alone.
template <LogEstimates (BenchmarkPair::*end)(const Context&, StatesView, std::uint64_t) const>
nb::object log_end(const BenchmarkPair& pair, const ArrayLike& x, const Seed& seed,
                   bool with_error) {
  const StatesArgument given("x", x, pair.dim(), pair.num_categories());
  const std::uint64_t key = seed.draw();
  LogEstimates estimates = interruptible(
      [&](const Context& context) { return (pair.*end)(context, given.view(), key); });
  nb::object value = x.answer(to_numpy(std::move(estimates.value)));
  if (!with_error) return value;
  return nb::make_tuple(value, x.answer(to_numpy(std::move(estimates.standard_error))));
}

nb::tuple estimate_marginals(const BenchmarkPair& pair, const ArrayLike& x0,
                             const WholeNumber& num_draws, const Seed& seed) {
  const StatesArgument given("x0", x0, pair.dim(), pair.num_categories());
  const std::size_t draws = num_draws.rows("num_draws");
  const std::uint64_t key = seed.draw();
  MarginalEstimates estimates = interruptible([&](const Context& context) {
    return pair.estimate_marginals(context, given.view(), draws, key);
  });
  return nb::make_tuple(x0.answer(to_numpy(std::move(estimates.probability))),
                        x0.answer(to_numpy(std::move(estimates.standard_error))));
}

nb::tuple test_set(const BenchmarkPair& pair) {
  return both_to_numpy(
      interruptible([&](const Context& context) { return pair.test_set(context); }));
}

nb::object inputs_of(const BenchmarkPair& pair) {
  return to_numpy(interruptible(
      [&](const Context& context) { return conditional_inputs(pair.test_set(context).x0); }));
}

nb::object log_reference(const BenchmarkPair& pair, const WholeNumber& n) {
  const auto total = static_cast<std::uint64_t>(pair.bridge().process().total_steps());
  const int power = static_cast<int>(n.in_range("n", 0, total));
  return to_numpy(interruptible(
      [&](const Context& context) { return pair.reference().log_power_once(context, power); }));
}

void save(const BenchmarkPair& pair, const PathArgument& folder) {
  const std::filesystem::path target = folder.path("folder");
  interruptible([&](const Context& context) {
    write_pair_folder(context, pair, target);
    return 0;
  });
}

std::string describe(const BenchmarkPair& pair) {
  return fmt::format("<bridgemark.Pair '{}': {} dimensions, {} categories>",
                     terminal_text(pair.identity().name), pair.dim(), pair.num_categories());
}

std::string html(const BenchmarkPair& pair) {
  const ReferenceProcess& process = pair.bridge().process();
  const TableValue stochasticity =
      std::isnan(process.gamma()) ? TableValue() : TableValue(fmt::format("{}", process.gamma()));
  const auto whole = [](auto number) { return static_cast<std::int64_t>(number); };
  return html_form({{"pair", "family", "D", "S", "reference", "gamma", "K", "steps"},
                    {{pair.identity().name, std::string(pair_family_name(pair.identity().family)),
                      whole(pair.dim()), whole(pair.num_categories()),
                      std::string(reference_kind_name(process.kind())), stochasticity,
                      whole(pair.bridge().num_components()), whole(process.total_steps())}}});
}

nb::object equal(const BenchmarkPair& pair, nb::handle other) {
  if (!nb::isinstance<BenchmarkPair>(other)) return nb::borrow(nb::handle(Py_NotImplemented));
  const auto& given = nb::cast<const BenchmarkPair&>(other);
  return nb::bool_(
      interruptible([&](const Context& context) { return equal_pairs(context, pair, given); }));
}

Py_hash_t hash(const BenchmarkPair& pair) {
  const PairIdentity& identity = pair.identity();
  return nb::hash(
      nb::make_tuple(identity.name, identity.version, identity.seed, pair.reverse(), pair.dim()));
}

// The package's function of the name draws n rows into arrays that it makes on the device.
nb::object draw_on(const char* function, nb::handle self, const WholeNumber& n, const Seed& seed,
                   nb::handle device) {
  return nb::module_::import_("bridgemark._batches")
      .attr(function)(self, n.rows("n"), seed.draw(), device);
}

nb::object sample_x0_on(nb::handle self, const WholeNumber& n, const Seed& seed,
                        nb::handle device) {
  return draw_on("sample_x0", self, n, seed, device);
}

nb::object sample_x1_on(nb::handle self, const WholeNumber& n, const Seed& seed,
                        nb::handle device) {
  return draw_on("sample_x1", self, n, seed, device);
}

nb::object sample_joint_on(nb::handle self, const WholeNumber& n, const Seed& seed,
                           nb::handle device) {
  return draw_on("sample_joint", self, n, seed, device);
}

nb::object training_rows(const BenchmarkPair& pair, const WholeNumber& n,
                         const WholeNumber& index) {
  const std::size_t samples = n.in_range("n", 1, kMaxTrainingRows);
  const std::uint64_t number = index.in_range("index", 0, UINT64_MAX);
  TrainingSet set = interruptible(
      [&](const Context& context) { return training_set(context, pair, samples, number); });
  return nb::make_tuple(to_numpy(std::move(set.x0)), to_numpy(std::move(set.x1)));
}

// The class of the package, which makes the arrays.
nb::object batches(nb::handle self, const WholeNumber& rows, const Seed& seed, nb::handle device,
                   const WholeNumber& first_row) {
  return nb::module_::import_("bridgemark._batches")
      .attr("Batches")(self, rows.rows("rows"), seed.draw(), device, first_row.rows("first_row"));
}

nb::object reduce(nb::handle self) {
  return nb::module_::import_("bridgemark._values").attr("reduce_pair")(self);
}

void define_calls(nb::class_<BenchmarkPair>& pair_class) {
  pair_class
      .def("log_reference", log_reference, "n"_a.none(),
           nb::sig("def log_reference(self, n: int) -> numpy.typing.NDArray[numpy.float64]"),
           "log q_ref(y | x) of n elementary steps of the reference, n in 0..total_steps:\n"
           "float64 [S,S] with row x.")
      .def("sample_x0", sample_x0, "n"_a.none(), "seed"_a.none() = nb::none(),
           nb::sig(
               "def sample_x0(self, n: int, seed: int | numpy.random.Generator | None = None) -> "
               "numpy.typing.NDArray[numpy.int32]"),
           "Draw x0 ~ p0: int32 [n,D]. Independent of sample_x1 for every seed.")
      .def("sample_x0", sample_x0_on, "n"_a.none(), "seed"_a.none() = nb::none(), nb::kw_only(),
           "device"_a.none(),
           nb::sig("def sample_x0(self, n: int, seed: int | numpy.random.Generator | None = None, "
                   "*, device: typing.Any) -> typing.Any"),
           "The same rows on a device: for 'cuda' torch (or CuPy) array drawn there.")
      .def("sample_x1", sample_x1, "n"_a.none(), "seed"_a.none() = nb::none(),
           nb::sig(
               "def sample_x1(self, n: int, seed: int | numpy.random.Generator | None = None) -> "
               "numpy.typing.NDArray[numpy.int32]"),
           "Draw x1 ~ p1: int32 [n,D]. Independent of sample_x0 for every seed.")
      .def("sample_x1", sample_x1_on, "n"_a.none(), "seed"_a.none() = nb::none(), nb::kw_only(),
           "device"_a.none(),
           nb::sig("def sample_x1(self, n: int, seed: int | numpy.random.Generator | None = None, "
                   "*, device: typing.Any) -> typing.Any"),
           "The same rows on a device: for 'cuda' torch (or CuPy) array drawn there.")
      .def(
          "sample_joint", sample_joint, "n"_a.none(), "seed"_a.none() = nb::none(),
          nb::sig(
              "def sample_joint(self, n: int, seed: int | numpy.random.Generator | None = None) -> "
              "tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32]]"),
          "Draw (x0, x1) from the truth: two int32 arrays [n,D].")
      .def("sample_joint", sample_joint_on, "n"_a.none(), "seed"_a.none() = nb::none(),
           nb::kw_only(), "device"_a.none(),
           nb::sig(
               "def sample_joint(self, n: int, seed: int | numpy.random.Generator | None = None, "
               "*, device: typing.Any) -> tuple[typing.Any, typing.Any]"),
           "The same rows on a device: for 'cuda' torch (or CuPy) arrays drawn there.")
      .def(
          "training_set", training_rows, "n"_a.none(), "index"_a.none() = 0,
          nb::sig("def training_set(self, n: int, index: int = 0) -> "
                  "tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32]]"),
          "The first n rows of a training set: (x0, x1), int32 [n,D] each, unpaired. They are the\n"
          "same for everyone, on every machine; a larger n begins with the rows of a smaller one.\n"
          "Those of the reversed pair are the same, swapped.")
      .def(
          "batches", batches, "rows"_a.none(), "seed"_a.none() = nb::none(),
          "device"_a.none() = "cpu", "first_row"_a.none() = 0,
          nb::sig("def batches(self, rows: int, seed: int | numpy.random.Generator | None = None, "
                  "device: typing.Any = 'cpu', first_row: int = 0) -> "
                  "collections.abc.Iterator[tuple[typing.Any, typing.Any]]"),
          "Endless batches (x0, x1) of rows of p0 and of p1 that know nothing of each other, what\n"
          "a solver may train on: int32 [rows,D] each, NumPy, or for device 'cuda' torch (or\n"
          "CuPy) arrays on the GPU, drawn there. A seed's rows follow each other whatever the\n"
          "size of the batches; first_row is where the next one begins.")
      .def("sample_conditional", sample_conditional, "x0"_a.none(), "seed"_a.none() = nb::none(),
           nb::sig("def sample_conditional(self, x0: ArrayT, seed: int | numpy.random.Generator | "
                   "None = None) -> ArrayT"),
           "Draw x1 ~ q*(.|x0) for each row of x0 [B,D]: int32 [B,D].")
      .def("sample_trajectory", sample_trajectory, "x0"_a.none(),
           "num_steps"_a.none() = kTrajectorySteps, "seed"_a.none() = nb::none(),
           nb::sig("def sample_trajectory(self, x0: ArrayT, num_steps: int = 16, seed: int | "
                   "numpy.random.Generator | None = None) "
                   "-> ArrayT"),
           "Draw trajectories of the truth from x0 [B,D]: int32 [B,num_steps+1,D].")
      .def("log_p0", log_end<&BenchmarkPair::log_p0>, "x"_a.none(), "seed"_a.none() = 0,
           "with_error"_a = false,
           nb::sig("def log_p0(self, x: ArrayT, seed: int | numpy.random.Generator | None = 0, "
                   "with_error: bool = False) -> Any"),
           "log p0(x) for x [B,D]: float64 [B]. Exact, but for a reversed pair as log_p1 of the\n"
           "pair that it reverses. with_error adds the standard error: (value, error).")
      .def(
          "log_p1", log_end<&BenchmarkPair::log_p1>, "x"_a.none(), "seed"_a.none() = 0,
          "with_error"_a = false,
          nb::sig("def log_p1(self, x: ArrayT, seed: int | numpy.random.Generator | None = 0, "
                  "with_error: bool = False) -> Any"),
          "log p1(x) for x [B,D]: float64 [B]. Exact for two-sided pairs, for at most 4096 states\n"
          "and for a p0 of observed states; else the logarithm of an estimate of p1 without bias,\n"
          "whose draws are those of the seed. with_error adds the standard error, 0 where it is\n"
          "exact: (value, error).")
      .def(
          "estimate_marginals", estimate_marginals, "x0"_a.none(), "num_draws"_a.none() = 1000,
          "seed"_a.none() = 0,
          nb::sig("def estimate_marginals(self, x0: ArrayT, num_draws: int = 1000, seed: int | "
                  "numpy.random.Generator | None = "
                  "0) -> tuple[ArrayT, ArrayT]"),
          "q*(x1^d = s | x0) for x0 [B,D] and its standard error: two float64 arrays [B,D,S]. The\n"
          "closed form where the truth has one, its error 0; else the mean of the coordinates'\n"
          "conditionals over num_draws exact draws.")
      .def("log_conditional", log_conditional, "x0"_a.none(), "x1"_a.none(),
           nb::sig("def log_conditional(self, x0: ArrayT, x1: ArrayT) -> ArrayT"),
           "log q*(x1|x0) for the rows of x0 [B,D] and x1 [B,D]: float64 [B]. Exact, but for a\n"
           "reversed pair without a closed form, where it rests on an estimate of p1 (log_p0).")
      .def("log_marginals", log_marginals, "x0"_a.none(),
           nb::sig("def log_marginals(self, x0: ArrayT) -> ArrayT"),
           "log q*(x1^d = s | x0), exact, for x0 [B,D]: float64 [B,D,S].")
      .def("log_transition_marginals", log_transition_marginals, "x"_a.none(), "num_steps"_a.none(),
           "n"_a.none(),
           nb::sig("def log_transition_marginals(self, x: ArrayT, num_steps: int, n: int) -> "
                   "ArrayT"),
           "log q*(x_{n+1}^d = s | x_n = x), exact, for x [B,D] and step n in 0..num_steps-1:\n"
           "float64 [B,D,S].")
      .def("test_set", test_set,
           nb::sig("def test_set(self) -> "
                   "tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32]]"),
           "The held-out rows (x0, x1): two int32 arrays [rows,D], 20000 rows for a preset.")
      .def("conditional_inputs", inputs_of,
           nb::sig("def conditional_inputs(self) -> numpy.typing.NDArray[numpy.int32]"),
           "The x0 of the conditional scores, test rows 0, 128, 256, ...: int32 [rows,D], 157\n"
           "rows for a preset.")
      .def("save", save, "folder"_a.none(),
           nb::sig("def save(self, folder: str | os.PathLike[str]) -> None"),
           "Write config.json and model.safetensors into a folder, in the layout of the published\n"
           "benchmark: `load` and that package read it.")
      .def("__repr__", describe)
      .def("_repr_html_", html)
      .def("__eq__", equal, "other"_a.none(), nb::sig("def __eq__(self, other: object, /) -> bool"),
           "The same benchmark: parameters, reference, p0, direction and test set.")
      .def("__hash__", hash)
      .def("__reduce__", reduce, nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"))
      .def("__copy__", [](const nb::object& self) { return self; })  // nothing of it can change
      .def("__deepcopy__", [](const nb::object& self, nb::handle) { return self; });
}

}  // namespace

void init_pairs(nb::module_& module) {
  nb::class_<BenchmarkPair> pair(
      module, "Pair",
      "Two distributions p0, p1 on {0..S-1}^D and the Schrödinger bridge between them.\n\n"
      "Made by load and build_pair. States are integer arrays [B,D] of categories:\n"
      "every integer dtype is taken. Draws without an array argument are NumPy; a call with one\n"
      "answers in its library and on its device. Draws without a seed are fresh each time; the "
      "same\n"
      "seed gives the same states for any number of threads, and row i of a seed does not depend\n"
      "on how many are drawn. A reversed pair asks for p1 -> p0.");
  pair.def(
      "__init__",
      [](BenchmarkPair*, const nb::args&, const nb::kwargs&) {
        throw nb::type_error("[pair] a Pair is made by load(name_or_folder) or build_pair(...)");
      },
      nb::sig("def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None"));
  define_pair_properties(pair);
  define_calls(pair);
  module.def("load", load, "name_or_folder"_a.none(),
             nb::sig("def load(name_or_folder: str | os.PathLike[str]) -> Pair"),
             "The pair of a preset's name (NAME-reverse for p1 -> p0) or of a pair folder.");
  module.def("presets", presets, "Names of the pairs that come built in.");
}

}  // namespace bridgemark::python
