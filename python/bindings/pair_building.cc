#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/pair/custom_pair.h"
#include "bridgemark/pair/family_numbers.h"
#include "python/bindings/arguments.h"
#include "python/bindings/bindings.h"
#include "python/bindings/calls.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bridgemark::python {

namespace {

std::vector<double> values_of(const Doubles& array) {
  return {array.data(), array.data() + array.size()};
}

char kind_of(nb::handle array) {
  return nb::cast<std::string>(array.attr("dtype").attr("kind")).at(0);
}

Doubles doubles_of(const char* name, const ArrayLike& given, std::string_view shape) {
  return given.doubles("pair", name, shape);
}

Matrix<double> matrix_of(const char* name, const ArrayLike& given, std::string_view shape) {
  const Doubles array = doubles_of(name, given, shape);
  return {array.shape(0), array.shape(1), values_of(array)};
}

Array3<double> three_axes(const Doubles& a) {
  return Array3<double>(a.shape(0), a.shape(1), a.shape(2), values_of(a));
}

// The potential of two arguments, named for the messages.
std::optional<CpPotential> potential_of(const char* beta_name,
                                        const std::optional<ArrayLike>& log_beta,
                                        const char* cores_name,
                                        const std::optional<ArrayLike>& log_cores) {
  if (log_beta.has_value() != log_cores.has_value()) {
    throw_invalid("pair", "{} and {} must be given together, got one of them", beta_name,
                  cores_name);
  }
  if (!log_beta) return std::nullopt;
  const Doubles weights = doubles_of(beta_name, *log_beta, "[K]");
  const Doubles cores = doubles_of(cores_name, *log_cores, "[D,S,K]");
  return CpPotential(values_of(weights), three_axes(cores));
}

// The chain potential of three arguments.
ChainPotential chain_of(const std::optional<ArrayLike>& log_beta,
                        const std::optional<ArrayLike>& log_start,
                        const std::optional<ArrayLike>& log_moves,
                        const std::optional<ArrayLike>& log_cores) {
  if (log_beta || !log_start || !log_moves || !log_cores) {
    throw_invalid("pair",
                  "a chain must have log_start, log_moves and log_cores and no log_beta, got other "
                  "arguments");
  }
  const Doubles start = doubles_of("log_start", *log_start, "[K]");
  const Doubles moves = doubles_of("log_moves", *log_moves, "[D-1,K,K]");
  const Doubles cores = doubles_of("log_cores", *log_cores, "[D,S,K]");
  return {values_of(start), three_axes(moves), three_axes(cores)};
}

// The tree potential of its arguments, which goes with a shape of the caller's.
TreePotential tree_of(const TreeShape& shape, const std::optional<ArrayLike>& log_beta,
                      const std::optional<ArrayLike>& log_start,
                      const std::optional<ArrayLike>& log_root,
                      const std::optional<ArrayLike>& log_moves,
                      const std::optional<ArrayLike>& log_cores) {
  if (log_beta || log_start || !log_root || !log_moves || !log_cores) {
    throw_invalid("pair",
                  "a tree must have log_root, log_moves and log_cores and no log_beta or "
                  "log_start, got other arguments");
  }
  return {shape, values_of(doubles_of("log_root", *log_root, "[K]")),
          three_axes(doubles_of("log_moves", *log_moves, "[M-1,K,K]")),
          three_axes(doubles_of("log_cores", *log_cores, "[D,S,K]"))};
}

std::vector<std::int32_t> nodes_of(const char* name, nb::handle given) {
  const nb::object array = ArrayLike{nb::borrow(given)}.to_numpy(name);
  const nb::object shape = array.attr("shape");
  if (nb::len(shape) != 1 || (kind_of(array) != 'i' && kind_of(array) != 'u')) {
    throw_invalid("pair", "{} of tree must be whole numbers along one axis, got shape {}", name,
                  nb::str(shape).c_str());
  }
  return nb::cast<std::vector<std::int32_t>>(array.attr("tolist")());
}

// A name, or parents and the nodes of the coordinates.
std::variant<std::string, TreeShape> shape_of(const ArrayLike& given) {
  if (nb::isinstance<nb::str>(given.array)) return nb::cast<std::string>(given.array);
  if (!nb::isinstance<nb::tuple>(given.array) || nb::len(given.array) != 2) {
    throw_invalid("pair", "tree must be binary, quadtree or a tuple (parent, node_of), got {}",
                  nb::type_name(given.array.type()).c_str());
  }
  const auto both = nb::cast<nb::tuple>(given.array);
  return TreeShape{nodes_of("parent", both[0]), nodes_of("node_of", both[1])};
}

// An array of floats is a pmf, one of integers holds states.
decltype(PairParts::source) source_of(const ArrayLike& given) {
  if (nb::isinstance<nb::str>(given.array)) return nb::cast<std::string>(given.array);
  const ArrayLike array{given.to_numpy("source")};
  const nb::object shape = array.array.attr("shape");
  if (nb::len(shape) != 2) {
    throw_invalid("pair", "source must be a name, a pmf [D,S] or states [n,D], got shape {}",
                  nb::str(shape).c_str());
  }
  if (kind_of(array.array) == 'f') return matrix_of("source", array, "[D,S]");
  return StatesArgument("source", array, nb::cast<std::size_t>(shape[1]), kMaxCategories).take();
}

BenchmarkPair build(
    const ArrayLike& source, const ArrayLike& reference, const std::optional<WholeNumber>& dim,
    const std::optional<WholeNumber>& num_categories, std::optional<double> gamma,
    const WholeNumber& total_steps, const WholeNumber& num_components, const std::string& family,
    double sigma, std::optional<double> radius, std::optional<double> min_distance,
    std::optional<double> switch_rate, const std::optional<ArrayLike>& log_beta,
    const std::optional<ArrayLike>& log_cores, const std::optional<ArrayLike>& log_start,
    const std::optional<ArrayLike>& log_moves, const std::optional<ArrayLike>& tree,
    const std::optional<ArrayLike>& log_root, const std::optional<ArrayLike>& log_source_beta,
    const std::optional<ArrayLike>& log_source_cores, bool two_sided, const std::string& name,
    const WholeNumber& seed, bool reverse) {
  PairParts parts;
  parts.source = source_of(source);
  parts.reference = reference.reference("pair");
  if (dim) parts.dim = dim->to_int("dim");
  if (num_categories) parts.num_categories = num_categories->to_int("num_categories");
  parts.spec.name = name;
  parts.spec.seed = seed.in_range("seed", 0, UINT64_MAX);
  parts.gamma = gamma;
  parts.spec.total_steps = total_steps.to_int("total_steps");
  parts.spec.num_components = num_components.to_int("num_components");
  parts.spec.family = parse_built_family(family);
  parts.spec.sigma = sigma;
  if (tree) parts.tree = shape_of(*tree);
  const auto* shape = parts.tree ? std::get_if<TreeShape>(&*parts.tree) : nullptr;
  if (log_root || (tree && log_moves)) {
    if (!shape) {
      throw_invalid("pair",
                    "log_root and log_moves of a tree go with tree=(parent, node_of), got {}",
                    tree ? std::get<std::string>(*parts.tree) : "none");
    }
    parts.spec.tree_potential =
        tree_of(*shape, log_beta, log_start, log_root, log_moves, log_cores);
    parts.tree.reset();
  } else if (log_start || log_moves) {
    parts.spec.chain_potential = chain_of(log_beta, log_start, log_moves, log_cores);
  } else {
    parts.spec.potential = potential_of("log_beta", log_beta, "log_cores", log_cores);
  }
  parts.spec.two_sided = two_sided;
  parts.spec.source_potential =
      potential_of("log_source_beta", log_source_beta, "log_source_cores", log_source_cores);
  if (radius) set_family_number(parts.spec, "radius", *radius);
  parts.min_distance = min_distance;
  if (switch_rate) set_family_number(parts.spec, "switch_rate", *switch_rate);
  parts.spec.reverse = reverse;
  BenchmarkPair pair = interruptible([&](const Context& context) {
    return build_pair(custom_spec(std::move(parts), context), context);
  });
  warn_if_still(pair.bridge().process());
  return pair;
}

}  // namespace

