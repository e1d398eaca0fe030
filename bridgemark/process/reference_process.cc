#include "bridgemark/process/reference_process.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "bridgemark/backend/backend.h"
#include "bridgemark/backend/plan/reference_power.h"
#include "bridgemark/backend/plan/sparse_power.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/free_memory.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/process/elementary_step.h"
#include "bridgemark/process/gamma_proposal.h"
#include "bridgemark/process/low_rank_step.h"
#include "bridgemark/process/power_cache.h"
#include "bridgemark/process/sparse_step.h"

namespace bridgemark {

namespace {

// Matrices [S,S] of doubles that are about to be made.
void require_matrices(int num_categories, int count) {
  const double S = num_categories;
  require_memory(8.0 * S * S * count,
                 fmt::format("a reference process on {} categories", num_categories),
                 "the number of categories");
}

int most_categories(ReferenceKind kind) {
  switch (kind) {
    case ReferenceKind::kUniform:
    case ReferenceKind::kLowRank:
    case ReferenceKind::kAbsorbing:
      return kMaxCategories;
    case ReferenceKind::kGaussian:
    case ReferenceKind::kMatrix:
      return kMaxTableCategories;
    case ReferenceKind::kBirthDeath:
    case ReferenceKind::kGraph:
      return kMaxFactoredTable;
  }
  return 0;
}

void check_parameters(ReferenceKind kind, std::int64_t num_categories, int total_steps) {
  const int most = most_categories(kind);
  if (num_categories < 2 || num_categories > most) {
    throw_invalid("reference", "num_categories of a {} reference must lie in 2..{}, got {}",
                  reference_kind_name(kind), most, num_categories);
  }
  if (total_steps < 1 || total_steps > kMaxTotalSteps) {
    throw_invalid("reference", "total_steps must lie in 1..{}, got {}", kMaxTotalSteps,
                  total_steps);
  }
  const bool is_table = kind == ReferenceKind::kGaussian || kind == ReferenceKind::kMatrix;
  if (is_table) require_matrices(static_cast<int>(num_categories), 2);
}

int largest_power_of_two_below(int n) {
  int power = 1;
  while (2 * power < n) power *= 2;
  return power;
}

}  // namespace

// What was computed so far; copies of a process share it.
struct ReferenceProcess::Kept {
  PowerCache<Matrix<double>> tables;
  PowerCache<backend::FactoredPower> factors;
  PowerCache<backend::SparsePower> sparse;
};

ReferenceProcess::ReferenceProcess(ReferenceKind kind, int num_categories, double gamma,
                                   int total_steps,
                                   std::shared_ptr<const Matrix<double>> log_elementary)
    : kind_(kind),
      num_categories_(num_categories),
      gamma_(gamma),
      total_steps_(total_steps),
      log_elementary_(std::move(log_elementary)),
      kept_(std::make_shared<Kept>()) {}

ReferenceProcess ReferenceProcess::uniform(int num_categories, double gamma, int total_steps) {
  check_parameters(ReferenceKind::kUniform, num_categories, total_steps);
  if (!(gamma > 0.0 && gamma < 1.0)) {
    throw_invalid("reference", "gamma of a uniform reference must lie in (0, 1), got {}", gamma);
  }
  // Beyond that a state is left more often than not for one step, and its identity part is
  // negative.
  if (num_categories > kMaxFactoredTable && gamma > 1.0 - 1.0 / num_categories) {
    throw_invalid("reference",
                  "gamma of a uniform reference with more than {} categories must be at most 1 - "
                  "1/S, got {}",
                  kMaxFactoredTable, gamma);
  }
  return {ReferenceKind::kUniform, num_categories, gamma, total_steps};
}

ReferenceProcess ReferenceProcess::gaussian(int num_categories, double gamma, int total_steps) {
  check_parameters(ReferenceKind::kGaussian, num_categories, total_steps);
  if (!(gamma > 0.0 && std::isfinite(gamma))) {
    throw_invalid("reference", "gamma of a gaussian reference must be positive and finite, got {}",
                  gamma);
  }
  return {ReferenceKind::kGaussian, num_categories, gamma, total_steps,
          std::make_shared<const Matrix<double>>(log_gaussian_step(num_categories, gamma))};
}

ReferenceProcess ReferenceProcess::from_matrix(const Matrix<double>& probabilities,
                                               int total_steps) {
  if (probabilities.rows() != probabilities.cols()) {
    throw_invalid("reference", "matrix must be square, got shape [{}, {}]", probabilities.rows(),
                  probabilities.cols());
  }
  const std::size_t S = probabilities.rows();
  check_parameters(ReferenceKind::kMatrix, static_cast<std::int64_t>(S), total_steps);
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
                           std::numeric_limits<double>::quiet_NaN(), total_steps,
                           std::make_shared<const Matrix<double>>(std::move(log)));
  process.given_ = std::make_shared<const Matrix<double>>(probabilities);
  return process;
}

