#include "bridgemark/solver/chain/chain_model_file.h"

#include <span>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/io/safetensors.h"
#include "bridgemark/solver/source/source_file.h"

namespace bridgemark {

void save_chain_model(const ChainBridge& bridge, const std::filesystem::path& path) {
  const ChainPotential& potential = bridge.potential();
  SafetensorsWriter writer;
  writer.set_metadata("kind", "chain-bridge");
  writer.add("log_start", {potential.num_components()}, std::span(potential.log_start()));
  const auto add = [&](const char* name, const Array3<double>& values) {
    writer.add(name, {values.extent(0), values.extent(1), values.extent(2)},
               std::span(values.data(), values.size()));
  };
  add("log_moves", potential.log_moves());
  add("log_cores", potential.log_cores());
  add_source(writer, bridge);
  writer.write(path);
}

std::shared_ptr<const Bridge> load_chain_model(const ReferenceProcess& process, std::size_t dim,
                                               const std::filesystem::path& path) {
  const SafetensorsFile file = SafetensorsFile::load(path);
  const auto S = static_cast<std::size_t>(process.num_categories());
  if (file.shape("log_start").size() != 1) {
    throw_file(path.string(), "tensor 'log_start' must have one axis");
  }
  const std::size_t K = file.shape("log_start")[0];
  file.expect_shape("log_moves", std::vector{dim - 1, K, K});
  file.expect_shape("log_cores", std::vector{dim, S, K});
  try {
    return with_source_of(
        file,
        std::make_shared<const ChainBridge>(
            process, ChainPotential(file.read_doubles("log_start"),
                                    Array3<double>(dim - 1, K, K, file.read_doubles("log_moves")),
                                    Array3<double>(dim, S, K, file.read_doubles("log_cores")))));
  } catch (const InvalidArgument& error) {
    throw_file(path.string(), "{}", error.what());
  }
}

}  // namespace bridgemark
