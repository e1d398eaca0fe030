#pragma once

#include <cstdint>
#include <optional>

#include "bridgemark/backend/plan/reference_power.h"
#include "bridgemark/backend/plan/row_source.h"
#include "bridgemark/backend/plan/scaled_rows.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/math/philox.h"
#include "bridgemark/process/reference_process.h"
#include "bridgemark/process/step_draws.h"

namespace bridgemark {

// The reference process tied at two ends: the distribution of a coordinate between a known earlier
// category `from` and a known final category `end`. Exact at every step, the ends included: at
// step 0 it is a point at x0, at num_steps a point at x1.
class PinnedReference {
 public:
  // q_ref(x_n | x_0 = from, x_1 = end), n = 0..num_steps.
  static PinnedReference marginal(const Context& context, const ReferenceChain& chain, int n);

  // q_ref(x_{n+1} | x_n = from, x_1 = end), n = 0..num_steps-1.
  static PinnedReference step(const Context& context, const ReferenceChain& chain, int n);

  // out[S], normalised.
  void log_probabilities(int from, int end, double* out) const;

  // Draws out[b,d] given from[b,d] and end[b,d]; row i uses the draws of index first_index + i. The
  // CPU alone has it for a reference without tables.
  void sample(const Context& context, StatesView from, StatesView end, const DrawKey& key,
              std::uint64_t first_index, MutableStatesView out) const;

  // The two factors of the probabilities, rows `from` and `end`, where the reference has tables.
  const backend::ScaledRows& before() const { return before_; }
  const backend::ScaledRows& after() const { return after_; }

 private:
  PinnedReference(const backend::ReferencePower& before, const backend::ReferencePower& after);

  void sample_by_operators(const Context& context, StatesView from, StatesView end,
                           const DrawKey& key, std::uint64_t first_index,
                           MutableStatesView out) const;

  std::size_t num_categories_;
  backend::ScaledRows before_;  // [from, s], of a reference with tables
  backend::ScaledRows after_;   // [end, s]: transposed, so that a draw walks one row
  struct Operators {
    backend::ReferencePower before, after;
  };
  std::optional<Operators> operators_;  // of one without
};

// The random points of bridge matching under a seed, described for a device that draws them itself:
// q_ref(x_n | x_0, x_1) for n = 0..num_steps.
backend::PinnedRows pinned_rows(const Context& context, const ReferenceChain& chain,
                                std::uint64_t seed, const StepDraws& steps = {});

}  // namespace bridgemark
