#include "bridgemark/solver/run/run_identity.h"

#include <fmt/format.h>

#include <random>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/io/fingerprint.h"
#include "bridgemark/io/json.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/io/safetensors.h"
#include "bridgemark/pair/pair_record.h"
#include "bridgemark/solver/core/training_data.h"
#include "bridgemark/solver/run/run_files.h"

namespace bridgemark {

using nlohmann::json;

namespace {

constexpr char kPair[] = "pair";
constexpr char kData[] = "data";
constexpr char kModel[] = "model_fingerprint";

json result_in(const std::filesystem::path& folder) {
  const auto path = folder / kRunResult;
  if (!path_exists(path)) return json::object();
  json result = load_json(path);
  if (!result.is_object()) throw_file(path.string(), "must hold an object");
  return result;
}

CheckpointMetadata checkpoint_in(const std::filesystem::path& folder) {
  const auto path = folder / kRunCheckpoint;
  return path_exists(path) ? SafetensorsFile::load(path).metadata() : CheckpointMetadata();
}

void refuse_other_run_in(const std::filesystem::path& file, const std::string& said,
                         const RunConfig& config) {
  if (said.empty() || config.identity.empty() || said == config.identity) return;
  throw_file(file.string(),
             "is of run {}, but {} beside it is of run {}; the folder has files of two runs",
             printable(said), kRunConfig, printable(config.identity));
}

void refuse_other(const RunIdentity& now, const json& pair, const json& data,
                  const std::string& file) {
  if (pair.is_object() && !same_pair(pair, now.pair)) {
    throw_file(file, "was fitted to pair {}, got {}", pair_text(pair), pair_text(now.pair));
  }
  if (!data.is_object()) return;
  for (const auto& [option, fingerprint] : data.items()) {
    const auto found = now.data.find(option);
    if (found != now.data.end() && *found != fingerprint) {
      throw_file(file, "was fitted to {} with fingerprint {}, got {}", printable(option),
                 printable(fingerprint.dump(-1, ' ', true)), found->dump());
    }
  }
}

}  // namespace

RunIdentity run_identity(json pair, const RunConfig& config) {
  RunIdentity identity{std::move(pair), json::object()};
  for (const char* option : kDataOptions) {
    const auto found = config.options.find(option);
    if (found == config.options.end() || found->second.empty()) continue;
    if (!path_exists(found->second)) continue;
    identity.data[option] = file_fingerprint(found->second);
  }
  return identity;
}

CheckpointMetadata identity_metadata(const RunIdentity& identity) {
  constexpr auto kReplace = json::error_handler_t::replace;
  CheckpointMetadata metadata = {{kPair, identity.pair.dump(-1, ' ', true, kReplace)},
                                 {kData, identity.data.dump(-1, ' ', true, kReplace)}};
  if (!identity.run.empty()) metadata[kRunIdentityKey] = identity.run;
  return metadata;
}

std::string new_run_identity() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", device(), device(), device(), device());
}

void add_identity(nlohmann::json& result, const RunIdentity& identity,
                  const std::filesystem::path& model) {
  result[kPair] = identity.pair;
  result[kData] = identity.data;
  if (!identity.run.empty()) result[kRunIdentityKey] = identity.run;
  result[kModel] = file_fingerprint(model);
}

void refuse_mixed_runs(const RunConfig& config, const std::filesystem::path& folder) {
  if (const auto file = folder / kRunResult; path_exists(file)) {
    const json result = result_in(folder);
    const auto said = json_get_or<std::string>(result, kRunIdentityKey, "", file.string());
    refuse_other_run_in(file, said, config);
    return;
  }
  const CheckpointMetadata checkpoint = checkpoint_in(folder);
  if (const auto said = checkpoint.find(kRunIdentityKey); said != checkpoint.end()) {
    refuse_other_run_in(folder / kRunCheckpoint, said->second, config);
  }
}

void refuse_other_model(const json& result, const std::filesystem::path& folder) {
  const auto said = result.find(kModel);
  if (said == result.end()) return;
  const std::string model = (folder / kRunModel).string(), now = file_fingerprint(model);
  if (*said == now) return;
  throw_file(model, "has fingerprint {}, but {} beside it is of a model with {}", now, kRunResult,
             printable(said->dump(-1, ' ', true)));
}

void refuse_other_identity(const RunIdentity& identity, const std::filesystem::path& folder) {
  const json trained = result_in(folder);
  refuse_other(identity, trained.value(kPair, json()), trained.value(kData, json()),
               (folder / kRunResult).string());
  const CheckpointMetadata metadata = checkpoint_in(folder);
  const std::string checkpoint = (folder / kRunCheckpoint).string();
  const auto said = [&](const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? json() : parse_json(found->second, checkpoint);
  };
  refuse_other(identity, said(kPair), said(kData), checkpoint);
}

}  // namespace bridgemark
