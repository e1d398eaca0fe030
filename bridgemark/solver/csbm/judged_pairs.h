#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bridgemark/backend/plan/network_trainer.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/io/safetensors.h"
#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/process/reference_process.h"
#include "bridgemark/solver/csbm/csbm_recipe.h"
#include "bridgemark/solver/csbm/first_pairs.h"

namespace bridgemark {

// What the pairs of a judge are made from. Two judges with different first_index share no draw.
struct JudgedRows {
  States x0, x1;  // unpaired
  std::uint64_t seed = 0;
  std::uint64_t first_index = 0;
};

// Pairs of given rows on which networks are judged again and again: made as the pairs that a D-IMF
// iteration trains on, each row once, with steps and states of the pinned reference between them
// that are drawn once. Losses on the same pairs compare, those of other pairs do not.
class JudgedPairs {
 public:
  // At most this many pairs, and this many points of all of them.
  static constexpr std::size_t kMostPairs = 1024, kMostPoints = 4096;

  JudgedPairs(const Context& host, const ReferenceChain& chain, JudgedRows rows);

  std::size_t count() const { return rows_.x0.rows(); }

  // The pairs of a direction in the first iteration.
  void pair_first(const FirstPairsPlan& plan, Direction direction);

  // Those of a later one: the end that the direction leads to is a row, the other is drawn through
  // the network of the other direction.
  void pair_through(const Context& context, const backend::NetworkTensors<float>& sampler,
                    const backend::PinnedSteps& steps, int iteration, Direction direction);

  // The loss at the trainer's average of a direction, whose pairs were made; by pair.
  std::vector<double> losses(backend::NetworkTrainer& trainer, Direction direction) const;

  // The pairs of a direction in a checkpoint, under PREFIX.x0 and PREFIX.x1.
  void save(SafetensorsWriter& writer, const std::string& prefix, Direction direction) const;
  void load(const SafetensorsFile& file, const std::string& prefix, Direction direction);

 private:
  void set_pairs(Direction direction, PairedStates pairs);

  Context host_;
  ReferenceProcess process_;
  JudgedRows rows_;
  std::size_t points_;  // for each pair
  backend::PinnedRows pinned_;
  std::array<PairedStates, 2> pairs_;             // by direction
  std::array<backend::NetworkPoints, 2> judged_;  // between them
};

}  // namespace bridgemark