void init_pair_building(nb::module_& module) {
  const PairSpec spec;
  const PairParts parts;
  module.def(
      "build_pair", build, nb::kw_only(), "source"_a = std::get<std::string>(parts.source),
      "reference"_a = std::get<std::string>(parts.reference), "dim"_a.none() = nb::none(),
      "num_categories"_a.none() = nb::none(), "gamma"_a.none() = nb::none(),
      "total_steps"_a = spec.total_steps, "num_components"_a = spec.num_components,
      "family"_a = std::string(pair_family_name(spec.family)), "sigma"_a = spec.sigma,
      "radius"_a.none() = nb::none(), "min_distance"_a.none() = nb::none(),
      "switch_rate"_a.none() = nb::none(), "log_beta"_a.none() = nb::none(),
      "log_cores"_a.none() = nb::none(), "log_start"_a.none() = nb::none(),
      "log_moves"_a.none() = nb::none(), "tree"_a.none() = nb::none(),
      "log_root"_a.none() = nb::none(), "log_source_beta"_a.none() = nb::none(),
      "log_source_cores"_a.none() = nb::none(), "two_sided"_a = spec.two_sided,
      "name"_a = spec.name, "seed"_a = spec.seed, "reverse"_a = spec.reverse,
      "A pair of your own, whose bridge is as exact as a preset's.\n\n"
      "`source` is p0: 'gaussian', 'uniform', a pmf [D,S] of independent coordinates (floats), or\n"
      "observed states [n,D] (integers), which are drawn alike.\n"
      "`reference` is 'gaussian' or 'uniform' with stochasticity `gamma` (0.02), or a matrix [S,S] "
      "of "
      "the\n"
      "probabilities of one of `total_steps` elementary steps, strictly positive; or a tuple "
      "(U, V)\n"
      "of arrays [S,r], not negative, for steps that stay with 1 - `gamma` and else move by U "
      "V^T.\n"
      "The potential decides p1: `num_components` discretised Gaussians of width `sigma`\n"
      "categories around means drawn with `seed`, by `family`: 'sphere' puts them on a sphere of\n"
      "`radius` (5), 'spread' on whole numbers 5..S-6 at least `min_distance` (10) categories "
      "apart; or\n"
      "your own `log_beta` [K] and `log_cores` [D,S,K].\n"
      "`family` 'chain' lets the component change from one coordinate to the next, with "
      "probability\n"
      "`switch_rate` (0.1); your own such potential is `log_start` [K], `log_moves` [D-1,K,K] and\n"
      "`log_cores`.\n"
      "`family` 'tree' puts a hidden state on every node of `tree`: 'binary' (halves of a line of\n"
      "coordinates), 'quadtree' (quarters of a square) or a tuple (parent, node_of) of the parent "
      "of\n"
      "each node, -1 first, and the node of each coordinate; the component changes from a node to\n"
      "one below with probability `switch_rate`. Your own such potential is `tree` as a tuple "
      "with\n"
      "`log_root` [K], `log_moves` [M-1,K,K] and `log_cores`.\n"
      "`family` 'twosided', or your own `log_source_beta` [J] and `log_source_cores` [D,S,J], "
      "puts\n"
      "a second potential f at x0 in place of `source`: q*(x0, x1) is in proportion to\n"
      "f(x0) q_ref(x1|x0) v(x1), and both directions are closed forms. `two_sided` does the same\n"
      "for family 'tree': f and v are both drawn on `tree`, or f beside your own v.\n"
      "`dim` and `num_categories` follow from the arrays where one of them says them; states need\n"
      "num_categories. Without arrays they are 2 and 50.\n"
      "A reference that moves less than 0.1 categories over all steps is warned of, with a gamma "
      "that\n"
      "fits so many categories.");
}

}  // namespace bridgemark::python
