#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "bridgemark/backend/plan/factored_power.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/shared_matrix.h"

namespace bridgemark::backend {

// A power Q of a reference process as whoever reads its entries wants it, whatever it is made of: a
// table [S,S], or factors where there is none. Cheap to copy.
class ReferencePower {
 public:
  explicit ReferencePower(SharedMatrix table) : table_(table.shared()) {}
  explicit ReferencePower(std::shared_ptr<const FactoredPower> factors)
      : factors_(std::move(factors)) {}

  std::size_t num_categories() const {
    return table_ ? table_->rows() : factors_->num_categories();
  }

  // One of both, the other null.
  const Matrix<double>* table() const { return table_.get(); }
  const std::shared_ptr<const FactoredPower>& factors() const { return factors_; }

  double log_entry(std::int32_t from, std::int32_t to) const;

  // out[S] = log Q[from, :], and log Q[:, to].
  void log_row(std::int32_t from, double* out) const;
  void log_column(std::int32_t to, double* out) const;

  // sum_d log Q[from[d], to[d]]: of whole rows whose coordinates move alike and on their own.
  double log_of_rows(const std::int32_t* from, const std::int32_t* to, std::size_t dim) const;

 private:
  std::shared_ptr<const Matrix<double>> table_;
  std::shared_ptr<const FactoredPower> factors_;
};

}  // namespace bridgemark::backend
