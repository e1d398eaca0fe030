#include "bridgemark/solver/cp/component_shares.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "bridgemark/backend/plan/reference_power.h"
#include "bridgemark/backend/plan/scaled_rows.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/math/hidden_chain.h"
#include "bridgemark/math/hidden_tree.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark {

namespace {

using Tensors = backend::CpTensors<float>;

constexpr double kLeastShare = 1e-9;

// Shares of the components of a CP potential: means of their responsibilities.
void measure_cp(const Context& context, const Tensors& parameters, StatesView x1,
                ComponentShares& components) {
  const std::size_t D = components.D, S = components.S, K = components.K;
  Matrix<double> weights(x1.rows, K);
  parallel_blocks(context, x1.rows, 16, [&](std::size_t first, std::size_t last) {
    for (std::size_t b = first; b < last; ++b) {
      double* row = weights.row(b);
      std::copy_n(parameters.log_beta.data(), K, row);
      for (std::size_t d = 0; d < D; ++d) {
        const auto s = static_cast<std::size_t>(x1.row(b)[d]);
        const float* core = parameters.log_cores.data() + (d * S + s) * K;
        for (std::size_t k = 0; k < K; ++k) row[k] += core[k];
      }
      log_normalize(row, K);
    }
  });
  for (std::size_t k = 0; k < K; ++k) {
    double sum = 0.0;
    for (std::size_t b = 0; b < x1.rows; ++b) sum += std::exp(weights(b, k));
    for (std::size_t d = 0; d < D; ++d) components.share(d, k) = sum;
  }
}

// The tables of a chain of states in float64, as logarithms and on a linear scale.
struct StateTables {
  std::vector<double> log_start, log_moves, log_emission;
  Matrix<double> start, moves, emission;

  StateTables(const Context& context, const Tensors& of)
      : log_start(of.log_beta.begin(), of.log_beta.end()),
        log_moves(of.log_moves.begin(), of.log_moves.end()),
        log_emission(of.log_cores.begin(), of.log_cores.end()),
        start(linear(context, log_start, of.num_components)),
        moves(linear(context, log_moves, of.num_components * of.num_components)),
        emission(linear(context, log_emission, of.num_components)) {}

  HiddenChain chain(const Tensors& of) const {
    return {of.dim,           of.num_categories,   of.num_components,
            log_start.data(), start.data(),        log_moves.data(),
            moves.data(),     log_emission.data(), emission.data()};
  }

