#include "bridgemark/process/reference_process.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/free_memory.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark {

namespace {

// Matrices [S,S] of doubles that are about to be made.
void require_matrices(int num_categories, int count) {
  const double S = num_categories;
  require_memory(8.0 * S * S * count,
                 fmt::format("a reference process on {} categories", num_categories),
                 "the number of categories");
}

void check_parameters(int num_categories, int total_steps) {
  if (num_categories < 2 || num_categories > kMaxCategories) {
    throw_invalid("reference", "num_categories must lie in 2..{}, got {}", kMaxCategories,
                  num_categories);
  }
  if (total_steps < 1 || total_steps > kMaxTotalSteps) {
    throw_invalid("reference", "total_steps must lie in 1..{}, got {}", kMaxTotalSteps,
                  total_steps);
  }
  require_matrices(num_categories, 2);
}

// The n-th power of a uniform process is a^n I + (1 - a^n)/S 11^T, a = 1 - gamma S/(S-1). log1p and
// expm1 keep 1 - a^n exact for tiny gamma, and the diagonal for gamma near 1, where a is negative.
struct UniformPower {
  double identity;      // a^n
  double off_diagonal;  // (1 - a^n) / S
  double diagonal;      // (1 + (S-1) a^n) / S
};

UniformPower uniform_power(int num_categories, double gamma, int n) {
  const double S = num_categories;
  const double shrink = gamma * S / (S - 1.0);
  const double log_abs = shrink < 1.0 ? std::log1p(-shrink) : std::log1p(shrink - 2.0);
  const double log_identity = n * log_abs;
  if (shrink < 1.0 || n % 2 == 0) {
    const double identity = std::exp(log_identity);
    const double off_diagonal = -std::expm1(log_identity) / S;
    return {identity, off_diagonal, n == 1 ? 1.0 - gamma : identity + off_diagonal};
  }
  const double identity = -std::exp(log_identity);
  // Of one step the difference of two numbers near 1 would lose a tiny 1 - gamma; of three and more
  // steps it is not small.
  return {identity, (1.0 - identity) / S,
          n == 1 ? 1.0 - gamma : -std::expm1(std::log(S - 1.0) + log_identity) / S};
}

Matrix<double> log_uniform_power(int num_categories, double gamma, int n) {
  const auto S = static_cast<std::size_t>(num_categories);
  const UniformPower power = uniform_power(num_categories, gamma, n);
  Matrix<double> log(S, S, std::log(power.off_diagonal));
  for (std::size_t s = 0; s < S; ++s) log(s, s) = std::log(power.diagonal);
  return log;
}

Matrix<double> log_gaussian_step(int num_categories, double gamma) {
  const auto S = static_cast<std::size_t>(num_categories);
  const double width = gamma * (num_categories - 1.0);
  const auto log_weight = [&](double delta) { return -4.0 * delta * delta / (width * width); };
  double normaliser = 1.0;
  for (int delta = num_categories - 1; delta >= 1; --delta) {
    normaliser += 2.0 * std::exp(log_weight(delta));
  }
  const double log_normaliser = std::log(normaliser);
  Matrix<double> log(S, S);
  for (std::size_t x = 0; x < S; ++x) {
    double moved = 0.0;
    for (std::size_t y = 0; y < S; ++y) {
      if (y == x) continue;
      log(x, y) = log_weight(static_cast<double>(y) - static_cast<double>(x)) - log_normaliser;
      moved += std::exp(log(x, y));
    }
    log(x, x) = std::log1p(-moved);
  }
  return log;
}

}  // namespace

std::string_view reference_kind_name(ReferenceKind kind) {
  switch (kind) {
    case ReferenceKind::kUniform:
      return "uniform";
    case ReferenceKind::kGaussian:
      return "gaussian";
    case ReferenceKind::kMatrix:
      return "matrix";
  }
  return "";
}

ReferenceProcess::ReferenceProcess(ReferenceKind kind, int num_categories, double gamma,
                                   int total_steps, Matrix<double> log_elementary)
    : kind_(kind),
      num_categories_(num_categories),
      gamma_(gamma),
      total_steps_(total_steps),
      powers_(std::make_shared<Powers>()) {
  powers_->log.emplace(1, std::move(log_elementary));
}

