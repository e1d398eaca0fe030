#pragma once

#include <cstdint>
#include <vector>

#include "bridgemark/core/array.h"

// What is asked of a device about states that lie in its memory, and its answers.
namespace bridgemark::backend {

// Integers of a caller, one behind the other.
struct DeviceIntegers {
  const void* data;
  int bytes;  // of one: 1, 2, 4 or 8
  bool is_signed;
};

// Two sets of states whose counts are compared by integer weights.
struct ComparedStates {
  StatesView truth, prediction;
  std::int64_t truth_weight, prediction_weight;
  int num_categories;
};

// For each row of two sets with as many rows: the sum, over the columns and over the pairs of
// columns d < e, of sign(cell of the truth's row) - sign(cell of the prediction's row). A cell is a
// category, or one of each column of the pair; its sign is that of its count in the truth less its
// count in the prediction.
struct RowSigns {
  std::vector<std::int64_t> of_columns, of_pairs;
};

}  // namespace bridgemark::backend
