#pragma once

#include <cstdint>
#include <vector>

#include "bridgemark/backend/plan/cp_tensors.h"
#include "bridgemark/core/context.h"
#include "bridgemark/solver/core/options.h"
#include "bridgemark/solver/core/training_data.h"
#include "bridgemark/solver/cp/cp_recipe.h"

// The options of the chain and the tree solver, their named recipes, and their starts.
namespace bridgemark {

// That of a CP solver, whose components are the states of the chain or tree, and the moves that it
// starts with.
struct ChainRecipe {
  CpRecipe cp;
  double init_switch;  // probability to leave a state, to any other alike
  bool two_starts;     // chain_starts.h
};

// recipe=tuned: what works at 64 dimensions. recipe=paper: as the paper trains DLightSB.
std::vector<OptionSpec> chain_options();

// The same of a tree of states in place of the chain.
std::vector<OptionSpec> tree_options();

// Throws InvalidArgument that names a value out of range.
ChainRecipe read_chain_recipe(const SolverOptions& options);

// The same with the tree of the options over `dim` coordinates.
ChainRecipe read_tree_recipe(const SolverOptions& options, std::size_t dim);

// Starting parameters: the states are components of a CP start.
backend::CpTensors<float> initial_chain_parameters(const Context& context,
                                                   const ChainRecipe& recipe,
                                                   const TrainingData& data, std::size_t dim,
                                                   int num_categories, std::uint64_t seed);

// Components as the states of a chain, or of a tree, left with probability `leaving` for any other
// alike.
backend::CpTensors<float> with_moves(backend::CpTensors<float> components, double leaving,
                                     std::shared_ptr<const TreeShape> tree);

}  // namespace bridgemark