ReferenceProcess ReferenceProcess::uniform(int num_categories, double gamma, int total_steps) {
  check_parameters(num_categories, total_steps);
  if (!(gamma > 0.0 && gamma < 1.0)) {
    throw_invalid("reference", "gamma of a uniform reference must lie in (0, 1), got {}", gamma);
  }
  return {ReferenceKind::kUniform, num_categories, gamma, total_steps,
          log_uniform_power(num_categories, gamma, 1)};
}

ReferenceProcess ReferenceProcess::gaussian(int num_categories, double gamma, int total_steps) {
  check_parameters(num_categories, total_steps);
  if (!(gamma > 0.0 && std::isfinite(gamma))) {
    throw_invalid("reference", "gamma of a gaussian reference must be positive and finite, got {}",
                  gamma);
  }
  return {ReferenceKind::kGaussian, num_categories, gamma, total_steps,
          log_gaussian_step(num_categories, gamma)};
}

ReferenceProcess ReferenceProcess::from_matrix(const Matrix<double>& probabilities,
                                               int total_steps) {
  if (probabilities.rows() != probabilities.cols()) {
    throw_invalid("reference", "matrix must be square, got shape [{}, {}]", probabilities.rows(),
                  probabilities.cols());
  }
  const std::size_t S = probabilities.rows();
  check_parameters(S > kMaxCategories ? kMaxCategories + 1 : static_cast<int>(S), total_steps);
  constexpr double kRowTolerance = 1e-6;
  Matrix<double> log(S, S);
  for (std::size_t x = 0; x < S; ++x) {
    double sum = 0.0;
    for (std::size_t y = 0; y < S; ++y) {
      const double p = probabilities(x, y);
      if (!(p > 0.0 && p <= 1.0)) {
        throw_invalid("reference",
                      "matrix must be strictly positive and at most 1, got {} at [{}, {}]", p, x,
                      y);
      }
      sum += p;
      log(x, y) = std::log(p);
    }
    if (!(std::abs(sum - 1.0) <= kRowTolerance)) {
      throw_invalid("reference", "each row of the matrix must sum to 1, got {} for row {}", sum, x);
    }
    log_normalize(log.row(x), S);
  }
  ReferenceProcess process(ReferenceKind::kMatrix, static_cast<int>(S),
                           std::numeric_limits<double>::quiet_NaN(), total_steps, std::move(log));
  process.powers_->given = probabilities;
  return process;
}

const Matrix<double>* ReferenceProcess::given_matrix() const {
  return powers_->given.size() > 0 ? &powers_->given : nullptr;
}

std::vector<double> ReferenceProcess::log_stationary() const {
  const auto S = static_cast<std::size_t>(num_categories_);
  if (kind_ != ReferenceKind::kMatrix) return std::vector<double>(S, -std::log(num_categories_));
  // By repeated squaring: every row of a high power of a positive matrix is it.
  Matrix<double> power = log_power(Context{}, 1), squared(S, S);
  for (int doubling = 0; doubling < 64; ++doubling) {
    backend::of(Context{}).log_matmul(Context{}, power, power, squared.view());
    for (std::size_t x = 0; x < S; ++x) log_normalize(squared.row(x), S);
    std::swap(power, squared);
    double spread = 0.0;
    for (std::size_t x = 1; x < S; ++x) {
      for (std::size_t y = 0; y < S; ++y) {
        spread = std::max(spread, std::abs(power(0, y) - power(x, y)));
      }
    }
    if (spread < 1e-14) break;
  }
  return {power.row(0), power.row(0) + S};
}

ReferenceProcess ReferenceProcess::time_reversed() const {
  if (kind_ != ReferenceKind::kMatrix) return *this;
  const auto S = static_cast<std::size_t>(num_categories_);
  const Matrix<double>& log = log_power(Context{}, 1);
  const std::vector<double> stationary = log_stationary();
  Matrix<double> reversed(S, S);
  for (std::size_t x = 0; x < S; ++x) {
    for (std::size_t y = 0; y < S; ++y) {
      reversed(x, y) = stationary[y] + log(y, x) - stationary[x];
    }
    log_normalize(reversed.row(x), S);
  }
  return {kind_, num_categories_, gamma_, total_steps_, std::move(reversed)};
}

double ReferenceProcess::expected_movement() const {
  const auto S = static_cast<std::size_t>(num_categories_);
  const Matrix<double>& log = log_power(Context{}, 1);
  double sum = 0.0;
  for (std::size_t x = 0; x < S; ++x) {
    for (std::size_t y = 0; y < S; ++y) {
      sum += std::exp(log(x, y)) * static_cast<double>(x > y ? x - y : y - x);
    }
  }
  return total_steps_ * sum / num_categories_;
}

