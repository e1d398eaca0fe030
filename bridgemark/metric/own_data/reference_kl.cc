#include "bridgemark/metric/own_data/reference_kl.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "bridgemark/backend/backend.h"
#include "bridgemark/backend/plan/reference_power.h"
#include "bridgemark/core/parallel.h"

namespace bridgemark {

namespace {

// out[b, d*S + s] = log of the reference's probability to go from x[b, d] to s.
void write_reference_steps(const Context& context, const backend::ReferencePower& step,
                           StatesView x, MatrixView<double> out) {
  const std::size_t S = step.num_categories();
  parallel_blocks(context, x.rows, 256, [&](std::size_t first, std::size_t last) {
    for (std::size_t b = first; b < last; ++b) {
      for (std::size_t d = 0; d < x.cols; ++d) {
        step.log_row(x(b, d), out.row(b) + d * S);
      }
    }
  });
}

// Both of one block of rows, whose paths begin at `first` of the whole.
void walk_chain(const Context& context, const Coupling& coupling, const ReferenceChain& chain,
                std::uint64_t seed, std::size_t first, StatesView x0, Matrix<double>& log_own,
                Matrix<double>& log_reference, double* kl, MutableStatesView ends) {
  const std::size_t D = x0.cols, S = static_cast<std::size_t>(coupling.num_categories());
  const Context host = context.on_host();
  States current(x0.rows, D), next(x0.rows, D);
  std::copy_n(x0.data, x0.size(), current.data());
  for (int n = 0; n < chain.num_steps(); ++n) {
    coupling.write_log_transition_marginals(context, chain.num_steps(), n, current,
                                            log_own.view().slice(0, x0.rows));
    write_reference_steps(host, chain.power(host, 1), current,
                          log_reference.view().slice(0, x0.rows));
    backend::of(host).add_step_kl(host, log_own.data(), log_reference.data(), x0.rows, D, S, kl);
    coupling.sample_transition(context, chain.num_steps(), n, current,
                               {seed, DrawPurpose::kTransition, static_cast<std::uint32_t>(n)},
                               first, next);
    std::swap(current, next);
  }
  std::copy_n(current.data(), current.size(), ends.data);
}

}  // namespace

bool has_chain_paths(const Coupling& coupling, const ReferenceProcess& process) {
  const int steps = coupling.own_num_steps();
  return steps > 0 && process.total_steps() % steps == 0 && coupling.has_transitions(steps) &&
         coupling.has_joint_transitions(steps);
}

ChainPaths chain_paths(const Context& context, const Coupling& coupling,
                       const ReferenceProcess& process, StatesView x0, std::uint64_t seed) {
  const ReferenceChain chain(process, coupling.own_num_steps());
  const std::size_t entries = x0.cols * static_cast<std::size_t>(coupling.num_categories());
  constexpr std::size_t kMaxEntries = std::size_t{1} << 22;  // 32 MiB of marginals a side
  const std::size_t part = std::min(x0.rows, std::max<std::size_t>(1, kMaxEntries / entries));
  Matrix<double> log_own(part, entries), log_reference(part, entries);
  ChainPaths paths{std::vector<double>(x0.rows, 0.0), States(x0.rows, x0.cols)};
  for (std::size_t first = 0; first < x0.rows; first += part) {
    const std::size_t rows = std::min(part, x0.rows - first);
    walk_chain(context, coupling, chain, seed, first, x0.slice(first, rows), log_own, log_reference,
               paths.reference_kl.data() + first, paths.ends.view().slice(first, rows));
    context.report("paths", first + rows, x0.rows);
  }
  return paths;
}

std::vector<double> joint_reference_kl(const Context& context, const Coupling& coupling,
                                       const ReferenceProcess& process, StatesView x0,
                                       StatesView x1) {
  std::vector<double> kl(x0.rows), log_reference(x0.rows);
  if (const auto* bridge = dynamic_cast<const Bridge*>(&coupling)) {
    bridge->log_potential(context, x1, kl);
    bridge->log_normalizer(context, x0, log_reference);
  } else {
    coupling.log_conditional(context, x0, x1, kl);
    const backend::ReferencePower q = process.power(context.on_host(), process.total_steps());
    for (std::size_t i = 0; i < x0.rows; ++i) {
      log_reference[i] = q.log_of_rows(x0.row(i), x1.row(i), x0.cols);
    }
  }
  for (std::size_t i = 0; i < kl.size(); ++i) kl[i] -= log_reference[i];
  return kl;
}

std::vector<double> bridge_distances(const Context& context, const ChainPaths& paths,
                                     const Bridge& bridge, StatesView x0) {
  std::vector<double> log_v(x0.rows), log_c(x0.rows), distance(x0.rows);
  bridge.log_potential(context, paths.ends, log_v);
  bridge.log_normalizer(context, x0, log_c);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < distance.size(); ++i) {
    const bool ruled_out = log_v[i] == -kInfinity || log_c[i] == -kInfinity;
    distance[i] = ruled_out ? kInfinity : paths.reference_kl[i] - log_v[i] + log_c[i];
  }
  return distance;
}

}  // namespace bridgemark
