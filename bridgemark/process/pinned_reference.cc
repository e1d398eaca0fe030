#include "bridgemark/process/pinned_reference.h"

#include <utility>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/core/states.h"
#include "bridgemark/math/categorical.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark {

PinnedReference::PinnedReference(const backend::ReferencePower& before,
                                 const backend::ReferencePower& after)
    : num_categories_(before.num_categories()) {
  if (before.table() == nullptr) {
    operators_ = {before, after};
    return;
  }
  before_ = backend::scale_rows(*before.table());
  const std::size_t S = num_categories_;
  Matrix<double> transposed(S, S);
  for (std::size_t s = 0; s < S; ++s) {
    for (std::size_t end = 0; end < S; ++end) transposed(end, s) = (*after.table())(s, end);
  }
  after_ = backend::scale_rows(std::move(transposed));
}

PinnedReference PinnedReference::marginal(const Context& context, const ReferenceChain& chain,
                                          int n) {
  return {chain.power(context, n), chain.power(context, chain.num_steps() - n)};
}

PinnedReference PinnedReference::step(const Context& context, const ReferenceChain& chain, int n) {
  if (n < 0 || n >= chain.num_steps()) {
    throw_invalid("reference", "step must lie in 0..{}, got {}", chain.num_steps() - 1, n);
  }
  return {chain.power(context, 1), chain.power(context, chain.num_steps() - n - 1)};
}

void PinnedReference::log_probabilities(int from, int end, double* out) const {
  const std::size_t S = num_categories_;
  if (operators_) {
    std::vector<double> after(S);
    operators_->before.log_row(from, out);
    operators_->after.log_column(end, after.data());
    for (std::size_t s = 0; s < S; ++s) out[s] += after[s];
  } else {
    const double* before = before_.log.row(static_cast<std::size_t>(from));
    const double* after = after_.log.row(static_cast<std::size_t>(end));
    for (std::size_t s = 0; s < S; ++s) out[s] = before[s] + after[s];
  }
  log_normalize(out, S);
}

void PinnedReference::sample_by_operators(const Context& context, StatesView from, StatesView end,
                                          const DrawKey& key, std::uint64_t first_index,
                                          MutableStatesView out) const {
  if (from.on_device) {
    throw DeviceError(
        fmt::format("[reference] pinned draws on a device need at most {} categories, got {}; take "
                    "--device cpu",
                    kMaxFactoredTable, num_categories_));
  }
  const std::size_t S = num_categories_;
  parallel_blocks(
      context, out.rows, prompt_grain(64, out.cols * S), [&](std::size_t first, std::size_t last) {
        std::vector<double> weights(S);
        for (std::size_t b = first; b < last; ++b) {
          DrawSequence draws(key, first_index + b);
          for (std::size_t d = 0; d < out.cols; ++d) {
            log_probabilities(from(b, d), end(b, d), weights.data());
            cumulate_log(weights.data(), S, weights.data());
            out(b, d) =
                static_cast<std::int32_t>(draw_category(weights.data(), S, draws.uniform()));
          }
        }
      });
}

void PinnedReference::sample(const Context& context, StatesView from, StatesView end,
                             const DrawKey& key, std::uint64_t first_index,
                             MutableStatesView out) const {
  const int num_categories = static_cast<int>(num_categories_);
  check_states("from", from, out.cols, num_categories);
  check_states("end", end, out.cols, num_categories);
  if (from.rows != end.rows || from.rows != out.rows) {
    throw_invalid("reference", "from, end and out must have the same rows, got {}, {} and {}",
                  from.rows, end.rows, out.rows);
  }
  if (operators_) return sample_by_operators(context, from, end, key, first_index, out);
  backend::of(context).sample_product_rows(context, before_, after_, from, end, key, first_index,
                                           out);
}

backend::PinnedRows pinned_rows(const Context& context, const ReferenceChain& chain,
                                std::uint64_t seed, const StepDraws& steps) {
  chain.process().require_tables();
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
