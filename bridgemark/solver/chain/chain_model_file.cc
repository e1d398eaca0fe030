#include "bridgemark/solver/chain/chain_model_file.h"

#include <span>
#include <vector>

#include "bridgemark/bridge/tree_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/io/safetensors.h"
#include "bridgemark/solver/cp/cp_model_file.h"
#include "bridgemark/solver/direction/bridge_file.h"

namespace bridgemark {

namespace {

void add_chain_bridge(SafetensorsWriter& writer, const std::string& prefix, const Bridge& bridge) {
  writer.set_metadata("kind", "chain-bridge");
  const auto add = [&](const char* name, const Array3<double>& values) {
    writer.add(prefix + name, {values.extent(0), values.extent(1), values.extent(2)},
               std::span(values.data(), values.size()));
  };
  if (const auto* tree = dynamic_cast<const TreeBridge*>(&bridge)) {
    const TreePotential& potential = tree->potential();
    const TreeShape& shape = potential.shape();
    writer.add(prefix + "tree_parent", {shape.num_nodes()},
               std::span<const std::int32_t>(shape.parent()));
    writer.add(prefix + "tree_node_of", {shape.dim()},
               std::span<const std::int32_t>(shape.node_of()));
    writer.add(prefix + "log_root", {potential.num_components()}, std::span(potential.log_root()));
    add("log_moves", potential.log_moves());
    add("log_cores", potential.log_cores());
    return;
  }
  const auto* chain = dynamic_cast<const ChainBridge*>(&bridge);
  if (chain == nullptr) {
    add_cp_bridge(writer, prefix, bridge);
    return;
  }
  const ChainPotential& potential = chain->potential();
  writer.add(prefix + "log_start", {potential.num_components()}, std::span(potential.log_start()));
  add("log_moves", potential.log_moves());
  add("log_cores", potential.log_cores());
}

// Where the file has a tree.
std::shared_ptr<const Bridge> read_tree_bridge(const SafetensorsFile& file,
                                               const std::string& prefix,
                                               const ReferenceProcess& process, std::size_t dim) {
  const std::string root = prefix + "log_root", parent = prefix + "tree_parent",
                    node_of = prefix + "tree_node_of", moves = prefix + "log_moves",
                    cores = prefix + "log_cores";
  if (file.shape(root).size() != 1 || file.shape(parent).size() != 1 || file.shape(parent)[0] < 1) {
    throw_file(file.path(), "tensors '{}' and '{}' must have one axis", root, parent);
  }
  const auto S = static_cast<std::size_t>(process.num_categories());
  const std::size_t K = file.shape(root)[0], M = file.shape(parent)[0];
  file.expect_shape(node_of, std::vector{dim});
  file.expect_shape(moves, std::vector{M - 1, K, K});
  file.expect_shape(cores, std::vector{dim, S, K});
  return std::make_shared<const TreeBridge>(
      process,
      TreePotential({file.read_int32(parent), file.read_int32(node_of)}, file.read_doubles(root),
                    Array3<double>(M - 1, K, K, file.read_doubles(moves)),
                    Array3<double>(dim, S, K, file.read_doubles(cores))));
}

std::shared_ptr<const Bridge> read_chain_bridge(const SafetensorsFile& file,
                                                const std::string& prefix,
                                                const ReferenceProcess& process, std::size_t dim) {
  const auto S = static_cast<std::size_t>(process.num_categories());
  const std::string start = prefix + "log_start", moves = prefix + "log_moves",
                    cores = prefix + "log_cores";
  if (file.has(prefix + "tree_parent")) return read_tree_bridge(file, prefix, process, dim);
  if (!file.has(start)) return read_cp_bridge(file, prefix, process, dim);
  if (file.shape(start).size() != 1) {
    throw_file(file.path(), "tensor '{}' must have one axis", start);
  }
  const std::size_t K = file.shape(start)[0];
  file.expect_shape(moves, std::vector{dim - 1, K, K});
  file.expect_shape(cores, std::vector{dim, S, K});
  return std::make_shared<const ChainBridge>(
      process, ChainPotential(file.read_doubles(start),
                              Array3<double>(dim - 1, K, K, file.read_doubles(moves)),
                              Array3<double>(dim, S, K, file.read_doubles(cores))));
}

}  // namespace

void save_chain_model(const Coupling& coupling, const std::filesystem::path& path) {
  save_bridges(coupling, path, add_chain_bridge);
}

std::shared_ptr<const Coupling> load_chain_model(const Context& context, const FitProblem& problem,
                                                 const std::filesystem::path& path) {
  return load_bridges(context, problem, path, read_chain_bridge);
}

}  // namespace bridgemark
