#include "bridgemark/solver/cp/core_shrinkage.h"

#include <algorithm>
#include <cmath>
// Eigen's own threads would split a product by their number.
#ifndef EIGEN_DONT_PARALLELIZE
#define EIGEN_DONT_PARALLELIZE
#endif
#include <Eigen/Dense>

#include "bridgemark/core/error.h"

namespace bridgemark {

namespace {

using Tensors = backend::CpTensors<float>;
using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Columns = Eigen::MatrixXd;

constexpr int kIterations = 15;
// An entry falls to a hundredth of itself at most, so that no row becomes impossible.
constexpr double kLeastFactor = 0.01;

// Rows y_j = u_j + noise of variance noise_j, u_j from one normal distribution: replaces each y_j
// by the mean of u_j given y_j.
void expect_given_noise(Rows& y, const Eigen::ArrayXd& noise) {
  const auto count = static_cast<double>(y.rows());
  const Rows given = y;
  Eigen::RowVectorXd mean = y.colwise().mean();
  Rows centred = y.rowwise() - mean;
  Columns covariance = centred.transpose() * centred / count;
  for (int i = 0; i < kIterations; ++i) {
    const Eigen::SelfAdjointEigenSolver<Columns> axes(covariance);
    const Eigen::ArrayXd spread = axes.eigenvalues().array().max(0.0);
    Rows along = (given.rowwise() - mean) * axes.eigenvectors();
    Eigen::ArrayXd left = Eigen::ArrayXd::Zero(y.cols());  // mean variance of u given y
    for (Eigen::Index j = 0; j < y.rows(); ++j) {
      const Eigen::ArrayXd kept = spread / (spread + noise[j]);
      along.row(j).array() *= kept.transpose();
      left += kept * noise[j];
    }
    // The mean and covariance of u, made along the axes.
    Columns among = along.transpose() * along;
    among.diagonal() += left.matrix();
    covariance = axes.eigenvectors() * (among / count) * axes.eigenvectors().transpose();
    if (i + 1 == kIterations) y = (along * axes.eigenvectors().transpose()).rowwise() + mean;
    mean += along.colwise().mean() * axes.eigenvectors().transpose();
  }
}

}  // namespace

Tensors shrink_cores(const Tensors& parameters, const ComponentShares& shares, std::size_t rows,
                     double strength) {
  if (!(strength >= 0.0)) throw_invalid("shrinkage", "must be at least 0, got {}", strength);
  if (strength == 0.0) return parameters;
  const std::size_t D = shares.D, S = shares.S, K = shares.K;
  Rows roots = Eigen::Map<const Rows>(shares.emission.data(), static_cast<Eigen::Index>(D * K),
                                      static_cast<Eigen::Index>(S))
                   .cwiseSqrt();
  const Eigen::Map<const Eigen::ArrayXd> share(shares.share.data(), roots.rows());
  expect_given_noise(roots, strength / (4.0 * static_cast<double>(rows) * share));

  Tensors to = parameters;
  for (std::size_t d = 0; d < D; ++d) {
    for (std::size_t k = 0; k < K; ++k) {
      const Eigen::ArrayXd shrunk =
          roots.row(static_cast<Eigen::Index>(d * K + k)).array().max(0.0).square();
      const double sum = shrunk.sum();
      const double* core = shares.cores.row(d, k);
      const double* emission = shares.emission.row(d, k);
      const double largest = *std::max_element(core, core + S);
      for (std::size_t s = 0; s < S; ++s) {
        // Where the reference hardly comes an emission is 0, and says nothing about its core.
        if (!(emission[s] > 0.0 && sum > 0.0)) continue;
        const double factor = shrunk[static_cast<Eigen::Index>(s)] / (sum * emission[s]);
        to.log_cores[(d * S + s) * K + k] += static_cast<float>(
            std::log(std::clamp(factor, kLeastFactor, std::max(largest / core[s], 1.0))));
      }
    }
  }
  return to;
}

}  // namespace bridgemark
