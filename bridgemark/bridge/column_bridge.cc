#include "bridgemark/bridge/column_bridge.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "bridgemark/backend/backend.h"
#include "bridgemark/backend/plan/next_state.h"
#include "bridgemark/backend/plan/reference_power.h"
#include "bridgemark/bridge/potential_checks.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark {

// Column by column the step of a bridge of one coordinate, whose components are drawn elsewhere.
struct ColumnBridge::Step {
  int num_steps = 0;
  int n = 0;
  std::vector<backend::BridgeStep> columns;
};

struct ColumnBridge::Prepared {
  std::mutex mutex;
  std::shared_ptr<const Step> conditional, transition;
};

namespace {

constexpr std::size_t kRows = 64;  // of a block

void require_host(const Context& context) {
  if (context.device == Device::kCpu) return;
  throw DeviceError(
      "[columns] columns of categories and references of their own are for --device cpu alone");
}

// Components that have weight, and a positive factor in every column.
std::vector<std::size_t> positive_components(const ColumnReference& reference,
                                             const std::vector<double>& log_beta,
                                             const Matrix<double>& log_cores) {
  std::vector<std::size_t> components;
  for (std::size_t k = 0; k < log_beta.size(); ++k) {
    bool positive = log_beta[k] != kLogZero;
    for (std::size_t d = 0; d < reference.dim() && positive; ++d) {
      bool in_column = false;
      for (std::size_t s = 0; s < reference.num_categories(d); ++s) {
        in_column |= log_cores(reference.start(d) + s, k) != kLogZero;
      }
      positive = in_column;
    }
    if (positive) components.push_back(k);
  }
  return components;
}

// weights[k] = log_beta[k] + sum_d log_u_d[x^d, k].
template <typename LogU>
void add_components(const std::vector<double>& log_beta, std::size_t dim, const LogU& log_u,
                    const std::int32_t* x, double* weights) {
  std::copy(log_beta.begin(), log_beta.end(), weights);
  for (std::size_t d = 0; d < dim; ++d) {
    const double* row = log_u(d).row(0, static_cast<std::size_t>(x[d]));
    for (std::size_t k = 0; k < log_beta.size(); ++k) weights[k] += row[k];
  }
}

}  // namespace

ColumnBridge::ColumnBridge(ColumnReference reference, std::vector<double> log_beta,
                           Matrix<double> log_cores)
    : reference_(std::move(reference)), prepared_(std::make_shared<Prepared>()) {
  const std::size_t K = log_beta.size();
  if (K < 1 || log_cores.rows() != reference_.total_categories() || log_cores.cols() != K) {
    throw_invalid("potential", "log_cores must have shape [{}, {} >= 1], got [{}, {}]",
                  reference_.total_categories(), K, log_cores.rows(), log_cores.cols());
  }
  check_logarithms("log_beta", log_beta);
  const std::vector<std::size_t> kept = positive_components(reference_, log_beta, log_cores);
  if (kept.empty()) throw_invalid("potential", "the potential must be positive somewhere, got 0");
  for (const std::size_t k : kept) log_beta_.push_back(log_beta[k]);
  for (std::size_t d = 0; d < dim(); ++d) {
    const std::size_t S = reference_.num_categories(d);
    Array3<double> cores(1, S, kept.size());
    for (std::size_t s = 0; s < S; ++s) {
      for (std::size_t i = 0; i < kept.size(); ++i) {
        cores(0, s, i) = log_cores(reference_.start(d) + s, kept[i]);
      }
    }
    columns_.emplace_back(reference_.column(d),
                          CpPotential(std::vector<double>(kept.size(), 0.0), std::move(cores)));
  }
}

Matrix<double> ColumnBridge::log_cores() const {
  Matrix<double> stacked(reference_.total_categories(), num_components());
  for (std::size_t d = 0; d < dim(); ++d) {
    const Array3<double>& cores = columns_[d].log_cores();
    std::copy_n(cores.data(), cores.size(), stacked.row(reference_.start(d)));
  }
  return stacked;
}

std::vector<Array3<double>> ColumnBridge::propagated_cores(const Context& context, int num_steps,
                                                           int n) const {
  std::vector<Array3<double>> cores;
  for (const CpBridge& column : columns_) {
    cores.push_back(
        column.propagated_cores(context, ReferenceChain(column.process(), num_steps), n));
  }
  return cores;
}

