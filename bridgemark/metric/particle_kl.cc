#include "bridgemark/metric/particle_kl.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

#include "bridgemark/backend/backend.h"
#include "bridgemark/backend/placed_array.h"
#include "bridgemark/bridge/reference_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/process/pinned_reference.h"

namespace bridgemark {

namespace {

constexpr double kUnreached = std::numeric_limits<double>::infinity();  // a row's KL then
constexpr std::size_t kHalves = 2;
constexpr std::size_t kHostGrain = 4096;  // particles of a thread's turn
constexpr double kEffectiveShare = 0.5;   // of a half's particles, below which it is resampled

// The particles of one half: those from `first` on.
struct Half {
  std::size_t first, count;
};

Half half_of(std::size_t particles, std::size_t which) {
  const std::size_t middle = (particles + 1) / 2;
  return which == 0 ? Half{0, middle} : Half{middle, particles - middle};
}

// log of the mean of exp(log_weights).
double log_mean(std::span<const double> log_weights) {
  return log_sum(log_weights.data(), log_weights.size()) -
         std::log(static_cast<double>(log_weights.size()));
}

// The particles of a block of rows on their way through the chain.
class ParticleBlock {
 public:
  // `other` is what the weights are relative to: the truth, or the reference where the truth has
  // no steps.
  ParticleBlock(const Context& context, const ReferenceChain& chain, const Coupling& other,
                bool by_truth, const Coupling& coupling, const ParticleOptions& options,
                bool on_device, std::size_t most_rows)
      : context_(context),
        where_(on_device ? context : context.on_host()),
        chain_(chain),
        other_(other),
        coupling_(coupling),
        options_(options),
        by_truth_(by_truth),
        current_(context, on_device, most_rows * options.particles, other.dim()),
        next_(context, on_device, most_rows * options.particles, other.dim()),
        end_(context, on_device, most_rows * options.particles, other.dim()),
        log_own_(context, on_device, most_rows * options.particles),
        log_other_(context, on_device, most_rows * options.particles) {}

  // The estimates of `rows` into all[] and half[].
  void run(const ParticleRows& rows, double* all, double* half) {
    start(rows);
    for (int n = 0; n < options_.num_steps; ++n) {
      const bool last = n + 1 == options_.num_steps;
      if (!last) draw(n);
      weigh(n, last ? std::as_const(end_) : std::as_const(next_));
      if (last) break;
      std::swap(current_, next_);
      if (by_truth_) resample(n);
    }
    finish(rows, all, half);
  }

 private:
  std::size_t states() const { return count_ * options_.particles; }
  StatesView view(const backend::PlacedStates& placed) const {
    return placed.view().slice(0, states());
  }
  MutableStatesView view(backend::PlacedStates& placed) const {
    return placed.view().slice(0, states());
  }

  void start(const ParticleRows& rows) {
    count_ = rows.x0.rows;
    first_row_ = rows.first_row;
    std::vector<std::uint32_t> row_of(states());
    for (std::size_t i = 0; i < states(); ++i) {
      row_of[i] = static_cast<std::uint32_t>(i / options_.particles);
    }
    backend::of(where_).take_rows(where_, rows.x0, row_of, view(current_));
    backend::of(where_).take_rows(where_, rows.x1, row_of, view(end_));
    log_weights_.assign(states(), 0.0);
    log_totals_.assign(count_ * kHalves, 0.0);
  }

  void draw(int n) {
    const DrawKey key{options_.seed, DrawPurpose::kParticles, 2 * static_cast<std::uint32_t>(n)};
    PinnedReference::step(context_, chain_, n)
        .sample(context_, view(std::as_const(current_)), view(std::as_const(end_)), key,
                first_row_ * options_.particles, view(next_));
  }

