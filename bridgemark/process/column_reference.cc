#include "bridgemark/process/column_reference.h"

#include <algorithm>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/process/same_process.h"

namespace bridgemark {

ColumnReference::ColumnReference(std::vector<ReferenceProcess> columns)
    : columns_(std::move(columns)), starts_{0} {
  if (columns_.empty()) throw_invalid("columns", "there must be at least one column, got none");
  for (std::size_t d = 0; d < columns_.size(); ++d) {
    if (columns_[d].total_steps() != total_steps()) {
      throw_invalid("columns", "total_steps must be {} in all columns, got {} in column {}",
                    total_steps(), columns_[d].total_steps(), d);
    }
    const auto alike = std::find_if(
        columns_.begin(), columns_.begin() + static_cast<std::ptrdiff_t>(d),
        [&](const ReferenceProcess& earlier) { return same_process(earlier, columns_[d]); });
    columns_[d] = *alike;  // itself where none is
    starts_.push_back(starts_.back() + static_cast<std::size_t>(columns_[d].num_categories()));
  }
}

std::size_t ColumnReference::most_categories() const {
  std::size_t most = 0;
  for (std::size_t d = 0; d < dim(); ++d) most = std::max(most, num_categories(d));
  return most;
}

ColumnReference ColumnReference::time_reversed() const {
  std::vector<ReferenceProcess> reversed;
  for (const ReferenceProcess& column : columns_) reversed.push_back(column.time_reversed());
  return ColumnReference(std::move(reversed));
}

void ColumnReference::check(std::string_view name, StatesView states) const {
  if (states.cols != dim()) {
    throw_invalid("columns", "{} must have {} columns, got shape [{}, {}]", name, dim(),
                  states.rows, states.cols);
  }
  if (states.on_device) {
    throw_invalid("columns", "{} must lie in host memory where columns differ, got a device's",
                  name);
  }
  for (std::size_t b = 0; b < states.rows; ++b) {
    for (std::size_t d = 0; d < dim(); ++d) {
      const std::int32_t value = states(b, d);
      if (value >= 0 && static_cast<std::size_t>(value) < num_categories(d)) continue;
      throw_invalid("columns", "{} must hold categories 0..{} in column {}, got {} at row {}", name,
                    num_categories(d) - 1, d, value, b);
    }
  }
}

bool same_reference(const ColumnReference& a, const ColumnReference& b) {
  if (a.dim() != b.dim()) return false;
  for (std::size_t d = 0; d < a.dim(); ++d) {
    if (!same_process(a.column(d), b.column(d))) return false;
  }
  return true;
}

std::string reference_text(const ColumnReference& reference) {
  std::size_t least = reference.most_categories();
  for (std::size_t d = 0; d < reference.dim(); ++d) {
    least = std::min(least, reference.num_categories(d));
  }
  return fmt::format("{} columns of {} to {} categories and references of their own, {} steps",
                     reference.dim(), least, reference.most_categories(), reference.total_steps());
}

}  // namespace bridgemark
