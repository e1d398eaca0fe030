#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "bridgemark/core/array.h"

// Rows with a label each, which no bridge changes.
namespace bridgemark {

// Whole numbers, any of 32 bits; Labels has one for each row.
using Label = std::int32_t;
using Labels = std::vector<Label>;

// The rows that have a label, in their order.
struct LabelGroup {
  Label label = 0;
  std::vector<std::size_t> rows;
};

// One group for each label that is there, labels ascending.
std::vector<LabelGroup> group_by_label(std::span<const Label> labels);

// Throws InvalidArgument unless there is a label for each row. `labels_name` and `rows_name` are
// how the message calls them.
void check_labels(std::string_view labels_name, std::size_t labels, std::string_view rows_name,
                  std::size_t rows);

// Those rows, in that order.
States take_rows(StatesView states, std::span<const std::size_t> rows);

// Writes row i of `from` to row rows[i] of `to`.
void put_rows(StatesView from, std::span<const std::size_t> rows, MutableStatesView to);

}  // namespace bridgemark
