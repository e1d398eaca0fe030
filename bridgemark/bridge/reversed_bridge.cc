#include "bridgemark/bridge/reversed_bridge.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include "bridgemark/backend/plan/reference_power.h"
#include "bridgemark/bridge/component_groups.h"
#include "bridgemark/bridge/reverse_envelope.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/core/states.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark {

namespace {

constexpr std::size_t kChunk = 1024;         // rows whose envelopes are kept at once
constexpr std::size_t kMostGroups = 64;      // of components that envelopes are made of
constexpr std::size_t kPilotProposals = 64;  // that decide how many an estimate takes

// body(row, envelope) for each row on the context's threads. Rows of the same target that follow
// each other share an envelope.
template <typename Body>
void each_row(const Context& context, const ReverseTables& tables, StatesView x1, Body&& body) {
  for (std::size_t done = 0; done < x1.rows; done += kChunk) {
    const StatesView chunk = x1.slice(done, std::min(kChunk, x1.rows - done));
    std::vector<std::size_t> starts, target(chunk.rows);
    for (std::size_t i = 0; i < chunk.rows; ++i) {
      if (i == 0 || !std::equal(chunk.row(i), chunk.row(i) + chunk.cols, chunk.row(i - 1))) {
        starts.push_back(i);
      }
      target[i] = starts.size() - 1;
    }
    std::vector<std::unique_ptr<const PartEnvelopes>> built(starts.size());
    parallel_blocks(context, starts.size(), 1, [&](std::size_t first, std::size_t) {
      built[first] = std::make_unique<const PartEnvelopes>(tables, chunk.row(starts[first]));
    });
    parallel_blocks(context, chunk.rows, 16, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) body(done + i, *built[target[i]]);
    });
  }
}

// The proposals of one index under a key, in order.
class Proposals {
 public:
  Proposals(const Context& context, const ReverseTables& tables, const PartEnvelopes& envelopes,
            const DrawKey& key, std::uint64_t index)
      : context_(context),
        tables_(tables),
        envelopes_(envelopes),
        key_(key),
        index_(index),
        scratch_(ReverseEnvelope::scratch_size(tables)) {}

  // Draws the next x0, returns the logarithm of the probability to keep it.
  double next(std::int32_t* x0) {
    DrawSequence draws(key_, index_, next_block());
    return envelopes_.draw(draws).propose(tables_, draws, x0, scratch_.data());
  }

  // Draws the next x0; the draw behind it says whether it is kept. log_keep
  // is the logarithm of the probability of that, or above it where x0 was given up before its end.
  bool next_kept(std::int32_t* x0, double& log_keep) {
    const std::uint32_t block = next_block();
    const std::uint64_t behind = 2 * std::uint64_t{block} + draws_of_state(tables_);
    const double log_uniform = std::log(draw_uniform(key_, index_, behind));
    DrawSequence draws(key_, index_, block);
    return envelopes_.draw(draws).keeps(tables_, draws, log_uniform, x0, scratch_.data(), log_keep);
  }

  static std::uint64_t most(const ReverseTables& tables) {
    return std::min(ReversedBridge::kMaxTries, (std::uint64_t{1} << 32) / blocks_a_try(tables) - 1);
  }

 private:
  // Those of the coordinates, and of the part where there are several, or of a chain's states.
  static std::uint64_t draws_of_state(const ReverseTables& tables) {
    if (tables.source_chain) return 2 * tables.dim();
    return tables.dim() + (tables.num_parts() > 1 ? 1 : 0);
  }
  static std::uint64_t blocks_a_try(const ReverseTables& tables) {
    return (draws_of_state(tables) + 2) / 2;
  }

  std::uint32_t next_block() {
    constexpr std::uint64_t kTries = 256;  // between two looks for an interrupt
    if (attempt_ % kTries == 0) context_.throw_if_interrupted();
    return static_cast<std::uint32_t>(attempt_++ * blocks_a_try(tables_));
  }

  const Context& context_;
  const ReverseTables& tables_;
  const PartEnvelopes& envelopes_;
  DrawKey key_;
  std::uint64_t index_;
  std::uint64_t attempt_ = 0;
  std::vector<double> scratch_;
};

