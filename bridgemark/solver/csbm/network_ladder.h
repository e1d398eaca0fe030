#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bridgemark/backend/plan/network_trainer.h"
#include "bridgemark/io/safetensors.h"
#include "bridgemark/solver/csbm/csbm_recipe.h"
#include "bridgemark/solver/csbm/network_stage.h"

// The networks that rows held out choose among where the options leave it to them.
namespace bridgemark {

struct NetworkChoice {
  std::vector<std::size_t> hidden;
  double weight_decay = 0.0;
};

// A network at the end of its first D-IMF iteration.
struct NetworkCandidate {
  NetworkChoice choice;
  backend::NetworkTrainingState state;
  std::vector<NetworkStage> stages;
  std::vector<double> losses;                   // by pair held out, summed over the stages
  std::int64_t made = 0;                        // updates, those not kept included
  std::array<std::int64_t, 2> counts = {0, 0};  // updates behind each direction
};

// Tries weight decays at the usual width, then other widths at the best of these. A later candidate
// is the best where its held-out loss is lower, on the same pairs, by more than the error of the
// difference.
class NetworkLadder {
 public:
  // One candidate alone where the recipe leaves nothing open.
  explicit NetworkLadder(const CsbmRecipe& recipe);

  std::size_t size() const { return decays_.size() + widths_.size(); }
  bool is_search() const { return size() > 1; }
  bool done() const { return !is_search() || tried_.size() == size(); }

  // What to try next, unless done().
  NetworkChoice next() const;

  // Takes what next() has become; whether it is the best so far.
  bool add(NetworkCandidate candidate);
  const NetworkCandidate& best() const { return best_; }

  // All that were tried with their losses, for people.
  std::string text() const;

  // In a checkpoint: what was tried and, unless done(), the best of it. `recipe` is that of the
  // training, `pairs` the number held out.
  void save(SafetensorsWriter& writer) const;
  void load(const SafetensorsFile& file, const CsbmRecipe& recipe, std::size_t dim,
            int num_categories, std::size_t pairs);

  // The recipe with the largest network that may be tried.
  static CsbmRecipe largest(CsbmRecipe recipe);

 private:
  struct Tried {
    double width, weight_decay, value, error;
  };

  std::vector<std::size_t> hidden_;
  std::vector<double> decays_;
  std::vector<std::size_t> widths_;
  std::vector<Tried> tried_;
  NetworkCandidate best_;
  mutable std::vector<double> tried_table_, best_table_;  // of a checkpoint
};

}  // namespace bridgemark