  // Adds log m less the other's log-probability of step n to the weights.
  void weigh(int n, const backend::PlacedStates& to) {
    const StatesView from = view(std::as_const(current_)), there = view(to);
    coupling_.log_transition(context_, options_.num_steps, n, from, there,
                             log_own_.values().first(states()));
    other_.log_transition(context_, options_.num_steps, n, from, there,
                          log_other_.values().first(states()));
    const Matrix<double> own = log_own_.to_host(context_), other = log_other_.to_host(context_);
    parallel_blocks(context_, states(), kHostGrain, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        // The truth and the reference allow every pinned path, so `other` is finite.
        log_weights_[i] =
            own(i, 0) == kLogZero ? kLogZero : log_weights_[i] + own(i, 0) - other(i, 0);
      }
    });
  }

  // log of the other's probability of each row's end.
  Matrix<double> log_ends_of(const ParticleRows& rows) const {
    backend::PlacedArray<double> log_ends(context_, rows.x0.on_device, count_);
    other_.log_conditional(context_, rows.x0, rows.x1, log_ends.values());
    return std::move(log_ends).to_host(context_);
  }

  // After step n: every half that has become too uneven draws its particles anew by their weights.
  void resample(int n) {
    std::vector<std::uint32_t> ancestors(states());
    std::atomic<bool> any = false;
    const std::size_t grain = std::max<std::size_t>(1, kHostGrain / options_.particles);
    parallel_blocks(context_, count_, grain, [&](std::size_t first, std::size_t last) {
      std::vector<double> cumulative;
      for (std::size_t i = first * options_.particles; i < last * options_.particles; ++i) {
        ancestors[i] = static_cast<std::uint32_t>(i);
      }
      for (std::size_t i = first; i < last; ++i) {
        for (std::size_t h = 0; h < kHalves; ++h) {
          if (resample_half(n, i, h, cumulative, ancestors)) any = true;
        }
      }
    });
    if (!any) return;
    backend::of(where_).take_rows(where_, view(std::as_const(current_)), ancestors, view(next_));
    std::swap(current_, next_);
  }

  // `cumulative` may hold anything.
  bool resample_half(int n, std::size_t row, std::size_t h, std::vector<double>& cumulative,
                     std::vector<std::uint32_t>& ancestors) {
    const Half half = half_of(options_.particles, h);
    if (half.count < 2) return false;
    const std::size_t first = row * options_.particles + half.first;
    const std::span<double> log_weights(log_weights_.data() + first, half.count);
    const double high = *std::ranges::max_element(log_weights);
    if (high == kLogZero) return false;
    cumulative.resize(half.count);
    double sum = 0.0, squares = 0.0;
    for (std::size_t p = 0; p < half.count; ++p) {
      const double weight = std::exp(log_weights[p] - high);
      sum += weight;
      squares += weight * weight;
      cumulative[p] = sum;
    }
    const auto count = static_cast<double>(half.count);
    if (sum * sum >= kEffectiveShare * count * squares) return false;
    log_totals_[row * kHalves + h] += high + std::log(sum / count);
    const DrawKey key{options_.seed, DrawPurpose::kParticles,
                      2 * static_cast<std::uint32_t>(n) + 1};
    const double offset = draw_uniform(key, (first_row_ + row) * kHalves + h, 0);
    for (std::size_t p = 0, from = 0; p < half.count; ++p) {
      const double at = (offset + static_cast<double>(p)) / count * sum;
      while (from + 1 < half.count && cumulative[from] <= at) ++from;
      ancestors[first + p] = static_cast<std::uint32_t>(first + from);
    }
    std::ranges::fill(log_weights, 0.0);
    return true;
  }

