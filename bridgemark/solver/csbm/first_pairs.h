#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "bridgemark/backend/plan/row_source.h"
#include "bridgemark/math/philox.h"
#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/process/reference_process.h"
#include "bridgemark/solver/core/training_data.h"

namespace bridgemark {

// The coupling that D-IMF starts from. What is learned first stays in later couplings for long
// where the components of p1 are far apart, so a start near the bridge spares iterations.
enum class FirstCoupling {
  kIndependent,  // x0 and x1 drawn on their own
  kReference,    // x0 drawn, x1 by the reference: D-IMF becomes iterative proportional fitting
  kFeatureWise,  // x1 drawn, each coordinate of x0 by the bridge of that coordinate alone
  kMinibatchOt,  // batches of x0 and x1 matched at the least total -log q_ref(x1 | x0)
};

struct FirstPairsPlan {
  FirstCoupling coupling = FirstCoupling::kIndependent;
  std::size_t pairs = 0;  // how many are made; training draws from them with replacement
  std::size_t batch = 0;  // rows of each end that are matched together
};

// Rows of both ends as pairs of the coupling, whose draws have this key from first_index on. What
// is no end of the coupling's draws stays as it is.
PairedStates couple_first(const Context& context, const FirstPairsPlan& plan,
                          const ReferenceProcess& process, PairedStates ends, const DrawKey& key,
                          std::uint64_t first_index = 0);

// Endless pairs of the coupling: drawn afresh where they are independent, else with replacement
// from pairs made once. Row i of a seed is the same whatever the batches and threads.
class FirstPairs {
 public:
  FirstPairs(const Context& context, const FirstPairsPlan& plan, const ReferenceProcess& process,
             TrainingData data, std::uint64_t seed);

  // Row i of both is a pair.
  backend::RowSource x0_source(const Context& context) const;
  backend::RowSource x1_source(const Context& context) const;

 private:
  struct Made {
    SourceDistribution x0, x1;  // the same rows drawn by the same key are a pair
  };

  TrainingData data_;
  std::optional<Made> made_;  // empty: independent
  DrawKey key_;
};

}  // namespace bridgemark
