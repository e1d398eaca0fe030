#include "python/bindings/pair_properties.h"

#include <nanobind/stl/string.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "bridgemark/pair/pair_family.h"
#include "bridgemark/process/low_rank_step.h"
#include "python/bindings/arguments.h"
#include "python/bindings/results.h"

namespace nb = nanobind;

namespace bridgemark::python {

namespace {

nb::object log_beta(const BenchmarkPair& pair) {
  const std::span<const double> weights = pair.bridge().log_weights();
  return to_numpy(std::vector<double>(weights.begin(), weights.end()));
}

nb::object log_cores(const BenchmarkPair& pair) {
  return to_numpy(Array3<double>(pair.bridge().log_cores()));
}

nb::object log_moves(const BenchmarkPair& pair) {
  if (pair.bridge().log_moves().size() == 0) return nb::none();
  return to_numpy(Array3<double>(pair.bridge().log_moves()));
}

nb::object tree(const BenchmarkPair& pair) {
  const TreeShape* const shape = pair.bridge().tree();
  if (shape == nullptr) return nb::none();
  return nb::make_tuple(to_numpy(std::vector<std::int32_t>(shape->parent())),
                        to_numpy(std::vector<std::int32_t>(shape->node_of())));
}

nb::object log_source_beta(const BenchmarkPair& pair) {
  if (pair.source_tree()) return to_numpy(std::vector<double>(pair.source_tree()->log_root()));
  if (!pair.source_potential()) return nb::none();
  return to_numpy(std::vector<double>(pair.source_potential()->log_beta()));
}

nb::object log_source_moves(const BenchmarkPair& pair) {
  if (!pair.source_tree()) return nb::none();
  return to_numpy(Array3<double>(pair.source_tree()->log_moves()));
}

nb::object log_source_cores(const BenchmarkPair& pair) {
  if (pair.source_tree()) return to_numpy(Array3<double>(pair.source_tree()->log_cores()));
  if (!pair.source_potential()) return nb::none();
  return to_numpy(Array3<double>(pair.source_potential()->log_cores()));
}

// (U, V) of a reference of low rank in the direction of the pair, else None.
nb::object reference_factors(const BenchmarkPair& pair) {
  const ReferenceProcess process = pair.reference();
  const LowRankStep* const step = process.low_rank_step();
  if (step == nullptr) return nb::none();
  return nb::make_tuple(to_numpy(Matrix<double>(step->u())), to_numpy(Matrix<double>(step->v())));
}

nb::object gamma(const BenchmarkPair& pair) {
  const double value = pair.bridge().process().gamma();
  return std::isnan(value) ? nb::object(nb::none()) : nb::object(nb::float_(value));
}

}  // namespace

void define_pair_properties(nb::class_<BenchmarkPair>& pair_class) {
  pair_class
      .def_prop_ro(
          "name", [](const BenchmarkPair& pair) { return pair.identity().name; },
          "Name of the pair; a preset's says its D, reference and gamma.")
      .def_prop_ro("dim", &BenchmarkPair::dim, "D, the number of coordinates.")
      .def_prop_ro("num_categories", &BenchmarkPair::num_categories,
                   "S, the number of categories of each coordinate.")
      .def_prop_ro(
          "num_components",
          [](const BenchmarkPair& pair) { return pair.bridge().num_components(); },
          "K, the number of components of the potential.")
      .def_prop_ro(
          "seed", [](const BenchmarkPair& pair) { return pair.identity().seed; },
          "Seed of the pair's own parameters and test set.")
      .def_prop_ro(
          "family",
          [](const BenchmarkPair& pair) {
            return std::string(pair_family_name(pair.identity().family));
          },
          "How the pair was made: 'sphere', 'spread', 'chain', 'twosided', 'tree' or 'distilled'.")
      .def_prop_ro(
          "origin",
          [](const BenchmarkPair& pair) {
            const std::string& origin = pair.identity().origin;
            return origin.empty() ? nb::object(nb::none())
                                  : to_python(nlohmann::json::parse(origin));
          },
          nb::sig("def origin(self) -> dict[str, typing.Any] | None"),
          "What a distilled pair was fitted to and how; None for any other.")
      .def_prop_ro(
          "version", [](const BenchmarkPair& pair) { return pair.identity().version; },
          "Version of a preset; results of other versions do not compare.")
      .def_prop_ro("reverse", &BenchmarkPair::reverse, "Whether the pair asks for p1 -> p0.")
      .def_prop_ro(
          "reference",
          [](nb::handle self) {
            const auto& pair = nb::cast<const BenchmarkPair&>(self);
            return nb::module_::import_("bridgemark._reference")
                .attr("PairReference")(
                    std::string(reference_kind_name(pair.bridge().process().kind())), self);
          },
          nb::sig("def reference(self) -> str"),
          "Kind of the reference process: 'gaussian', 'uniform', 'matrix' or 'lowrank'. It knows\n"
          "gamma, steps and matrix of its pair as well:\n"
          "DLightSB().fit(x0, x1, reference=pair.reference).")
      .def_prop_ro("gamma", gamma, nb::sig("def gamma(self) -> float | None"),
                   "Stochasticity of the reference process; None for a matrix.")
      .def_prop_ro(
          "total_steps",
          [](const BenchmarkPair& pair) { return pair.bridge().process().total_steps(); },
          "Elementary steps from x0 to x1; num_steps of a call divides it.")
      .def_prop_ro("log_beta", log_beta,
                   nb::sig("def log_beta(self) -> numpy.typing.NDArray[numpy.float64]"),
                   "log of the component weights of the true potential: float64 [K].")
      .def_prop_ro("log_cores", log_cores,
                   nb::sig("def log_cores(self) -> numpy.typing.NDArray[numpy.float64]"),
                   "log of the cores of the true potential: float64 [D,S,K].")
      .def_prop_ro("log_moves", log_moves,
                   nb::sig("def log_moves(self) -> numpy.typing.NDArray[numpy.float64] | None"),
                   "log of the moves of a chain's potential, float64 [D-1,K,K] with row z_{d-1},\n"
                   "whose log_beta is its start; of a tree's [M-1,K,K] with row z_parent, whose\n"
                   "log_beta is its root's; None where components do not change.")
      .def_prop_ro(
          "tree", tree,
          nb::sig("def tree(self) -> tuple[numpy.typing.NDArray[numpy.int32], "
                  "numpy.typing.NDArray[numpy.int32]] | None"),
          "Parent of each node [M], -1 first, and node of each coordinate [D] of a tree's\n"
          "potential; None of any other.")
      .def_prop_ro("log_source_beta", log_source_beta,
                   nb::sig("def log_source_beta(self) -> numpy.typing.NDArray[numpy.float64] | "
                           "None"),
                   "log of the component weights of a two-sided pair's potential of x0: float64\n"
                   "[J]; None for a one-sided pair.")
      .def_prop_ro("log_source_cores", log_source_cores,
                   nb::sig("def log_source_cores(self) -> numpy.typing.NDArray[numpy.float64] | "
                           "None"),
                   "log of the cores of a two-sided pair's potential of x0: float64 [D,S,J]; None\n"
                   "for a one-sided pair.")
      .def_prop_ro("log_source_moves", log_source_moves,
                   nb::sig("def log_source_moves(self) -> numpy.typing.NDArray[numpy.float64] | "
                           "None"),
                   "log of the moves of a two-sided pair's tree of x0: float64 [M-1,J,J], whose\n"
                   "log_source_beta is that of the root; None for any other pair.")
      .def_prop_ro(
          "reference_factors", reference_factors,
          nb::sig("def reference_factors(self) -> tuple[numpy.typing.NDArray[numpy.float64], "
                  "numpy.typing.NDArray[numpy.float64]] | None"),
          "(U, V) of a reference of low rank, [S,r] each, in the direction of the pair; "
          "else None.");
}

}  // namespace bridgemark::python
