#include "bridgemark/bridge/component_groups.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "bridgemark/math/categorical.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/math/philox.h"

namespace bridgemark {

namespace {

using Features = Eigen::MatrixXf;  // a column each

constexpr std::size_t kDraws = 256;       // of p0, that measure shares
constexpr double kSmallestShare = 1e-12;  // of a component that takes part
constexpr double kLowest = -1e4;          // of a logarithm in features, whose squares are summed
constexpr int kRounds = 10;               // of moving components to the nearest group

// The mean over x0 ~ p0 of beta_k u_k(x0) / c(x0), by draws of the marginals, [K].
std::vector<double> component_shares(const ReverseTables& tables, const Matrix<double>& marginals) {
  const std::size_t D = tables.dim(), S = tables.num_categories(), K = tables.log_beta.size();
  Matrix<double> cumulative(D, S);
  for (std::size_t d = 0; d < D; ++d) {
    std::partial_sum(marginals.row(d), marginals.row(d) + S, cumulative.row(d));
  }
  std::vector<double> shares(K), log_terms(K);
  for (std::size_t i = 0; i < kDraws; ++i) {
    DrawSequence draws({0, DrawPurpose::kEnvelopeMass, 3}, i);
    log_terms = tables.log_beta;
    for (std::size_t d = 0; d < D; ++d) {
      const double* log_u =
          tables.log_from.row(d, draw_category(cumulative.row(d), S, draws.uniform()));
      for (std::size_t k = 0; k < K; ++k) log_terms[k] += log_u[k];
    }
    log_normalize(log_terms.data(), K);
    for (std::size_t k = 0; k < K; ++k) shares[k] += std::exp(log_terms[k]) / kDraws;
  }
  return shares;
}

// Column i describes component[i] on p0: two columns are as far apart as the logarithm of the two
// components' ratio varies, its standard deviation.
Features features(const ReverseTables& tables, const Matrix<double>& marginals,
                  const std::vector<std::size_t>& components) {
  const std::size_t D = tables.dim(), S = tables.num_categories();
  Features result(static_cast<Eigen::Index>(D * S), static_cast<Eigen::Index>(components.size()));
  for (std::size_t i = 0; i < components.size(); ++i) {
    for (std::size_t d = 0; d < D; ++d) {
      double mean = 0.0, total = 0.0;
      const auto log_u = [&](std::size_t s) {
        return std::max(tables.log_from(d, s, components[i]), kLowest);
      };
      for (std::size_t s = 0; s < S; ++s) {
        mean += marginals(d, s) * log_u(s);
        total += marginals(d, s);
      }
      mean /= total;
      for (std::size_t s = 0; s < S; ++s) {
        result(static_cast<Eigen::Index>(d * S + s), static_cast<Eigen::Index>(i)) =
            static_cast<float>(std::sqrt(marginals(d, s)) * (log_u(s) - mean));
      }
    }
  }
  return result;
}

// The group of each column: the largest share first, then the one that costs most where it is, and
// rounds of weighted means.
std::vector<std::size_t> cluster(const Features& columns, const std::vector<double>& shares,
                                 std::size_t groups) {
  const Eigen::Index N = columns.cols();
  const Eigen::VectorXf squares = columns.colwise().squaredNorm();
  Features centres(columns.rows(), static_cast<Eigen::Index>(groups));
  Eigen::VectorXf nearest = Eigen::VectorXf::Constant(N, std::numeric_limits<float>::infinity());
  std::vector<std::size_t> group(shares.size());
  Eigen::Index next = std::max_element(shares.begin(), shares.end()) - shares.begin();
  for (Eigen::Index g = 0; g < centres.cols(); ++g) {
    centres.col(g) = columns.col(next);
    const Eigen::VectorXf distance =
        (columns.colwise() - columns.col(next)).colwise().squaredNorm();
    double worst = -1.0;
    for (Eigen::Index i = 0; i < N; ++i) {
      if (distance[i] < nearest[i]) {
        nearest[i] = distance[i];
        group[static_cast<std::size_t>(i)] = static_cast<std::size_t>(g);
      }
      const double cost = shares[static_cast<std::size_t>(i)] * nearest[i];
      if (cost > worst) {
        worst = cost;
        next = i;
      }
    }
  }
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> weights(groups);
    centres.setZero();
    for (Eigen::Index i = 0; i < N; ++i) {
      const std::size_t g = group[static_cast<std::size_t>(i)];
      const double share = shares[static_cast<std::size_t>(i)];
      weights[g] += share;
      centres.col(static_cast<Eigen::Index>(g)) += static_cast<float>(share) * columns.col(i);
    }
    for (std::size_t g = 0; g < groups; ++g) {
      if (weights[g] > 0.0) {
        centres.col(static_cast<Eigen::Index>(g)) /= static_cast<float>(weights[g]);
      }
    }
    const Eigen::VectorXf centre_squares = centres.colwise().squaredNorm();
    const Eigen::MatrixXf products = centres.transpose() * columns;
    bool moved = false;
    for (Eigen::Index i = 0; i < N; ++i) {
      float best = std::numeric_limits<float>::infinity();
      std::size_t to = group[static_cast<std::size_t>(i)];
      for (Eigen::Index g = 0; g < centres.cols(); ++g) {
        if (weights[static_cast<std::size_t>(g)] == 0.0) continue;
        const float distance = squares[i] + centre_squares[g] - 2.0f * products(g, i);
        if (distance < best) {
          best = distance;
          to = static_cast<std::size_t>(g);
        }
      }
      moved |= to != group[static_cast<std::size_t>(i)];
      group[static_cast<std::size_t>(i)] = to;
    }
    if (!moved) break;
  }
  return group;
}

}  // namespace

ComponentGroups group_components(const ReverseTables& tables, std::size_t most_groups) {
  const std::size_t D = tables.dim(), S = tables.num_categories(), K = tables.log_beta.size();
  if (K <= most_groups) return {tables.log_beta, tables.log_from};
  const Matrix<double> marginals = tables.source_marginals();
  const std::vector<double> all_shares = component_shares(tables, marginals);
  std::vector<std::size_t> components;
  std::vector<double> shares;
  for (std::size_t k = 0; k < K; ++k) {
    if (all_shares[k] < kSmallestShare) continue;
    components.push_back(k);
    shares.push_back(all_shares[k]);
  }
  const std::size_t G = std::min(most_groups, components.size());
  const std::vector<std::size_t> group =
      cluster(features(tables, marginals, components), shares, G);
  std::vector<double> total(G);
  for (std::size_t i = 0; i < group.size(); ++i) total[group[i]] += shares[i];
  std::vector<std::size_t> place(G);  // among the groups that are not empty
  std::size_t filled = 0;
  for (std::size_t g = 0; g < G; ++g) place[g] = total[g] > 0.0 ? filled++ : 0;
  ComponentGroups groups{std::vector<double>(filled), Array3<double>(D, S, filled)};
  for (std::size_t i = 0; i < group.size(); ++i) {
    const std::size_t g = place[group[i]], k = components[i];
    const double weight = shares[i] / total[group[i]];
    groups.log_beta[g] += weight * (tables.log_beta[k] - std::log(weight));
    for (std::size_t d = 0; d < D; ++d) {
      for (std::size_t s = 0; s < S; ++s) {
        groups.log_from(d, s, g) += weight * tables.log_from(d, s, k);
      }
    }
  }
  return groups;
}

}  // namespace bridgemark