// The first proposal that is kept.
void draw_kept(Proposals& proposals, const ReverseTables& tables, std::size_t row,
               std::int32_t* x0) {
  double log_keep = 0.0, log_sum_keep = kLogZero;
  const std::uint64_t most = Proposals::most(tables);
  for (std::uint64_t attempt = 0; attempt < most; ++attempt) {
    if (proposals.next_kept(x0, log_keep)) return;
    log_sum_keep = log_add(log_sum_keep, log_keep);
  }
  throw_invalid("reverse",
                "one of {} proposals for row {} must be kept, got none: their acceptance is at "
                "most about {:.2g}",
                most, row, std::exp(log_sum_keep) / static_cast<double>(most));
}

// The standard error of a mean of `count` values in [0, 1]. What comes up less often than once in
// them shows in no variance, so the error is never below that share.
double mean_error(double variance, std::size_t count) {
  const double share = 1.0 / static_cast<double>(count);
  return std::sqrt(variance * share + share * share);
}

// Mean and variance of the probabilities to keep a proposal, as logarithms and relative to it.
struct Keeping {
  double log_mean;
  double relative_variance;  // of one proposal
};

Keeping keeping(Proposals& proposals, std::size_t count, std::size_t dim) {
  std::vector<double> log_keep(count);
  std::vector<std::int32_t> x0(dim);
  for (double& value : log_keep) value = proposals.next(x0.data());
  const double log_mean = log_sum(log_keep.data(), count) - std::log(static_cast<double>(count));
  double squares = 0.0;
  for (const double value : log_keep) {
    const double deviation = std::exp(value - log_mean) - 1.0;
    squares += deviation * deviation;
  }
  return {log_mean, squares / static_cast<double>(count - 1)};
}

}  // namespace

struct ReversedBridge::LastTotals {
  std::mutex mutex;
  States x1;
  Totals totals;
};

ReversedBridge::ReversedBridge(const Context& context, std::shared_ptr<const Bridge> bridge,
                               Matrix<double> log_p0)
    : bridge_(std::move(bridge)), last_(std::make_shared<LastTotals>()) {
  const auto S = static_cast<std::size_t>(bridge_->num_categories());
  if (log_p0.rows() != bridge_->dim() || log_p0.cols() != S) {
    throw_invalid("reverse", "log_p0 must have shape [{}, {}], got [{}, {}]", bridge_->dim(), S,
                  log_p0.rows(), log_p0.cols());
  }
  auto tables = std::make_shared<ReverseTables>();
  tables->log_parts = {0.0};
  tables->log_p0.push_back(std::move(log_p0));
  set_tables(context, std::move(tables));
}

ReversedBridge::ReversedBridge(const Context& context, std::shared_ptr<const Bridge> bridge,
                               const SourceLaw& source)
    : bridge_(std::move(bridge)), last_(std::make_shared<LastTotals>()) {
  const std::size_t D = bridge_->dim(), J = source.num_components();
  const auto S = static_cast<std::size_t>(bridge_->num_categories());
  if (source.dim() != D || source.num_categories() != bridge_->num_categories()) {
    throw_invalid("reverse", "source must be of {} dimensions with {} categories, got {} with {}",
                  D, S, source.dim(), source.num_categories());
  }
  auto tables = std::make_shared<ReverseTables>();
  if (const ChainPotential* chain = source.chain()) {
    tables->log_parts = {0.0};
    tables->source_chain = std::make_shared<const SourceChain>(*chain);
  } else {
    tables->log_parts = source.mixture()->log_component_totals();
    log_normalize(tables->log_parts.data(), J);
    tables->log_p0.assign(J, Matrix<double>(D, S));
    for (std::size_t j = 0; j < J; ++j) {
      Matrix<double>& log_p0 = tables->log_p0[j];
      for (std::size_t d = 0; d < D; ++d) {
        for (std::size_t s = 0; s < S; ++s) log_p0(d, s) = source.log_cores()(d, s, j);
        log_normalize(log_p0.row(d), S);
      }
    }
  }
  set_tables(context, std::move(tables));
}