std::shared_ptr<const ColumnBridge::Step> ColumnBridge::step(const Context& context, int num_steps,
                                                             int n) const {
  require_host(context);
  if (n < 0 || n >= num_steps) {
    throw_invalid("bridge", "step must lie in 0..{}, got {}", num_steps - 1, n);
  }
  const std::lock_guard lock(prepared_->mutex);
  std::shared_ptr<const Step>& kept =
      num_steps == 1 ? prepared_->conditional : prepared_->transition;
  if (kept && kept->num_steps == num_steps && kept->n == n) return kept;
  auto made = std::make_shared<Step>();
  made->num_steps = num_steps;
  made->n = n;
  for (const CpBridge& column : columns_) {
    const ReferenceChain chain(column.process(), num_steps);
    made->columns.push_back(backend::make_bridge_step(
        context, {}, column.propagated_cores(context, chain, n), chain.power(context, 1),
        column.propagated_cores(context, chain, n + 1)));
  }
  kept = std::move(made);
  return kept;
}

void ColumnBridge::log_phi(const Context& context, int num_steps, int n, StatesView x,
                           std::span<double> out) const {
  require_host(context);
  const std::vector<Array3<double>> log_u = propagated_cores(context, num_steps, n);
  const auto column = [&](std::size_t d) -> const Array3<double>& { return log_u[d]; };
  parallel_blocks(context, x.rows, kRows, [&](std::size_t first, std::size_t last) {
    std::vector<double> weights(num_components());
    for (std::size_t b = first; b < last; ++b) {
      add_components(log_beta_, dim(), column, x.row(b), weights.data());
      out[b] = log_sum(weights.data(), weights.size());
    }
  });
}

void ColumnBridge::log_potential(const Context& context, StatesView x,
                                 std::span<double> out) const {
  reference_.check("x", x);
  log_phi(context, 1, 1, x, out);
}

void ColumnBridge::log_normalizer(const Context& context, StatesView x0,
                                  std::span<double> out) const {
  reference_.check("x0", x0);
  log_phi(context, 1, 0, x0, out);
}

void ColumnBridge::sample(const Context& context, StatesView x0, const DrawKey& key,
                          std::uint64_t first_index, MutableStatesView x1) const {
  sample_transition(context, 1, 0, x0, key, first_index, x1);
}

void ColumnBridge::log_conditional(const Context& context, StatesView x0, StatesView x1,
                                   std::span<double> out) const {
  log_transition(context, 1, 0, x0, x1, out);
}

void ColumnBridge::write_log_column_marginals(const Context& context, StatesView x0,
                                              MatrixView<double> out) const {
  reference_.check("x0", x0);
  std::vector<std::size_t> first_of;
  for (std::size_t d = 0; d < dim(); ++d) first_of.push_back(reference_.start(d));
  write_marginals(context, *step(context, 1, 0), x0, first_of, out);
}

void ColumnBridge::write_log_marginals(const Context& context, StatesView x0,
                                       MatrixView<double> out) const {
  reference_.check("x0", x0);
  write_wide_marginals(context, *step(context, 1, 0), x0, out);
}

bool ColumnBridge::has_transitions(int num_steps) const {
  return columns_[0].has_transitions(num_steps);
}

void ColumnBridge::write_log_transition_marginals(const Context& context, int num_steps, int n,
                                                  StatesView x, MatrixView<double> out) const {
  reference_.check("x", x);
  write_wide_marginals(context, *step(context, num_steps, n), x, out);
}

void ColumnBridge::write_wide_marginals(const Context& context, const Step& step, StatesView x,
                                        MatrixView<double> out) const {
  std::vector<std::size_t> first_of;
  for (std::size_t d = 0; d < dim(); ++d) first_of.push_back(d * reference_.most_categories());
  std::fill_n(out.data, out.size(), kLogZero);
  write_marginals(context, step, x, first_of, out);
}

