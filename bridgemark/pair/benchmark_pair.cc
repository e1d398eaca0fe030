#include "bridgemark/pair/benchmark_pair.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/free_memory.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/core/states.h"
#include "bridgemark/pair/reverse_truth.h"

namespace bridgemark {

struct BenchmarkPair::Made {
  std::once_flag reverse_once, sampler_once;
  std::unique_ptr<const ReverseTruth> reverse;
  std::unique_ptr<const backend::RowSampler> sampler;
};

BenchmarkPair::BenchmarkPair(PairIdentity identity, SourceDistribution source, CpBridge bridge,
                             bool reverse)
    : BenchmarkPair(std::move(identity), std::move(source),
                    std::make_shared<const CpBridge>(std::move(bridge)), reverse) {}

BenchmarkPair::BenchmarkPair(PairIdentity identity, SourceDistribution source, ChainBridge bridge,
                             bool reverse)
    : BenchmarkPair(std::move(identity), std::move(source),
                    std::make_shared<const ChainBridge>(std::move(bridge)), reverse) {}

BenchmarkPair::BenchmarkPair(PairIdentity identity, SourceDistribution source, TreeBridge bridge,
                             bool reverse)
    : BenchmarkPair(std::move(identity), std::move(source),
                    std::make_shared<const TreeBridge>(std::move(bridge)), reverse) {}

BenchmarkPair::BenchmarkPair(PairIdentity identity, SourceDistribution source,
                             std::shared_ptr<const Bridge> bridge, bool reverse)
    : identity_(std::move(identity)),
      source_(std::move(source)),
      bridge_(std::move(bridge)),
      reverse_(reverse),
      made_(std::make_shared<Made>()) {
  if (source_.dim() != bridge_->dim() || source_.num_categories() != bridge_->num_categories()) {
    throw_invalid("pair", "p0 must live on {{0..{}}}^{} like the bridge, got {{0..{}}}^{}",
                  bridge_->num_categories() - 1, bridge_->dim(), source_.num_categories() - 1,
                  source_.dim());
  }
}

const CpBridge& BenchmarkPair::cp_bridge() const {
  const auto* bridge = dynamic_cast<const CpBridge*>(bridge_.get());
  if (bridge == nullptr) {
    throw_invalid("pair", "'{}' must have a CP potential, got a {}", identity_.name,
                  bridge_->tree() ? "tree" : "chain");
  }
  return *bridge;
}

BenchmarkPair BenchmarkPair::two_sided(PairIdentity identity, CpPotential source_potential,
                                       CpBridge bridge, bool reverse) {
  // p0 = f c / Z.
  SourceDistribution source =
      SourceDistribution::mixture(product(source_potential, bridge.normalizer({})));
  BenchmarkPair pair(std::move(identity), std::move(source), std::move(bridge), reverse);
  pair.source_potential_ = std::move(source_potential);
  return pair;
}

BenchmarkPair BenchmarkPair::two_sided(PairIdentity identity, TreePotential source_potential,
                                       TreeBridge bridge, bool reverse) {
  SourceDistribution source =
      SourceDistribution::tree(product(source_potential, bridge.normalizer({})));
  BenchmarkPair pair(std::move(identity), std::move(source), std::move(bridge), reverse);
  pair.source_tree_ = std::move(source_potential);
  return pair;
}

BenchmarkPair BenchmarkPair::of_bridge(PairIdentity identity, std::shared_ptr<const Bridge> bridge,
                                       bool reverse) {
  const SourceLaw* law = bridge->source();
  if (law == nullptr || law->mixture() == nullptr) {
    throw_invalid("pair", "'{}' must have a bridge whose law of x0 is a mixture, got {}",
                  identity.name, law ? "a hidden chain" : "one without");
  }
  SourceDistribution source = SourceDistribution::mixture(*law->mixture());
  return {std::move(identity), std::move(source), std::move(bridge), reverse};
}

BenchmarkPair BenchmarkPair::reversed() const {
  PairIdentity identity = identity_;
  if (reverse_ && identity.name.ends_with(kReverseSuffix)) {
    identity.name.resize(identity.name.size() - kReverseSuffix.size());
  } else {
    identity.name += kReverseSuffix;
  }
  BenchmarkPair pair(std::move(identity), source_, bridge_, !reverse_);
  pair.source_potential_ = source_potential_;
  pair.source_tree_ = source_tree_;
  if (stored_test_set_) {
    pair.store_test_set({stored_test_set_->x1, stored_test_set_->x0});
  }
  return pair;
}

ReferenceProcess BenchmarkPair::reference() const {
  return reverse_ ? bridge_->process().time_reversed() : bridge_->process();
}

void BenchmarkPair::draw_forward(const Context& context, const DrawKey& source_key,
                                 const DrawKey& conditional_key, std::uint64_t first_index,
                                 MutableStatesView x0, MutableStatesView x1) const {
  constexpr std::size_t kChunk = 1 << 16;
  const std::size_t count = x1.rows;
  for (std::size_t done = 0; done < count;) {
    const std::size_t rows = std::min(kChunk, count - done);
    const MutableStatesView from = x0.slice(done, rows), to = x1.slice(done, rows);
    if (context.device != Device::kCpu) {
      device_sampler(context).draw(context, source_key, conditional_key, first_index + done, from,
                                   to);
    } else {
      source_.sample(context, source_key, first_index + done, from);
      bridge_->sample(context, from, conditional_key, first_index + done, to);
    }
    done += rows;
    context.report("samples", done, count);
  }
}

backend::RowSource BenchmarkPair::target_rows(const Context& context, std::uint64_t seed) const {
  constexpr std::size_t kManyDraws = std::size_t{1} << 40;
  backend::RowSource rows = source_.rows({seed, DrawPurpose::kTargetSource});
  rows.step = bridge_->conditional_step(context, kManyDraws);
  rows.step_key = {seed, DrawPurpose::kTargetConditional};
  return rows;
}

const backend::RowSampler& BenchmarkPair::device_sampler(const Context& context) const {
  std::call_once(made_->sampler_once, [&] {
    // The tables are those of the CPU, bit for bit.
    made_->sampler =
        backend::of(context).make_row_sampler(context, target_rows(context.on_host(), 0));
  });
  return *made_->sampler;
}

void BenchmarkPair::write_source(const Context& context, std::uint64_t seed,
                                 std::uint64_t first_index, MutableStatesView out) const {
  const DrawKey key{seed, DrawPurpose::kSource};
  if (out.on_device) return device_sampler(context).draw(context, key, key, first_index, out, {});
  source_.sample(context, key, first_index, out);
}

void BenchmarkPair::write_target(const Context& context, std::uint64_t seed,
                                 std::uint64_t first_index, MutableStatesView out) const {
  const DrawKey source_key{seed, DrawPurpose::kTargetSource},
      conditional_key{seed, DrawPurpose::kTargetConditional};
  if (out.on_device) {
    return device_sampler(context).draw(context, source_key, conditional_key, first_index, {}, out);
  }
  require_states_memory(out.rows, dim());
  States x0(out.rows, dim());
  draw_forward(context, source_key, conditional_key, first_index, x0, out);
}

void BenchmarkPair::write_x0(const Context& context, std::uint64_t seed, std::uint64_t first_index,
                             MutableStatesView out) const {
  reverse_ ? write_target(context, seed, first_index, out)
           : write_source(context, seed, first_index, out);
}

void BenchmarkPair::write_x1(const Context& context, std::uint64_t seed, std::uint64_t first_index,
                             MutableStatesView out) const {
  reverse_ ? write_source(context, seed, first_index, out)
           : write_target(context, seed, first_index, out);
}

void BenchmarkPair::write_joint(const Context& context, std::uint64_t seed,
                                std::uint64_t first_index, MutableStatesView x0,
                                MutableStatesView x1) const {
  if (reverse_) std::swap(x0, x1);
  draw_forward(context, {seed, DrawPurpose::kSource}, {seed, DrawPurpose::kConditional},
               first_index, x0, x1);
}

States BenchmarkPair::sample_x0(const Context& context, std::size_t count, std::uint64_t seed,
                                std::uint64_t first_index) const {
  require_states_memory(count, dim(), reverse_ ? 2 : 1);
  States x0(count, dim());
  write_x0(context, seed, first_index, x0);
  return x0;
}

States BenchmarkPair::sample_x1(const Context& context, std::size_t count, std::uint64_t seed,
                                std::uint64_t first_index) const {
  require_states_memory(count, dim(), reverse_ ? 1 : 2);
  States x1(count, dim());
  write_x1(context, seed, first_index, x1);
  return x1;
}

PairedStates BenchmarkPair::sample_joint(const Context& context, std::size_t count,
                                         std::uint64_t seed, std::uint64_t first_index) const {
  require_states_memory(count, dim(), 2);
  PairedStates drawn{States(count, dim()), States(count, dim())};
  write_joint(context, seed, first_index, drawn.x0, drawn.x1);
  return drawn;
}

States BenchmarkPair::sample_conditional(const Context& context, StatesView x0, std::uint64_t seed,
                                         std::uint64_t first_index) const {
  States x1(x0.rows, dim());
  require_truth(context)->sample(context, x0, {seed, DrawPurpose::kConditional}, first_index, x1);
  return x1;
}

const ReverseTruth& BenchmarkPair::reverse_truth(const Context& context) const {
  std::call_once(made_->reverse_once, [&] {
    made_->reverse =
        source_tree_
            ? std::make_unique<const ReverseTruth>(
                  context, std::static_pointer_cast<const TreeBridge>(bridge_), *source_tree_)
            : std::make_unique<const ReverseTruth>(context, bridge_, source_, source_potential_);
  });
  return *made_->reverse;
}

std::shared_ptr<const Coupling> BenchmarkPair::truth(const Context& context) const {
  if (reverse_) return reverse_truth(context).coupling();
  return bridge_;
}

std::shared_ptr<const Coupling> BenchmarkPair::require_truth(const Context& context) const {
  std::shared_ptr<const Coupling> coupling = truth(context);
  if (!coupling) {
    throw_invalid("pair", "the truth of '{}' needs {}", identity_.name,
                  reverse_truth(context).missing());
  }
  return coupling;
}

std::string BenchmarkPair::missing_truth(const Context& context) const {
  return reverse_ ? reverse_truth(context).missing() : "";
}

LogEstimates BenchmarkPair::log_source(const Context& context, StatesView x) const {
  check_states("x", x, dim(), num_categories());
  LogEstimates exact{std::vector<double>(x.rows), std::vector<double>(x.rows, 0.0)};
  const std::span<double> values = exact.value;
  parallel_blocks(context, x.rows, 1024, [&](std::size_t first, std::size_t last) {
    source_.log_probability(x.slice(first, last - first), values.subspan(first, last - first));
  });
  return exact;
}

LogEstimates BenchmarkPair::log_p0(const Context& context, StatesView x, std::uint64_t seed) const {
  return reverse_ ? reverse_truth(context).log_p1(context, x, seed) : log_source(context, x);
}

LogEstimates BenchmarkPair::log_p1(const Context& context, StatesView x, std::uint64_t seed) const {
  return reverse_ ? log_source(context, x) : reverse_truth(context).log_p1(context, x, seed);
}

MarginalEstimates BenchmarkPair::estimate_marginals(const Context& context, StatesView x0,
                                                    std::size_t num_draws,
                                                    std::uint64_t seed) const {
  const std::shared_ptr<const Coupling> coupling = require_truth(context);
  if (num_draws < 2) throw_invalid("pair", "num_draws must be at least 2, got {}", num_draws);
  if (!coupling->has_marginals()) {
    return reverse_truth(context).envelope()->estimate_marginals(context, x0, num_draws, seed);
  }
  MarginalEstimates exact;
  coupling->log_marginals(context, x0, exact.probability);
  for (std::size_t i = 0; i < exact.probability.size(); ++i) {
    exact.probability.data()[i] = std::exp(exact.probability.data()[i]);
  }
  exact.standard_error = Array3<double>(x0.rows, dim(), exact.probability.extent(2), 0.0);
  return exact;
}

Array3<std::int32_t> BenchmarkPair::sample_trajectory(const Context& context, int num_steps,
                                                      StatesView x0, std::uint64_t seed,
                                                      std::uint64_t first_index,
                                                      Through through) const {
  const ReferenceChain chain(bridge_->process(), num_steps);  // checks num_steps
  require_states_memory(x0.rows, (static_cast<std::size_t>(num_steps) + 1) * dim());
  const std::shared_ptr<const Coupling> coupling = require_truth(context);
  if (through == Through::kMarkov && !coupling->has_transitions(num_steps)) {
    throw_invalid("pair",
                  "the truth of '{}' has no transitions in closed form; take the pinned way",
                  identity_.name);
  }
  return through != Through::kPinned && coupling->has_transitions(num_steps)
             ? sample_markov_trajectory(context, *coupling, num_steps, x0, seed, first_index)
             : sample_pinned_trajectory(context, *coupling, reference(), num_steps, x0, seed,
                                        first_index);
}

PairedStates BenchmarkPair::test_set(const Context& context) const {
  if (stored_test_set_) return *stored_test_set_;
  PairedStates drawn{States(kTestSetSize, dim()), States(kTestSetSize, dim())};
  draw_forward(context, {identity_.seed, DrawPurpose::kTestSource},
               {identity_.seed, DrawPurpose::kTestConditional}, 0, drawn.x0, drawn.x1);
  if (reverse_) std::swap(drawn.x0, drawn.x1);
  return drawn;
}

void BenchmarkPair::store_test_set(PairedStates test_set) {
  check_states("test x0", test_set.x0, dim(), num_categories());
  check_states("test x1", test_set.x1, dim(), num_categories());
  if (test_set.x0.rows() != test_set.x1.rows() || test_set.x0.rows() == 0) {
    throw_invalid("pair", "a test set needs as many x0 as x1 and at least one, got {} and {}",
                  test_set.x0.rows(), test_set.x1.rows());
  }
  stored_test_set_ = std::make_shared<const PairedStates>(std::move(test_set));
}

States conditional_inputs(StatesView test_x0) {
  const std::size_t rows = (test_x0.rows + kConditionalStride - 1) / kConditionalStride;
  States inputs(rows, test_x0.cols);
  for (std::size_t i = 0; i < rows; ++i) {
    std::copy_n(test_x0.row(i * kConditionalStride), test_x0.cols, inputs.row(i));
  }
  return inputs;
}

}  // namespace bridgemark
