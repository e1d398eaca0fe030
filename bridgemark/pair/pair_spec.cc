#include "bridgemark/pair/pair_spec.h"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/core/free_memory.h"
#include "bridgemark/core/suggest.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/math/philox.h"
#include "bridgemark/pair/component_means.h"
#include "bridgemark/pair/data_presets/data_presets.h"
#include "bridgemark/pair/pair_folder.h"
#include "bridgemark/pair/two_sided.h"

namespace bridgemark {

void check_spec(const PairSpec& spec) {
  if (spec.dim < 1 || spec.dim > 1 << 20) {
    throw_invalid("pair", "dim must lie in 1..{}, got {}", 1 << 20, spec.dim);
  }
  if (spec.num_components < 1 || spec.num_components > 1 << 17) {
    throw_invalid("pair", "num_components must lie in 1..{}, got {}", 1 << 17, spec.num_components);
  }
  if (!(spec.sigma > 0.0 && std::isfinite(spec.sigma))) {
    throw_invalid("pair", "sigma must be positive and finite, got {}", spec.sigma);
  }
  if (!(spec.radius > 0.0 && std::isfinite(spec.radius))) {
    throw_invalid("pair", "radius must be positive and finite, got {}", spec.radius);
  }
  if (!(spec.min_distance >= 0.0 && std::isfinite(spec.min_distance))) {
    throw_invalid("pair", "min_distance must be at least 0 and finite, got {}", spec.min_distance);
  }
  // Cores [D,S,K], as they are drawn, copied into the bridge, and carried along the reference.
  require_memory(3.0 * 8.0 * spec.dim * spec.num_categories * spec.num_components,
                 fmt::format("a pair with D = {}, S = {}, K = {}", spec.dim, spec.num_categories,
                             spec.num_components),
                 "the dimension, the categories or the components");
  if (spec.reference == ReferenceKind::kMatrix && !spec.reference_matrix) {
    throw_invalid("pair", "a matrix reference needs reference_matrix, got none");
  }
  if (spec.reference == ReferenceKind::kLowRank && !spec.low_rank) {
    throw_invalid("pair", "a lowrank reference needs low_rank, got none");
  }
  if (spec.reference == ReferenceKind::kGraph && !spec.graph) {
    throw_invalid("pair", "a graph reference needs graph, got none");
  }
}

namespace {

ReferenceProcess make_reference(const PairSpec& spec) {
  switch (spec.reference) {
    case ReferenceKind::kMatrix:
      return ReferenceProcess::from_matrix(*spec.reference_matrix, spec.total_steps);
    case ReferenceKind::kLowRank:
      return ReferenceProcess::low_rank(spec.low_rank->u, spec.low_rank->v, spec.gamma,
                                        spec.total_steps);
    case ReferenceKind::kGraph:
      return ReferenceProcess::graph(*spec.graph, spec.gamma, spec.total_steps);
    default:
      return ReferenceProcess::of_gamma(spec.reference, spec.num_categories, spec.gamma,
                                        spec.total_steps);
  }
}

// log_cores[d,s,k] = log of the normal density at s around the component's mean. Only IEEE
// operations on small integers and sigma, so the stored numbers are the same on every machine.
CpPotential make_potential(const PairSpec& spec, const Context& context) {
  constexpr double kHalfLogTwoPi = 0.91893853320467274178;
  const auto D = static_cast<std::size_t>(spec.dim);
  const auto S = static_cast<std::size_t>(spec.num_categories);
  const auto K = static_cast<std::size_t>(spec.num_components);
  const Matrix<int> means = draw_component_means(spec, context);
  const double log_scale = portable_log(spec.sigma) + kHalfLogTwoPi;
  Array3<double> log_cores(D, S, K);
  for (std::size_t k = 0; k < K; ++k) {
    for (std::size_t d = 0; d < D; ++d) {
      for (std::size_t s = 0; s < S; ++s) {
        const double z = (static_cast<double>(s) - means(k, d)) / spec.sigma;
        log_cores(d, s, k) = -0.5 * (z * z) - log_scale;
      }
    }
  }
  std::vector<double> log_beta(K, -portable_log(spec.num_components));
  return {std::move(log_beta), std::move(log_cores)};
}

// The mixture's cores under a hidden chain that starts evenly.
ChainPotential make_chain_potential(const PairSpec& spec, const Context& context) {
  const CpPotential components = make_potential(spec, context);
  return {components.log_beta(),
          switching_moves(components.dim(), components.num_components(), spec.switch_rate),
          components.log_cores()};
}

// The mixture's cores under the hidden states of a tree whose root falls evenly.
TreePotential make_tree_potential(const PairSpec& spec, const Context& context) {
  const CpPotential components = make_potential(spec, context);
  const TreeShape shape = spec.tree ? *spec.tree : TreeShape::binary(components.dim());
  return {shape, components.log_beta(),
          switching_moves(shape.num_nodes(), components.num_components(), spec.switch_rate),
          components.log_cores()};
}

void require_no_source(const PairSpec& spec) {
  if (!spec.source) return;
  throw_invalid("pair", "source must be left out of a two-sided pair, whose p0 follows from f");
}

// A two-sided pair of the mixture and another like it, their weights balanced.
BenchmarkPair build_two_sided(const PairSpec& spec, PairIdentity identity,
                              ReferenceProcess reference, const Context& context) {
  require_no_source(spec);
  const bool drawn = !spec.potential && !spec.source_potential;
  PairSpec other = spec;
  other.seed = source_potential_seed(spec);
  CpPotential source =
      spec.source_potential ? *spec.source_potential : make_potential(other, context);
  CpPotential target = spec.potential ? *spec.potential : make_potential(spec, context);
  if (drawn) {
    BalancedWeights weights = balance_weights(source, CpBridge(reference, target), context);
    source = CpPotential(std::move(weights.log_source), source.log_cores());
    target = CpPotential(std::move(weights.log_target), target.log_cores());
  }
  return BenchmarkPair::two_sided(std::move(identity), std::move(source),
                                  CpBridge(std::move(reference), std::move(target)), spec.reverse);
}

// A two-sided pair of trees on one shape: v's where that is given, else the spec's.
BenchmarkPair build_two_sided_trees(const PairSpec& spec, PairIdentity identity,
                                    ReferenceProcess reference, const Context& context) {
  require_no_source(spec);
  const bool drawn = !spec.tree_potential && !spec.source_tree;
  PairSpec other = spec;
  other.seed = source_potential_seed(spec);
  if (spec.tree_potential) other.tree = spec.tree_potential->shape();
  TreePotential source = spec.source_tree ? *spec.source_tree : make_tree_potential(other, context);
  TreePotential target =
      spec.tree_potential ? *spec.tree_potential : make_tree_potential(spec, context);
  if (drawn) {
    BalancedTrees trees = balance_trees(source, TreeBridge(reference, target), context);
    source = std::move(trees.source);
    target = std::move(trees.target);
  }
  return BenchmarkPair::two_sided(std::move(identity), std::move(source),
                                  TreeBridge(std::move(reference), std::move(target)),
                                  spec.reverse);
}

// A preset's seed is part of it: changing one makes another pair.
struct PresetSeeds {
  std::uint64_t sphere;
  std::uint64_t spread;  // closest to the published baselines: results/published-pairs/README.md
  std::uint64_t chain;
  std::uint64_t two_sided;
};

constexpr PresetSeeds kPresetSeeds[] = {
    {20260, 656, 20284, 20272}, {20261, 960, 20285, 20273},
    {20262, 114, 20286, 20274}, {20263, 893, 20287, 20275},  // D = 2
    {20264, 544, 20288, 20276}, {20265, 110, 20289, 20277},
    {20266, 158, 20290, 20278}, {20267, 618, 20291, 20279},  // D = 16
    {20268, 976, 20292, 20280}, {20269, 671, 20293, 20281},
    {20270, 785, 20294, 20282}, {20271, 169, 20295, 20283},  // D = 64
};

// "-R" with R in [0, 1], digits and a point.
std::optional<double> read_switch_rate(std::string_view text) {
  if (!text.starts_with("-") || text.find_first_not_of("0123456789.", 1) != text.npos) return {};
  double rate = 0.0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + 1, last, rate);
  if (error != std::errc() || end != last || rate > 1.0) return {};
  return rate;
}

// Apart from what else is derived from a preset's seed.
constexpr std::uint64_t kInstanceSalt = std::uint64_t{1} << 32;

// The N of a name that ends in -iN, which is taken off; 0 for any other.
int take_instance(std::string_view& name) {
  const std::size_t mark = name.rfind("-i");
  if (mark == name.npos) return 0;
  const std::string_view digits = name.substr(mark + 2);
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || digits[0] == '0' ||
      number < 1 || number > kMaxInstance) {
    return 0;
  }
  name = name.substr(0, mark);
  return number;
}

