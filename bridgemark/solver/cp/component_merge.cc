#include "bridgemark/solver/cp/component_merge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/solver/cp/component_shares.h"

namespace bridgemark {

namespace {

using Tensors = backend::CpTensors<float>;

// Rows that the shares of components are measured on: more would not change who is alike.
constexpr std::size_t kMostRows = 2000;

// Groups of components, found by merging the two whose merger loses least, again and again.
class Grouping {
 public:
  // At coordinates first..last-1 together.
  Grouping(const ComponentShares& components, std::size_t first, std::size_t last)
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
Tensors merged_tensors(const ComponentShares& from,
                       const std::vector<std::vector<std::size_t>>& groups, std::size_t count,
                       bool chain) {
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
  const ComponentShares components =
      measure_components(context, parameters, log_reach, x1, kMostRows);
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
