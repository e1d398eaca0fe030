#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/pair/pair_spec.h"
#include "python/bindings/arguments.h"
#include "python/bindings/bindings.h"
#include "python/bindings/calls.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bridgemark::python {

namespace {

using Doubles = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

std::vector<double> values_of(const Doubles& array) {
  return {array.data(), array.data() + array.size()};
}

void check_ndim(const char* name, const Doubles& array, std::size_t ndim) {
  if (array.ndim() != ndim) {
    throw_invalid("pair", "{} must have {} dimensions, got {}", name, ndim, array.ndim());
  }
}

Matrix<double> matrix_of(const char* name, const Doubles& array) {
  check_ndim(name, array, 2);
  return {array.shape(0), array.shape(1), values_of(array)};
}

CpPotential potential_of(const Doubles& log_beta, const Doubles& log_cores) {
  check_ndim("log_beta", log_beta, 1);
  check_ndim("log_cores", log_cores, 3);
  return {values_of(log_beta), Array3<double>(log_cores.shape(0), log_cores.shape(1),
                                              log_cores.shape(2), values_of(log_cores))};
}

ReferenceKind reference_named(const std::string& name) {
  for (const ReferenceKind kind : {ReferenceKind::kGaussian, ReferenceKind::kUniform}) {
    if (reference_kind_name(kind) == name) return kind;
  }
  throw_invalid("pair", "reference must be gaussian, uniform or a matrix [S,S], got '{}'", name);
}

// p0 by its name; nothing for the standard normal that is the default.
std::optional<SourceDistribution> source_named(const std::string& name, const PairSpec& spec) {
  if (name == "uniform") {
    return SourceDistribution::uniform(static_cast<std::size_t>(spec.dim), spec.num_categories,
                                       -3.0, 3.0);
  }
  if (name != "gaussian") {
    throw_invalid("pair", "source must be gaussian, uniform, a pmf [D,S] or states [n,D], got '{}'",
                  name);
  }
  return std::nullopt;
}

BenchmarkPair build(const std::string& name, const WholeNumber& dim,
                    const WholeNumber& num_categories, const WholeNumber& num_components,
                    const std::string& reference, const std::optional<Doubles>& reference_matrix,
                    double gamma, const WholeNumber& total_steps, const std::string& family,
                    double sigma, double radius, double min_distance, const std::string& source,
                    const std::optional<Doubles>& source_pmf, nb::handle source_states,
                    const std::optional<Doubles>& log_beta, const std::optional<Doubles>& log_cores,
                    const WholeNumber& seed, bool reverse) {
  PairSpec spec;
  spec.name = name;
  spec.seed = seed.seed();
  spec.dim = dim.positive_int("dim");
  spec.num_categories =
      static_cast<int>(num_categories.in_range("num_categories", 2, kMaxCategories));
  spec.num_components = num_components.positive_int("num_components");
  spec.gamma = gamma;
  spec.total_steps = total_steps.positive_int("total_steps");
  spec.family = parse_pair_family(family);
  spec.sigma = sigma;
  spec.radius = radius;
  spec.min_distance = min_distance;
  spec.reverse = reverse;
  if (reference_matrix) {
    spec.reference = ReferenceKind::kMatrix;
    spec.reference_matrix = matrix_of("reference", *reference_matrix);
  } else {
    spec.reference = reference_named(reference);
  }
  if (log_beta && log_cores) spec.potential = potential_of(*log_beta, *log_cores);
  if (source_pmf) {
    spec.source = SourceDistribution::product(matrix_of("source", *source_pmf));
  } else if (!source_states.is_none()) {
    StatesArgument states("source", {nb::borrow(source_states)}, static_cast<std::size_t>(spec.dim),
                          spec.num_categories);
    spec.source = SourceDistribution::empirical(std::move(states).take(), spec.num_categories);
  } else {
    spec.source = source_named(source, spec);
  }
  BenchmarkPair pair = interruptible([&](const Context&) { return build_pair(spec); });
  warn_if_still(pair.bridge().process());
  return pair;
}

}  // namespace

void init_pair_building(nb::module_& module) {
  module.def("build_pair", build, nb::kw_only(), "name"_a, "dim"_a, "num_categories"_a,
             "num_components"_a, "reference"_a, "reference_matrix"_a.none(), "gamma"_a,
             "total_steps"_a, "family"_a, "sigma"_a, "radius"_a, "min_distance"_a, "source"_a,
             "source_pmf"_a.none(), "source_states"_a.none(), "log_beta"_a.none(),
             "log_cores"_a.none(), "seed"_a, "reverse"_a,
             nb::sig("def build_pair(*, name: str, dim: int, num_categories: int, num_components: "
                     "int, reference: str, reference_matrix: numpy.typing.NDArray[numpy.float64] | "
                     "None, gamma: float, total_steps: int, family: str, sigma: float, radius: "
                     "float, min_distance: float, source: str, source_pmf: "
                     "numpy.typing.NDArray[numpy.float64] | None, source_states: "
                     "typing.Any, log_beta: numpy.typing.NDArray[numpy.float64] | None, log_cores: "
                     "numpy.typing.NDArray[numpy.float64] | None, seed: int, reverse: bool) -> "
                     "Pair"),
             "bridgemark.build_pair with its arguments sorted by kind.");
}

}  // namespace bridgemark::python