  static Matrix<double> linear(const Context& context, const std::vector<double>& log,
                               std::size_t cols) {
    return backend::scale_rows(context, Matrix<double>(log.size() / cols, cols, log)).linear;
  }
};

// Sums over rows of the probabilities of states and moves given the row.
struct ChainShares {
  Matrix<double> share;  // [D,K]
  Array3<double> pairs;  // [D-1,K,K]
};

// Adds those of a row x; before and after are scratch, [D,K] each.
void add_log_shares(const HiddenChain& chain, const std::int32_t* x, Matrix<double>& before,
                    Matrix<double>& after, ChainShares& sums) {
  const std::size_t D = chain.D, K = chain.K;
  log_paths_before(chain, x, before.data());
  log_paths_after(chain, x, after.data());
  const double total =
      log_sum_of_sums(before.data(), 1, chain.log_emission_at(x, 0), after.data(), K);
  for (std::size_t d = 0; d < D; ++d) {
    const double* here = chain.log_emission_at(x, d);
    for (std::size_t k = 0; k < K; ++k) {
      sums.share(d, k) += std::exp(before(d, k) + here[k] + after(d, k) - total);
    }
    if (d + 1 == D) continue;
    const double* next = chain.log_emission_at(x, d + 1);
    const double* move = chain.log_moves + d * K * K;
    for (std::size_t k = 0; k < K; ++k) {
      for (std::size_t l = 0; l < K; ++l) {
        sums.pairs(d, k, l) +=
            std::exp(before(d, k) + here[k] + move[k * K + l] + next[l] + after(d + 1, l) - total);
      }
    }
  }
}

// The same on a linear scale, without an exponential a move. Adds nothing and returns false where
// underflow may have taken a part.
bool add_scaled_shares(const HiddenChain& chain, const std::int32_t* x, Matrix<double>& before,
                       Matrix<double>& after, ChainShares& sums) {
  constexpr double kPrecision = 1e-12;
  const std::size_t D = chain.D, K = chain.K;
  const double lost_after = scaled_paths_after(chain, x, after.data());
  double lost_before = 0.0;
  std::vector<double> divided(D, 1.0);  // before[d,:] was divided by it
  std::copy_n(chain.start, K, before.row(0));
  for (std::size_t d = 1; d < D; ++d) {
    divided[d] = scaled_paths_step(before.row(d - 1), chain.emission_at(x, d - 1),
                                   chain.moves + (d - 1) * K * K, K, before.row(d));
    lost_before = lost_to_underflow(lost_before, divided[d], K);
  }
  const double lost = static_cast<double>(K) * (lost_before + lost_after);
  std::vector<double> totals(D, 0.0);
  for (std::size_t d = 0; d < D; ++d) {
    const double* here = chain.emission_at(x, d);
    for (std::size_t k = 0; k < K; ++k) totals[d] += before(d, k) * here[k] * after(d, k);
    if (!(totals[d] * kPrecision > lost)) return false;
  }
  std::vector<double> to(K);
  for (std::size_t d = 0; d < D; ++d) {
    const double* here = chain.emission_at(x, d);
    for (std::size_t k = 0; k < K; ++k) {
      sums.share(d, k) += before(d, k) * here[k] * after(d, k) / totals[d];
    }
    if (d + 1 == D) continue;
    const double* next = chain.emission_at(x, d + 1);
    const double* move = chain.moves + d * K * K;
    for (std::size_t l = 0; l < K; ++l) to[l] = next[l] * after(d + 1, l);
    for (std::size_t k = 0; k < K; ++k) {
      const double from = before(d, k) * here[k] / (totals[d + 1] * divided[d + 1]);
      for (std::size_t l = 0; l < K; ++l) sums.pairs(d, k, l) += from * move[k * K + l] * to[l];
    }
  }
  return true;
}

// Shares of states and of moves of a chain: means of their probabilities given a row. Threads have
// sums of their own rows, added in the order of the blocks.
void measure_chain(const Context& context, const Tensors& parameters, StatesView x1,
                   ComponentShares& components) {
  const std::size_t D = components.D, K = components.K;
  const StateTables tables(context, parameters);
  const HiddenChain chain = tables.chain(parameters);
  constexpr std::size_t kBlock = 64;
  const std::size_t blocks = (x1.rows + kBlock - 1) / kBlock;
  std::vector<ChainShares> of_block(blocks);
  parallel_blocks(context, x1.rows, kBlock, [&](std::size_t first, std::size_t last) {
    ChainShares sums{{D, K, 0.0}, {D - 1, K, K, 0.0}};
    Matrix<double> before(D, K), after(D, K);
    for (std::size_t b = first; b < last; ++b) {
      if (!add_scaled_shares(chain, x1.row(b), before, after, sums)) {
        add_log_shares(chain, x1.row(b), before, after, sums);
      }
    }
    of_block[first / kBlock] = std::move(sums);
  });
  components.pairs = Array3<double>(D - 1, K, K, 0.0);
  for (const ChainShares& sums : of_block) {
    for (std::size_t j = 0; j < D * K; ++j) components.share.data()[j] += sums.share.data()[j];
    for (std::size_t j = 0; j < components.pairs.size(); ++j) {
      components.pairs.data()[j] += sums.pairs.data()[j];
    }
  }
}

// Shares of the states that a tree has at the node of each coordinate.
void measure_tree(const Context& context, const Tensors& parameters, StatesView x1,
                  ComponentShares& components) {
  const std::size_t D = components.D, S = components.S, K = components.K;
  const std::vector<double> log_root(parameters.log_beta.begin(), parameters.log_beta.end()),
      log_moves(parameters.log_moves.begin(), parameters.log_moves.end()),
      log_emission(parameters.log_cores.begin(), parameters.log_cores.end());
  const TreeShape& shape = *parameters.tree;
  const HiddenTree tree =
      log_hidden_tree(D, S, K, shape.num_nodes(), shape.parent().data(), shape.node_of().data(),
                      log_root.data(), log_moves.data(), log_emission.data());
  Matrix<double> shares(x1.rows, D * K);
  parallel_blocks(context, x1.rows, 16, [&](std::size_t first, std::size_t last) {
    std::vector<double> scratch((3 * tree.M + 1) * K);
    for (std::size_t b = first; b < last; ++b) {
      log_other_states(tree, x1.row(b), shares.row(b), scratch.data());
      for (std::size_t d = 0; d < D; ++d) {
        double* const of_d = shares.row(b) + d * K;
        const double* own = tree.log_emission_at(x1.row(b), d);
        for (std::size_t k = 0; k < K; ++k) of_d[k] += own[k];
        log_normalize(of_d, K);
      }
    }
  });
  for (std::size_t b = 0; b < x1.rows; ++b) {
    for (std::size_t j = 0; j < D * K; ++j) {
      components.share.data()[j] += std::exp(shares(b, j));
    }
  }
}

}  // namespace