void ColumnBridge::write_marginals(const Context& context, const Step& step, StatesView x,
                                   std::span<const std::size_t> first_of,
                                   MatrixView<double> out) const {
  const std::size_t D = dim(), K = num_components();
  parallel_blocks(context, x.rows, kRows, [&](std::size_t first, std::size_t last) {
    const std::size_t rows = last - first;
    const Context one_thread = context.on_one_thread();
    // before[d] and after[d] [rows,K]: what the columns on either side say of the components. The
    // whole less one column would cancel where that column is far below the others.
    std::vector<Matrix<double>> others(D, Matrix<double>(rows, K));
    Matrix<double> running(rows, K);
    const auto add_column = [&](std::size_t d, bool from_behind) {
      for (std::size_t r = 0; r < rows; ++r) {
        const double* from =
            step.columns[d].log_from.row(0, static_cast<std::size_t>(x(first + r, d)));
        for (std::size_t k = 0; k < K; ++k) {
          others[d](r, k) = from_behind ? others[d](r, k) + running(r, k) : running(r, k);
          running(r, k) += from[k];
        }
      }
    };
    for (std::size_t r = 0; r < rows; ++r) std::copy_n(log_beta_.data(), K, running.row(r));
    for (std::size_t d = 0; d < D; ++d) add_column(d, false);
    std::fill_n(running.data(), running.size(), 0.0);
    for (std::size_t d = D; d-- > 0;) add_column(d, true);
    for (std::size_t d = 0; d < D; ++d) {
      const backend::BridgeStep& column = step.columns[d];
      const std::size_t S = column.num_categories;
      Matrix<double> mixture(rows, S);
      backend::of(one_thread).log_matmul(one_thread, others[d], column.to.log, mixture.view());
      backend::ReferenceRow reference(column);
      for (std::size_t r = 0; r < rows; ++r) {
        reference.look_at(static_cast<std::size_t>(x(first + r, d)));
        double* marginal = out.row(first + r) + first_of[d];
        for (std::size_t s = 0; s < S; ++s) marginal[s] = mixture(r, s) + reference.log()[s];
        log_normalize(marginal, S);
      }
    }
  });
}

void ColumnBridge::sample_transition(const Context& context, int num_steps, int n, StatesView x,
                                     const DrawKey& key, std::uint64_t first_index,
                                     MutableStatesView out) const {
  reference_.check("x", x);
  const std::shared_ptr<const Step> step = this->step(context, num_steps, n);
  const auto column = [&](std::size_t d) -> const Array3<double>& {
    return step->columns[d].log_from;
  };
  parallel_blocks(context, x.rows, kRows, [&](std::size_t first, std::size_t last) {
    std::vector<double> weights(num_components()), component_sums(num_components());
    std::vector<double> sums(reference_.most_categories());
    for (std::size_t b = first; b < last; ++b) {
      DrawSequence draws(key, first_index + b);
      add_components(log_beta_, dim(), column, x.row(b), weights.data());
      cumulate_log(weights.data(), weights.size(), component_sums.data());
      const std::size_t k =
          draw_category(component_sums.data(), component_sums.size(), draws.uniform());
      for (std::size_t d = 0; d < dim(); ++d) {
        out(b, d) = static_cast<std::int32_t>(backend::draw_next_state(
            step->columns[d], static_cast<std::size_t>(x(b, d)), k, draws, sums));
      }
    }
  });
}

void ColumnBridge::log_transition(const Context& context, int num_steps, int n, StatesView from,
                                  StatesView to, std::span<double> out) const {
  reference_.check("from", from);
  reference_.check("to", to);
  if (from.rows != to.rows) {
    throw_invalid("bridge", "both states must have the same rows, got {} and {}", from.rows,
                  to.rows);
  }
  std::vector<double> log_before(from.rows);
  log_phi(context, num_steps, n, from, log_before);
  log_phi(context, num_steps, n + 1, to, out);
  std::vector<backend::ReferencePower> powers;
  for (const CpBridge& column : columns_) {
    powers.push_back(ReferenceChain(column.process(), num_steps).power(context, 1));
  }
  for (std::size_t b = 0; b < from.rows; ++b) {
    out[b] -= log_before[b];
    for (std::size_t d = 0; d < dim(); ++d) out[b] += powers[d].log_entry(from(b, d), to(b, d));
  }
}

}  // namespace bridgemark
