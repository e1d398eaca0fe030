#include "bridgemark/solver/source/source_file.h"

#include <span>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"

namespace bridgemark {

namespace {

constexpr char kLogWeights[] = "source.log_weights";
constexpr char kLogCores[] = "source.log_cores";

}  // namespace

void add_source(SafetensorsWriter& writer, const Bridge& bridge) {
  const CpPotential* source = bridge.source();
  if (source == nullptr) return;
  const Array3<double>& cores = source->log_cores();
  writer.add(kLogWeights, {source->num_components()}, std::span(source->log_beta()));
  writer.add(kLogCores, {cores.extent(0), cores.extent(1), cores.extent(2)},
             std::span(cores.data(), cores.size()));
}

std::shared_ptr<const Bridge> with_source_of(const SafetensorsFile& file,
                                             std::shared_ptr<const Bridge> bridge) {
  if (!file.has(kLogWeights)) return bridge;
  if (file.shape(kLogWeights).size() != 1) {
    throw_file(file.path(), "tensor '{}' must have one axis", kLogWeights);
  }
  const std::size_t D = bridge->dim(), S = static_cast<std::size_t>(bridge->num_categories()),
                    J = file.shape(kLogWeights)[0];
  file.expect_shape(kLogCores, {D, S, J});
  return bridge->with_source(CpPotential(file.read_doubles(kLogWeights),
                                         Array3<double>(D, S, J, file.read_doubles(kLogCores))));
}

}  // namespace bridgemark