void ReversedBridge::set_tables(const Context& context, std::shared_ptr<ReverseTables> tables) {
  const auto S = static_cast<std::size_t>(bridge_->num_categories());
  const Context host = context.on_host();
  const ReferenceChain chain(bridge_->process(), 1);
  tables->log_beta.assign(bridge_->log_weights().begin(), bridge_->log_weights().end());
  tables->log_moves = bridge_->log_moves();
  tables->log_from = bridge_->propagated_cores(host, chain, 0);
  const backend::ReferencePower q = chain.power(host, 1);
  tables->log_q_factors = q.factors();
  if (q.table() != nullptr) {
    tables->log_q_into = Matrix<double>(S, S);
    for (std::size_t x = 0; x < S; ++x) {
      for (std::size_t y = 0; y < S; ++y) tables->log_q_into(y, x) = (*q.table())(x, y);
    }
  }
  if (const TreeShape* const shape = bridge_->tree()) {
    tables->shape = std::make_shared<const TreeShape>(*shape);
    tables->tree = std::make_shared<const backend::TreeTables>(host, *shape, tables->log_beta,
                                                               tables->log_moves, tables->log_from);
  } else if (tables->is_chain()) {
    tables->set_linear();
  } else {
    tables->groups = group_components(*tables, kMostGroups);
  }
  tables_ = std::move(tables);
}

void ReversedBridge::sample(const Context& context, StatesView x1, const DrawKey& key,
                            std::uint64_t first_index, MutableStatesView x0) const {
  check_states("x1", x1, dim(), num_categories());
  each_row(context, *tables_, x1, [&](std::size_t i, const PartEnvelopes& envelope) {
    Proposals proposals(context, *tables_, envelope, key, first_index + i);
    draw_kept(proposals, *tables_, i, x0.row(i));
  });
}

void ReversedBridge::log_joint(const Context& context, StatesView x1, StatesView x0,
                               std::span<double> out) const {
  bridge_->log_conditional(context, x0, x1, out);
  for (std::size_t b = 0; b < x0.rows; ++b) out[b] += tables_->log_source(x0.row(b));
}

// log p0(x0) q_ref(x1|x0).
double ReversedBridge::log_start(const std::int32_t* x1, const std::int32_t* x0) const {
  double sum = tables_->log_source(x0);
  for (std::size_t d = 0; d < dim(); ++d) {
    sum += tables_->log_into(x1[d], x0[d]);
  }
  return sum;
}

// The sum over x0 of p0(x0) q_ref(x1|x0) / c(x0).
ReversedBridge::Totals ReversedBridge::log_totals(const Context& context, StatesView x1,
                                                  std::uint64_t seed, double relative_error) const {
  Totals totals{{std::vector<double>(x1.rows), std::vector<double>(x1.rows)},
                std::vector<double>(x1.rows)};
  each_row(context, *tables_, x1, [&](std::size_t i, const PartEnvelopes& envelope) {
    // The pilot decides how many, so that what is averaged does not decide when to stop.
    Proposals pilot(context, *tables_, envelope, {seed, DrawPurpose::kEnvelopeMass, 0}, i);
    const double needed = keeping(pilot, kPilotProposals, dim()).relative_variance /
                          (relative_error * relative_error);
    const std::size_t count =
        static_cast<std::size_t>(std::clamp(std::ceil(needed), static_cast<double>(kPilotProposals),
                                            static_cast<double>(Proposals::most(*tables_))));
    Proposals proposals(context, *tables_, envelope, {seed, DrawPurpose::kEnvelopeMass, 1}, i);
    const Keeping kept = keeping(proposals, count, dim());
    totals.log.value[i] = envelope.log_mass() + kept.log_mean;
    totals.log.standard_error[i] = mean_error(kept.relative_variance, count);
    totals.bias[i] = -0.5 * kept.relative_variance / static_cast<double>(count);
  });
  return totals;
}

LogEstimates ReversedBridge::log_p1(const Context& context, StatesView x1, std::uint64_t seed,
                                    double relative_error) const {
  check_states("x1", x1, dim(), num_categories());
  LogEstimates estimates = log_totals(context, x1, seed, relative_error).log;
  std::vector<double> log_v(x1.rows);
  bridge_->log_potential(context, x1, log_v);
  for (std::size_t b = 0; b < x1.rows; ++b) estimates.value[b] += log_v[b];
  return estimates;
}

