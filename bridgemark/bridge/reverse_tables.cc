#include "bridgemark/bridge/reverse_tables.h"

#include <cmath>
#include <utility>

#include "bridgemark/backend/plan/scaled_rows.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark {

void ReverseTables::set_linear() {
  const std::size_t D = log_from.extent(0), S = log_from.extent(1), K = log_from.extent(2);
  const auto linear = [](const double* log, std::size_t rows, std::size_t cols) {
    return backend::scale_rows(Matrix<double>(rows, cols, {log, log + rows * cols})).linear;
  };
  start = linear(log_beta.data(), 1, K);
  moves = linear(log_moves.data(), D - 1, K * K);
  from = linear(log_from.data(), D * S, K);
}

double ReverseTables::log_into(std::int32_t x1, std::int32_t x0) const {
  const auto end = static_cast<std::size_t>(x1), start_state = static_cast<std::size_t>(x0);
  return log_q_factors ? log_q_factors->log_entry(start_state, end) : log_q_into(end, start_state);
}

const double* ReverseTables::log_into(std::int32_t x1, std::vector<double>& made) const {
  const auto to = static_cast<std::size_t>(x1);
  if (!log_q_factors) return log_q_into.row(to);
  made.resize(log_q_factors->num_categories());
  log_q_factors->log_column(to, made.data());
  return made.data();
}

HiddenChain ReverseTables::chain() const {
  return {log_from.extent(0), log_from.extent(1), log_from.extent(2), log_beta.data(), start.data(),
          log_moves.data(),   moves.data(),       log_from.data(),    from.data()};
}

void ReverseTables::log_others(const std::int32_t* x0, double* others) const {
  const std::size_t D = log_from.extent(0), K = log_from.extent(2);
  if (tree) {
    const HiddenTree states = tree->view();
    std::vector<double> scratch((3 * states.M + 1) * K);
    log_other_states(states, x0, others, scratch.data());
    return;
  }
  if (is_chain()) {
    std::vector<double> scratch(D * K);
    log_other_paths(chain(), x0, others, scratch.data());
    return;
  }
  // From both sides: a sum less one of its terms may cancel.
  for (std::size_t k = 0; k < K; ++k) {
    const auto own = [&](std::size_t d) { return log_from(d, static_cast<std::size_t>(x0[d]), k); };
    double before = log_beta[k], after = 0.0;
    for (std::size_t d = 0; d < D; before += own(d++)) others[d * K + k] = before;
    for (std::size_t d = D; d-- > 0; after += own(d)) others[d * K + k] += after;
  }
}

Matrix<double> ReverseTables::source_marginals() const {
  if (source_chain) return source_chain->marginals();
  Matrix<double> marginals(dim(), num_categories());
  for (std::size_t j = 0; j < num_parts(); ++j) {
    const double share = std::exp(log_parts[j]);
    for (std::size_t i = 0; i < marginals.size(); ++i) {
      marginals.data()[i] += share * std::exp(log_p0[j].data()[i]);
    }
  }
  return marginals;
}

double ReverseTables::log_source(const std::int32_t* x0) const {
  if (source_chain) return source_chain->log_probability(x0);
  std::vector<double> log_terms(log_parts);
  for (std::size_t j = 0; j < num_parts(); ++j) {
    for (std::size_t d = 0; d < dim(); ++d) {
      log_terms[j] += log_p0[j](d, static_cast<std::size_t>(x0[d]));
    }
  }
  return num_parts() == 1 ? log_terms[0] : log_sum(log_terms.data(), num_parts());
}

void ReverseTables::log_source_around(const std::int32_t* x0, Matrix<double>& out) const {
  if (source_chain) {
    source_chain->log_around(x0, out);
    return;
  }
  const std::size_t D = dim(), S = num_categories(), J = num_parts();
  if (J == 1) {
    out = log_p0[0];
    return;
  }
  out = Matrix<double>(D, S);
  // others[d,j]: the part without its coordinate d, from both sides as a difference may cancel.
  Matrix<double> others(D, J);
  for (std::size_t j = 0; j < J; ++j) {
    const auto own = [&](std::size_t d) { return log_p0[j](d, static_cast<std::size_t>(x0[d])); };
    double before = log_parts[j], after = 0.0;
    for (std::size_t d = 0; d < D; before += own(d++)) others(d, j) = before;
    for (std::size_t d = D; d-- > 0; after += own(d)) others(d, j) += after;
  }
  std::vector<double> log_terms(J);
  for (std::size_t d = 0; d < D; ++d) {
    for (std::size_t s = 0; s < S; ++s) {
      for (std::size_t j = 0; j < J; ++j) log_terms[j] = others(d, j) + log_p0[j](d, s);
      out(d, s) = log_sum(log_terms.data(), J);
    }
  }
}

}  // namespace bridgemark