std::uint64_t preset_seed(const PresetSeeds& seeds, PairFamily family) {
  switch (family) {
    case PairFamily::kSphere:
      return seeds.sphere;
    case PairFamily::kSpread:
      return seeds.spread;
    case PairFamily::kChain:
      return seeds.chain;
    case PairFamily::kTwoSided:
      return seeds.two_sided;
    case PairFamily::kDistilled:
    case PairFamily::kTree:  // has no presets
      break;
  }
  return 0;
}

std::vector<PairSpec> make_family(PairFamily family) {
  struct Reference {
    ReferenceKind kind;
    double gamma;
    const char* text;
  };
  constexpr Reference kReferences[] = {{ReferenceKind::kGaussian, 0.02, "gaussian-0.02"},
                                       {ReferenceKind::kGaussian, 0.05, "gaussian-0.05"},
                                       {ReferenceKind::kUniform, 0.005, "uniform-0.005"},
                                       {ReferenceKind::kUniform, 0.01, "uniform-0.01"}};
  const std::string suffix =
      family == PairFamily::kSphere ? "" : fmt::format("-{}", pair_family_name(family));
  std::vector<PairSpec> presets;
  for (const int dim : {2, 16, 64}) {
    for (const Reference& reference : kReferences) {
      PairSpec spec;
      spec.name = fmt::format("d{}-{}{}", dim, reference.text, suffix);
      spec.seed = preset_seed(kPresetSeeds[presets.size()], family);
      spec.dim = dim;
      spec.reference = reference.kind;
      spec.gamma = reference.gamma;
      spec.family = family;
      spec.sigma = dim == 64 ? 2.5 : 1.5;
      presets.push_back(std::move(spec));
    }
  }
  return presets;
}