ReferenceProcess ReferenceProcess::low_rank(Matrix<double> u, Matrix<double> v, double gamma,
                                            int total_steps) {
  check_parameters(ReferenceKind::kLowRank, static_cast<std::int64_t>(u.rows()), total_steps);
  ReferenceProcess process(ReferenceKind::kLowRank, static_cast<int>(u.rows()), gamma, total_steps);
  process.low_rank_ = std::make_shared<const LowRankStep>(std::move(u), std::move(v), gamma);
  return process;
}

ReferenceProcess ReferenceProcess::sparse(ReferenceKind kind, int total_steps, SparseStep step) {
  ReferenceProcess process(kind, step.num_categories(), step.gamma(), total_steps);
  process.sparse_ = std::make_shared<const SparseStep>(std::move(step));
  return process;
}

ReferenceProcess ReferenceProcess::birth_death(int num_categories, double gamma, int total_steps) {
  check_parameters(ReferenceKind::kBirthDeath, num_categories, total_steps);
  return sparse(ReferenceKind::kBirthDeath, total_steps,
                SparseStep::birth_death(num_categories, gamma));
}

ReferenceProcess ReferenceProcess::absorbing(int num_categories, double gamma, int total_steps) {
  check_parameters(ReferenceKind::kAbsorbing, num_categories, total_steps);
  return sparse(ReferenceKind::kAbsorbing, total_steps,
                SparseStep::absorbing(num_categories, gamma));
}

ReferenceProcess ReferenceProcess::graph(GraphWeights weights, double gamma, int total_steps) {
  const std::size_t S = weights.num_categories();
  check_parameters(ReferenceKind::kGraph, static_cast<std::int64_t>(S), total_steps);
  return sparse(ReferenceKind::kGraph, total_steps, SparseStep::graph(std::move(weights), gamma));
}

ReferenceProcess ReferenceProcess::of_gamma(ReferenceKind kind, int num_categories, double gamma,
                                            int total_steps) {
  switch (kind) {
    case ReferenceKind::kUniform:
      return uniform(num_categories, gamma, total_steps);
    case ReferenceKind::kGaussian:
      return gaussian(num_categories, gamma, total_steps);
    case ReferenceKind::kBirthDeath:
      return birth_death(num_categories, gamma, total_steps);
    case ReferenceKind::kAbsorbing:
      return absorbing(num_categories, gamma, total_steps);
    default:
      throw_invalid("reference", "a {} reference has more than a gamma", reference_kind_name(kind));
  }
}

bool ReferenceProcess::is_symmetric() const {
  return kind_ == ReferenceKind::kUniform || kind_ == ReferenceKind::kGaussian ||
         (sparse_ && sparse_->is_symmetric());
}

bool ReferenceProcess::has_reversal() const {
  return is_symmetric() || !sparse_ || !sparse_->unconnected();
}

void ReferenceProcess::require_reversal() const {
  if (has_reversal()) return;
  const auto [from, to] = *sparse_->unconnected();
  throw_invalid("reference",
                "a reference must lead from each category to each other to be seen backwards in "
                "time; the {} one never leads from {} to {}",
                reference_kind_name(kind_), from, to);
}

void ReferenceProcess::require_device(const Context& context) const {
  if (!sparse_ || context.device == Device::kCpu) return;
  throw DeviceError(
      fmt::format("[reference] the device has no reference of kind {}; take --device cpu",
                  reference_kind_name(kind_)));
}

const Matrix<double>* ReferenceProcess::given_matrix() const { return given_.get(); }

