#include "bridgemark/solver/table/column_loss.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark {

namespace {

// shares[b,k] of the components in the sum of a row, with the stacked tables log_u; returns the
// sum over rows of the logarithms of their sums.
double component_shares(const Context& context, const ColumnReference& reference,
                        const std::vector<double>& log_beta, const Matrix<double>& log_u,
                        StatesView x, Matrix<double>& shares) {
  const std::size_t K = log_beta.size();
  std::vector<double> log_sums(x.rows);
  parallel_blocks(context, x.rows, 64, [&](std::size_t first, std::size_t last) {
    for (std::size_t b = first; b < last; ++b) {
      double* row = shares.row(b);
      std::copy_n(log_beta.data(), K, row);
      for (std::size_t d = 0; d < x.cols; ++d) {
        const double* u = log_u.row(reference.start(d) + static_cast<std::size_t>(x(b, d)));
        for (std::size_t k = 0; k < K; ++k) row[k] += u[k];
      }
      log_sums[b] = log_sum(row, K);
      for (std::size_t k = 0; k < K; ++k) row[k] = std::exp(row[k] - log_sums[b]);
    }
  });
  double sum = 0.0;
  for (const double log : log_sums) sum += log;
  return sum;
}

Matrix<double> transpose(const Matrix<double>& matrix) {
  Matrix<double> out(matrix.cols(), matrix.rows());
  for (std::size_t i = 0; i < matrix.rows(); ++i) {
    for (std::size_t j = 0; j < matrix.cols(); ++j) out(j, i) = matrix(i, j);
  }
  return out;
}

}  // namespace

void ColumnLoss::propagate(const Context& context, std::size_t d, bool transposed,
                           const Array3<double>& log_cores, Array3<double>& out) {
  const ReferenceProcess& process = reference_.column(d);
  if (const auto rank_one = process.rank_one_power(process.total_steps())) {
    backend::of(context).propagate_cores_rank_one(context, rank_one->log_identity,
                                                  rank_one->log_uniform, log_cores, out);
    return;
  }
  const SharedMatrix log_q = process.log_power(context, process.total_steps());
  if (!transposed || process.is_symmetric()) {
    backend::of(context).propagate_cores(context, log_q, log_cores, out);
    return;
  }
  transposed_.resize(reference_.dim());
  if (transposed_[d].size() == 0) transposed_[d] = transpose(log_q.matrix());
  backend::of(context).propagate_cores(context, transposed_[d], log_cores, out);
}

double ColumnLoss::operator()(const Context& context, const std::vector<double>& log_beta,
                              const Matrix<double>& log_cores, StatesView x0, StatesView x1,
                              Gradient& gradient) {
  const std::size_t K = log_beta.size(), D = reference_.dim();
  std::vector<Array3<double>> cores, seen;  // of each column, [1,S,K]
  Matrix<double> log_u(log_cores.rows(), K);
  for (std::size_t d = 0; d < D; ++d) {
    const std::size_t S = reference_.num_categories(d);
    const double* first = log_cores.row(reference_.start(d));
    cores.emplace_back(1, S, K, std::vector<double>(first, first + S * K));
    seen.emplace_back(1, S, K);
    propagate(context, d, false, cores[d], seen[d]);
    std::copy_n(seen[d].data(), S * K, log_u.row(reference_.start(d)));
  }
  Matrix<double> shares0(x0.rows, K), shares1(x1.rows, K);
  const double n0 = static_cast<double>(x0.rows), n1 = static_cast<double>(x1.rows);
  const double loss = component_shares(context, reference_, log_beta, log_u, x0, shares0) / n0 -
                      component_shares(context, reference_, log_beta, log_cores, x1, shares1) / n1;

  gradient.log_beta.assign(K, 0.0);
  gradient.log_cores = Matrix<double>(log_cores.rows(), K, 0.0);
  for (std::size_t b = 0; b < x0.rows; ++b) {
    for (std::size_t k = 0; k < K; ++k) gradient.log_beta[k] += shares0(b, k) / n0;
  }
  for (std::size_t b = 0; b < x1.rows; ++b) {
    for (std::size_t k = 0; k < K; ++k) gradient.log_beta[k] -= shares1(b, k) / n1;
  }
  parallel_blocks(context, D, 1, [&](std::size_t d, std::size_t) {
    double* own = gradient.log_cores.row(reference_.start(d));
    // d loss / d log u, as the logarithm of its share in u.
    for (std::size_t b = 0; b < x0.rows; ++b) {
      double* row = own + static_cast<std::size_t>(x0(b, d)) * K;
      for (std::size_t k = 0; k < K; ++k) row[k] += shares0(b, k) / n0;
    }
    for (std::size_t i = 0; i < seen[d].size(); ++i) {
      seen[d].data()[i] = std::log(own[i]) - seen[d].data()[i];
    }
  });
  for (std::size_t d = 0; d < D; ++d) {
    Array3<double> back(1, seen[d].extent(1), K);
    propagate(context, d, true, seen[d], back);
    double* own = gradient.log_cores.row(reference_.start(d));
    for (std::size_t i = 0; i < back.size(); ++i) {
      own[i] = std::exp(cores[d].data()[i] + back.data()[i]);
    }
    for (std::size_t b = 0; b < x1.rows; ++b) {
      double* row = own + static_cast<std::size_t>(x1(b, d)) * K;
      for (std::size_t k = 0; k < K; ++k) row[k] -= shares1(b, k) / n1;
    }
  }
  return loss;
}

}  // namespace bridgemark
