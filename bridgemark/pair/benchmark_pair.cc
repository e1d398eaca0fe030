#include "bridgemark/pair/benchmark_pair.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "bridgemark/backend/row_source.h"
#include "bridgemark/bridge/enumerated_coupling.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/states.h"
#include "bridgemark/pair/exact_truth.h"

namespace bridgemark {

struct BenchmarkPair::Made {
  std::once_flag truth_once, sampler_once;
  std::shared_ptr<const Coupling> truth;
  std::unique_ptr<backend::PairSampler> sampler;
  std::mutex sampling;  // a sampler holds one draw at a time
};

BenchmarkPair::BenchmarkPair(PairIdentity identity, SourceDistribution source, CpBridge bridge,
                             bool reverse)
    : identity_(std::move(identity)),
      source_(std::move(source)),
      bridge_(std::move(bridge)),
      reverse_(reverse),
      made_(std::make_shared<Made>()) {
  if (source_.dim() != bridge_.dim() || source_.num_categories() != bridge_.num_categories()) {
    throw_invalid("pair", "p0 must live on {{0..{}}}^{} like the bridge, got {{0..{}}}^{}",
                  bridge_.num_categories() - 1, bridge_.dim(), source_.num_categories() - 1,
                  source_.dim());
  }
}

BenchmarkPair BenchmarkPair::reversed() const {
  PairIdentity identity = identity_;
  if (reverse_ && identity.name.ends_with(kReverseSuffix)) {
    identity.name.resize(identity.name.size() - kReverseSuffix.size());
  } else {
    identity.name += kReverseSuffix;
  }
  BenchmarkPair pair(std::move(identity), source_, bridge_, !reverse_);
  if (stored_test_set_) {
    pair.store_test_set({stored_test_set_->x1, stored_test_set_->x0});
  }
  return pair;
}

ReferenceProcess BenchmarkPair::reference() const {
  return reverse_ ? bridge_.process().time_reversed() : bridge_.process();
}

PairedStates BenchmarkPair::draw_forward(const Context& context, std::size_t count,
                                         const DrawKey& source_key, const DrawKey& conditional_key,
                                         std::uint64_t first_index) const {
  PairedStates drawn{States(count, dim()), States(count, dim())};
  constexpr std::size_t kChunk = 1 << 16;
  const bool on_device = context.device != Device::kCpu;
  for (std::size_t done = 0; done < count;) {
    const std::size_t rows = std::min(kChunk, count - done);
    const MutableStatesView x0 = drawn.x0.view().slice(done, rows);
    const MutableStatesView x1 = drawn.x1.view().slice(done, rows);
    if (on_device) {
      backend::PairSampler& sampler = device_sampler(context);
      const std::lock_guard lock(made_->sampling);
      sampler.draw(source_key, conditional_key, first_index + done, rows);
      sampler.fetch(x0, x1);
    } else {
      source_.sample(context, source_key, first_index + done, x0);
      bridge_.sample(context, x0, conditional_key, first_index + done, x1);
    }
    done += rows;
    context.report("samples", done, count);
  }
  return drawn;
}

backend::RowSource BenchmarkPair::target_rows(const Context& context, std::uint64_t seed) const {
  constexpr std::size_t kManyDraws = std::size_t{1} << 40;
  backend::RowSource rows = source_.rows({seed, DrawPurpose::kTargetSource});
  rows.step = bridge_.conditional_step(context, kManyDraws);
  rows.step_key = {seed, DrawPurpose::kTargetConditional};
  return rows;
}

backend::PairSampler& BenchmarkPair::device_sampler(const Context& context) const {
  std::call_once(made_->sampler_once, [&] {
    Context host = context;  // the tables are those of the CPU, bit for bit
    host.device = Device::kCpu;
    made_->sampler = backend::make_pair_sampler(context, target_rows(host, 0));
  });
  return *made_->sampler;
}

States BenchmarkPair::draw_source(const Context& context, std::size_t count, std::uint64_t seed,
                                  std::uint64_t first_index) const {
  States x0(count, dim());
  source_.sample(context, {seed, DrawPurpose::kSource}, first_index, x0);
  return x0;
}

States BenchmarkPair::draw_target(const Context& context, std::size_t count, std::uint64_t seed,
                                  std::uint64_t first_index) const {
  return draw_forward(context, count, {seed, DrawPurpose::kTargetSource},
                      {seed, DrawPurpose::kTargetConditional}, first_index)
      .x1;
}

States BenchmarkPair::sample_x0(const Context& context, std::size_t count, std::uint64_t seed,
                                std::uint64_t first_index) const {
  return reverse_ ? draw_target(context, count, seed, first_index)
                  : draw_source(context, count, seed, first_index);
}

States BenchmarkPair::sample_x1(const Context& context, std::size_t count, std::uint64_t seed,
                                std::uint64_t first_index) const {
  return reverse_ ? draw_source(context, count, seed, first_index)
                  : draw_target(context, count, seed, first_index);
}

PairedStates BenchmarkPair::sample_joint(const Context& context, std::size_t count,
                                         std::uint64_t seed, std::uint64_t first_index) const {
  PairedStates drawn = draw_forward(context, count, {seed, DrawPurpose::kSource},
                                    {seed, DrawPurpose::kConditional}, first_index);
  if (reverse_) std::swap(drawn.x0, drawn.x1);
  return drawn;
}

States BenchmarkPair::sample_conditional(const Context& context, StatesView x0, std::uint64_t seed,
                                         std::uint64_t first_index) const {
  const std::shared_ptr<const Coupling> coupling = exact_truth(context, *this);
  States x1(x0.rows, dim());
  coupling->sample(context, x0, {seed, DrawPurpose::kConditional}, first_index, x1);
  return x1;
}

std::shared_ptr<const Coupling> BenchmarkPair::truth(const Context& context) const {
  std::call_once(made_->truth_once, [&] {
    if (!reverse_) {
      made_->truth = std::make_shared<CpBridge>(bridge_);
    } else if (EnumeratedCoupling::can_enumerate(dim(), num_categories())) {
      made_->truth = enumerate_reverse(context);
    }
  });
  return made_->truth;
}

// q*(x0|x1) is proportional to p0(x0) q*(x1|x0): read the joint by its columns.
std::shared_ptr<const Coupling> BenchmarkPair::enumerate_reverse(const Context& context) const {
  const States states = EnumeratedCoupling::all_states(dim(), num_categories());
  const std::size_t count = states.rows();
  std::vector<double> log_source(count), log_forward(count);
  source_.log_probability(states, log_source);
  Matrix<double> log_joint(count, count);
  States repeated(count, dim());
  for (std::size_t from = 0; from < count; ++from) {
    for (std::size_t i = 0; i < count; ++i) std::copy_n(states.row(from), dim(), repeated.row(i));
    bridge_.log_conditional(context, repeated, states, log_forward);
    for (std::size_t to = 0; to < count; ++to) {
      log_joint(to, from) = log_source[from] + log_forward[to];
    }
    context.report("states", from + 1, count);
  }
  return std::make_shared<EnumeratedCoupling>(dim(), num_categories(), std::move(log_joint));
}

PairedStates BenchmarkPair::test_set(const Context& context) const {
  if (stored_test_set_) return *stored_test_set_;
  PairedStates drawn =
      draw_forward(context, kTestSetSize, {identity_.seed, DrawPurpose::kTestSource},
                   {identity_.seed, DrawPurpose::kTestConditional}, 0);
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
