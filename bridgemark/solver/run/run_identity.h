#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "bridgemark/solver/core/training_files.h"
#include "bridgemark/solver/run/run.h"

// Which run the files of a folder are of, and what it was fitted to, as its checkpoint and its
// result say it: the pair and the fixed data.
namespace bridgemark {

struct RunIdentity {
  nlohmann::json pair;  // pair_record()
  nlohmann::json
      data;  // fingerprint of each file of states by its option; empty where all is drawn
  std::string run = {};  // RunConfig::identity
};

inline constexpr char kRunIdentityKey[] = "run_identity";  // in config, checkpoint, result, scores

// One that no other run has.
std::string new_run_identity();

// With the data as it is now; a file that is gone is left out. `pair` is a pair_record().
RunIdentity run_identity(nlohmann::json pair, const RunConfig& config);

// As a checkpoint carries it.
CheckpointMetadata identity_metadata(const RunIdentity& identity);

// As a result carries it, with the fingerprint of the model that it was written of.
void add_identity(nlohmann::json& result, const RunIdentity& identity,
                  const std::filesystem::path& model);

// Throws FileError, naming both, where the result or the checkpoint in a run folder is of another
// pair or other data. What says nothing, because it is older, is let through.
void refuse_other_identity(const RunIdentity& identity, const std::filesystem::path& folder);

// Throws FileError, naming both, where the result in a run folder, or the checkpoint that a run
// without one goes on from, is of another run than the configuration. What says nothing, because it
// is older, is let through.
void refuse_mixed_runs(const RunConfig& config, const std::filesystem::path& folder);

// The same for the model of a complete run: it must be the file that the result was written of.
void refuse_other_model(const nlohmann::json& result, const std::filesystem::path& folder);

}  // namespace bridgemark
