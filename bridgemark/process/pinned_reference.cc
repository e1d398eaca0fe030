#include "bridgemark/process/pinned_reference.h"

#include <utility>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/states.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark {

PinnedReference::PinnedReference(const Matrix<double>& log_before, const Matrix<double>& log_after)
    : before_(backend::scale_rows(log_before)) {
  const std::size_t S = log_after.rows();
  Matrix<double> transposed(S, S);
  for (std::size_t s = 0; s < S; ++s) {
    for (std::size_t end = 0; end < S; ++end) transposed(end, s) = log_after(s, end);
  }
  after_ = backend::scale_rows(std::move(transposed));
}

PinnedReference PinnedReference::marginal(const Context& context, const ReferenceChain& chain,
                                          int n) {
  return {chain.log_cumulative(context, n), chain.log_cumulative(context, chain.num_steps() - n)};
}

PinnedReference PinnedReference::step(const Context& context, const ReferenceChain& chain, int n) {
  if (n < 0 || n >= chain.num_steps()) {
    throw_invalid("reference", "step must lie in 0..{}, got {}", chain.num_steps() - 1, n);
  }
  return {chain.log_onestep(context), chain.log_cumulative(context, chain.num_steps() - n - 1)};
}

void PinnedReference::log_probabilities(int from, int end, double* out) const {
  const std::size_t S = before_.cols();
  const double* before = before_.log.row(static_cast<std::size_t>(from));
  const double* after = after_.log.row(static_cast<std::size_t>(end));
  for (std::size_t s = 0; s < S; ++s) out[s] = before[s] + after[s];
  log_normalize(out, S);
}

void PinnedReference::sample(const Context& context, StatesView from, StatesView end,
                             const DrawKey& key, std::uint64_t first_index,
                             MutableStatesView out) const {
  const int num_categories = static_cast<int>(before_.cols());
  check_states("from", from, out.cols, num_categories);
  check_states("end", end, out.cols, num_categories);
  if (from.rows != end.rows || from.rows != out.rows) {
    throw_invalid("reference", "from, end and out must have the same rows, got {}, {} and {}",
                  from.rows, end.rows, out.rows);
  }
  backend::of(context).sample_product_rows(context, before_, after_, from, end, key, first_index,
                                           out);
}

backend::PinnedRows pinned_rows(const Context& context, const ReferenceChain& chain,
                                std::uint64_t seed, const StepDraws& steps) {
  backend::PinnedRows rows;
  for (int n = 0; n <= chain.num_steps(); ++n) {
    context.throw_if_interrupted();
    const PinnedReference pinned = PinnedReference::marginal(context, chain, n);
    rows.before.push_back(pinned.before());
    rows.after.push_back(pinned.after());
  }
  rows.time_key = {seed, DrawPurpose::kMatchingTime};
  rows.state_key = {seed, DrawPurpose::kPinned};
  rows.steps = steps.cumulative;
  return rows;
}

}  // namespace bridgemark