std::vector<PairSpec> make_presets() {
  std::vector<PairSpec> presets;
  for (const PairFamily family :
       {PairFamily::kSphere, PairFamily::kSpread, PairFamily::kChain, PairFamily::kTwoSided}) {
    for (PairSpec& spec : make_family(family)) presets.push_back(std::move(spec));
  }
  for (const PairSpec& spec : data_preset_specs()) presets.push_back(spec);
  return presets;
}

}  // namespace

BenchmarkPair build_pair(const PairSpec& spec, const Context& context) {
  check_spec(spec);
  if (spec.family == PairFamily::kDistilled) return build_data_preset(spec);
  ReferenceProcess reference = make_reference(spec);
  if (reference.num_categories() != spec.num_categories) {
    throw_invalid("pair",
                  "reference matrix must be {0} x {0} for num_categories {0}, got {1} x {1}",
                  spec.num_categories, reference.num_categories());
  }
  PairIdentity identity{spec.name,   spec.version,      spec.seed,       spec.family,
                        spec.radius, spec.min_distance, spec.switch_rate};
  const bool is_tree = spec.family == PairFamily::kTree || spec.tree_potential;
  if ((spec.two_sided || spec.source_tree) && !is_tree) {
    throw_invalid("pair", "two_sided goes with family tree, got family {}",
                  pair_family_name(spec.family));
  }
  if (spec.two_sided && spec.source_potential) {
    throw_invalid("pair", "two_sided goes with a potential of x0 on the tree, got a mixture");
  }
  if (spec.family == PairFamily::kTwoSided || spec.source_potential) {
    identity.family = PairFamily::kTwoSided;
    return build_two_sided(spec, std::move(identity), std::move(reference), context);
  }
  if (spec.two_sided || spec.source_tree) {
    identity.family = PairFamily::kTree;
    return build_two_sided_trees(spec, std::move(identity), std::move(reference), context);
  }
  SourceDistribution source =
      spec.source
          ? *spec.source
          : SourceDistribution::gaussian(static_cast<std::size_t>(spec.dim), spec.num_categories,
                                         -kPaperSourceRange, kPaperSourceRange);
  if (spec.family == PairFamily::kChain || spec.chain_potential) {
    identity.family = PairFamily::kChain;
    return {std::move(identity), std::move(source),
            ChainBridge(std::move(reference), spec.chain_potential
                                                  ? *spec.chain_potential
                                                  : make_chain_potential(spec, context)),
            spec.reverse};
  }
  if (is_tree) {
    identity.family = PairFamily::kTree;
    return {
        std::move(identity), std::move(source),
        TreeBridge(std::move(reference),
                   spec.tree_potential ? *spec.tree_potential : make_tree_potential(spec, context)),
        spec.reverse};
  }
  return {std::move(identity), std::move(source),
          CpBridge(std::move(reference),
                   spec.potential ? *spec.potential : make_potential(spec, context)),
          spec.reverse};
}

