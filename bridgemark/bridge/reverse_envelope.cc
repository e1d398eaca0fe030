#include "bridgemark/bridge/reverse_envelope.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "bridgemark/math/categorical.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark {

namespace {

using Vector = Eigen::VectorXd;
using Square = Eigen::MatrixXd;

constexpr std::size_t kMostByNewton = 16;  // components
constexpr int kMostSteps = 50;             // of Newton's method
constexpr double kEnough = 1e-6;           // log_mass above its minimum
constexpr int kMostFixedPointSteps = 60;
constexpr double kEnoughOfFixedPoint = 1e-4;  // that such a step must take off log_mass
constexpr int kMostPathSteps = 60;            // of the fixed point over hidden states
constexpr double kEnoughOfPaths = 1e-3;       // that such a step must take off log_mass
constexpr double kNegligible = 1e-30;         // a lambda that is as good as zero
constexpr std::size_t kLookEvery = 4;         // coordinates between two looks at a chain's bound
constexpr double kRounding = 1e-9;            // of a bound

std::size_t node_at(std::int32_t node) { return static_cast<std::size_t>(node); }

// log_mass as a function of lambda.
class LogMass {
 public:
  LogMass(const ComponentGroups& groups, const Matrix<double>& log_start, TiltedChain* tilted)
      : groups_(groups),
        log_start_(log_start),
        tilted_(tilted),
        D_(log_start.rows()),
        S_(log_start.cols()),
        probabilities_(D_, S_) {}

  std::size_t size() const { return groups_.log_beta.size(); }

  // Keeps the proposal's probabilities for the derivatives.
  double value(const Vector& lambda, const Vector& log_lambda) {
    double total = 0.0;
    for (std::size_t d = 0; d < D_; ++d) {
      double* row = probabilities_.row(d);
      for (std::size_t s = 0; s < S_; ++s) {
        const double* log_u = groups_.log_from.row(d, s);
        row[s] = log_start_(d, s);
        for (std::size_t i = 0; i < size(); ++i) {
          row[s] -= lambda[static_cast<Eigen::Index>(i)] * log_u[i];
        }
      }
      if (tilted_ != nullptr) continue;
      const double high = *std::max_element(row, row + S_);
      double sum = 0.0;
      for (std::size_t s = 0; s < S_; ++s) sum += row[s] = std::exp(row[s] - high);
      for (std::size_t s = 0; s < S_; ++s) row[s] /= sum;
      total += high + std::log(sum);
    }
    if (tilted_ != nullptr) {
      total = tilted_->set(probabilities_);
      tilted_->marginals(probabilities_);
    }
    for (std::size_t i = 0; i < size(); ++i) {
      const auto k = static_cast<Eigen::Index>(i);
      if (lambda[k] > 0.0) {
        total += lambda[k] * (log_lambda[k] - groups_.log_beta[i]);
      }
    }
    return total;
  }

  // E[i] = the mean of sum_d log u_i^d under the last value's proposal.
  Vector means() const {
    Vector mean = Vector::Zero(static_cast<Eigen::Index>(size()));
    for (std::size_t d = 0; d < D_; ++d) mean += coordinate_mean(d);
    return mean;
  }

  // The covariance of the same sums, of a proposal with independent coordinates.
  Square covariance() const {
    const auto M = static_cast<Eigen::Index>(size());
    Square covariance = Square::Zero(M, M);
    Vector centred(M);
    for (std::size_t d = 0; d < D_; ++d) {
      const Vector mean = coordinate_mean(d);
      for (std::size_t s = 0; s < S_; ++s) {
        const double p = probabilities_(d, s);
        if (p == 0.0) continue;
        const double* log_u = groups_.log_from.row(d, s);
        for (Eigen::Index i = 0; i < M; ++i) {
          centred[i] = log_u[i] - mean[i];
        }
        for (Eigen::Index j = 0; j < M; ++j) {
          const double weighted = p * centred[j];
          for (Eigen::Index i = j; i < M; ++i) covariance(i, j) += weighted * centred[i];
        }
      }
    }
    return covariance.selfadjointView<Eigen::Lower>();
  }

