#pragma once

#include <filesystem>

#include "bridgemark/process/given_reference.h"

namespace bridgemark {

// The weights that scipy.sparse.save_npz wrote: a square matrix in the format CSR. Throws FileError
// for anything else.
GraphWeights load_graph(const std::filesystem::path& path);

}  // namespace bridgemark