bool draws_source_potential(const PairSpec& spec) {
  if (spec.source_potential || spec.source_tree) return false;
  return spec.two_sided || spec.family == PairFamily::kTwoSided;
}

std::uint64_t source_potential_seed(const PairSpec& spec) { return derive_seed(spec.seed, 1); }

const std::vector<PairSpec>& preset_specs() {
  static const std::vector<PairSpec> presets = make_presets();
  return presets;
}

std::optional<PairSpec> find_preset(std::string_view name) {
  const bool reverse = name.ends_with(kReverseSuffix);
  std::string_view base = reverse ? name.substr(0, name.size() - kReverseSuffix.size()) : name;
  const int instance = take_instance(base);
  for (const PairSpec& spec : preset_specs()) {
    if (!base.starts_with(spec.name)) continue;
    PairSpec found = spec;
    if (base != spec.name) {
      const std::optional<double> rate = read_switch_rate(base.substr(spec.name.size()));
      if (spec.family != PairFamily::kChain || !rate) continue;
      found.switch_rate = *rate;
    }
    if (instance > 0) {
      if (spec.family == PairFamily::kDistilled) continue;
      found.seed = derive_seed(spec.seed, kInstanceSalt + static_cast<std::uint64_t>(instance));
    }
    found.name = name;
    found.reverse = reverse;
    return found;
  }
  return std::nullopt;
}

PairInstance instance_of(const std::string& pair) {
  if (!find_preset(pair)) return {pair, 0};
  const bool reverse = pair.ends_with(kReverseSuffix);
  std::string_view base = pair;
  if (reverse) base.remove_suffix(kReverseSuffix.size());
  const int number = take_instance(base);
  return {std::string(base) + std::string(reverse ? kReverseSuffix : ""), number};
}

std::string instance_name(const PairInstance& instance) {
  if (instance.number == 0) return instance.pair;
  const bool reverse = instance.pair.ends_with(kReverseSuffix);
  const std::size_t kept = instance.pair.size() - (reverse ? kReverseSuffix.size() : 0);
  return fmt::format("{}-i{}{}", std::string_view(instance.pair).substr(0, kept), instance.number,
                     reverse ? kReverseSuffix : "");
}

BenchmarkPair load_pair(const std::string& name_or_folder) {
  if (const auto spec = find_preset(name_or_folder)) return build_pair(*spec);
  if (is_folder(name_or_folder)) return read_pair_folder(name_or_folder);
  std::string_view base = name_or_folder;
  if (base.ends_with(kReverseSuffix)) base.remove_suffix(kReverseSuffix.size());
  if (take_instance(base) > 0 && find_preset(base)) {
    throw_invalid("pair",
                  "pair must be without an instance, as the parameters of {} are fixed, "
                  "got '{}'",
                  base, name_or_folder);
  }
  std::vector<std::string> names;
  for (const PairSpec& spec : preset_specs()) {
    names.push_back(spec.name);
    names.push_back(spec.name + std::string(kReverseSuffix));
  }
  throw_invalid("pair", "pair must be a preset or a pair folder, got '{}'{}", name_or_folder,
                nearest_hint(name_or_folder, names, "the nearest preset"));
}

}  // namespace bridgemark
