#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "bridgemark/solver/core/run.h"
#include "bridgemark/solver/core/training_files.h"

// What a run was fitted to, as its checkpoint and its result say it: the pair and the fixed data.
namespace bridgemark {

struct RunIdentity {
  nlohmann::json pair;  // pair_record()
  nlohmann::json
      data;  // fingerprint of each file of states by its option; empty where all is drawn
};

// With the data as it is now; a file that is gone is left out. `pair` is a pair_record().
RunIdentity run_identity(nlohmann::json pair, const RunConfig& config);

// As a checkpoint carries it.
CheckpointMetadata identity_metadata(const RunIdentity& identity);

// Throws FileError, naming both, where the result or the checkpoint in a run folder is of another
// pair or other data. What says nothing, because it is older, is let through.
void refuse_other_identity(const RunIdentity& identity, const std::filesystem::path& folder);

}  // namespace bridgemark
