#include "bridgemark/solver/cp/component_merge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/math/hidden_chain.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark {

namespace {

using Tensors = backend::CpTensors<float>;

// Rows that the shares of components are measured on: more would not change who is alike.
constexpr std::size_t kMostRows = 2000;
constexpr double kLeastShare = 1e-9;

// What each component emits at each coordinate, and the share of x1's rows that it explains there.
struct Components {
  std::size_t D, S, K;
  Array3<double> cores;     // [D,K,S], scaled so that each emits probabilities
  Array3<double> emission;  // [D,K,S], core times reach
  Matrix<double> share;     // [D,K]
  Array3<double> pairs;     // [D-1,K,K], shares of a chain's moves; empty for CP
};

// Shares of the components of a CP potential: means of their responsibilities.
void measure_cp(const Context& context, const Tensors& parameters, StatesView x1,
                Components& components) {
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

// Shares of states and of moves of a chain: means of their probabilities given a row. Threads have
// sums of their own rows, added in the order of the blocks.
void measure_chain(const Context& context, const Tensors& parameters, StatesView x1,
                   Components& components) {
  const std::size_t D = components.D, S = components.S, K = components.K;
  const std::vector<double> start(parameters.log_beta.begin(), parameters.log_beta.end());
  const std::vector<double> moves(parameters.log_moves.begin(), parameters.log_moves.end());
  const std::vector<double> emission(parameters.log_cores.begin(), parameters.log_cores.end());
  const HiddenChain chain = log_hidden_chain(D, S, K, start.data(), moves.data(), emission.data());
  constexpr std::size_t kBlock = 64;
  const std::size_t blocks = (x1.rows + kBlock - 1) / kBlock;
  std::vector<Matrix<double>> shares(blocks);
  std::vector<Array3<double>> pairs(blocks);
  parallel_blocks(context, x1.rows, kBlock, [&](std::size_t first, std::size_t last) {
    Matrix<double> share(D, K, 0.0), before(D, K), after(D, K);
    Array3<double> pair(D - 1, K, K, 0.0);
    for (std::size_t b = first; b < last; ++b) {
      const std::int32_t* x = x1.row(b);
      log_paths_before(chain, x, before.data());
      log_paths_after(chain, x, after.data());
      const double total =
          log_sum_of_sums(before.data(), 1, chain.log_emission_at(x, 0), after.data(), K);
      for (std::size_t d = 0; d < D; ++d) {
        const double* here = chain.log_emission_at(x, d);
        for (std::size_t k = 0; k < K; ++k) {
          share(d, k) += std::exp(before(d, k) + here[k] + after(d, k) - total);
        }
        if (d + 1 == D) continue;
        const double* next = chain.log_emission_at(x, d + 1);
        const double* move = chain.log_moves + d * K * K;
        for (std::size_t k = 0; k < K; ++k) {
          for (std::size_t l = 0; l < K; ++l) {
            pair(d, k, l) += std::exp(before(d, k) + here[k] + move[k * K + l] + next[l] +
                                      after(d + 1, l) - total);
          }
        }
      }
    }
    shares[first / kBlock] = std::move(share);
    pairs[first / kBlock] = std::move(pair);
  });
  components.pairs = Array3<double>(D - 1, K, K, 0.0);
  for (std::size_t i = 0; i < blocks; ++i) {
    for (std::size_t j = 0; j < D * K; ++j) components.share.data()[j] += shares[i].data()[j];
    for (std::size_t j = 0; j < components.pairs.size(); ++j) {
      components.pairs.data()[j] += pairs[i].data()[j];
    }
  }
}

Components measure(const Context& context, const Tensors& parameters,
                   const Matrix<double>& log_reach, StatesView x1) {
  const std::size_t D = parameters.dim, S = parameters.num_categories,
                    K = parameters.num_components;
  Components components{D, S, K, {D, K, S}, {D, K, S}, {D, K, 0.0}, {}};
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
  const StatesView rows = x1.slice(0, std::min(x1.rows, kMostRows));
  if (parameters.is_chain) {
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

// Groups of components, found by merging the two whose merger loses least, again and again.
class Grouping {
 public:
  // At coordinates first..last-1 together.
  Grouping(const Components& components, std::size_t first, std::size_t last)
      : S_(components.S),
        K_(components.K),
        coordinates_(last - first),
        group_(K_),
        alive_(K_, true) {
    std::iota(group_.begin(), group_.end(), std::size_t{0});
    share_ = Matrix<double>(coordinates_, K_);
    emission_ = Array3<double>(coordinates_, K_, S_);
    for (std::size_t d = 0; d < coordinates_; ++d) {
      std::copy_n(components.share.row(first + d), K_, share_.row(d));
      std::copy_n(components.emission.row(first + d, 0), K_ * S_, emission_.row(d, 0));
    }
  }

  // The group of each component, counted from 0.
  std::vector<std::size_t> reduce_to(std::size_t count) {
    Matrix<double> loss(K_, K_, std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < K_; ++i) {
      for (std::size_t j = i + 1; j < K_; ++j) loss(i, j) = lost(i, j);
    }
    for (std::size_t left = K_; left > count; --left) {
      const double* least = std::min_element(loss.data(), loss.data() + loss.size());
      const auto at = static_cast<std::size_t>(least - loss.data());
      const std::size_t i = at / K_, j = at % K_;
      merge(i, j);
      for (std::size_t k = 0; k < K_; ++k) {
        loss(std::min(j, k), std::max(j, k)) = std::numeric_limits<double>::infinity();
        if (alive_[k] && k != i) loss(std::min(i, k), std::max(i, k)) = lost(i, k);
      }
    }
    std::vector<std::size_t> number(K_, 0), result(K_);
    for (std::size_t k = 0, next = 0; k < K_; ++k) number[k] = alive_[k] ? next++ : 0;
    for (std::size_t k = 0; k < K_; ++k) result[k] = number[group_[k]];
    return result;
  }

 private:
  static double entropy_term(double p) { return p > 0.0 ? -p * std::log(p) : 0.0; }

  // Shares times the Jensen-Shannon divergence of components i and j.
  double lost(std::size_t i, std::size_t j) const {
    double sum = 0.0;
    for (std::size_t d = 0; d < coordinates_; ++d) {
      const double a = share_(d, i), b = share_(d, j);
      const double *p = emission_.row(d, i), *q = emission_.row(d, j);
      for (std::size_t s = 0; s < S_; ++s) {
        const double mixed = (a * p[s] + b * q[s]) / (a + b);
        sum += (a + b) * entropy_term(mixed) - a * entropy_term(p[s]) - b * entropy_term(q[s]);
      }
    }
    return sum;
  }

  void merge(std::size_t i, std::size_t j) {
    for (std::size_t d = 0; d < coordinates_; ++d) {
      const double a = share_(d, i), b = share_(d, j);
      for (std::size_t s = 0; s < S_; ++s) {
        emission_(d, i, s) = (a * emission_(d, i, s) + b * emission_(d, j, s)) / (a + b);
      }
      share_(d, i) = a + b;
    }
    alive_[j] = false;
    std::ranges::replace(group_, j, i);
  }

  std::size_t S_, K_, coordinates_;
  std::vector<std::size_t> group_;
  std::vector<bool> alive_;
  Matrix<double> share_;     // [coordinates,K]
  Array3<double> emission_;  // [coordinates,K,S]
};

// Moves that a merged chain keeps open for each other than those that were seen.
constexpr double kOpenMoves = 0.02;

// Groups of each coordinate become components: their cores and moves are means, weighed by shares.
Tensors merged_tensors(const Components& from, const std::vector<std::vector<std::size_t>>& groups,
                       std::size_t count, bool chain) {
  const std::size_t D = from.D, S = from.S, K = from.K;
  Tensors to(D, S, count, chain);
  Matrix<double> share(D, count, 0.0);
  Array3<double> cores(D, S, count, 0.0);
  for (std::size_t d = 0; d < D; ++d) {
    for (std::size_t k = 0; k < K; ++k) {
      const std::size_t group = groups[d][k];
      share(d, group) += from.share(d, k);
      for (std::size_t s = 0; s < S; ++s) {
        cores(d, s, group) += from.share(d, k) * from.cores(d, k, s);
      }
    }
  }
  constexpr double kLeastCore = 1e-30;  // which float32 still holds
  for (std::size_t d = 0; d < D; ++d) {
    for (std::size_t s = 0; s < S; ++s) {
      for (std::size_t k = 0; k < count; ++k) {
        to.log_cores[(d * S + s) * count + k] =
            static_cast<float>(std::log(std::max(cores(d, s, k) / share(d, k), kLeastCore)));
      }
    }
  }
  for (std::size_t k = 0; k < count; ++k) {
    to.log_beta[k] = static_cast<float>(std::log(share(0, k)));
  }
  for (std::size_t d = 0; chain && d + 1 < D; ++d) {
    Matrix<double> moves(count, count, 0.0);
    for (std::size_t k = 0; k < K; ++k) {
      for (std::size_t l = 0; l < K; ++l) {
        moves(groups[d][k], groups[d + 1][l]) += from.pairs(d, k, l);
      }
    }
    for (std::size_t k = 0; k < count; ++k) {
      const double sum = std::accumulate(moves.row(k), moves.row(k) + count, 0.0);
      const double open = 1.0 / static_cast<double>(count);
      for (std::size_t l = 0; l < count; ++l) {
        const double seen = sum > 0.0 ? moves(k, l) / sum : open;
        to.log_moves[(d * count + k) * count + l] =
            static_cast<float>(std::log((1.0 - kOpenMoves) * seen + kOpenMoves * open));
      }
    }
  }
  return to;
}

}  // namespace

Tensors merge_components(const Context& context, const Tensors& parameters,
                         const Matrix<double>& log_reach, StatesView x1, std::size_t count) {
  if (count < 1 || count > parameters.num_components) {
    throw_invalid("components", "count must lie in 1..{}, got {}", parameters.num_components,
                  count);
  }
  const Components components = measure(context, parameters, log_reach, x1);
  const std::size_t D = components.D;
  std::vector<std::vector<std::size_t>> groups(D);
  if (parameters.is_chain) {
    parallel_blocks(context, D, 1, [&](std::size_t d, std::size_t) {
      groups[d] = Grouping(components, d, d + 1).reduce_to(count);
    });
  } else {
    groups.assign(D, Grouping(components, 0, D).reduce_to(count));
  }
  return merged_tensors(components, groups, count, parameters.is_chain);
}

}  // namespace bridgemark