void ReversedBridge::log_conditional(const Context& context, StatesView x1, StatesView x0,
                                     std::span<double> out) const {
  check_states("x1", x1, dim(), num_categories());
  bridge_->log_normalizer(context, x0, out);
  const std::lock_guard lock(last_->mutex);
  if (last_->x1.rows() != x1.rows || !std::equal(x1.data, x1.data + x1.size(), last_->x1.data())) {
    last_->totals = log_totals(context, x1, 0, kRelativeError);
    last_->x1 = States(x1.rows, x1.cols, {x1.data, x1.data + x1.size()});
  }
  for (std::size_t b = 0; b < x1.rows; ++b) {
    out[b] = log_start(x1.row(b), x0.row(b)) - out[b] -
             (last_->totals.log.value[b] - last_->totals.bias[b]);
  }
}

MarginalEstimates ReversedBridge::estimate_marginals(const Context& context, StatesView x1,
                                                     std::size_t num_draws,
                                                     std::uint64_t seed) const {
  check_states("x1", x1, dim(), num_categories());
  if (num_draws < 2) throw_invalid("reverse", "num_draws must be at least 2, got {}", num_draws);
  const std::size_t D = dim(), S = tables_->num_categories(), K = tables_->log_beta.size();
  MarginalEstimates marginals{Array3<double>(x1.rows, D, S), Array3<double>(x1.rows, D, S)};
  each_row(context, *tables_, x1, [&](std::size_t b, const PartEnvelopes& envelope) {
    std::vector<std::int32_t> x0(D);
    std::vector<double> log_p(S), log_terms(K), others(D * K), mean(D * S), squares(D * S);
    std::vector<double> made;
    Matrix<double> log_source;
    for (std::size_t i = 0; i < num_draws; ++i) {
      Proposals proposals(context, *tables_, envelope, {seed, DrawPurpose::kReverseMarginals},
                          b * num_draws + i);
      draw_kept(proposals, *tables_, b, x0.data());
      tables_->log_others(x0.data(), others.data());
      tables_->log_source_around(x0.data(), log_source);
      for (std::size_t d = 0; d < D; ++d) {
        const double* into = tables_->log_into(x1(b, d), made);
        for (std::size_t s = 0; s < S; ++s) {
          const double* other = tables_->log_from.row(d, s);
          for (std::size_t k = 0; k < K; ++k) {
            log_terms[k] = others[d * K + k] + other[k];
          }
          log_p[s] = log_source(d, s) + into[s] - log_sum(log_terms.data(), K);
        }
        log_normalize(log_p.data(), S);
        for (std::size_t s = 0; s < S; ++s) {
          const double p = std::exp(log_p[s]), before = p - mean[d * S + s];
          mean[d * S + s] += before / static_cast<double>(i + 1);
          squares[d * S + s] += before * (p - mean[d * S + s]);
        }
      }
    }
    for (std::size_t j = 0; j < D * S; ++j) {
      marginals.probability.row(b, 0)[j] = mean[j];
      marginals.standard_error.row(b, 0)[j] =
          mean_error(squares[j] / static_cast<double>(num_draws - 1), num_draws);
    }
  });
  return marginals;
}

std::vector<double> ReversedBridge::acceptance(const Context& context, StatesView x1,
                                               std::size_t num_proposals,
                                               std::uint64_t seed) const {
  check_states("x1", x1, dim(), num_categories());
  if (num_proposals < 2) {
    throw_invalid("reverse", "num_proposals must be at least 2, got {}", num_proposals);
  }
  std::vector<double> kept(x1.rows);
  each_row(context, *tables_, x1, [&](std::size_t i, const PartEnvelopes& envelope) {
    Proposals proposals(context, *tables_, envelope, {seed, DrawPurpose::kEnvelopeMass, 2}, i);
    kept[i] = std::exp(keeping(proposals, num_proposals, dim()).log_mean);
  });
  return kept;
}

}  // namespace bridgemark
