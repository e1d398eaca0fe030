#include "tests/support/dense_oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tests/support/enumerate.h"

namespace bridgemark::testing {

namespace {

constexpr long double kMinusInfinity = -std::numeric_limits<long double>::infinity();

}  // namespace

Wide uniform_step(int num_categories, long double gamma) {
  const auto S = static_cast<std::size_t>(num_categories);
  Wide step(S, S, gamma / (num_categories - 1));
  for (std::size_t s = 0; s < S; ++s) step(s, s) = 1.0L - gamma;
  return step;
}

Wide gaussian_step(int num_categories, long double gamma) {
  const auto S = static_cast<std::size_t>(num_categories);
  const int delta_max = num_categories - 1;
  const auto weight = [&](long double delta) {
    return std::exp(-4.0L * delta * delta / (gamma * gamma * delta_max * delta_max));
  };
  long double normaliser = 0.0L;
  for (int delta = -delta_max; delta <= delta_max; ++delta) normaliser += weight(delta);
  Wide step(S, S);
  for (std::size_t x = 0; x < S; ++x) {
    long double others = 0.0L;
    for (std::size_t y = 0; y < S; ++y) {
      if (x == y) continue;
      step(x, y) = weight(static_cast<long double>(x) - static_cast<long double>(y)) / normaliser;
      others += step(x, y);
    }
    step(x, x) = 1.0L - others;
  }
  return step;
}

Wide widen(const Matrix<double>& probabilities) {
  return {
      probabilities.rows(), probabilities.cols(),
      std::vector<long double>(probabilities.data(), probabilities.data() + probabilities.size())};
}

Wide multiply(const Wide& a, const Wide& b) {
  Wide product(a.rows(), b.cols(), 0.0L);
  for (std::size_t i = 0; i < a.rows(); ++i) {
    for (std::size_t j = 0; j < a.cols(); ++j) {
      for (std::size_t k = 0; k < b.cols(); ++k) product(i, k) += a(i, j) * b(j, k);
    }
  }
  return product;
}

Wide power(const Wide& matrix, int n) {
  Wide result(matrix.rows(), matrix.cols(), 0.0L);
  for (std::size_t s = 0; s < matrix.rows(); ++s) result(s, s) = 1.0L;
  for (int i = 0; i < n; ++i) result = multiply(result, matrix);
  return result;
}

Wide log_of(const Wide& matrix) {
  Wide log = matrix;
  for (std::size_t i = 0; i < log.size(); ++i) log.data()[i] = std::log(log.data()[i]);
  return log;
}

long double log_sum_wide(const std::vector<long double>& values) {
  const long double high =
      values.empty() ? kMinusInfinity : *std::max_element(values.begin(), values.end());
  if (high == kMinusInfinity) return high;
  long double sum = 0.0L;
  for (const long double value : values) sum += std::exp(value - high);
  return high + std::log(sum);
}

Wide log_multiply(const Wide& a, const Wide& b) {
  Wide product(a.rows(), b.cols());
  std::vector<long double> terms(a.cols());
  for (std::size_t i = 0; i < a.rows(); ++i) {
    for (std::size_t k = 0; k < b.cols(); ++k) {
      for (std::size_t j = 0; j < a.cols(); ++j) terms[j] = a(i, j) + b(j, k);
      product(i, k) = log_sum_wide(terms);
    }
  }
  return product;
}

Wide lift(const Wide& matrix, const States& states) {
  const std::size_t M = states.rows();
  Wide joint(M, M, 1.0L);
  for (std::size_t i = 0; i < M; ++i) {
    for (std::size_t j = 0; j < M; ++j) {
      for (std::size_t d = 0; d < states.cols(); ++d) {
        joint(i, j) *=
            matrix(static_cast<std::size_t>(states(i, d)), static_cast<std::size_t>(states(j, d)));
      }
    }
  }
  return joint;
}

DenseOracle::DenseOracle(Wide step, int total_steps, const std::vector<double>& log_beta,
                         const Array3<double>& log_cores)
    : step_(std::move(step)),
      total_steps_(total_steps),
      num_categories_(static_cast<int>(step_.rows())),
      states_(all_states(log_cores.extent(0), num_categories_)),
      potential_(states_.rows(), 0.0L) {
  for (std::size_t i = 0; i < states_.rows(); ++i) {
    for (std::size_t k = 0; k < log_beta.size(); ++k) {
      long double product = std::exp(static_cast<long double>(log_beta[k]));
      for (std::size_t d = 0; d < states_.cols(); ++d) {
        const auto s = static_cast<std::size_t>(states_(i, d));
        product *= std::exp(static_cast<long double>(log_cores(d, s, k)));
      }
      potential_[i] += product;
    }
  }
}

std::vector<long double> DenseOracle::phi(int rest) const {
  const Wide joint = reference(rest);
  std::vector<long double> sums(num_states(), 0.0L);
  for (std::size_t i = 0; i < num_states(); ++i) {
    for (std::size_t j = 0; j < num_states(); ++j) sums[i] += joint(i, j) * potential_[j];
  }
  return sums;
}

Wide DenseOracle::transition(int num_steps, int n) const {
  const int skip = total_steps_ / num_steps;
  const std::vector<long double> after = phi((num_steps - n - 1) * skip);
  Wide law = reference(skip);
  for (std::size_t i = 0; i < num_states(); ++i) {
    long double total = 0.0L;
    for (std::size_t j = 0; j < num_states(); ++j) total += law(i, j) *= after[j];
    for (std::size_t j = 0; j < num_states(); ++j) law(i, j) /= total;
  }
  return law;
}

Array3<long double> DenseOracle::marginals(const Wide& law) const {
  const std::size_t D = states_.cols();
  Array3<long double> out(law.rows(), D, static_cast<std::size_t>(num_categories_), 0.0L);
  for (std::size_t i = 0; i < law.rows(); ++i) {
    for (std::size_t j = 0; j < num_states(); ++j) {
      for (std::size_t d = 0; d < D; ++d) {
        out(i, d, static_cast<std::size_t>(states_(j, d))) += law(i, j);
      }
    }
  }
  return out;
}

}  // namespace bridgemark::testing
