#include "bridgemark/pair/data_presets/data_presets.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "bridgemark/bridge/chain_bridge.h"
#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/bridge/tree_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/io/json.h"
#include "bridgemark/pair/data_presets/embedded_presets.h"

namespace bridgemark {

namespace {

using nlohmann::json;

// A character stands for its place in this line: so many steps below 0.
constexpr std::string_view kLevels =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string_view text_of(std::span<const EmbeddedPreset> files, std::string_view name) {
  const auto found = std::ranges::find(files, name, &EmbeddedPreset::name);
  if (found == files.end()) {
    throw_invalid("pair", "name of a pair of family distilled must be of a preset, got '{}'", name);
  }
  return found->text;
}

std::string head_file(std::string_view name) { return fmt::format("{}.json", name); }

json head_of(std::string_view name) {
  return parse_json(text_of(embedded_preset_heads(), name), head_file(name));
}

// Tables one after another; line ends count for nothing.
class LevelReader {
 public:
  LevelReader(std::string_view name, double step)
      : file_(fmt::format("{}.txt", name)),
        text_(text_of(embedded_preset_levels(), name)),
        step_(step) {}

  Array3<double> take(std::size_t a, std::size_t b, std::size_t c) {
    Array3<double> table(a, b, c);
    for (std::size_t i = 0; i < table.size(); ++i) table.data()[i] = next();
    return table;
  }

  void expect_end() {
    skip_line_ends();
    if (at_ != text_.size()) throw_file(file_, "holds more than its tables, from byte {}", at_);
  }

 private:
  void skip_line_ends() {
    while (at_ < text_.size() && text_[at_] == '\n') ++at_;
  }

  double next() {
    skip_line_ends();
    const std::size_t level = at_ < text_.size() ? kLevels.find(text_[at_]) : kLevels.npos;
    if (level == kLevels.npos) throw_file(file_, "has no number at byte {}", at_);
    ++at_;
    return -step_ * static_cast<double>(level);
  }

  std::string file_;
  std::string_view text_;
  double step_;
  std::size_t at_ = 0;
};

std::vector<double> weights_of(const json& head, std::string_view key, std::string_view file) {
  return json_part(head, key, json::value_t::array, file).get<std::vector<double>>();
}

// `form` is mixture, chain or the name of a tree.
std::shared_ptr<const Bridge> read_bridge(const PairSpec& spec, std::string_view form,
                                          std::vector<double> log_weights, LevelReader& levels) {
  const auto D = static_cast<std::size_t>(spec.dim),
             S = static_cast<std::size_t>(spec.num_categories);
  const std::size_t K = log_weights.size();
  const ReferenceProcess reference =
      spec.reference == ReferenceKind::kUniform
          ? ReferenceProcess::uniform(spec.num_categories, spec.gamma, spec.total_steps)
          : ReferenceProcess::gaussian(spec.num_categories, spec.gamma, spec.total_steps);
  Array3<double> cores = levels.take(D, S, K);
  if (form == "mixture") {
    return std::make_shared<CpBridge>(reference,
                                      CpPotential(std::move(log_weights), std::move(cores)));
  }
  if (form == "chain") {
    Array3<double> moves = levels.take(D - 1, K, K);
    return std::make_shared<ChainBridge>(
        reference, ChainPotential(std::move(log_weights), std::move(moves), std::move(cores)));
  }
  TreeShape tree = TreeShape::named(form, D);
  Array3<double> moves = levels.take(tree.num_nodes() - 1, K, K);
  return std::make_shared<TreeBridge>(
      reference,
      TreePotential(std::move(tree), std::move(log_weights), std::move(moves), std::move(cores)));
}

PairSpec spec_of(std::string_view name) {
  const std::string file = head_file(name);
  const json head = head_of(name);
  PairSpec spec;
  spec.name = name;
  spec.family = PairFamily::kDistilled;
  spec.version = json_get<int>(head, "version", file);
  spec.seed = json_get<std::uint64_t>(head, "seed", file);
  spec.dim = json_get<int>(head, "dim", file);
  spec.num_categories = json_get<int>(head, "num_categories", file);
  spec.num_components = static_cast<int>(weights_of(head, "log_weights", file).size());
  spec.reference = json_get<std::string>(head, "reference", file) == "uniform"
                       ? ReferenceKind::kUniform
                       : ReferenceKind::kGaussian;
  spec.gamma = json_get<double>(head, "gamma", file);
  return spec;
}

}  // namespace

const std::vector<PairSpec>& data_preset_specs() {
  static const std::vector<PairSpec> specs = [] {
    std::vector<PairSpec> all;
    for (const EmbeddedPreset& preset : embedded_preset_heads()) {
      all.push_back(spec_of(preset.name));
    }
    return all;
  }();
  return specs;
}

BenchmarkPair build_data_preset(const PairSpec& spec) {
  std::string_view name = spec.name;
  if (name.ends_with(kReverseSuffix)) name.remove_suffix(kReverseSuffix.size());
  const std::string file = head_file(name);
  const json head = head_of(name);
  LevelReader levels(name, json_get<double>(head, "step", file));
  const auto bridge = read_bridge(spec, json_get<std::string>(head, "potential", file),
                                  weights_of(head, "log_weights", file), levels);
  std::vector<double> source_weights = weights_of(head, "source_log_weights", file);
  Array3<double> source_cores = levels.take(
      bridge->dim(), static_cast<std::size_t>(bridge->num_categories()), source_weights.size());
  levels.expect_end();
  PairIdentity identity;
  identity.name = spec.name;
  identity.version = spec.version;
  identity.seed = spec.seed;
  identity.family = PairFamily::kDistilled;
  identity.origin = json_part(head, "origin", json::value_t::object, file).dump();
  return BenchmarkPair::of_bridge(
      std::move(identity),
      bridge->with_source(CpPotential(std::move(source_weights), std::move(source_cores))),
      spec.reverse);
}

}  // namespace bridgemark
