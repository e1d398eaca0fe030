#pragma once

#include <string>

#include "bridgemark/backend/plan/network_tensors.h"
#include "bridgemark/io/safetensors.h"

// Networks as named tensors of a safetensors file: PREFIX + net.0.weight, net.0.bias, ...
namespace bridgemark {

// The shape of a network on {0..S-1}^D that the file holds, from its tensors. Throws FileError
// where they do not fit together.
backend::NetworkShape read_network_shape(const SafetensorsFile& file, const std::string& path,
                                         const std::string& prefix, std::size_t dim,
                                         std::size_t num_categories);

// Values of a network, which must be finite.
template <typename T>
backend::NetworkTensors<T> read_network(const SafetensorsFile& file, const std::string& path,
                                        const std::string& prefix,
                                        const backend::NetworkShape& shape);

// The values must outlive the writer's write().
void add_network(SafetensorsWriter& writer, const std::string& prefix,
                 const backend::NetworkTensors<float>& network);

}  // namespace bridgemark
