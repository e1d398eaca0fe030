#include "bridgemark/pair/two_sided.h"

#include <algorithm>
#include <cmath>

#include "bridgemark/math/hidden_chain.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark {

namespace {

constexpr int kMostRounds = 100000;
constexpr int kMostTreeRounds = 1000;
constexpr int kMostRoundsOfNode = 100;
constexpr double kEnough = 1e-9;  // largest error of a share's logarithm

// [J,K]: log of sum over x0, x1 of component j of f, the reference, component k of v, without
// their weights.
Matrix<double> log_meetings(const CpPotential& source, const CpBridge& bridge) {
  const CpPotential seen = bridge.normalizer({});
  const std::size_t J = source.num_components(), K = seen.num_components();
  const std::vector<double> log_totals = product(source, seen).log_component_totals();
  Matrix<double> log_meetings(J, K);
  for (std::size_t j = 0; j < J; ++j) {
    for (std::size_t k = 0; k < K; ++k) {
      log_meetings(j, k) = log_totals[j * K + k] - source.log_beta()[j] - seen.log_beta()[k];
    }
  }
  return log_meetings;
}

double rounded(double value) { return std::round(value * 0x1p20) * 0x1p-20; }

// out[j',k'] = log sum over j, k of from_j[j,j'] from_k[k,k'] exp(in[j,k]), where moves are read
// by columns or, with `towards_root`, by rows. spare [J*K].
void log_both_moves(const double* moves_j, const double* moves_k, std::size_t J, std::size_t K,
                    bool towards_root, const double* in, double* out, double* spare) {
  const auto first = [&](const double* moves, std::size_t n, std::size_t to) {
    return moves + (towards_root ? to * n : to);
  };
  const auto step = [&](std::size_t n) { return towards_root ? std::size_t{1} : n; };
  for (std::size_t j = 0; j < J; ++j) {
    for (std::size_t k = 0; k < K; ++k) {
      spare[j * K + k] = log_sum_of_sums(first(moves_k, K, k), step(K), in + j * K, nullptr, K);
    }
  }
  std::vector<double> column(J);
  for (std::size_t k = 0; k < K; ++k) {
    for (std::size_t j = 0; j < J; ++j) column[j] = spare[j * K + k];
    for (std::size_t j = 0; j < J; ++j) {
      out[j * K + k] = log_sum_of_sums(first(moves_j, J, j), step(J), column.data(), nullptr, J);
    }
  }
}

// Iterative scaling on a tree whose nodes have a state of f and one of v. A round walks down and up
// the whole tree, so that each node is scaled with all that is known of the others.
class TreeScaling {
 public:
  TreeScaling(const TreePotential& source, const TreePotential& seen)
      : source_(source),
        seen_(seen),
        shape_(source.shape()),
        J_(source.num_components()),
        K_(seen.num_components()),
        meetings_(shape_.num_nodes(), J_ * K_),
        up_(shape_.num_nodes(), J_ * K_),
        inside_(shape_.num_nodes(), J_ * K_),
        outside_(shape_.num_nodes(), J_ * K_),
        source_weights_(shape_.num_nodes(), J_),
        target_weights_(shape_.num_nodes(), K_),
        children_(shape_.num_nodes()),
        scratch_(J_ * K_) {
    for (std::size_t i = 1; i < shape_.num_nodes(); ++i) children_[above(i)].push_back(i);
    for (std::size_t d = 0; d < shape_.dim(); ++d) add_meeting(d);
    for (std::size_t i = shape_.num_nodes(); i-- > 0;) {
      add(meetings_.row(i), inside_.row(i));
      send_up(i);
    }
  }

  // Returns the largest change of a weight's logarithm.
  double round() {
    struct Visit {
      std::size_t node, next_child;
    };
    double change = enter(0);
    std::vector<Visit> path{{0, 0}};
    while (!path.empty()) {
      auto& [node, next_child] = path.back();
      if (next_child < children_[node].size()) {
        const std::size_t child = children_[node][next_child++];
        change = std::max(change, enter(child));
        path.push_back({child, 0});
      } else {
        send_up(node);
        path.pop_back();
      }
    }
    return change;
  }

