#pragma once

#include <filesystem>
#include <memory>

#include "bridgemark/bridge/bridge.h"
#include "bridgemark/io/safetensors.h"

namespace bridgemark {

// The law of x0 in a bridge's file: source.log_weights [J] and source.log_cores [D,S,J]; neither
// where the bridge has none.
void add_source(SafetensorsWriter& writer, const Bridge& bridge);

// The bridge with the law of its file, or as it is where the file has none. Throws FileError for
// tensors of another shape, InvalidArgument for ones that are no law.
std::shared_ptr<const Bridge> with_source_of(const SafetensorsFile& file,
                                             std::shared_ptr<const Bridge> bridge);

}  // namespace bridgemark
