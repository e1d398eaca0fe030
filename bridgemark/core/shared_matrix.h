#pragma once

#include <memory>
#include <utility>

#include "bridgemark/core/array.h"

namespace bridgemark {

// A matrix that several hold, freed with the last of them. It reads like a Matrix as long as the
// holder lives: a temporary one does not turn into a reference that would outlive it.
class SharedMatrix {
 public:
  explicit SharedMatrix(std::shared_ptr<const Matrix<double>> matrix)
      : matrix_(std::move(matrix)) {}

  // Of a temporary only within its own expression.
  const Matrix<double>& matrix() const { return *matrix_; }
  operator const Matrix<double>&() const& { return *matrix_; }
  operator const Matrix<double>&() const&& = delete;
  operator MatrixView<const double>() const& { return matrix_->view(); }
  operator MatrixView<const double>() const&& = delete;

  const std::shared_ptr<const Matrix<double>>& shared() const { return matrix_; }

  std::size_t rows() const { return matrix_->rows(); }
  std::size_t cols() const { return matrix_->cols(); }
  std::size_t size() const { return matrix_->size(); }
  const double* data() const& { return matrix_->data(); }
  const double* row(std::size_t i) const& { return matrix_->row(i); }
  bool operator==(const SharedMatrix& other) const { return *matrix_ == *other.matrix_; }
  bool operator==(const Matrix<double>& other) const { return *matrix_ == other; }

  double operator()(std::size_t i, std::size_t j) const { return (*matrix_)(i, j); }

 private:
  std::shared_ptr<const Matrix<double>> matrix_;
};

}  // namespace bridgemark
