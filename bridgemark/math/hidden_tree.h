#pragma once

#include <cstddef>
#include <cstdint>

#include "bridgemark/math/categorical.h"
#include "bridgemark/math/hidden_chain.h"
#include "bridgemark/math/host_device.h"
#include "bridgemark/math/log_domain.h"

// A hidden state on every node of a tree over the coordinates of one row x: that of the root falls
// with weight root[z_0], that of node i with weight moves[i-1][z_parent, z_i], and each is weighed
// by emission[d, x^d, z] for every coordinate d that hangs on its node. Sums over all states of all
// nodes are made from the leaves up and from the root down. A path whose nodes have a coordinate
// each is the chain of hidden_chain.h.
namespace bridgemark {

// The tables of a tree, for host or device. Linear ones are exponentials: root scaled to a maximum
// of 1, each matrix of moves as well, and the emissions of each (d, s).
struct HiddenTree {
  std::size_t D, S, K, M;
  const std::int32_t* parent;             // [M]; parents come before their children
  const std::int32_t* node_of;            // [D]
  const double *log_root, *root;          // [K]
  const double *log_moves, *moves;        // [M-1,K,K], row z_parent
  const double *log_emission, *emission;  // [D,S,K]

  BM_HD const double* log_emission_at(const std::int32_t* x, std::size_t d) const {
    return log_emission + (d * S + static_cast<std::size_t>(x[d])) * K;
  }
  BM_HD const double* emission_at(const std::int32_t* x, std::size_t d) const {
    return emission + (d * S + static_cast<std::size_t>(x[d])) * K;
  }
  BM_HD std::size_t node(std::size_t d) const { return static_cast<std::size_t>(node_of[d]); }
  BM_HD std::size_t above(std::size_t i) const { return static_cast<std::size_t>(parent[i]); }
};

// A tree whose tables are logarithms alone: enough for all but scaled_subtrees and draw_states.
BM_HD inline HiddenTree log_hidden_tree(std::size_t D, std::size_t S, std::size_t K, std::size_t M,
                                        const std::int32_t* parent, const std::int32_t* node_of,
                                        const double* log_root, const double* log_moves,
                                        const double* log_emission) {
  return {D,        S,       K,         M,       parent,       node_of,
          log_root, nullptr, log_moves, nullptr, log_emission, nullptr};
}

namespace hidden_tree {

BM_HD inline void add(const double* from, std::size_t K, double* to) {
  for (std::size_t k = 0; k < K; ++k) to[k] += from[k];
}

}  // namespace hidden_tree

// below[i,k] = log of the weight of the subtree of node i with z_i = k, its emissions included.
// up[i,k], where it is not null, is the same seen from z_parent = k; up[0] is left alone.
// spare [K].
BM_HD inline void log_subtrees(const HiddenTree& tree, const std::int32_t* x, double* below,
                               double* up, double* spare) {
  const std::size_t K = tree.K;
  for (std::size_t j = 0; j < tree.M * K; ++j) below[j] = 0.0;
  for (std::size_t d = 0; d < tree.D; ++d) {
    hidden_tree::add(tree.log_emission_at(x, d), K, below + tree.node(d) * K);
  }
  for (std::size_t i = tree.M - 1; i > 0; --i) {
    double* message = up ? up + i * K : spare;
    const double* moves = tree.log_moves + (i - 1) * K * K;
    for (std::size_t k = 0; k < K; ++k) {
      message[k] = log_sum_of_sums(moves + k * K, 1, below + i * K, nullptr, K);
    }
    hidden_tree::add(message, K, below + tree.above(i) * K);
  }
}

// The logarithm of the weight of all states. scratch [M+1,K].
BM_HD inline double log_all_states(const HiddenTree& tree, const std::int32_t* x, double* scratch) {
  log_subtrees(tree, x, scratch, nullptr, scratch + tree.M * tree.K);
  return log_sum_of_sums(tree.log_root, 1, scratch, nullptr, tree.K);
}

// others[d,k] = log of the weight of all states with k at the node of d, the emission at d left
// out. A node's other factors are added from both sides, since the whole less one of them may
// cancel. scratch [3M+1,K].
BM_HD inline void log_other_states(const HiddenTree& tree, const std::int32_t* x, double* others,
                                   double* scratch) {
  const std::size_t K = tree.K, M = tree.M, D = tree.D;
  double *running = scratch, *up = scratch + M * K, *outside = scratch + 2 * M * K,
         *spare = scratch + 3 * M * K;
  log_subtrees(tree, x, running, up, spare);
  const auto clear = [&] {
    for (std::size_t j = 0; j < M * K; ++j) running[j] = 0.0;
  };
  // out = what is running at `node` (added to it on the way back), then that takes the factor in.
  const auto pass = [&](const double* factor, std::size_t node, bool back, double* out) {
    double* sum = running + node * K;
    for (std::size_t k = 0; k < K; ++k) {
      out[k] = back ? out[k] + sum[k] : sum[k];
      sum[k] += factor[k];
    }
  };
  clear();
  for (std::size_t d = 0; d < D; ++d) {
    pass(tree.log_emission_at(x, d), tree.node(d), false, others + d * K);
  }
  for (std::size_t i = 1; i < M; ++i) pass(up + i * K, tree.above(i), false, outside + i * K);
  clear();
  for (std::size_t i = M - 1; i > 0; --i) pass(up + i * K, tree.above(i), true, outside + i * K);
  for (std::size_t d = D; d-- > 0;) {
    pass(tree.log_emission_at(x, d), tree.node(d), true, others + d * K);
  }
  // From here on outside[i,k] is the weight of all that is not below node i, with z_i = k.
  for (std::size_t k = 0; k < K; ++k) outside[k] = tree.log_root[k];
  for (std::size_t i = 1; i < M; ++i) {
    const double* moves = tree.log_moves + (i - 1) * K * K;
    for (std::size_t k = 0; k < K; ++k) {
      spare[k] = log_sum_of_sums(moves + k, K, outside + i * K, outside + tree.above(i) * K, K);
    }
    for (std::size_t k = 0; k < K; ++k) outside[i * K + k] = spare[k];
  }
  for (std::size_t d = 0; d < D; ++d) {
    hidden_tree::add(outside + tree.node(d) * K, K, others + d * K);
  }
}

// Subtrees on a linear scale: below[i,:] up to a factor and at most 1, and lost[i], a bound on what
// underflow may have taken from an entry. Returns the logarithm of all factors, -inf where nothing
// can be said. spare [K].
BM_HD inline double scaled_subtrees(const HiddenTree& tree, const std::int32_t* x, double* below,
                                    double* lost, double* spare) {
  constexpr double kSmall = 1e-60;
  const std::size_t K = tree.K;
  double log_scale = 0.0;
  for (std::size_t j = 0; j < tree.M * K; ++j) below[j] = 1.0;
  for (std::size_t i = 0; i < tree.M; ++i) lost[i] = 0.0;
  // Multiplies a factor of at most 1 into a node; both may have lost something.
  const auto multiply = [&](const double* factor, double lost_of_factor, std::size_t node) {
    double *weights = below + node * K, high = 0.0;
    for (std::size_t k = 0; k < K; ++k) {
      weights[k] *= factor[k];
      if (weights[k] > high) high = weights[k];
    }
    if (!(high > 0.0)) return false;
    const double scale = high < kSmall ? high : 1.0;
    lost[node] = lost_to_underflow(lost[node] + lost_of_factor, scale, 1);
    if (scale == 1.0) return true;
    log_scale += std::log(scale);
    for (std::size_t k = 0; k < K; ++k) weights[k] /= scale;
    return true;
  };
  for (std::size_t d = 0; d < tree.D; ++d) {
    if (!multiply(tree.emission_at(x, d), 0.0, tree.node(d))) return kLogZero;
  }
  for (std::size_t i = tree.M - 1; i > 0; --i) {
    const double *weights = below + i * K, *moves = tree.moves + (i - 1) * K * K;
    double high = 0.0;
    for (std::size_t from = 0; from < K; ++from) {
      double sum = 0.0;
      for (std::size_t to = 0; to < K; ++to) sum += moves[from * K + to] * weights[to];
      spare[from] = sum;
      if (sum > high) high = sum;
    }
    if (!(high > 0.0)) return kLogZero;
    for (std::size_t k = 0; k < K; ++k) spare[k] /= high;
    log_scale += std::log(high);
    if (!multiply(spare, lost_to_underflow(lost[i], high, K), tree.above(i))) return kLogZero;
  }
  return log_scale;
}

inline constexpr double kTreePrecision = 1e-20;  // of a total, that may be lost to underflow

// Draws the states z [M] of all nodes by their weight; uniform(i) is a draw on [0, 1) for z_i.
// scratch [M+2,K] and [M] more.
template <typename Uniform>
BM_HD inline void draw_states(const HiddenTree& tree, const std::int32_t* x, Uniform&& uniform,
                              std::int32_t* z, double* scratch) {
  const std::size_t K = tree.K, M = tree.M;
  double *below = scratch, *sums = scratch + M * K, *spare = sums + K, *lost = spare + K;
  bool sure = scaled_subtrees(tree, x, below, lost, spare) > kLogZero;
  for (std::size_t i = 0; sure && i < M; ++i) {
    const double* weights =
        i == 0 ? tree.root
               : tree.moves + ((i - 1) * K + static_cast<std::size_t>(z[tree.above(i)])) * K;
    double sum = 0.0;
    for (std::size_t k = 0; k < K; ++k) {
      sum += weights[k] * below[i * K + k];
      sums[k] = sum;
    }
    sure = sum * kTreePrecision > static_cast<double>(K) * lost[i] && sum > kLinearFloor;
    if (sure) z[i] = static_cast<std::int32_t>(draw_category(sums, K, uniform(i)));
  }
  if (sure) return;
  log_subtrees(tree, x, below, nullptr, spare);
  for (std::size_t i = 0; i < M; ++i) {
    const double* weights =
        i == 0 ? tree.log_root
               : tree.log_moves + ((i - 1) * K + static_cast<std::size_t>(z[tree.above(i)])) * K;
    for (std::size_t k = 0; k < K; ++k) sums[k] = weights[k] + below[i * K + k];
    cumulate_log(sums, K, sums);
    z[i] = static_cast<std::int32_t>(draw_category(sums, K, uniform(i)));
  }
}

}  // namespace bridgemark