  // log(beta_i) + E[i]: where the logarithm of the best lambda lies, up to a constant.
  Vector log_target() const {
    Vector target = means();
    for (std::size_t i = 0; i < size(); ++i) {
      target[static_cast<Eigen::Index>(i)] += groups_.log_beta[i];
    }
    return target;
  }

 private:
  Vector coordinate_mean(std::size_t d) const {
    Vector mean = Vector::Zero(static_cast<Eigen::Index>(size()));
    for (std::size_t s = 0; s < S_; ++s) {
      const double p = probabilities_(d, s);
      const double* log_u = groups_.log_from.row(d, s);
      for (std::size_t i = 0; i < size(); ++i) {
        mean[static_cast<Eigen::Index>(i)] += p * log_u[i];
      }
    }
    return mean;
  }

  const ComponentGroups& groups_;
  const Matrix<double>& log_start_;
  TiltedChain* tilted_;  // where p0 is a chain
  std::size_t D_, S_;
  Matrix<double> probabilities_;  // [D,S]: P_d(s) of the last value
};

void normalise(Vector& log_lambda, Vector& lambda) {
  log_normalize(log_lambda.data(), static_cast<std::size_t>(log_lambda.size()));
  lambda = log_lambda.unaryExpr([](double value) { return std::exp(value); });  // 0 for log 0
}

// Halfway between even weights and those that the proposal without any envelope suggests.
Vector first_log_lambda(LogMass& log_mass) {
  const auto M = static_cast<Eigen::Index>(log_mass.size());
  const Vector zero = Vector::Zero(M);
  log_mass.value(zero, zero);
  Vector log_lambda = log_mass.log_target(), lambda;
  normalise(log_lambda, lambda);
  return (0.5 * lambda.array() + 0.5 / static_cast<double>(M)).log();
}

// Newton's steps on the simplex. A step moves log lambda instead of lambda, which is the same to
// first order, keeps lambda positive, and reaches a lambda that is nearly zero at once.
void minimise(LogMass& log_mass, Vector& log_lambda) {
  Vector lambda;
  normalise(log_lambda, lambda);
  double value = log_mass.value(lambda, log_lambda);
  for (int step = 0; step < kMostSteps; ++step) {
    const Vector gradient = log_lambda - log_mass.log_target();  // up to a constant
    const Square covariance = log_mass.covariance();
    const Vector root = lambda.array().sqrt();
    // (I + root covariance root) y = -root (gradient + nu), with nu such that root . y = 0.
    Square system = root.asDiagonal() * covariance * root.asDiagonal();
    system.diagonal().array() += 1.0;
    const Eigen::LLT<Square> factor(system);
    const Vector free = factor.solve(Vector(-root.array() * gradient.array()));
    const Vector shift = factor.solve(root);
    const double nu = root.dot(free) / root.dot(shift);
    const Vector move = root.array() * (free - nu * shift).array();  // of lambda
    const double decrease = -gradient.dot(move);
    if (!(decrease > 2.0 * kEnough)) break;
    const Vector log_move = -gradient - covariance * move - Vector::Constant(move.size(), nu);
    double length = 1.0;
    Vector next_log, next;
    double next_value = value;
    for (int halving = 0; halving < 40; ++halving, length *= 0.5) {
      next_log = log_lambda + length * log_move;
      normalise(next_log, next);
      next_value = log_mass.value(next, next_log);
      if (next_value <= value - 1e-4 * length * decrease) break;
    }
    if (!(next_value < value)) break;
    log_lambda = next_log;
    lambda = next;
    value = next_value;
  }
}

// With many components Newton's method costs more than it brings. Steps of the fixed point
// log lambda = log beta + E[log u], up to a constant, go part of the way, as far as they gain.
void approach(LogMass& log_mass, Vector& log_lambda) {
  Vector lambda;
  normalise(log_lambda, lambda);
  double value = log_mass.value(lambda, log_lambda), length = 0.3;
  Vector target = log_mass.log_target();
  for (int step = 0; step < kMostFixedPointSteps && length > 1e-4; ++step) {
    Vector next_log = (1.0 - length) * log_lambda + length * target, next;
    normalise(next_log, next);
    const double gained = value - log_mass.value(next, next_log);
    if (gained > 0.0) {
      log_lambda = next_log;
      value -= gained;
      target = log_mass.log_target();
      if (gained < kEnoughOfFixedPoint) break;
      length = std::min(1.0, 1.5 * length);
    } else {
      length *= 0.4;
    }
  }
}

// log sum_k beta_k u_k(x0), scratch [K].
double log_components(const std::vector<double>& log_beta, const Array3<double>& log_from,
                      const std::int32_t* x0, double* scratch) {
  const std::size_t K = log_beta.size();
  std::copy_n(log_beta.data(), K, scratch);
  for (std::size_t d = 0; d < log_from.extent(0); ++d) {
    const double* log_u = log_from.row(d, static_cast<std::size_t>(x0[d]));
    for (std::size_t k = 0; k < K; ++k) scratch[k] += log_u[k];
  }
  return log_sum(scratch, K);
}

}  // namespace