bool ReferenceProcess::has_tables() const {
  return log_elementary_ != nullptr || num_categories_ <= kMaxFactoredTable;
}

std::vector<double> ReferenceProcess::log_stationary() const {
  const auto S = static_cast<std::size_t>(num_categories_);
  if (is_symmetric()) return std::vector<double>(S, -std::log(num_categories_));
  require_reversal();
  if (sparse_) return sparse_->log_stationary(Context{});
  if (low_rank_) return low_rank_->log_stationary(Context{});
  // By repeated squaring: every row of a high power of a positive matrix is it.
  Matrix<double> power = log_power_once(Context{}, 1), squared(S, S);
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
  if (is_symmetric()) return *this;
  require_reversal();
  if (sparse_) return sparse(kind_, total_steps_, sparse_->time_reversed(Context{}));
  const auto S = static_cast<std::size_t>(num_categories_);
  if (low_rank_) {
    ReferenceProcess reversed(kind_, num_categories_, gamma_, total_steps_);
    reversed.low_rank_ = std::make_shared<const LowRankStep>(low_rank_->time_reversed(Context{}));
    return reversed;
  }
  const Matrix<double>& log = *log_elementary_;
  const std::vector<double> stationary = log_stationary();
  Matrix<double> reversed(S, S);
  for (std::size_t x = 0; x < S; ++x) {
    for (std::size_t y = 0; y < S; ++y) {
      reversed(x, y) = stationary[y] + log(y, x) - stationary[x];
    }
    log_normalize(reversed.row(x), S);
  }
  return {kind_, num_categories_, gamma_, total_steps_,
          std::make_shared<const Matrix<double>>(std::move(reversed))};
}

