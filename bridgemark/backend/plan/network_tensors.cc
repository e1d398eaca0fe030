#include "bridgemark/backend/plan/network_tensors.h"

#include <fmt/format.h>

namespace bridgemark::backend {

std::size_t NetworkShape::weight_offset(std::size_t l) const {
  std::size_t offset = 0;
  for (std::size_t i = 0; i < l; ++i) offset += layer_outputs(i) * (layer_inputs(i) + 1);
  return offset;
}

std::size_t NetworkShape::bias_offset(std::size_t l) const {
  return weight_offset(l) + layer_outputs(l) * layer_inputs(l);
}

std::size_t NetworkShape::step_offset() const { return weight_offset(num_layers()); }

std::size_t NetworkShape::category_offset() const {
  return step_offset() + (static_cast<std::size_t>(num_steps) + 1) * step_width();
}

std::size_t NetworkShape::num_parameters() const {
  return category_offset() + num_categories * category_width;
}

std::vector<NetworkPart> network_parts(const NetworkShape& shape) {
  std::vector<NetworkPart> parts;
  const auto add = [&](std::string name, std::vector<std::size_t> extents, std::size_t offset) {
    std::size_t count = 1;
    for (const std::size_t extent : extents) count *= extent;
    parts.push_back({std::move(name), std::move(extents), offset, count});
  };
  for (std::size_t l = 0; l < shape.num_layers(); ++l) {
    const std::size_t outputs = shape.layer_outputs(l);
    // Every other place of the sequence is a ReLU.
    add(fmt::format("net.{}.weight", 2 * l), {outputs, shape.layer_inputs(l)},
        shape.weight_offset(l));
    add(fmt::format("net.{}.bias", 2 * l), {outputs}, shape.bias_offset(l));
  }
  add("timestep_embedding.weight",
      {static_cast<std::size_t>(shape.num_steps) + 1, shape.step_width()}, shape.step_offset());
  if (shape.category_width > 0) {
    add("category_embedding.weight", {shape.num_categories, shape.category_width},
        shape.category_offset());
  }
  return parts;
}

}  // namespace bridgemark::backend
