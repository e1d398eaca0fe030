#include "bridgemark/pair/pair_folder.h"

#include <charconv>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/core/version.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/json.h"
#include "bridgemark/io/safetensors.h"
#include "bridgemark/process/low_rank_step.h"

namespace bridgemark {

namespace {

constexpr char kConfigName[] = "config.json";
constexpr char kTensorsName[] = "model.safetensors";

// What config.json says that the tensors do not.
struct Config {
  int dim = 0;
  int num_categories = 0;
  int num_components = 0;
  double gamma = 0.0;
  std::string reference;
  int total_steps = 0;
  bool reverse = false;
  PairFamily family = PairFamily::kSphere;
  double radius = 0.0;
  double min_distance = PairIdentity{}.min_distance;
  double switch_rate = PairIdentity{}.switch_rate;
  std::string origin;
  std::string source;
  double low = -kPaperSourceRange;
  double high = kPaperSourceRange;
};

nlohmann::json config_json(const BenchmarkPair& pair, std::size_t test_rows) {
  const ReferenceProcess& process = pair.bridge().process();
  const bool has_range =
      pair.source().kind() == SourceKind::kGaussian || pair.source().kind() == SourceKind::kUniform;
  nlohmann::json config = {
      {"dim", pair.dim()},
      {"input_shape", nlohmann::json::array({pair.dim()})},
      {"num_potentials", pair.bridge().num_components()},
      {"num_categories", pair.num_categories()},
      {"family", pair_family_name(pair.identity().family)},
      {"radius", pair.identity().radius},
      {"alpha", process.gamma()},  // null for a matrix
      {"num_timesteps", process.total_steps() - 1},
      {"num_skip_steps", 1},
      {"prior_type", reference_kind_name(process.kind())},
      {"benchmark_type", "gaussian"},
      {"num_val_samples", test_rows},
      {"init_batch_size", test_rows},
      {"reverse", pair.reverse()},
      {"tau", 1.0},
      {"params_dtype", "float64"},
      {"eps", 1e-20},
      {"input_distribution", source_kind_name(pair.source().kind())},
  };
  if (pair.identity().family == PairFamily::kDistilled) {
    config["origin"] = nlohmann::json::parse(pair.identity().origin);
  } else if (pair.identity().family != PairFamily::kSphere) {
    config["min_distance"] = pair.identity().min_distance;
  }
  if (pair.identity().family == PairFamily::kChain || pair.identity().family == PairFamily::kTree) {
    config["switch_rate"] = pair.identity().switch_rate;
  }
  if (has_range) config["sample_quantize_range"] = {pair.source().low(), pair.source().high()};
  return config;
}

int positive(const nlohmann::json& json, std::string_view key, const std::string& file,
             int minimum) {
  const int value = json_get<int>(json, key, file);
  if (value < minimum) throw_file(file, "{} must be at least {}, got {}", key, minimum, value);
  return value;
}

Config read_config(const std::filesystem::path& path) {
  const std::string file = path.string();
  const nlohmann::json json = load_json(path);
  Config config;
  config.dim = positive(json, "dim", file, 1);
  config.num_categories = positive(json, "num_categories", file, 2);
  config.num_components = positive(json, "num_potentials", file, 1);
  config.reference = json_get<std::string>(json, "prior_type", file);
  if (config.reference != "matrix") config.gamma = json_get<double>(json, "alpha", file);
  const std::int64_t total = std::int64_t{positive(json, "num_timesteps", file, 0)} + 1;
  const std::int64_t skip = positive(json, "num_skip_steps", file, 1);
  if (total > kMaxTotalSteps || skip > kMaxTotalSteps || total * skip > kMaxTotalSteps) {
    throw_file(file, "(num_timesteps + 1) * num_skip_steps must be at most {}, got {} * {}",
               kMaxTotalSteps, total, skip);
  }
  config.total_steps = static_cast<int>(total * skip);
  config.reverse = json_get_or<bool>(json, "reverse", false, file);
  const auto family = json_get_or<std::string>(json, "family", "sphere", file);
  try {
    config.family = parse_pair_family(family);
  } catch (const InvalidArgument& error) {
    throw_file(file, "{}", error.what());
  }
  config.radius = json_get_or<double>(json, "radius", 0.0, file);
  config.min_distance = json_get_or<double>(json, "min_distance", config.min_distance, file);
  config.switch_rate = json_get_or<double>(json, "switch_rate", config.switch_rate, file);
  if (config.family == PairFamily::kDistilled) {
    const auto origin = json.find("origin");
    if (origin == json.end() || !origin->is_object()) {
      throw_file(file, "origin must be an object in a pair of family distilled, got {}",
                 origin == json.end() ? "nothing" : origin->dump());
    }
    config.origin = origin->dump();
  }
  config.source = json_get<std::string>(json, "input_distribution", file);
  if (json.contains("sample_quantize_range")) {
    const nlohmann::json& range = json["sample_quantize_range"];
    if (!range.is_array() || range.size() != 2 || !range[0].is_number() || !range[1].is_number()) {
      throw_file(file, "sample_quantize_range must be two numbers, got {}", range.dump());
    }
    config.low = range[0].get<double>();
    config.high = range[1].get<double>();
  }
  return config;
}

ReferenceProcess read_reference(const Config& config, const SafetensorsFile& tensors,
                                const std::string& file) {
  if (config.reference == "uniform") {
    return ReferenceProcess::uniform(config.num_categories, config.gamma, config.total_steps);
  }
  if (config.reference == "gaussian") {
    return ReferenceProcess::gaussian(config.num_categories, config.gamma, config.total_steps);
  }
  if (config.reference == "matrix") {
    const auto S = static_cast<std::size_t>(config.num_categories);
    tensors.expect_shape("reference_matrix", std::vector{S, S});
    return ReferenceProcess::from_matrix(
        Matrix<double>(S, S, tensors.read_doubles("reference_matrix")), config.total_steps);
  }
  if (config.reference == reference_kind_name(ReferenceKind::kLowRank)) {
    const auto S = static_cast<std::size_t>(config.num_categories);
    const std::vector<std::size_t>& shape = tensors.shape("reference_u");
    const std::size_t rank = shape.size() == 2 ? shape[1] : 0;
    const auto factor = [&](const char* name) {
      tensors.expect_shape(name, std::vector{S, rank});
      return Matrix<double>(S, rank, tensors.read_doubles(name));
    };
    return ReferenceProcess::low_rank(factor("reference_u"), factor("reference_v"), config.gamma,
                                      config.total_steps);
  }
  throw_file(file, "prior_type must be uniform, gaussian, matrix or lowrank, got '{}'",
             config.reference);
}

// A tensor [n, ...] of states whose further axes flatten to `dim`.
States read_states(const SafetensorsFile& tensors, const std::string& name, std::size_t dim,
                   const std::string& file) {
  const std::vector<std::size_t>& shape = tensors.shape(name);
  std::size_t width = 1;
  for (std::size_t axis = 1; axis < shape.size(); ++axis) width *= shape[axis];
  if (shape.size() < 2 || width != dim) {
    throw_file(file, "tensor '{}' must have shape [n, {}], got [{}]", name, dim,
               fmt::join(shape, ", "));
  }
  return {shape[0], dim, tensors.read_int32(name)};
}

SourceDistribution read_source(const Config& config, const SafetensorsFile& tensors,
                               const std::string& config_file, const std::string& tensor_file) {
  const auto D = static_cast<std::size_t>(config.dim);
  if (config.source == "gaussian") {
    return SourceDistribution::gaussian(D, config.num_categories, config.low, config.high);
  }
  if (config.source == "uniform") {
    return SourceDistribution::uniform(D, config.num_categories, config.low, config.high);
  }
  if (config.source == "product") {
    const auto S = static_cast<std::size_t>(config.num_categories);
    tensors.expect_shape("source_pmf", std::vector{D, S});
    return SourceDistribution::product(Matrix<double>(D, S, tensors.read_doubles("source_pmf")));
  }
  if (config.source == "empirical") {
    return SourceDistribution::empirical(read_states(tensors, "source_states", D, tensor_file),
                                         config.num_categories);
  }
  throw_file(
      config_file,
      "input_distribution must be gaussian, uniform, product, mixture, tree or empirical, got '{}'",
      config.source);
}

// [J], of the potential of x0.
std::size_t source_components(const SafetensorsFile& tensors, const std::string& file) {
  const std::vector<std::size_t>& shape = tensors.shape("log_source_alpha");
  if (shape.size() != 1 || shape[0] < 1) {
    throw_file(file, "tensor 'log_source_alpha' must have shape [J >= 1], got [{}]",
               fmt::join(shape, ", "));
  }
  return shape[0];
}

// f of a two-sided pair, p0 of a distilled one.
CpPotential read_source_potential(const Config& config, const SafetensorsFile& tensors,
                                  const std::string& file) {
  const auto D = static_cast<std::size_t>(config.dim),
             S = static_cast<std::size_t>(config.num_categories),
             J = source_components(tensors, file);
  tensors.expect_shape("log_source_cp_cores", std::vector{D, S, J});
  return {tensors.read_doubles("log_source_alpha"),
          Array3<double>(D, S, J, tensors.read_doubles("log_source_cp_cores"))};
}

// f of a two-sided pair whose v is a tree.
TreePotential read_source_tree(const TreeShape& shape, const Config& config,
                               const SafetensorsFile& tensors, const std::string& file) {
  const auto S = static_cast<std::size_t>(config.num_categories);
  const std::size_t D = shape.dim(), J = source_components(tensors, file),
                    edges = shape.num_nodes() - 1;
  tensors.expect_shape("log_source_moves", std::vector{edges, J, J});
  tensors.expect_shape("log_source_cp_cores", std::vector{D, S, J});
  return {shape, tensors.read_doubles("log_source_alpha"),
          Array3<double>(edges, J, J, tensors.read_doubles("log_source_moves")),
          Array3<double>(D, S, J, tensors.read_doubles("log_source_cp_cores"))};
}

PairIdentity read_identity(const Config& config, const SafetensorsFile& tensors,
                           const std::filesystem::path& folder) {
  PairIdentity identity;
  identity.family = config.family;
  identity.radius = config.radius;
  identity.min_distance = config.min_distance;
  identity.switch_rate = config.switch_rate;
  identity.origin = config.origin;
  identity.name = folder.filename().empty() ? folder.parent_path().filename().string()
                                            : folder.filename().string();
  const auto& metadata = tensors.metadata();
  const auto number = [&](const char* key, auto& value) {
    const auto found = metadata.find(key);
    if (found == metadata.end()) return;
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
  };
  if (const auto found = metadata.find("name"); found != metadata.end()) {
    identity.name = found->second;
  }
  number("version", identity.version);
  number("seed", identity.seed);
  return identity;
}

// The pair that config and tensors say, by what its potentials are.
BenchmarkPair assemble(const Config& config, const SafetensorsFile& tensors,
                       const std::filesystem::path& folder) {
  const std::string config_file = (folder / kConfigName).string(),
                    tensor_file = (folder / kTensorsName).string();
  const auto D = static_cast<std::size_t>(config.dim),
             S = static_cast<std::size_t>(config.num_categories),
             K = static_cast<std::size_t>(config.num_components);
  tensors.expect_shape("log_alpha", std::vector{K});
  tensors.expect_shape("log_cp_cores", std::vector{D, S, K});
  PairIdentity identity = read_identity(config, tensors, folder);
  ReferenceProcess reference = read_reference(config, tensors, config_file);
  std::vector<double> log_weights = tensors.read_doubles("log_alpha");
  Array3<double> log_cores(D, S, K, tensors.read_doubles("log_cp_cores"));
  const bool distilled = config.family == PairFamily::kDistilled;
  const auto pair_of = [&](auto bridge) -> BenchmarkPair {
    if (distilled) {
      return BenchmarkPair::of_bridge(
          std::move(identity),
          bridge.with_source(read_source_potential(config, tensors, tensor_file)), config.reverse);
    }
    return {std::move(identity), read_source(config, tensors, config_file, tensor_file),
            std::move(bridge), config.reverse};
  };
  if (tensors.has("tree_parent")) {
    const std::vector<std::size_t>& nodes = tensors.shape("tree_parent");
    if (nodes.size() != 1 || nodes[0] < 1) {
      throw_file(tensor_file, "tensor 'tree_parent' must have shape [M >= 1], got [{}]",
                 fmt::join(nodes, ", "));
    }
    tensors.expect_shape("tree_node_of", std::vector{D});
    tensors.expect_shape("log_moves", std::vector{nodes[0] - 1, K, K});
    TreePotential potential({tensors.read_int32("tree_parent"), tensors.read_int32("tree_node_of")},
                            std::move(log_weights),
                            Array3<double>(nodes[0] - 1, K, K, tensors.read_doubles("log_moves")),
                            std::move(log_cores));
    TreeBridge bridge(std::move(reference), std::move(potential));
    if (!distilled && config.source == source_kind_name(SourceKind::kTree)) {
      TreePotential source = read_source_tree(*bridge.tree(), config, tensors, tensor_file);
      return BenchmarkPair::two_sided(std::move(identity), std::move(source), std::move(bridge),
                                      config.reverse);
    }
    return pair_of(std::move(bridge));
  }
  if (tensors.has("log_moves")) {
    tensors.expect_shape("log_moves", std::vector{D - 1, K, K});
    ChainPotential potential(std::move(log_weights),
                             Array3<double>(D - 1, K, K, tensors.read_doubles("log_moves")),
                             std::move(log_cores));
    return pair_of(ChainBridge(std::move(reference), std::move(potential)));
  }
  CpBridge bridge(std::move(reference), {std::move(log_weights), std::move(log_cores)});
  if (!distilled && config.source == source_kind_name(SourceKind::kMixture)) {
    return BenchmarkPair::two_sided(std::move(identity),
                                    read_source_potential(config, tensors, tensor_file),
                                    std::move(bridge), config.reverse);
  }
  return pair_of(std::move(bridge));
}

std::vector<std::int64_t> widen(const States& states) {
  return {states.data(), states.data() + states.size()};
}

}  // namespace

void write_pair_folder(const Context& context, const BenchmarkPair& pair,
                       const std::filesystem::path& folder) {
  const PairedStates test = pair.test_set(context);
  const Bridge& bridge = pair.bridge();
  const std::size_t D = pair.dim(), S = static_cast<std::size_t>(pair.num_categories()),
                    K = bridge.num_components(), n = test.x0.rows();
  const std::vector<std::int64_t> input = widen(test.x0), target = widen(test.x1);
  SafetensorsWriter writer;
  writer.set_metadata("name", pair.identity().name);
  writer.set_metadata("version", std::to_string(pair.identity().version));
  writer.set_metadata("seed", std::to_string(pair.identity().seed));
  writer.set_metadata("bridgemark", kVersion);
  writer.add("input_dataset", {n, D}, std::span(input));
  writer.add("target_dataset", {n, D}, std::span(target));
  writer.add("log_alpha", {K}, bridge.log_weights());
  writer.add("log_cp_cores", {D, S, K},
             std::span(bridge.log_cores().data(), bridge.log_cores().size()));
  std::vector<std::int64_t> parent, node_of;
  if (const TreeShape* const tree = bridge.tree()) {
    parent.assign(tree->parent().begin(), tree->parent().end());
    node_of.assign(tree->node_of().begin(), tree->node_of().end());
    writer.add("tree_parent", {parent.size()}, std::span<const std::int64_t>(parent));
    writer.add("tree_node_of", {D}, std::span<const std::int64_t>(node_of));
  }
  if (bridge.log_moves().size() > 0 || bridge.tree()) {
    writer.add("log_moves", {bridge.log_moves().extent(0), K, K},
               std::span(bridge.log_moves().data(), bridge.log_moves().size()));
  }

  const CpPotential* source = pair.source_potential() ? &*pair.source_potential()
                              : bridge.source()       ? bridge.source()->mixture()
                                                      : nullptr;
  if (source != nullptr) {
    const std::size_t J = source->num_components();
    writer.add("log_source_alpha", {J}, std::span(source->log_beta()));
    writer.add("log_source_cp_cores", {D, S, J},
               std::span(source->log_cores().data(), source->log_cores().size()));
  }
  if (const auto& tree = pair.source_tree()) {
    const std::size_t J = tree->num_components();
    writer.add("log_source_alpha", {J}, std::span(tree->log_root()));
    writer.add("log_source_cp_cores", {D, S, J},
               std::span(tree->log_cores().data(), tree->log_cores().size()));
    writer.add("log_source_moves", {tree->log_moves().extent(0), J, J},
               std::span(tree->log_moves().data(), tree->log_moves().size()));
  }
  std::vector<std::int64_t> states;
  if (const Matrix<double>* matrix = bridge.process().given_matrix()) {
    writer.add("reference_matrix", {S, S}, std::span(matrix->data(), matrix->size()));
  }
  if (const LowRankStep* step = bridge.process().low_rank_step()) {
    const auto rank = static_cast<std::size_t>(step->rank());
    writer.add("reference_u", {S, rank}, std::span(step->u().data(), step->u().size()));
    writer.add("reference_v", {S, rank}, std::span(step->v().data(), step->v().size()));
  }
  if (pair.source().kind() == SourceKind::kProduct) {
    const Matrix<double>& pmf = pair.source().given_pmf();
    writer.add("source_pmf", {D, S}, std::span(pmf.data(), pmf.size()));
  }
  if (pair.source().kind() == SourceKind::kEmpirical) {
    states = widen(pair.source().states());
    writer.add("source_states", {pair.source().states().rows(), D},
               std::span<const std::int64_t>(states));
  }
  create_folder(folder);
  writer.write(folder / kTensorsName);
  save_json(folder / kConfigName, config_json(pair, n));
}

BenchmarkPair read_pair_folder(const std::filesystem::path& folder) {
  const Config config = read_config(folder / kConfigName);
  const std::filesystem::path tensors_path = folder / kTensorsName;
  const SafetensorsFile tensors = SafetensorsFile::load(tensors_path);
  const auto D = static_cast<std::size_t>(config.dim);
  try {
    BenchmarkPair pair = assemble(config, tensors, folder);
    if (tensors.has("input_dataset") || tensors.has("target_dataset")) {
      pair.store_test_set({read_states(tensors, "input_dataset", D, tensors_path.string()),
                           read_states(tensors, "target_dataset", D, tensors_path.string())});
    }
    return pair;
  } catch (const InvalidArgument& error) {
    throw_file(folder.string(), "{}", error.what());
  }
}

}  // namespace bridgemark