ReverseEnvelope::ReverseEnvelope(const ReverseTables& tables, std::size_t part,
                                 const std::int32_t* x1)
    : gain_(tables.dim(), tables.num_categories()),
      cumulative_(tables.dim(), tables.num_categories()) {
  Matrix<double> log_start(tables.dim(), tables.num_categories());
  if (tables.source_chain) {
    tilted_ = TiltedChain(tables.source_chain);
  } else {
    log_start = tables.log_p0[part];
  }
  std::vector<double> made;
  for (std::size_t d = 0; d < log_start.rows(); ++d) {
    const double* into = tables.log_into(x1[d], made);
    for (std::size_t s = 0; s < log_start.cols(); ++s) log_start(d, s) += into[s];
  }
  if (tables.is_chain() || tables.tree) {
    fit_hidden_states(tables, log_start);
  } else {
    fit_components(tables, log_start);
  }
}

void ReverseEnvelope::fit_components(const ReverseTables& tables, const Matrix<double>& log_start) {
  const ComponentGroups& groups = tables.groups;
  const bool is_tilted = tables.source_chain != nullptr;
  LogMass log_mass(groups, log_start, is_tilted ? &tilted_ : nullptr);
  Vector log_lambda = first_log_lambda(log_mass), lambda;
  if (log_mass.size() <= kMostByNewton && !is_tilted) {
    minimise(log_mass, log_lambda);
  } else {
    approach(log_mass, log_lambda);
  }
  // Any lambda will do, so what is negligible may go.
  for (double& value : log_lambda) {
    if (value < std::log(kNegligible)) value = kLogZero;
  }
  normalise(log_lambda, lambda);
  Matrix<double> everywhere(gain_.rows(), groups.log_beta.size());
  for (std::size_t i = 0; i < log_mass.size(); ++i) {
    const auto from = static_cast<Eigen::Index>(i);
    if (lambda[from] > 0.0) log_bound_ -= lambda[from] * (log_lambda[from] - groups.log_beta[i]);
    for (std::size_t d = 0; d < gain_.rows(); ++d) everywhere(d, i) = lambda[from];
  }
  set_product(groups.log_from, log_start, everywhere, is_tilted);
}