  void finish(const ParticleRows& rows, double* all, double* half) {
    const Matrix<double> log_ends = by_truth_ ? Matrix<double>() : log_ends_of(rows);
    const auto particles = static_cast<double>(options_.particles);
    for (std::size_t i = 0; i < count_; ++i) {
      // The weights estimate q / q*, or q / q_ref.
      const double offset = by_truth_ ? 0.0 : rows.log_truth[i] - log_ends(i, 0);
      std::vector<double> log_shares;
      half[i] = 0.0;
      for (std::size_t h = 0; h < kHalves; ++h) {
        const Half own = half_of(options_.particles, h);
        if (own.count == 0) continue;
        const double log_ratio =
            log_totals_[i * kHalves + h] +
            log_mean({log_weights_.data() + i * options_.particles + own.first, own.count});
        const double share = static_cast<double>(own.count) / particles;
        log_shares.push_back(log_ratio + std::log(share));
        half[i] += share * (log_ratio == kLogZero ? kUnreached : offset - log_ratio);
      }
      const double log_ratio = log_sum(log_shares.data(), log_shares.size());
      all[i] = log_ratio == kLogZero ? kUnreached : offset - log_ratio;
    }
  }

  const Context& context_;
  const Context where_;  // of the states
  const ReferenceChain& chain_;
  const Coupling &other_, &coupling_;
  const ParticleOptions& options_;
  const bool by_truth_;    // whether the other is the truth
  std::size_t count_ = 0;  // rows of this run
  std::uint64_t first_row_ = 0;
  backend::PlacedStates current_, next_, end_;  // [rows * particles, D]
  backend::PlacedArray<double> log_own_, log_other_;
  std::vector<double> log_weights_;  // [rows, particles], since the last resampling
  std::vector<double> log_totals_;   // [rows, halves], up to it
};

void check(const Coupling& truth, const Coupling& coupling, const ParticleOptions& options,
           const ParticleRows& rows) {
  if (options.particles < 1) {
    throw_invalid("particles", "particles must be at least 1, got {}", options.particles);
  }
  if (!coupling.has_joint_transitions(options.num_steps)) {
    throw_invalid("particles", "the coupling must have transitions with {} steps, got none",
                  options.num_steps);
  }
  if (rows.x0.rows != rows.x1.rows) {
    throw_invalid("particles", "x0 and x1 must have the same rows, got {} and {}", rows.x0.rows,
                  rows.x1.rows);
  }
  if (truth.has_joint_transitions(options.num_steps)) return;
  if (rows.log_truth.size() != rows.x0.rows) {
    throw_invalid("particles", "a truth without transitions needs log_truth of {} rows, got {}",
                  rows.x0.rows, rows.log_truth.size());
  }
}

}  // namespace

ParticleKls particle_kls(const Context& context, const ReferenceProcess& process,
                         const Coupling& truth, const Coupling& coupling,
                         const ParticleOptions& options, const ParticleRows& rows) {
  check(truth, coupling, options, rows);
  const std::size_t count = rows.x0.rows, dim = coupling.dim();
  const bool on_device = rows.x0.on_device;
  // States of a block: so few that they stay in a core's cache; on a device so many that what is
  // prepared for each step counts for little, within 128 MiB.
  const std::size_t states = context.device == Device::kCpu
                                 ? std::size_t{1} << 14
                                 : std::min(std::size_t{1} << 19, (std::size_t{1} << 25) / dim);
  const std::size_t part = std::clamp<std::size_t>(states / options.particles, 1, count + 1);
  const ReferenceChain chain(process, options.num_steps);
  const bool by_truth = truth.has_joint_transitions(options.num_steps);
  const CpBridge reference = reference_bridge(process, dim);
  ParticleBlock block(context, chain, by_truth ? truth : reference, by_truth, coupling, options,
                      on_device, std::min(part, count));
  ParticleKls kls{std::vector<double>(count), std::vector<double>(count)};
  for (std::size_t first = 0; first < count; first += part) {
    const std::size_t own = std::min(part, count - first);
    block.run({rows.x0.slice(first, own), rows.x1.slice(first, own), rows.first_row + first,
               rows.log_truth.empty() ? rows.log_truth : rows.log_truth.subspan(first, own)},
              kls.all.data() + first, kls.half.data() + first);
  }
  return kls;
}

}  // namespace bridgemark
