#include "bridgemark/solver/csbm/network_file.h"

#include <cmath>

#include "bridgemark/core/error.h"

namespace bridgemark {

namespace {

std::vector<std::size_t> matrix_shape(const SafetensorsFile& file, const std::string& path,
                                      const std::string& name) {
  const std::vector<std::size_t>& shape = file.shape(name);
  if (shape.size() != 2 || shape[0] == 0 || shape[1] == 0) {
    throw_file(path, "tensor '{}' must be a matrix", name);
  }
  return shape;
}

}  // namespace

backend::NetworkShape read_network_shape(const SafetensorsFile& file, const std::string& path,
                                         const std::string& prefix, std::size_t dim,
                                         std::size_t num_categories) {
  backend::NetworkShape shape;
  shape.dim = dim;
  shape.num_categories = num_categories;
  const std::size_t rows = matrix_shape(file, path, prefix + "timestep_embedding.weight")[0];
  if (rows < 2 || rows > std::size_t{1} << 20) {
    throw_file(path, "tensor '{}timestep_embedding.weight' must have 2 to {} rows, got {}", prefix,
               1 << 20, rows);
  }
  shape.num_steps = static_cast<int>(rows) - 1;
  const std::string categories = prefix + "category_embedding.weight";
  if (file.has(categories)) shape.category_width = matrix_shape(file, path, categories)[1];
  const auto weight = [&](std::size_t layer) {
    return fmt::format("{}net.{}.weight", prefix, 2 * layer);
  };
  for (std::size_t l = 0; file.has(weight(l + 1)); ++l) {
    shape.hidden.push_back(matrix_shape(file, path, weight(l))[0]);
  }
  for (const backend::NetworkPart& part : backend::network_parts(shape)) {
    file.expect_shape(prefix + part.name, part.shape);
  }
  return shape;
}

template <typename T>
backend::NetworkTensors<T> read_network(const SafetensorsFile& file, const std::string& path,
                                        const std::string& prefix,
                                        const backend::NetworkShape& shape) {
  backend::NetworkTensors<T> network(shape);
  for (const backend::NetworkPart& part : backend::network_parts(shape)) {
    const std::string name = prefix + part.name;
    file.expect_shape(name, part.shape);
    const std::vector<double> values = file.read_doubles(name);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const T value = static_cast<T>(values[i]);
      if (!std::isfinite(value)) {
        throw_file(path, "tensor '{}' must hold finite numbers, got {}", name, values[i]);
      }
      network.values[part.offset + i] = value;
    }
  }
  return network;
}

template backend::NetworkTensors<float> read_network<float>(const SafetensorsFile&,
                                                            const std::string&, const std::string&,
                                                            const backend::NetworkShape&);
template backend::NetworkTensors<double> read_network<double>(const SafetensorsFile&,
                                                              const std::string&,
                                                              const std::string&,
                                                              const backend::NetworkShape&);

void add_network(SafetensorsWriter& writer, const std::string& prefix,
                 const backend::NetworkTensors<float>& network) {
  for (const backend::NetworkPart& part : backend::network_parts(network.shape)) {
    writer.add(prefix + part.name, part.shape,
               std::span<const float>(network.values.data() + part.offset, part.count));
  }
}

}  // namespace bridgemark