Matrix<double> log_reach(const Context& context, const ReferenceProcess& process,
                         const States& x0) {
  const backend::ReferencePower q = process.power(context, process.total_steps());
  const std::size_t D = x0.cols(), S = q.num_categories();
  Matrix<double> counts(D, S, 0.0), reach(D, S);
  for (std::size_t i = 0; i < x0.rows(); ++i) {
    for (std::size_t d = 0; d < D; ++d) counts(d, static_cast<std::size_t>(x0(i, d))) += 1.0;
  }
  std::vector<double> terms(S);
  for (std::size_t d = 0; q.table() == nullptr && d < D; ++d) {
    for (std::size_t s = 0; s < S; ++s) {
      terms[s] = std::log(counts(d, s) / static_cast<double>(x0.rows()));
    }
    q.factors()->log_transport(terms.data(), reach.row(d));
  }
  if (q.table() == nullptr) return reach;
  const Matrix<double>& log_q = *q.table();
  for (std::size_t d = 0; d < D; ++d) {
    for (std::size_t t = 0; t < S; ++t) {
      for (std::size_t s = 0; s < S; ++s) {
        terms[s] = std::log(counts(d, s) / static_cast<double>(x0.rows())) + log_q(s, t);
      }
      reach(d, t) = log_sum(terms.data(), S);
    }
  }
  return reach;
}

ComponentShares measure_components(const Context& context, const Tensors& parameters,
                                   const Matrix<double>& log_reach, StatesView x1,
                                   std::size_t most_rows) {
  const std::size_t D = parameters.dim, S = parameters.num_categories,
                    K = parameters.num_components;
  ComponentShares components{D, S, K, {D, K, S}, {D, K, S}, {D, K, 0.0}, {}};
  for (std::size_t d = 0; d < D; ++d) {
    for (std::size_t k = 0; k < K; ++k) {
      std::vector<double> log_core(S), log_emission(S);
      for (std::size_t s = 0; s < S; ++s) {
        log_core[s] = parameters.log_cores[(d * S + s) * K + k];
        log_emission[s] = log_core[s] + log_reach(d, s);
      }
      const double mass = log_sum(log_emission.data(), S);
      for (std::size_t s = 0; s < S; ++s) {
        components.cores(d, k, s) = std::exp(log_core[s] - mass);
        components.emission(d, k, s) = std::exp(log_emission[s] - mass);
      }
    }
  }
  const StatesView rows = x1.slice(0, std::min(x1.rows, most_rows));
  if (parameters.tree) {
    measure_tree(context, parameters, rows, components);
  } else if (parameters.is_chain) {
    measure_chain(context, parameters, rows, components);
  } else {
    measure_cp(context, parameters, rows, components);
  }
  for (std::size_t i = 0; i < D * K; ++i) {
    double& share = components.share.data()[i];
    share = std::max(share / static_cast<double>(rows.rows), kLeastShare);
  }
  return components;
}

}  // namespace bridgemark
