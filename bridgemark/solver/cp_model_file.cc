#include "bridgemark/solver/cp_model_file.h"

#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/io/safetensors.h"

namespace bridgemark {

void save_cp_model(const CpPotential& potential, const std::filesystem::path& path) {
  const Array3<double>& cores = potential.log_cores();
  SafetensorsWriter writer;
  writer.set_metadata("kind", "cp-bridge");
  writer.add("log_beta", {potential.num_components()}, std::span(potential.log_beta()));
  writer.add("log_cores", {cores.extent(0), cores.extent(1), cores.extent(2)},
             std::span(cores.data(), cores.size()));
  writer.write(path);
}

std::shared_ptr<const CpBridge> load_cp_model(const ReferenceProcess& process, std::size_t dim,
                                              const std::filesystem::path& path) {
  const SafetensorsFile file = SafetensorsFile::load(path);
  const auto S = static_cast<std::size_t>(process.num_categories());
  if (file.shape("log_beta").size() != 1) {
    throw_file(path.string(), "tensor 'log_beta' must have one axis");
  }
  const std::size_t K = file.shape("log_beta")[0];
  file.expect_shape("log_cores", std::vector{dim, S, K});
  try {
    return std::make_shared<const CpBridge>(
        process, CpPotential(file.read_doubles("log_beta"),
                             Array3<double>(dim, S, K, file.read_doubles("log_cores"))));
  } catch (const InvalidArgument& error) {
    throw_file(path.string(), "{}", error.what());
  }
}

void CpBridgeSolver::save(const Coupling& coupling, const std::filesystem::path& path) const {
  save_cp_model(dynamic_cast<const CpBridge&>(coupling).potential(), path);
}

std::shared_ptr<const Coupling> CpBridgeSolver::load(const Context&, const BenchmarkPair& pair,
                                                     const std::filesystem::path& path) const {
  return load_cp_model(pair.reference(), pair.dim(), path);
}

}  // namespace bridgemark