// Steps of a fixed point: where lambda is best, it is the law of the hidden states when k at a node
// emits exp of the sum of E[log u_k^d] over its coordinates d, under the proposal. A step goes part
// of the way there, as far as it makes the envelope smaller. A chain has a node a coordinate.
void ReverseEnvelope::fit_hidden_states(const ReverseTables& tables,
                                        const Matrix<double>& log_start) {
  const std::size_t D = gain_.rows(), S = gain_.cols(), K = tables.log_beta.size();
  const bool is_tilted = tables.source_chain != nullptr;
  const std::size_t nodes = tables.tree ? tables.tree->num_nodes() : D;
  std::vector<std::int32_t> own(nodes);  // the node of a coordinate of its own
  std::iota(own.begin(), own.end(), 0);
  const std::int32_t* const node_of = tables.tree ? tables.shape->node_of().data() : own.data();
  const std::vector<std::int32_t> zeros(nodes);
  std::vector<double> scratch((3 * nodes + 1) * K);
  Matrix<double> emission(nodes, K), law(nodes, K), lambda(D, K), target(nodes, K), best_emission,
      best_target;
  const HiddenChain paths =
      log_hidden_chain(D, 1, K, tables.log_beta.data(), tables.log_moves.data(), emission.data());
  const auto set_others = [&] {
    if (!tables.tree) return log_other_paths(paths, zeros.data(), law.data(), scratch.data());
    const HiddenTree states =
        log_hidden_tree(nodes, 1, K, nodes, tables.shape->parent().data(), own.data(),
                        tables.log_beta.data(), tables.log_moves.data(), emission.data());
    log_other_states(states, zeros.data(), law.data(), scratch.data());
  };
  const auto set_lambda = [&] {
    set_others();
    double log_total = 0.0, mean = 0.0;
    for (std::size_t i = 0; i < nodes; ++i) {
      double* row = law.row(i);
      for (std::size_t k = 0; k < K; ++k) row[k] += emission(i, k);
      log_total = log_sum(row, K);
      for (std::size_t k = 0; k < K; ++k) {
        row[k] = std::exp(row[k] - log_total);
        if (row[k] > 0.0) mean += row[k] * emission(i, k);
      }
    }
    for (std::size_t d = 0; d < D; ++d) std::copy_n(law.row(node_at(node_of[d])), K, lambda.row(d));
    log_bound_ = log_total - mean;
  };
  const auto set_target = [&] {
    std::fill_n(target.data(), target.size(), 0.0);
    for (std::size_t d = 0; d < D; ++d) {
      const double* sums = cumulative_.row(d);
      double* const row = target.row(node_at(node_of[d]));
      for (std::size_t s = 0; s < S; ++s) {
        const double share = (sums[s] - (s > 0 ? sums[s - 1] : 0.0)) / sums[S - 1];
        if (share == 0.0) continue;
        for (std::size_t k = 0; k < K; ++k) row[k] += share * tables.log_from(d, s, k);
      }
    }
  };
  set_product(tables.log_from, log_start, lambda, is_tilted);  // of none
  set_target();
  best_emission = emission;
  best_target = target;
  double best = std::numeric_limits<double>::infinity(), length = 0.25;
  for (int step = 0; step < kMostPathSteps; ++step) {
    for (std::size_t i = 0; i < emission.size(); ++i) {
      const double from = best_emission.data()[i], to = best_target.data()[i];
      emission.data()[i] = to == kLogZero ? kLogZero : from + length * (to - from);
    }
    set_lambda();
    set_product(tables.log_from, log_start, lambda, is_tilted);
    const double gained = best - log_mass_;
    if (gained > 0.0) {
      set_target();
      best = log_mass_;
      best_emission = emission;
      best_target = target;
      if (gained < kEnoughOfPaths) break;
      length = std::min(1.0, 1.5 * length);
    } else {
      length *= 0.4;
      if (length < 1e-4) break;
    }
  }
  std::copy_n(best_emission.data(), emission.size(), emission.data());
  set_lambda();
  set_product(tables.log_from, log_start, lambda, is_tilted);
  if (!tables.tree) bound_ = PathBound(tables.chain(), paths, lambda, gain_);
}

void ReverseEnvelope::set_product(const Array3<double>& log_from, const Matrix<double>& log_start,
                                  const Matrix<double>& lambda, bool is_tilted) {
  const std::size_t S = gain_.cols(), K = lambda.cols();
  Matrix<double> log_weights(gain_.rows(), S);
  log_mass_ = -log_bound_;
  for (std::size_t d = 0; d < gain_.rows(); ++d) {
    double* weights = log_weights.row(d);
    for (std::size_t s = 0; s < S; ++s) {
      double gain = 0.0;
      for (std::size_t k = 0; k < K; ++k) {
        if (lambda(d, k) > 0.0) gain += lambda(d, k) * log_from(d, s, k);
      }
      gain_(d, s) = gain;
      weights[s] = log_start(d, s) - gain;
    }
    if (is_tilted) continue;
    cumulate_log(weights, S, cumulative_.row(d));
    log_mass_ += *std::max_element(weights, weights + S) + std::log(cumulative_(d, S - 1));
  }
  if (!is_tilted) return;
  log_mass_ += tilted_.set(log_weights);
  tilted_.marginals(cumulative_);
  for (std::size_t d = 0; d < gain_.rows(); ++d) {
    std::partial_sum(cumulative_.row(d), cumulative_.row(d) + S, cumulative_.row(d));
  }
}

