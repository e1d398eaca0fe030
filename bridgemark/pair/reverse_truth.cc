#include "bridgemark/pair/reverse_truth.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <type_traits>
#include <vector>

#include "bridgemark/core/error.h"

namespace bridgemark {

namespace {

// S^D where it is at most `limit`, else 0.
std::size_t count_states(std::size_t dim, std::size_t num_categories, std::size_t limit) {
  std::size_t count = 1;
  for (std::size_t d = 0; d < dim; ++d) {
    count *= num_categories;
    if (count > limit) return 0;
  }
  return count;
}

// State i counts up with the last coordinate the fastest.
States list_states(std::size_t count, std::size_t dim, std::size_t num_categories) {
  States states(count, dim);
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t rest = i;
    for (std::size_t d = dim; d-- > 0; rest /= num_categories) {
      states(i, d) = static_cast<std::int32_t>(rest % num_categories);
    }
  }
  return states;
}

// f = p0 / c on these states, by their logarithms.
CpPotential source_over_normaliser(const Context& context, const Bridge& bridge,
                                   const States& states, std::vector<double> log_p0) {
  std::vector<double> log_c(states.rows());
  bridge.log_normalizer(context, states, log_c);
  for (std::size_t i = 0; i < states.rows(); ++i) log_p0[i] -= log_c[i];
  return point_potential(states, bridge.num_categories(), std::move(log_p0));
}

}  // namespace

// The steps of the process seen backwards have a factor pi(x0) / pi(x1) of its stationary law more
// than those of the process; the potential takes pi(x0) away, and pi(x1) goes with the normaliser.
template <typename Potential>
void ReverseTruth::set_closed(const Potential& potential) {
  log_stationary_ = bridge_->process().log_stationary();
  std::vector<double> log_inverse(log_stationary_.size());
  std::transform(log_stationary_.begin(), log_stationary_.end(), log_inverse.begin(),
                 std::negate<>());
  using BridgeOf =
      std::conditional_t<std::is_same_v<Potential, TreePotential>, TreeBridge, CpBridge>;
  closed_ = std::make_shared<BridgeOf>(bridge_->process().time_reversed(),
                                       scaled(potential, log_inverse));
}

ReverseTruth::ReverseTruth(const Context& context, std::shared_ptr<const Bridge> bridge,
                           const SourceDistribution& source,
                           const std::optional<CpPotential>& potential)
    : bridge_(std::move(bridge)) {
  Context host = context;
  host.device = Device::kCpu;
  const std::size_t D = bridge_->dim(), S = static_cast<std::size_t>(bridge_->num_categories());
  if (potential) {
    const auto& cp = dynamic_cast<const CpBridge&>(*bridge_);
    log_total_ = product(*potential, cp.normalizer(host)).log_total();
    set_closed(*potential);
  } else if (source.kind() == SourceKind::kEmpirical) {
    const States& observed = source.states();
    if (observed.rows() > kMaxEntries / (D * S)) {
      missing_ = fmt::format("a p0 of at most {} observed states, got {}", kMaxEntries / (D * S),
                             observed.rows());
      return;
    }
    const double log_share = -std::log(static_cast<double>(observed.rows()));
    set_closed(source_over_normaliser(host, *bridge_, observed,
                                      std::vector<double>(observed.rows(), log_share)));
  } else if (set_listed(host, [&](const States& states, std::span<double> out) {
               source.log_probability(states, out);
             })) {
    return;
  } else if (source.kind() == SourceKind::kMixture) {
    envelope_ = std::make_shared<ReversedBridge>(host, bridge_, source.parts());
  } else {
    envelope_ = std::make_shared<ReversedBridge>(host, bridge_, source.log_pmf());
  }
}

ReverseTruth::ReverseTruth(const Context& context, std::shared_ptr<const TreeBridge> bridge,
                           const TreePotential& potential)
    : bridge_(bridge) {
  log_total_ = product(potential, bridge->normalizer(context.on_host())).log_total();
  set_closed(potential);
}

ReverseTruth::ReverseTruth(const Context& context, std::shared_ptr<const Bridge> bridge)
    : bridge_(std::move(bridge)) {
  const SourceLaw* source = bridge_->source();
  if (source == nullptr) throw_invalid("reverse", "the bridge must have a law of x0, got none");
  const Context host = context.on_host();
  const auto write_log_p0 = [&](const States& states, std::span<double> out) {
    source->log_probability(host, states, out);
  };
  if (set_listed(host, write_log_p0)) return;
  envelope_ = std::make_shared<ReversedBridge>(host, bridge_, *source);
}

bool ReverseTruth::set_listed(
    const Context& host,
    const std::function<void(const States&, std::span<double>)>& write_log_p0) {
  const std::size_t D = bridge_->dim(), S = static_cast<std::size_t>(bridge_->num_categories()),
                    count = count_states(D, S, kMaxStates);
  if (count == 0) return false;
  const States states = list_states(count, D, S);
  std::vector<double> log_p0(count);
  write_log_p0(states, log_p0);
  set_closed(source_over_normaliser(host, *bridge_, states, std::move(log_p0)));
  return true;
}

std::shared_ptr<const Coupling> ReverseTruth::coupling() const {
  if (closed_) return closed_;
  return envelope_;
}

LogEstimates ReverseTruth::log_p1(const Context& context, StatesView x1, std::uint64_t seed) const {
  if (envelope_) return envelope_->log_p1(context, x1, seed);
  if (!closed_) throw_invalid("pair", "p1 in closed form needs {}", missing_);
  LogEstimates result{std::vector<double>(x1.rows), std::vector<double>(x1.rows, 0.0)};
  closed_->log_normalizer(context, x1, result.value);
  std::vector<double> log_v(x1.rows);
  bridge_->log_potential(context, x1, log_v);
  for (std::size_t b = 0; b < x1.rows; ++b) {
    result.value[b] += log_v[b] - log_total_;
    for (std::size_t d = 0; d < x1.cols; ++d) {
      result.value[b] += log_stationary_[static_cast<std::size_t>(x1(b, d))];
    }
  }
  return result;
}

}  // namespace bridgemark