  const Matrix<double>& source_weights() const { return source_weights_; }
  const Matrix<double>& target_weights() const { return target_weights_; }

 private:
  std::size_t above(std::size_t i) const { return static_cast<std::size_t>(shape_.parent()[i]); }

  void add(const double* from, double* to) const {
    for (std::size_t i = 0; i < J_ * K_; ++i) to[i] += from[i];
  }

  void add_meeting(std::size_t d) {
    double* const node = meetings_.row(static_cast<std::size_t>(shape_.node_of()[d]));
    const std::size_t S = source_.log_cores().extent(1);
    std::vector<double> of_source(S);
    for (std::size_t j = 0; j < J_; ++j) {
      for (std::size_t s = 0; s < S; ++s) of_source[s] = source_.log_cores()(d, s, j);
      for (std::size_t k = 0; k < K_; ++k) {
        node[j * K_ + k] +=
            log_sum_of_sums(seen_.log_cores().row(d, 0) + k, K_, of_source.data(), nullptr, S);
      }
    }
  }

  // inside with the node's own weights.
  double weighed(std::size_t i, std::size_t j, std::size_t k) const {
    return inside_(i, j * K_ + k) + source_weights_(i, j) + target_weights_(i, k);
  }

  void send_up(std::size_t i) {
    if (i == 0) return;
    std::vector<double> own(J_ * K_);
    for (std::size_t j = 0; j < J_; ++j) {
      for (std::size_t k = 0; k < K_; ++k) own[j * K_ + k] = weighed(i, j, k);
    }
    double* const parent = inside_.row(above(i));
    for (std::size_t e = 0; e < J_ * K_; ++e) parent[e] -= up_(i, e);
    log_both_moves(source_.log_moves().row(i - 1, 0), seen_.log_moves().row(i - 1, 0), J_, K_, true,
                   own.data(), up_.row(i), scratch_.data());
    add(up_.row(i), parent);
  }

  // Comes down to a node and scales it until that changes nothing more. Returns how much it did.
  double enter(std::size_t i) {
    double* const outside = outside_.row(i);
    if (i == 0) {
      for (std::size_t j = 0; j < J_; ++j) {
        for (std::size_t k = 0; k < K_; ++k) {
          outside[j * K_ + k] = source_.log_root()[j] + seen_.log_root()[k];
        }
      }
    } else {
      const std::size_t parent = above(i);
      std::vector<double> rest(J_ * K_);
      for (std::size_t j = 0; j < J_; ++j) {
        for (std::size_t k = 0; k < K_; ++k) {
          const std::size_t e = j * K_ + k;
          rest[e] = outside_(parent, e) + weighed(parent, j, k) - up_(i, e);
        }
      }
      log_both_moves(source_.log_moves().row(i - 1, 0), seen_.log_moves().row(i - 1, 0), J_, K_,
                     false, rest.data(), outside, scratch_.data());
    }
    const double change = scale(i);
    for (int more = 1; more < kMostRoundsOfNode && scale(i) > kEnough;) ++more;
    return change;
  }

  // One step of scaling at a node with all else fixed. Returns the largest change of a weight of f.
  double scale(std::size_t i) {
    const double *outside = outside_.row(i), *inside = inside_.row(i);
    const double even_source = -std::log(static_cast<double>(J_)),
                 even_target = -std::log(static_cast<double>(K_));
    std::vector<double>& terms = scratch_;
    double change = 0.0;
    for (std::size_t j = 0; j < J_; ++j) {
      for (std::size_t k = 0; k < K_; ++k) {
        terms[k] = outside[j * K_ + k] + inside[j * K_ + k] + target_weights_(i, k);
      }
      const double next = even_source - log_sum(terms.data(), K_);
      change = std::max(change, std::abs(next - source_weights_(i, j)));
      source_weights_(i, j) = next;
    }
    for (std::size_t k = 0; k < K_; ++k) {
      for (std::size_t j = 0; j < J_; ++j) {
        terms[j] = outside[j * K_ + k] + inside[j * K_ + k] + source_weights_(i, j);
      }
      target_weights_(i, k) = even_target - log_sum(terms.data(), J_);
    }
    return change;
  }

