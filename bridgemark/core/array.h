#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace bridgemark {

// A row-major matrix that somebody else owns. One that lies in a device's memory is for operations
// on that device alone: nothing else may look at its entries.
template <typename T>
struct MatrixView {
  T* data = nullptr;
  std::size_t rows = 0;
  std::size_t cols = 0;
  bool on_device = false;

  T* row(std::size_t i) const { return data + i * cols; }
  std::span<T> row_span(std::size_t i) const { return {row(i), cols}; }
  T& operator()(std::size_t i, std::size_t j) const { return data[i * cols + j]; }
  std::size_t size() const { return rows * cols; }
  MatrixView slice(std::size_t first, std::size_t count) const {
    return {row(first), count, cols, on_device};
  }

  operator MatrixView<const T>() const requires(!std::is_const_v<T>) {
    return {data, rows, cols, on_device};
  }
};

// A row-major matrix.
template <typename T>
class Matrix {
 public:
  Matrix() = default;
  Matrix(std::size_t rows, std::size_t cols, T value = T())
      : rows_(rows), cols_(cols), data_(rows * cols, value) {}
  Matrix(std::size_t rows, std::size_t cols, std::vector<T> data)
      : rows_(rows), cols_(cols), data_(std::move(data)) {}

  std::size_t rows() const { return rows_; }
  std::size_t cols() const { return cols_; }
  std::size_t size() const { return data_.size(); }
  T* data() { return data_.data(); }
  const T* data() const { return data_.data(); }
  T* row(std::size_t i) { return data_.data() + i * cols_; }
  const T* row(std::size_t i) const { return data_.data() + i * cols_; }
  T& operator()(std::size_t i, std::size_t j) { return data_[i * cols_ + j]; }
  const T& operator()(std::size_t i, std::size_t j) const { return data_[i * cols_ + j]; }

  MatrixView<T> view() { return {data_.data(), rows_, cols_}; }
  MatrixView<const T> view() const { return {data_.data(), rows_, cols_}; }
  operator MatrixView<T>() { return view(); }
  operator MatrixView<const T>() const { return view(); }

  bool operator==(const Matrix&) const = default;

 private:
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  std::vector<T> data_;
};

// A row-major array [n0, n1, n2].
template <typename T>
class Array3 {
 public:
  Array3() = default;
  Array3(std::size_t n0, std::size_t n1, std::size_t n2, T value = T())
      : n0_(n0), n1_(n1), n2_(n2), data_(n0 * n1 * n2, value) {}
  Array3(std::size_t n0, std::size_t n1, std::size_t n2, std::vector<T> data)
      : n0_(n0), n1_(n1), n2_(n2), data_(std::move(data)) {}

  std::size_t extent(int axis) const { return axis == 0 ? n0_ : axis == 1 ? n1_ : n2_; }
  std::size_t size() const { return data_.size(); }
  T* data() { return data_.data(); }
  const T* data() const { return data_.data(); }
  T* row(std::size_t i, std::size_t j) { return data_.data() + (i * n1_ + j) * n2_; }
  const T* row(std::size_t i, std::size_t j) const { return data_.data() + (i * n1_ + j) * n2_; }
  T& operator()(std::size_t i, std::size_t j, std::size_t k) { return row(i, j)[k]; }
  const T& operator()(std::size_t i, std::size_t j, std::size_t k) const { return row(i, j)[k]; }

  // As [n0, n1 * n2].
  MatrixView<T> as_matrix() { return {data_.data(), n0_, n1_ * n2_}; }
  MatrixView<const T> as_matrix() const { return {data_.data(), n0_, n1_ * n2_}; }

  bool operator==(const Array3&) const = default;

 private:
  std::size_t n0_ = 0;
  std::size_t n1_ = 0;
  std::size_t n2_ = 0;
  std::vector<T> data_;
};

// States of the space {0..S-1}^D, one a row.
using States = Matrix<std::int32_t>;
using StatesView = MatrixView<const std::int32_t>;
using MutableStatesView = MatrixView<std::int32_t>;

}  // namespace bridgemark
