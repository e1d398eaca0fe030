#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bridgemark/backend/plan/cp_trainer.h"
#include "bridgemark/solver/core/options.h"
#include "bridgemark/solver/core/training_data.h"
#include "bridgemark/solver/core/training_loop.h"

// What the two CP solvers share: their options, the two named recipes, and the start.
namespace bridgemark {

struct CpRecipe {
  std::int64_t updates;
  std::size_t batch_size;
  double learning_rate;
  bool cosine;  // the rate falls to 0 along a cosine, else stays
  double weight_decay;
  double average;          // share of the updates, the last ones, whose parameters are averaged
  double entropy;          // weight of the entropy of the component weights in the loss
  std::size_t components;  // of endless draws, where rows that end find them
  bool finds_components;   // on such rows
  bool is_chain = false;   // whose components are its states
  std::shared_ptr<const TreeShape> tree;  // of a chain that is a tree of states; null: a path
  int init;                               // which of p1, p0, gaussian, uniform
  double init_peak;
  std::optional<double> init_noise;  // empty: by the number of dimensions
  double checkpoint_seconds;
  std::int64_t log_every;
  std::int64_t validate_every;  // 0: never

  // Updates first.., counted from 1.
  std::vector<backend::CpUpdate> updates_from(std::int64_t first, std::size_t count) const;
};

// recipe=tuned: nearly flat start on samples of p1, few updates of large batches with long steps
// along a cosine, no weight decay, and the average of the second half: what is left at the end is
// the noise of the batches. recipe=paper: as published: 0.9 on samples of p0, constant rate, weight
// decay 0.01.
std::vector<OptionSpec> cp_options();

// A rate for the number of updates: way / updates, between 0.01 and `highest`.
OptionDefault rate_for_updates(double way, double highest);

// That of recipe=tuned.
double tuned_rate(std::int64_t updates);

// The number of components, or of what a solver has of the kind: at the `most`, and `endless` of
// them where it is left to the solver and draws are endless.
OptionSpec components_option(std::string key, int most, int endless, const std::string& what);

// Throw InvalidArgument that names a value out of range. The second reads all but the components
// and their entropy.
CpRecipe read_cp_recipe(const SolverOptions& options);
CpRecipe read_training_recipe(const SolverOptions& options);

// The number under the key of components_option().
void read_components(const SolverOptions& options, std::string_view key, int endless,
                     CpRecipe& recipe);

// Starting parameters. A component starts at one sample: log init_peak on its category in each
// dimension and the rest of the probability spread evenly, plus normal noise; or all noise. Those
// of this rank's components where the context has ranks: the same as without.
backend::CpTensors<float> initial_cp_parameters(const Context& context, const CpRecipe& recipe,
                                                const TrainingData& data, std::size_t dim,
                                                int num_categories, std::uint64_t seed);

}  // namespace bridgemark
