#include "bridgemark/solver/chain/chain_recipe.h"

#include "bridgemark/bridge/chain_potential.h"

namespace bridgemark {

std::vector<OptionSpec> chain_options() {
  std::vector<OptionSpec> specs = cp_options();
  std::erase_if(specs, [](const OptionSpec& spec) { return spec.key == "entropy"; });
  for (OptionSpec& spec : specs) {
    if (spec.key == "components") {
      spec = {
          "states", "auto",
          "K, of the hidden chain, or auto: 32 on endless draws, found by rows held out on data"};
    } else if (spec.key == "updates") {
      spec.help = "gradient updates (tuned 5000, paper 100000)";
    } else if (spec.key == "learning_rate") {
      spec.help =
          "of AdamW, betas 0.95 and 0.99 (tuned 200 / updates, within 0.01 and 0.06; paper 0.01)";
    } else if (spec.key == "init_peak") {
      spec.help = "starting probability of a sample's category (tuned 0.3, paper 0.9)";
    }
  }
  specs.push_back({"init_switch", "0.1", "starting probability to leave a state"});
  return specs;
}

// A state stands for many paths, so it has to tell its categories apart from the start: with
// DLightSB's nearly flat one they stay alike (results/chain/README.md).
void resolve_chain_recipe(SolverOptions& options) {
  if (options.text("recipe") == "tuned") {
    options.set_default("updates", "5000");
    options.set_default("learning_rate", rate_for_updates(options, 200.0, 0.06));
    options.set_default("init_peak", "0.3");
  }
  resolve_cp_recipe(options);
}

ChainRecipe read_chain_recipe(const SolverOptions& options) {
  ChainRecipe recipe{read_training_recipe(options), options.real("init_switch", 1e-6, 1.0 - 1e-6)};
  read_components(options, "states", 32, 1024, recipe.cp);
  recipe.cp.is_chain = true;
  return recipe;
}

backend::CpTensors<float> initial_chain_parameters(const Context& context,
                                                   const ChainRecipe& recipe,
                                                   const TrainingData& data, std::size_t dim,
                                                   int num_categories, std::uint64_t seed) {
  backend::CpTensors<float> start =
      initial_cp_parameters(context, recipe.cp, data, dim, num_categories, seed);
  const std::size_t K = start.num_components;
  const Array3<double> moves = switching_moves(dim, K, K > 1 ? recipe.init_switch : 0.0);
  start.is_chain = true;
  start.log_moves.assign(moves.data(), moves.data() + moves.size());
  return start;
}

}  // namespace bridgemark
