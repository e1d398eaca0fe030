#include "bridgemark/experiment/figure_inputs.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

namespace bridgemark {

namespace {

// The first, then each time the one farthest from those taken.
std::vector<std::size_t> spread_rows(StatesView inputs, std::size_t count,
                                     const Projection& projection) {
  std::vector<double> nearest(inputs.rows, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> chosen(std::min(count, inputs.rows));
  std::size_t next = 0;
  for (std::size_t& row : chosen) {
    row = next;
    const std::array<double, 2> taken = projection.place(inputs.row(next));
    for (std::size_t i = 0; i < inputs.rows; ++i) {
      const std::array<double, 2> at = projection.place(inputs.row(i));
      nearest[i] = std::min(nearest[i], std::hypot(at[0] - taken[0], at[1] - taken[1]));
    }
    next = static_cast<std::size_t>(std::ranges::max_element(nearest) - nearest.begin());
  }
  return chosen;
}

States rows_of(StatesView inputs, const std::vector<std::size_t>& rows) {
  States chosen(rows.size(), inputs.cols);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(inputs.row(rows[i]), inputs.cols, chosen.row(i));
  }
  return chosen;
}

}  // namespace

Projection::Projection(StatesView cloud) : dim_(cloud.cols) {
  if (dim_ <= 2) return;
  const auto D = static_cast<Eigen::Index>(dim_);
  Eigen::MatrixXd rows(static_cast<Eigen::Index>(cloud.rows), D);
  for (std::size_t i = 0; i < cloud.rows; ++i) {
    for (std::size_t d = 0; d < dim_; ++d) {
      rows(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(d)) = cloud.row(i)[d];
    }
  }
  const Eigen::VectorXd mean = rows.colwise().mean();
  mean_.assign(mean.begin(), mean.end());
  rows.rowwise() -= mean.transpose();
  const Eigen::MatrixXd covariance = rows.transpose() * rows / static_cast<double>(cloud.rows);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(covariance);
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const Eigen::Index column = D - 1 - static_cast<Eigen::Index>(axis);  // ascending order
    Eigen::VectorXd direction = solver.eigenvectors().col(column);
    explained_[axis] = solver.eigenvalues()[column] / solver.eigenvalues().sum();
    // An eigenvector has no sign of its own: its largest entry is made positive.
    Eigen::Index largest = 0;
    direction.cwiseAbs().maxCoeff(&largest);
    if (direction[largest] < 0.0) direction = -direction;
    axes_[axis].assign(direction.begin(), direction.end());
  }
}

std::array<double, 2> Projection::place(const std::int32_t* state) const {
  if (dim_ <= 2) return {double(state[0]), dim_ == 1 ? 0.0 : double(state[1])};
  std::array<double, 2> at = {0.0, 0.0};
  for (std::size_t d = 0; d < dim_; ++d) {
    const double from_mean = state[d] - mean_[d];
    for (std::size_t axis = 0; axis < 2; ++axis) at[axis] += axes_[axis][d] * from_mean;
  }
  return at;
}

FigureInputs figure_inputs(const PairedStates& test, const Projection& projection) {
  const States candidates = conditional_inputs(test.x0);
  FigureInputs inputs;
  inputs.starts = rows_of(candidates, spread_rows(candidates, kFigureStarts, projection));
  inputs.conditional_rows = spread_rows(candidates, kFigureConditionals, projection);
  inputs.conditional = rows_of(candidates, inputs.conditional_rows);
  return inputs;
}

Array3<std::int32_t> figure_paths(const Context& context, const Coupling& coupling, int num_steps,
                                  StatesView starts) {
  return sample_markov_trajectory(context, coupling, num_steps, repeat_rows(starts, kPathsEach),
                                  kFigureSeed, 0);
}

States repeat_rows(StatesView rows, std::size_t times) {
  States repeated(rows.rows * times, rows.cols);
  for (std::size_t i = 0; i < repeated.rows(); ++i) {
    std::copy_n(rows.row(i / times), rows.cols, repeated.row(i));
  }
  return repeated;
}

}  // namespace bridgemark
