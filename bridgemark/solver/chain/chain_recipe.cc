#include "bridgemark/solver/chain/chain_recipe.h"

#include <utility>

#include "bridgemark/bridge/chain_potential.h"
#include "bridgemark/solver/core/shared_options.h"

namespace bridgemark {

namespace {

constexpr int kEndlessStates = 32;

}  // namespace

// A state is on many paths, so it has to tell its categories apart from the start: with
// DLightSB's nearly flat one they stay alike (results/chain/README.md).
std::vector<OptionSpec> chain_options() {
  std::vector<OptionSpec> specs = cp_options();
  std::erase_if(specs, [](const OptionSpec& spec) { return spec.key == "entropy"; });
  spec_of(specs, "components") =
      components_option("states", 1024, kEndlessStates, "K, of the hidden chain");
  spec_of(specs, "updates").default_value = "5000";
  spec_of(specs, "learning_rate").default_value = rate_for_updates(200.0, 0.06);
  spec_of(specs, "init_peak").default_value = "0.3";
  specs.push_back({.key = "init_switch",
                   .kind = RealRange{1e-6, 1.0 - 1e-6},
                   .default_value = "0.1",
                   .help = "starting probability to leave a state"});
  specs.push_back({.key = "start",
                   .kind = Choices{{"both", "samples"}},
                   .default_value = "both",
                   .paper = "samples",
                   .help = "of endless draws; samples: states start on rows of p1; both: also on "
                           "the merged components of a mixture trained before, and the best of "
                           "both chains and the mixture on fresh rows is kept"});
  return specs;
}

std::vector<OptionSpec> tree_options() {
  std::vector<OptionSpec> specs = chain_options();
  spec_of(specs, "states") = components_option("states", 1024, kEndlessStates, "K, of each node");
  specs.push_back({.key = "tree",
                   .kind = Choices{{"binary", "quadtree"}},
                   .default_value = "binary",
                   .help = "binary: halves of a line of coordinates; quadtree: quarters of a "
                           "square of them, whose rows follow each other"});
  return specs;
}

ChainRecipe read_chain_recipe(const SolverOptions& options) {
  ChainRecipe recipe{read_training_recipe(options), options.real("init_switch"),
                     options.is("start", "both")};
  read_components(options, "states", kEndlessStates, recipe.cp);
  recipe.cp.is_chain = true;
  return recipe;
}

ChainRecipe read_tree_recipe(const SolverOptions& options, std::size_t dim) {
  ChainRecipe recipe = read_chain_recipe(options);
  recipe.cp.tree = std::make_shared<const TreeShape>(
      TreeShape::named(options.is("tree", "quadtree") ? "quadtree" : "binary", dim));
  return recipe;
}

backend::CpTensors<float> initial_chain_parameters(const Context& context,
                                                   const ChainRecipe& recipe,
                                                   const TrainingData& data, std::size_t dim,
                                                   int num_categories, std::uint64_t seed) {
  backend::CpTensors<float> start =
      initial_cp_parameters(context, recipe.cp, data, dim, num_categories, seed);
  return with_moves(std::move(start), recipe.init_switch, recipe.cp.tree);
}

backend::CpTensors<float> with_moves(backend::CpTensors<float> components, double leaving,
                                     std::shared_ptr<const TreeShape> tree) {
  const std::size_t K = components.num_components;
  const Array3<double> moves =
      switching_moves(tree ? tree->num_nodes() : components.dim, K, K > 1 ? leaving : 0.0);
  components.is_chain = true;
  components.tree = std::move(tree);
  components.log_moves.assign(moves.data(), moves.data() + moves.size());
  return components;
}

}  // namespace bridgemark
