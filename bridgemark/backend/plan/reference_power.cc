#include "bridgemark/backend/plan/reference_power.h"

#include <algorithm>

#include "bridgemark/math/log_rows.h"

namespace bridgemark::backend {

namespace {

std::size_t index(std::int32_t state) { return static_cast<std::size_t>(state); }

}  // namespace

double ReferencePower::log_entry(std::int32_t from, std::int32_t to) const {
  return table_ ? (*table_)(index(from), index(to)) : factors_->log_entry(index(from), index(to));
}

void ReferencePower::log_row(std::int32_t from, double* out) const {
  if (!table_) return factors_->log_row(index(from), out);
  std::copy_n(table_->row(index(from)), table_->cols(), out);
}

void ReferencePower::log_column(std::int32_t to, double* out) const {
  if (!table_) return factors_->log_column(index(to), out);
  for (std::size_t s = 0; s < table_->rows(); ++s) out[s] = (*table_)(s, index(to));
}

double ReferencePower::log_of_rows(const std::int32_t* from, const std::int32_t* to,
                                   std::size_t dim) const {
  if (table_) return bridgemark::log_of_rows(table_->data(), table_->cols(), from, to, dim);
  double sum = 0.0;
  for (std::size_t d = 0; d < dim; ++d) sum += log_entry(from[d], to[d]);
  return sum;
}

}  // namespace bridgemark::backend
