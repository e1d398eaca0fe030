#include "bridgemark/pair/pair_record.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bridgemark/core/error.h"
#include "bridgemark/io/fingerprint.h"
#include "bridgemark/io/json.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/process/low_rank_step.h"

namespace bridgemark {

using nlohmann::json;

namespace {

constexpr char kWhole[] = "fingerprint";
constexpr char kPotential[] = "potential_fingerprint";
constexpr char kTestSet[] = "test_set";

void add_array(Fingerprint& fingerprint, const Array3<double>& array) {
  fingerprint.add(std::span(array.data(), array.size()));
}

// Whether the potential of x0, which a two-sided pair has, comes in. Older records are without it.
enum class SourcePotential { kIn, kOut };

// The reference comes in by its kind and numbers.
void add_potential(Fingerprint& fingerprint, const BenchmarkPair& pair, SourcePotential of_x0) {
  const Bridge& bridge = pair.bridge();
  const ReferenceProcess& process = bridge.process();
  fingerprint.add(bridge.log_weights());
  add_array(fingerprint, bridge.log_cores());
  add_array(fingerprint, bridge.log_moves());
  if (const TreeShape* const tree = bridge.tree()) {
    fingerprint.add(std::span<const std::int32_t>(tree->parent()));
    fingerprint.add(std::span<const std::int32_t>(tree->node_of()));
  }
  if (const auto& source = pair.source_potential(); source && of_x0 == SourcePotential::kIn) {
    fingerprint.add(std::span(source->log_beta()));
    add_array(fingerprint, source->log_cores());
  }
  if (const auto& source = pair.source_tree(); source && of_x0 == SourcePotential::kIn) {
    fingerprint.add(std::span(source->log_root()));
    add_array(fingerprint, source->log_cores());
    add_array(fingerprint, source->log_moves());
  }
  const double reference[] = {static_cast<double>(process.kind()),
                              static_cast<double>(process.total_steps()),
                              process.kind() == ReferenceKind::kMatrix ? 0.0 : process.gamma()};
  fingerprint.add(std::span<const double>(reference));
}

// Matrix and pmf as they were given: what is made of them changes its last bits on the way through
// a folder.
void add_ends(Fingerprint& fingerprint, const BenchmarkPair& pair) {
  const auto add_matrix = [&](const Matrix<double>& matrix) {
    fingerprint.add(std::span(matrix.data(), matrix.size()));
  };
  const SourceDistribution& source = pair.source();
  fingerprint.add(static_cast<std::uint64_t>(pair.identity().version));
  fingerprint.add(static_cast<std::uint64_t>(pair.dim()));
  fingerprint.add(static_cast<std::uint64_t>(pair.num_categories()));
  if (const Matrix<double>* matrix = pair.bridge().process().given_matrix()) add_matrix(*matrix);
  if (const LowRankStep* step = pair.bridge().process().low_rank_step()) {
    add_matrix(step->u());
    add_matrix(step->v());
  }
  fingerprint.add_bytes(source_kind_name(source.kind()));
  switch (source.kind()) {
    case SourceKind::kGaussian:
    case SourceKind::kUniform: {
      const double range[] = {source.low(), source.high()};
      fingerprint.add(std::span<const double>(range));
      break;
    }
    case SourceKind::kProduct:
      add_matrix(source.given_pmf());
      break;
    case SourceKind::kEmpirical:
      fingerprint.add(
          std::span<const std::int32_t>(source.states().data(), source.states().size()));
      break;
    case SourceKind::kTree:  // the potential of x0 says it
      break;
    case SourceKind::kMixture:  // else the potential of x0 says it
      if (const SourceLaw* start = pair.bridge().source()) {
        fingerprint.add(std::span(start->log_weights()));
        add_array(fingerprint, start->log_cores());
      }
      break;
  }
}

// A record from versions with one fingerprint, with today's keys.
json in_todays_words(json record) {
  if (record.is_object() && record.contains(kWhole) && !record.contains(kPotential)) {
    record[kPotential] = record[kWhole];
    record.erase(kWhole);
  }
  return record;
}

}  // namespace

json pair_record(const BenchmarkPair& pair) {
  Fingerprint whole, potential;
  add_potential(whole, pair, SourcePotential::kIn);
  add_ends(whole, pair);
  add_potential(potential, pair, SourcePotential::kOut);
  return {{"name", pair.identity().name}, {"version", pair.identity().version},
          {"seed", pair.identity().seed}, {"reverse", pair.reverse()},
          {kWhole, whole.text()},         {kPotential, potential.text()}};
}

json scored_pair_record(const Context& context, const BenchmarkPair& pair) {
  const PairedStates test = pair.test_set(context);
  Fingerprint digest;
  for (const States* rows : {&test.x0, &test.x1}) {
    digest.add(static_cast<std::uint64_t>(rows->rows()));
    digest.add(std::span<const std::int32_t>(rows->data(), rows->size()));
  }
  json record = pair_record(pair);
  record[kTestSet] = digest.text();
  return record;
}

void check_pair_record(const json& record, std::string_view file) {
  if (!record.is_object()) throw_file(file, "'pair' must be an object");
  if (record.contains("name") && !record["name"].is_string()) {
    throw_file(file, "'name' of a pair must be text");
  }
  if (record.contains("reverse") && !record["reverse"].is_boolean()) {
    throw_file(file, "'reverse' of a pair must be true or false");
  }
}

bool same_pair(const json& a, const json& b) {
  const json left = in_todays_words(a), right = in_todays_words(b);
  if (!left.is_object() || !right.is_object()) return true;
  const bool both_whole = left.contains(kWhole) && right.contains(kWhole);
  for (const auto& [key, value] : left.items()) {
    if (key == kPotential && both_whole) continue;  // the whole says more
    if (key == kTestSet) continue;
    const auto found = right.find(key);
    if (found != right.end() && *found != value) return false;
  }
  return true;
}

bool same_scored_pair(const json& a, const json& b) {
  const bool both = a.is_object() && b.is_object() && a.contains(kTestSet) && b.contains(kTestSet);
  return same_pair(a, b) && (!both || a.at(kTestSet) == b.at(kTestSet));
}

void add_training_rows(json& record, const TrainingRows& rows) {
  if (rows.samples == 0) return;
  record["samples"] = rows.samples;
  record["training_set"] = rows.training_set;
}

TrainingRows read_training_rows(const json& record, std::string_view file) {
  return {json_get_or<std::uint64_t>(record, "samples", 0, file),
          json_get_or<std::uint64_t>(record, "training_set", 0, file)};
}

std::string pair_text(const json& record) {
  const auto say = [&](const char* key) -> std::string {
    if (!record.is_object() || !record.contains(key)) return "unknown";
    const json& value = record[key];
    return printable(value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', true));
  };
  const bool has_test_set = record.is_object() && record.contains(kTestSet);
  return fmt::format("'{}' (version {}, seed {}, fingerprint {}{})", say("name"), say("version"),
                     say("seed"), say(kWhole), has_test_set ? ", test set " + say(kTestSet) : "");
}

}  // namespace bridgemark