double ReferenceProcess::expected_movement() const {
  const auto S = static_cast<std::size_t>(num_categories_);
  if (low_rank_) return total_steps_ * low_rank_->expected_movement();
  if (sparse_) return total_steps_ * sparse_->expected_movement();
  if (kind_ == ReferenceKind::kUniform) {
    return total_steps_ * gamma_ * (static_cast<double>(num_categories_) + 1.0) / 3.0;
  }
  const Matrix<double>& log = *log_elementary_;
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
  const ReferenceKind kind = process.kind();
  const int S = process.num_categories();
  const std::string which =
      kind == ReferenceKind::kMatrix ? "a matrix" : fmt::format("gamma {}", process.gamma());
  std::string warning = fmt::format(
      "[reference] {} at S = {} hardly moves: {:.2g} categories in {} steps (at least {} are "
      "needed), so x1 is x0 and every score is perfect",
      which, S, movement, process.total_steps(), kLeastMovement);
  if (kind == ReferenceKind::kGaussian || kind == ReferenceKind::kUniform) {
    warning += fmt::format("; gamma {} fits so many categories",
                           propose_gamma({}, kind, S, process.total_steps()));
  }
  return warning;
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

std::size_t ReferenceProcess::num_kept_powers() const { return kept_->tables.size(); }

void ReferenceProcess::require_tables() const {
  if (has_tables()) return;
  throw_invalid("reference",
                "num_categories of a {} reference must be at most {} for what needs its whole "
                "matrix, got {}",
                reference_kind_name(kind_), kMaxFactoredTable, num_categories_);
}

Matrix<double> ReferenceProcess::log_power_once(const Context& context, int n) const {
  check_power(n);
  require_device(context);
  require_tables();
  const std::shared_ptr<const Matrix<double>> kept = kept_->tables.find(n);
  return kept ? *kept : make_power(context, n);
}

SharedMatrix ReferenceProcess::log_power(const Context& context, int n) const {
  check_power(n);
  require_device(context);
  require_tables();
  if (auto kept = kept_->tables.find(n)) return SharedMatrix(std::move(kept));
  // Made without a lock: it may take long, and its context may wait for somebody who waits for it.
  // Where two make the same, the first one stays.
  auto made = n == 1 && log_elementary_
                  ? log_elementary_
                  : std::make_shared<const Matrix<double>>(make_power(context, n));
  const std::size_t bytes = made->size() * sizeof(double);
  return SharedMatrix(kept_->tables.keep(n, std::move(made), bytes));
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
  if (low_rank_) return factored_power(context, n)->log_table();
  if (sparse_) return sparse_power(context, n)->log_table();
  return n == 1 ? *log_elementary_ : make_product(context, n);
}

// The largest power of two below n and the rest: the same product whatever was asked before, and
// one product for each power where the multiples of a step are asked for in turn.
Matrix<double> ReferenceProcess::make_product(const Context& context, int n) const {
  const auto S = static_cast<std::size_t>(num_categories_);
  const int left = largest_power_of_two_below(n);
  const SharedMatrix a = log_power(context, left);
  const SharedMatrix b = [&] {
    if (2 * left == n) return a;
    if (auto kept = kept_->tables.find(n - left)) return SharedMatrix(std::move(kept));
    return SharedMatrix(std::make_shared<const Matrix<double>>(make_power(context, n - left)));
  }();
  require_matrices(num_categories_, 3);  // the product and what it is made from, scaled
  Matrix<double> product(S, S);
  backend::of(context).log_matmul(context, a, b, product.view());
  return product;
}

std::shared_ptr<const backend::FactoredPower> ReferenceProcess::factored_power(
    const Context& context, int n) const {
  check_power(n);
  const bool has_factors = kind_ == ReferenceKind::kUniform || kind_ == ReferenceKind::kLowRank ||
                           kind_ == ReferenceKind::kAbsorbing;
  if (n < 1 || !has_factors) return nullptr;
  require_device(context);
  if (auto kept = kept_->factors.find(n)) return kept;
  backend::FactoredPower power;
  if (low_rank_) {
    power = low_rank_->power(context, n);
  } else if (kind_ == ReferenceKind::kAbsorbing) {
    power = absorbing_power(num_categories_, gamma_, n);
  } else {
    const auto rank_one = rank_one_power(n);
    if (!rank_one) return nullptr;
    const auto S = static_cast<std::size_t>(num_categories_);
    power = {rank_one->log_identity, Matrix<double>(S, 1, rank_one->log_uniform),
             std::make_shared<const backend::ScaledRows>(
                 backend::scale_rows(Matrix<double>(1, S, 0.0)))};
  }
  const std::size_t bytes = power.log_left.size() * sizeof(double);
  return kept_->factors.keep(n, std::make_shared<const backend::FactoredPower>(std::move(power)),
                             bytes);
}

std::shared_ptr<const backend::SparsePower> ReferenceProcess::sparse_power(const Context& context,
                                                                           int n) const {
  check_power(n);
  require_device(context);
  if (!sparse_) return nullptr;
  if (n == 1) return sparse_->step();
  if (auto kept = kept_->sparse.find(n)) return kept;
  backend::SparsePower power;
  if (n == 0) {
    power = backend::sparse_identity(static_cast<std::size_t>(num_categories_));
  } else {
    const int left = largest_power_of_two_below(n);
    power =
        backend::multiply(context, *sparse_power(context, left), *sparse_power(context, n - left));
  }
  const std::size_t bytes = power.bytes();
  return kept_->sparse.keep(n, std::make_shared<const backend::SparsePower>(std::move(power)),
                            bytes);
}

backend::ReferencePower ReferenceProcess::power(const Context& context, int n) const {
  if (has_tables()) return backend::ReferencePower(log_power(context, n));
  check_power(n);
  if (n > 0) return backend::ReferencePower(factored_power(context, n));
  // The identity: stays, and leads nowhere.
  const auto S = static_cast<std::size_t>(num_categories_);
  return backend::ReferencePower(std::make_shared<const backend::FactoredPower>(
      backend::FactoredPower{0.0, Matrix<double>(S, 1, kLogZero),
                             std::make_shared<const backend::ScaledRows>(
                                 backend::scale_rows(Matrix<double>(1, S, 0.0)))}));
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

void ReferenceChain::check_step(int n) const {
  if (n < 0 || n > num_steps_) {
    throw_invalid("reference", "step must lie in 0..{}, got {}", num_steps_, n);
  }
}

SharedMatrix ReferenceChain::log_cumulative(const Context& context, int n) const {
  check_step(n);
  return process_.log_power(context, elementary_steps(n));
}

backend::ReferencePower ReferenceChain::power(const Context& context, int n) const {
  check_step(n);
  return process_.power(context, elementary_steps(n));
}

}  // namespace bridgemark