  const TreePotential& source_;
  const TreePotential& seen_;
  const TreeShape& shape_;
  std::size_t J_, K_;
  Matrix<double> meetings_;  // [M,J*K]: of the cores on a node
  Matrix<double> up_;        // what a node and all below it weigh, seen from its parent
  Matrix<double> inside_;    // meetings and what comes up from the children
  Matrix<double> outside_;   // what all the rest weighs, seen from the node
  Matrix<double> source_weights_, target_weights_;  // [M,J], [M,K]: logarithms
  std::vector<std::vector<std::size_t>> children_;
  std::vector<double> scratch_;
};

// The tree with log_weights [M,K] in its root and in the moves that lead to each node. A constant
// of a node changes nothing: its largest weight becomes 1.
TreePotential weighed_nodes(const TreePotential& tree, const Matrix<double>& log_weights) {
  const std::size_t K = tree.num_components();
  std::vector<double> log_root = tree.log_root();
  Array3<double> log_moves = tree.log_moves();
  for (std::size_t i = 0; i < log_weights.rows(); ++i) {
    const double* const weights = log_weights.row(i);
    const double high = *std::max_element(weights, weights + K);
    for (std::size_t k = 0; k < K; ++k) {
      const double weight = rounded(weights[k] - high);
      if (i == 0) log_root[k] += weight;
      for (std::size_t from = 0; i > 0 && from < K; ++from) log_moves(i - 1, from, k) += weight;
    }
  }
  return {tree.shape(), std::move(log_root), std::move(log_moves), tree.log_cores()};
}

}  // namespace

BalancedWeights balance_weights(const CpPotential& source, const CpBridge& bridge,
                                const Context& context) {
  const Matrix<double> log_weights = log_meetings(source, bridge);
  const std::size_t J = log_weights.rows(), K = log_weights.cols();
  const double even_source = -std::log(static_cast<double>(J)),
               even_target = -std::log(static_cast<double>(K));
  std::vector<double> log_source(J, even_source), log_target(K, even_target);
  std::vector<double> terms(std::max(J, K));
  for (int round = 0; round < kMostRounds; ++round) {
    double error = 0.0;
    for (std::size_t j = 0; j < J; ++j) {
      context.throw_if_interrupted();
      for (std::size_t k = 0; k < K; ++k) terms[k] = log_target[k] + log_weights(j, k);
      const double next = even_source - log_sum(terms.data(), K);
      error = std::max(error, std::abs(next - log_source[j]));
      log_source[j] = next;
    }
    for (std::size_t k = 0; k < K; ++k) {
      context.throw_if_interrupted();
      for (std::size_t j = 0; j < J; ++j) terms[j] = log_source[j] + log_weights(j, k);
      log_target[k] = even_target - log_sum(terms.data(), J);
    }
    if (error < kEnough) break;
  }
  // A constant may pass from one side to the other: the largest weight of v is 1.
  const double shift = *std::max_element(log_target.begin(), log_target.end());
  for (double& value : log_source) value = rounded(value + shift);
  for (double& value : log_target) value = rounded(value - shift);
  return {std::move(log_source), std::move(log_target)};
}

BalancedTrees balance_trees(const TreePotential& source, const TreeBridge& bridge,
                            const Context& context) {
  const TreePotential seen = bridge.normalizer(context.on_host());
  check_product(source, seen);
  TreeScaling scaling(source, seen);
  for (int round = 0; round < kMostTreeRounds; ++round) {
    context.throw_if_interrupted();
    if (scaling.round() < kEnough) break;
  }
  return {weighed_nodes(source, scaling.source_weights()),
          weighed_nodes(bridge.potential(), scaling.target_weights())};
}

}  // namespace bridgemark