std::size_t ReverseEnvelope::scratch_size(const ReverseTables& tables) {
  const std::size_t D = tables.dim();
  return tables.sum_scratch_size() +
         (tables.source_chain ? (D + 1) * tables.source_chain->num_states() + D : 0);
}

double ReverseEnvelope::propose(const ReverseTables& tables, DrawSequence& draws, std::int32_t* x0,
                                double* scratch) const {
  double log_keep = 0.0;
  keeps(tables, draws, kLogZero, x0, scratch, log_keep);
  return log_keep;
}

bool ReverseEnvelope::keeps(const ReverseTables& tables, DrawSequence& draws, double log_uniform,
                            std::int32_t* x0, double* scratch, double& log_keep) const {
  const std::size_t D = cumulative_.rows(), K = tables.log_beta.size(), S = cumulative_.cols();
  const bool is_tilted = tables.source_chain != nullptr;
  // The path lies in x0 until the coordinates take its place.
  if (is_tilted) tilted_.draw_path(draws, x0, scratch + tables.sum_scratch_size());
  const auto draw = [&](std::size_t d) {
    const std::size_t s = is_tilted ? tilted_.draw(d, x0[d], draws.uniform())
                                    : draw_category(cumulative_.row(d), S, draws.uniform());
    x0[d] = static_cast<std::int32_t>(s);
    return s;
  };
  if (tables.tree) {
    double log_product = log_bound_;
    for (std::size_t d = 0; d < D; ++d) log_product += gain_(d, draw(d));
    log_keep = log_product - tables.tree->log_all(x0, scratch);
  } else if (tables.is_chain()) {
    const HiddenChain chain = tables.chain();
    double *weights = scratch, *spare = scratch + K;
    PathBound::Beginning beginning;
    bound_.start(chain, weights);
    for (std::size_t d = 0; d < D; ++d) {
      bound_.add(chain, d, draw(d), weights, spare, beginning);
      if (log_uniform == kLogZero || d % kLookEvery != kLookEvery - 1 || d + 1 == D) continue;
      log_keep = bound_.log_bound(d + 1, weights, beginning);
      if (log_keep < log_uniform - kRounding) return false;
    }
    log_keep = bound_.log_keep(beginning);
    if (!PathBound::is_exact(beginning)) {
      log_keep = log_bound_ - log_all_paths(chain, x0, scratch);
      for (std::size_t d = 0; d < D; ++d) log_keep += gain_(d, static_cast<std::size_t>(x0[d]));
    }
  } else {
    double log_product = log_bound_;
    for (std::size_t d = 0; d < D; ++d) log_product += gain_(d, draw(d));
    // The groups alone tell most proposals that are not kept.
    if (tables.groups.log_beta.size() < K) {
      log_keep =
          log_product - log_components(tables.groups.log_beta, tables.groups.log_from, x0, scratch);
      if (log_keep < log_uniform - kRounding) return false;
    }
    log_keep = log_product - log_components(tables.log_beta, tables.log_from, x0, scratch);
  }
  log_keep = std::min(log_keep, 0.0);  // rounding alone lifts it above
  return log_uniform < log_keep;
}

PartEnvelopes::PartEnvelopes(const ReverseTables& tables, const std::int32_t* x1) {
  const std::size_t J = tables.num_parts();
  std::vector<double> log_shares(tables.log_parts);
  parts_.reserve(J);
  for (std::size_t j = 0; j < J; ++j) {
    parts_.emplace_back(tables, j, x1);
    log_shares[j] += parts_[j].log_mass();
  }
  cumulative_.resize(J);
  cumulate_log(log_shares.data(), J, cumulative_.data());
  log_mass_ =
      *std::max_element(log_shares.begin(), log_shares.end()) + std::log(cumulative_.back());
}

const ReverseEnvelope& PartEnvelopes::draw(DrawSequence& draws) const {
  if (parts_.size() == 1) return parts_.front();
  return parts_[draw_category(cumulative_.data(), parts_.size(), draws.uniform())];
}

}  // namespace bridgemark
