#include "bridgemark/process/low_rank_step.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/error.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark {

namespace {

constexpr char kArea[] = "reference";
constexpr double kRowTolerance = 1e-6;

void check_factor(const char* name, const Matrix<double>& factor) {
  for (std::size_t s = 0; s < factor.rows(); ++s) {
    for (std::size_t j = 0; j < factor.cols(); ++j) {
      if (!(factor(s, j) >= 0.0 && std::isfinite(factor(s, j)))) {
        throw_invalid(kArea, "{} must be finite and not negative, got {} at [{}, {}]", name,
                      factor(s, j), s, j);
      }
    }
  }
}

// Which entries of a row are positive, as bits; the first row of each pattern.
using Patterns = std::map<std::vector<std::uint64_t>, std::size_t>;

Patterns patterns(const Matrix<double>& factor) {
  Patterns found;
  std::vector<std::uint64_t> bits((factor.cols() + 63) / 64);
  for (std::size_t s = 0; s < factor.rows(); ++s) {
    std::ranges::fill(bits, 0);
    for (std::size_t j = 0; j < factor.cols(); ++j) {
      if (factor(s, j) > 0.0) bits[j / 64] |= std::uint64_t{1} << j % 64;
    }
    found.try_emplace(bits, s);
  }
  return found;
}

// That every category can be reached from every other: rows of one pattern of zeros are alike.
void require_positive_product(const Matrix<double>& u, const Matrix<double>& v) {
  const Patterns of_v = patterns(v);
  for (const auto& [left, x] : patterns(u)) {
    for (const auto& [right, y] : of_v) {
      bool meet = false;
      for (std::size_t i = 0; i < left.size(); ++i) meet = meet || (left[i] & right[i]) != 0;
      if (!meet) {
        throw_invalid(kArea, "U V^T must be strictly positive, got 0 at [{}, {}]", x, y);
      }
    }
  }
}

Matrix<double> transposed(const Matrix<double>& a) {
  Matrix<double> out(a.cols(), a.rows());
  for (std::size_t i = 0; i < a.rows(); ++i) {
    for (std::size_t j = 0; j < a.cols(); ++j) out(j, i) = a(i, j);
  }
  return out;
}

Matrix<double> log_of(const Matrix<double>& a) {
  Matrix<double> out(a.rows(), a.cols());
  std::transform(a.data(), a.data() + a.size(), out.data(), [](double x) { return std::log(x); });
  return out;
}

Matrix<double> log_product(const Context& context, const Matrix<double>& a,
                           const Matrix<double>& b) {
  const Context host = context.on_host();
  Matrix<double> out(a.rows(), b.cols());
  backend::of(host).log_matmul(host, a, b, out.view());
  return out;
}

// The sum of a column of each factor, with 0 for those of the other: sum_{x,y} u[x] v[y] |y - x|.
double summed_distance(const Matrix<double>& u, const Matrix<double>& v, std::size_t j) {
  // From x to x + 1 the weight behind comes nearer to y > x and leaves y <= x by one.
  double distance = 0.0, behind_u = 0.0, behind_v = 0.0, all_u = 0.0, all_v = 0.0;
  for (std::size_t s = 0; s < u.rows(); ++s) {
    all_u += u(s, j);
    all_v += v(s, j);
  }
  for (std::size_t s = 0; s + 1 < u.rows(); ++s) {
    behind_u += u(s, j);
    behind_v += v(s, j);
    distance += behind_u * (all_v - behind_v) + behind_v * (all_u - behind_u);
  }
  return distance;
}

}  // namespace

LowRankStep::LowRankStep(Matrix<double> u, Matrix<double> v, double gamma)
    : u_(std::move(u)), v_(std::move(v)), gamma_(gamma), log_stay_(std::log1p(-gamma)) {
  const std::size_t S = u_.rows(), r = u_.cols();
  if (v_.rows() != S || v_.cols() != r || r < 1) {
    throw_invalid(kArea,
                  "U and V must both have shape [S, r] with r >= 1, got [{}, {}] and [{}, {}]", S,
                  r, v_.rows(), v_.cols());
  }
  if (!(gamma > 0.0 && gamma <= 1.0)) {
    throw_invalid(kArea, "gamma of a reference of low rank must lie in (0, 1], got {}", gamma);
  }
  check_factor("U", u_);
  check_factor("V", v_);
  require_positive_product(u_, v_);
  std::vector<double> all_v(r, 0.0);
  for (std::size_t s = 0; s < S; ++s) {
    for (std::size_t j = 0; j < r; ++j) all_v[j] += v_(s, j);
  }
  log_u_ = log_of(u_);
  for (std::size_t s = 0; s < S; ++s) {
    double sum = 0.0;
    for (std::size_t j = 0; j < r; ++j) sum += u_(s, j) * all_v[j];
    if (!(std::abs(sum - 1.0) <= kRowTolerance)) {
      throw_invalid(kArea, "each row of U V^T must sum to 1, got {} for row {}", sum, s);
    }
    for (std::size_t j = 0; j < r; ++j) log_u_(s, j) -= std::log(sum);
  }
  right_ = std::make_shared<const backend::ScaledRows>(backend::scale_rows(transposed(log_of(v_))));
  log_gram_ = log_product({}, right_->log, log_u_);
}

