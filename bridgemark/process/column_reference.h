#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/process/reference_process.h"

namespace bridgemark {

// A reference whose coordinates differ: each is a column of a table with categories and a process
// of its own, and all move on their own, in as many elementary steps. What belongs to the
// categories of all columns lies one column after the other, in total_categories() rows: nothing
// is padded to the largest column. Columns that are alike share the powers of one process.
class ColumnReference {
 public:
  // Throws InvalidArgument for no columns and for columns of different numbers of steps.
  explicit ColumnReference(std::vector<ReferenceProcess> columns);

  std::size_t dim() const { return columns_.size(); }
  const ReferenceProcess& column(std::size_t d) const { return columns_[d]; }
  std::size_t num_categories(std::size_t d) const { return starts_[d + 1] - starts_[d]; }

  // The row of a column's first category among those of all columns.
  std::size_t start(std::size_t d) const { return starts_[d]; }
  std::size_t total_categories() const { return starts_.back(); }
  std::size_t most_categories() const;  // of a column

  int total_steps() const { return columns_[0].total_steps(); }

  // The reference seen backwards in time, column by column.
  ColumnReference time_reversed() const;

  // Throws InvalidArgument unless `states` has a column for each of these, and each entry lies in
  // 0..num_categories(d)-1; `name` is how the message calls them.
  void check(std::string_view name, StatesView states) const;

 private:
  std::vector<ReferenceProcess> columns_;
  std::vector<std::size_t> starts_;  // [D+1]
};

// Whether all columns are the same processes, and what a message says of them: "3 columns of 2 to
// 11 categories and references of their own, 128 steps".
bool same_reference(const ColumnReference& a, const ColumnReference& b);
std::string reference_text(const ColumnReference& reference);

}  // namespace bridgemark
