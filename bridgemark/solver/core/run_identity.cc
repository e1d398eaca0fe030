#include "bridgemark/solver/core/run_identity.h"

#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/io/fingerprint.h"
#include "bridgemark/io/json.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/io/safetensors.h"
#include "bridgemark/pair/pair_record.h"
#include "bridgemark/solver/core/run_files.h"
#include "bridgemark/solver/core/training_data.h"

namespace bridgemark {

using nlohmann::json;

namespace {

constexpr char kPair[] = "pair";
constexpr char kData[] = "data";

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
  return {{kPair, identity.pair.dump(-1, ' ', true, kReplace)},
          {kData, identity.data.dump(-1, ' ', true, kReplace)}};
}

void refuse_other_identity(const RunIdentity& identity, const std::filesystem::path& folder) {
  if (const auto result = folder / kRunResult; path_exists(result)) {
    const json trained = load_json(result);
    if (!trained.is_object()) throw_file(result.string(), "must hold an object");
    refuse_other(identity, trained.value(kPair, json()), trained.value(kData, json()),
                 result.string());
  }
  if (const auto checkpoint = folder / kRunCheckpoint; path_exists(checkpoint)) {
    const auto metadata = SafetensorsFile::load(checkpoint).metadata();
    const auto said = [&](const char* key) {
      const auto found = metadata.find(key);
      return found == metadata.end() ? json() : parse_json(found->second, checkpoint.string());
    };
    refuse_other(identity, said(kPair), said(kData), checkpoint.string());
  }
}

}  // namespace bridgemark