std::optional<std::string> movement_warning(const ReferenceProcess& process) {
  const double movement = process.expected_movement();
  if (movement >= kLeastMovement) return std::nullopt;
  const std::string which = process.kind() == ReferenceKind::kMatrix
                                ? "a matrix"
                                : fmt::format("gamma {}", process.gamma());
  return fmt::format(
      "[reference] {} at S = {} hardly moves: {:.2g} categories in {} steps (at least {} are "
      "needed), so x1 is x0 and every score is perfect",
      which, process.num_categories(), movement, process.total_steps(), kLeastMovement);
}

std::optional<RankOneMatrix> ReferenceProcess::rank_one_power(int n) const {
  if (kind_ != ReferenceKind::kUniform || n < 1) return std::nullopt;
  const UniformPower power = uniform_power(num_categories_, gamma_, n);
  if (power.identity < 0.0) return std::nullopt;
  return RankOneMatrix{std::log(power.identity), std::log(power.off_diagonal)};
}

void ReferenceProcess::check_power(int n) const {
  if (n < 0 || n > total_steps_) {
    throw_invalid("reference", "power must lie in 0..{}, got {}", total_steps_, n);
  }
}

std::size_t ReferenceProcess::num_kept_powers() const {
  const std::lock_guard lock(powers_->mutex);
  return powers_->log.size();
}

const Matrix<double>* ReferenceProcess::kept_power(int n) const {
  const std::lock_guard lock(powers_->mutex);
  const auto found = powers_->log.find(n);
  return found == powers_->log.end() ? nullptr : &found->second;
}

Matrix<double> ReferenceProcess::log_power_once(const Context& context, int n) const {
  check_power(n);
  const Matrix<double>* const kept = kept_power(n);
  return kept != nullptr ? *kept : make_power(context, n);
}

const Matrix<double>& ReferenceProcess::log_power(const Context& context, int n) const {
  check_power(n);
  if (const Matrix<double>* const kept = kept_power(n)) return *kept;
  // Made without the lock: it may take long, and its context may wait for somebody who waits for
  // the lock. Where two make the same, the first one stays.
  Matrix<double> made = make_power(context, n);
  const std::lock_guard lock(powers_->mutex);
  return powers_->log.emplace(n, std::move(made)).first->second;
}

Matrix<double> ReferenceProcess::make_power(const Context& context, int n) const {
  const auto S = static_cast<std::size_t>(num_categories_);
  require_matrices(num_categories_, 1);
  if (n == 0) {
    Matrix<double> identity(S, S, kLogZero);
    for (std::size_t s = 0; s < S; ++s) identity(s, s) = 0.0;
    return identity;
  }
  if (kind_ == ReferenceKind::kUniform) return log_uniform_power(num_categories_, gamma_, n);
  // The largest power of two below n and the rest: the same product whatever was asked before, and
  // one product for each power where the multiples of a step are asked for in turn.
  int left = 1;
  while (2 * left < n) left *= 2;
  const Matrix<double>& a = log_power(context, left);
  const bool is_power_of_two = 2 * left == n;
  const Matrix<double>* kept = is_power_of_two ? &a : kept_power(n - left);
  const Matrix<double> made = kept != nullptr ? Matrix<double>() : make_power(context, n - left);
  const Matrix<double>& b = kept != nullptr ? *kept : made;
  require_matrices(num_categories_, 3);  // the product and what it is made from, scaled
  Matrix<double> product(S, S);
  backend::of(context).log_matmul(context, a, b, product.view());
  return product;
}

ReferenceChain::ReferenceChain(ReferenceProcess process, int num_steps)
    : process_(std::move(process)), num_steps_(num_steps), skip_(0) {
  const int total = process_.total_steps();
  if (num_steps < 1 || total % num_steps != 0) {
    throw_invalid("reference", "num_steps must be a positive divisor of {}, got {}", total,
                  num_steps);
  }
  skip_ = total / num_steps;
}

const Matrix<double>& ReferenceChain::log_cumulative(const Context& context, int n) const {
  if (n < 0 || n > num_steps_) {
    throw_invalid("reference", "step must lie in 0..{}, got {}", num_steps_, n);
  }
  return process_.log_power(context, elementary_steps(n));
}

}  // namespace bridgemark
