#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bridgemark/core/context.h"
#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/pair/pair_family.h"
#include "bridgemark/process/given_reference.h"

namespace bridgemark {

// How to construct a pair: a mixture of K discretised Gaussians as potential over a reference
// process, and p0 or, two-sided, a second such potential. The defaults are those of the paper's
// text.
struct PairSpec {
  std::string name = "custom";
  int version = 1;
  std::uint64_t seed = 0;  // of the component means and the test set
  int dim = 2;
  int num_categories = 50;
  int num_components = 4;
  ReferenceKind reference = ReferenceKind::kGaussian;
  double gamma = 0.02;
  int total_steps = kDefaultTotalSteps;
  PairFamily family = PairFamily::kSphere;
  double sigma = 1.5;          // width of a component, in categories
  double radius = 5.0;         // family sphere: of the sphere the means are drawn on
  double min_distance = 10.0;  // but family sphere: between two means, in categories
  double switch_rate = 0.1;    // families chain and tree: of leaving the component at each move
  bool two_sided = false;      // family tree: a potential f of x0 in place of a source
  bool reverse = false;

  std::optional<CpPotential> potential;            // else the mixture of discretised Gaussians
  std::optional<ChainPotential> chain_potential;   // family chain: else drawn
  std::optional<TreePotential> tree_potential;     // family tree: else drawn
  std::optional<TreeShape> tree;                   // family tree: else halves of a line
  std::optional<CpPotential> source_potential;     // family twosided: f, else drawn like v
  std::optional<TreePotential> source_tree;        // two-sided trees: f, else drawn like v
  std::optional<Matrix<double>> reference_matrix;  // for ReferenceKind::kMatrix
  std::optional<LowRankFactors> low_rank;          // for ReferenceKind::kLowRank
  std::optional<SourceDistribution> source;        // else a standard normal quantised on [-7, 7]
};

// Throws InvalidArgument for values out of range. The same spec gives the same pair, bit for bit,
// on every machine. Throws Interrupted where the context asks for it.
BenchmarkPair build_pair(const PairSpec& spec, const Context& context = {});

// Throws InvalidArgument for a number out of range, before anything of its size is made; build_pair
// asks it first.
void check_spec(const PairSpec& spec);

// Whether the pair is two-sided and its f is drawn.
bool draws_source_potential(const PairSpec& spec);

// Two-sided pairs: the seed of the means of f, where it is drawn.
std::uint64_t source_potential_seed(const PairSpec& spec);

// d{2,16,64}-{gaussian-0.02,gaussian-0.05,uniform-0.005,uniform-0.01} in four families: 12 pairs
// as the paper's text describes them (sphere), then NAME-spread, 12 stand-ins for those of its
// tables, NAME-chain, 12 that no CP potential fits, and NAME-twosided, 12 with closed forms in both
// directions. Then the pairs that were distilled from data, data-NAME.
const std::vector<PairSpec>& preset_specs();

// The preset of that name, a chain preset with another switch rate R for NAME-chain-R, another
// instance N = 1, 2, ... of either for NAME-iN, all the same but for the seed, or the reversed form
// of any of them for NAME-reverse; nothing for any other. A pair from data has no instances.
std::optional<PairSpec> find_preset(std::string_view name);

// One of the pairs that are the same but for their seed.
struct PairInstance {
  std::string pair;  // the preset's name; of any other pair its own
  int number = 0;    // 0 is the preset itself
};
inline constexpr int kMaxInstance = 999999;

// The instance that a pair's name says: NAME-iN is number N of preset NAME.
PairInstance instance_of(const std::string& pair);

// The name of an instance of a preset; NAME-iN-reverse for one that is reversed.
std::string instance_name(const PairInstance& instance);

// A preset's name or the path of a pair folder. Throws InvalidArgument that names the nearest
// preset for anything else.
BenchmarkPair load_pair(const std::string& name_or_folder);

}  // namespace bridgemark