// W_{m+n} = a^m W_n + a^n W_m + W_m (V^T U) W_n with a = 1 - gamma, and W_1 = gamma I: by the
// largest power of two below n and the rest.
Matrix<double> LowRankStep::log_weights(const Context& context, int n) const {
  const std::size_t r = u_.cols();
  if (n == 1) {
    Matrix<double> log_w(r, r, kLogZero);
    for (std::size_t j = 0; j < r; ++j) log_w(j, j) = std::log(gamma_);
    return log_w;
  }
  int m = 1;
  while (2 * m < n) m *= 2;
  const int rest = n - m;
  const Matrix<double> log_m = log_weights(context, m);
  const Matrix<double> log_rest = rest == m ? log_m : log_weights(context, rest);
  Matrix<double> sum = log_product(context, log_m, log_product(context, log_gram_, log_rest));
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum.data()[i] = log_add(sum.data()[i], log_add(m * log_stay_ + log_rest.data()[i],
                                                   rest * log_stay_ + log_m.data()[i]));
  }
  return sum;
}

backend::FactoredPower LowRankStep::power(const Context& context, int n) const {
  return {n * log_stay_, log_product(context, log_u_, log_weights(context, n)), right_};
}

// pi = V w, where w is left as it is by U^T V: every row of a high power of its transpose is w, as
// all of U^T V is positive but for columns that nothing leads to.
std::vector<double> LowRankStep::log_stationary(const Context& context) const {
  const std::size_t S = u_.rows(), r = u_.cols();
  Matrix<double> power = log_gram_;  // from row to column
  for (int doubling = 0; doubling < 64; ++doubling) {
    Matrix<double> squared = log_product(context, power, power);
    double highest = kLogZero, change = 0.0;
    for (std::size_t i = 0; i < squared.size(); ++i) highest = std::max(highest, squared.data()[i]);
    for (std::size_t i = 0; i < squared.size(); ++i) {
      double& value = squared.data()[i];
      value -= highest;
      if (value != power.data()[i]) change = std::max(change, std::abs(value - power.data()[i]));
    }
    power = std::move(squared);
    if (change < 1e-14) break;
  }
  // A row of the power is in proportion to w' with w' V^T U = w': pi = w' V^T.
  std::size_t best = 0;
  std::vector<double> totals(r);
  for (std::size_t j = 0; j < r; ++j) totals[j] = log_sum(power.row(j), r);
  best = static_cast<std::size_t>(std::ranges::max_element(totals) - totals.begin());
  std::vector<double> stationary(S), terms(r);
  for (std::size_t s = 0; s < S; ++s) {
    for (std::size_t j = 0; j < r; ++j) terms[j] = power(best, j) + right_->log(j, s);
    stationary[s] = log_sum(terms.data(), r);
  }
  log_normalize(stationary.data(), S);
  return stationary;
}

// Q[y, x] pi[y] / pi[x] of U V^T: V takes the place of U, divided by pi, and U that of V.
LowRankStep LowRankStep::time_reversed(const Context& context) const {
  const std::vector<double> stationary = log_stationary(context);
  Matrix<double> u(u_.rows(), u_.cols()), v(u_.rows(), u_.cols());
  for (std::size_t s = 0; s < u_.rows(); ++s) {
    for (std::size_t j = 0; j < u_.cols(); ++j) {
      u(s, j) = std::exp(right_->log(j, s) - stationary[s]);
      v(s, j) = std::exp(log_u_(s, j) + stationary[s]);
    }
  }
  return {std::move(u), std::move(v), gamma_};
}

double LowRankStep::expected_movement() const {
  double sum = 0.0;
  for (std::size_t j = 0; j < u_.cols(); ++j) sum += summed_distance(u_, v_, j);
  return gamma_ * sum / static_cast<double>(u_.rows());
}

}  // namespace bridgemark
