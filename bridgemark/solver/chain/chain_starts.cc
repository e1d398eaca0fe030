#include "bridgemark/solver/chain/chain_starts.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bridgemark/metric/held_out_objective.h"
#include "bridgemark/solver/cp/component_merge.h"
#include "bridgemark/solver/cp/component_shares.h"
#include "bridgemark/solver/cp/cp_parameters.h"
#include "bridgemark/solver/cp/staged_model.h"

namespace bridgemark {

namespace {

using Tensors = backend::CpTensors<float>;

// The mixture: more components than states, of which mergers are left.
constexpr std::size_t kMixtureComponents = 256;
constexpr double kMixtureUpdates = 0.4;  // of the chain's
constexpr double kMixturePeak = 0.05;    // DLightSB's start

// The chain that starts on it is near its end already: a high rate throws it off.
constexpr double kMergedUpdates = 0.5, kMergedRate = 0.25;
constexpr double kMergedSwitch = 0.01;

// Rows that no training draws, that merge and that choose.
constexpr std::uint64_t kFreshRows = std::uint64_t{3} << 60;
constexpr std::size_t kRowsToMerge = 2000, kRowsThatChoose = 1 << 15;

// What `start` says of the potential that is kept, a name for each stage.
constexpr std::string_view kNames[] = {"mixture alone", "mixture", "samples"};

std::int64_t share_of(std::int64_t updates, double share) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(updates) * share));
}

CpRecipe mixture_recipe(const CpRecipe& chain) {
  CpRecipe recipe = chain;
  recipe.is_chain = false;
  recipe.tree = nullptr;
  recipe.updates = share_of(chain.updates, kMixtureUpdates);
  recipe.learning_rate = tuned_rate(recipe.updates);
  recipe.init_peak = kMixturePeak;
  recipe.components = std::max(kMixtureComponents, chain.components);
  return recipe;
}

CpRecipe merged_recipe(const CpRecipe& chain) {
  CpRecipe recipe = chain;
  recipe.updates = share_of(chain.updates, kMergedUpdates);
  recipe.learning_rate *= kMergedRate;
  return recipe;
}

class ChainStarts {
 public:
  ChainStarts(const Context& context, const Context& host, const FitProblem& problem,
              const ChainRecipe& recipe, TrainingData data, std::uint64_t seed)
      : context_(context),
        host_(host),
        process_(problem.reference()),
        dim_(problem.dim()),
        recipe_(recipe),
        data_(std::move(data)),
        seed_(seed) {}

  std::unique_ptr<PotentialModel> mixture() const {
    const CpRecipe recipe = mixture_recipe(recipe_.cp);
    return model(recipe, initial_cp_parameters(host_, recipe, data_, dim_,
                                               process_.num_categories(), seed_));
  }

  std::unique_ptr<PotentialModel> on_mixture(const Tensors& mixture) const {
    Tensors merged = merge_components(
        host_, mixture, log_reach(host_, process_, data_.x0(host_, kRowsToMerge, kFreshRows)),
        data_.x1(host_, kRowsToMerge, kFreshRows), recipe_.cp.components);
    return model(merged_recipe(recipe_.cp),
                 with_moves(std::move(merged), kMergedSwitch, recipe_.cp.tree));
  }

  std::unique_ptr<PotentialModel> on_samples() const {
    return model(recipe_.cp, initial_chain_parameters(host_, recipe_, data_, dim_,
                                                      process_.num_categories(), seed_));
  }

  // The best of the three by fresh rows, and by how much it is better than the next.
  StagedEnd best(EndedStages ended) const {
    const std::uint64_t first = kFreshRows + kRowsToMerge;
    const States x0 = data_.x0(host_, kRowsThatChoose, first),
                 x1 = data_.x1(host_, kRowsThatChoose, first);
    std::vector<std::shared_ptr<const Bridge>> bridges;
    std::vector<HeldOutObjective> objectives;
    for (const EndedStage& stage : ended) {
      bridges.push_back(bridge_of(process_, stage.potential, 0));
      objectives.push_back(held_out_objective(context_, *bridges.back(), x0, x1));
    }
    std::vector<std::size_t> order(ended.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater{},
                             [&](std::size_t i) { return objectives[i].value; });
    const MeanEstimate ahead = objective_difference(objectives[order[0]], objectives[order[1]]);
    return {bridges[order[0]],
            order[0],
            {{"start", std::string(kNames[order[0]])},
             {"start_gain", ahead.mean},
             {"start_gain_error", ahead.standard_error}}};
  }

 private:
  std::unique_ptr<PotentialModel> model(const CpRecipe& recipe, Tensors start) const {
    const CpTask task{ReferenceChain(process_, 1), std::nullopt, seed_, {}, {}};
    return make_cp_model(context_, task, recipe,
                         cp_trainer_plan(host_, task, recipe, data_, std::move(start)));
  }

  Context context_, host_;
  ReferenceProcess process_;
  std::size_t dim_;
  ChainRecipe recipe_;
  TrainingData data_;
  std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<PotentialModel> make_chain_of_two_starts(
    const Context& context, const Context& host, const FitProblem& problem,
    const ChainRecipe& recipe, const TrainingData& data, std::uint64_t seed) {
  const auto starts =
      std::make_shared<const ChainStarts>(context, host, problem, recipe, data, seed);
  const std::int64_t updates = recipe.cp.updates, of_mixture = share_of(updates, kMixtureUpdates),
                     of_merged = share_of(updates, kMergedUpdates);
  return make_staged_model(
      "start",
      {{"mixture", of_mixture, of_mixture, [=](EndedStages) { return starts->mixture(); }},
       {"chain on the mixture", of_merged, of_merged,
        [=](EndedStages ended) { return starts->on_mixture(ended[0].potential); }},
       {"chain on samples", updates, updates, [=](EndedStages) { return starts->on_samples(); }}},
      [=](EndedStages ended) { return starts->best(ended); });
}

}  // namespace bridgemark
