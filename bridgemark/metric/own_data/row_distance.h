#pragma once

#include <cstddef>
#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/metric/estimate.h"

// How far rows lie from each other and from the rows of a training.
namespace bridgemark {

// Of two rows: coordinates that differ, or categories between them.
enum class RowMetric {
  kChanged,  // coordinates that differ
  kMoved,    // the sum over coordinates of |difference|
};

// From rows[i] to[i], for each i.
std::vector<double> row_distances(StatesView from, StatesView to, RowMetric metric);

// Of the row of each to the nearest row of `among`, which has one at least. Time O(n m D) at the
// most: a row is given up once it is no nearer than the nearest so far.
std::vector<double> nearest_distances(const Context& context, StatesView rows, StatesView among,
                                      RowMetric metric);

// The mean distance of a row of x0 from a row of x1 drawn on its own, from the marginals of both:
// what a coupling costs that ignores x0.
double unpaired_distance(StatesView x0, StatesView x1, int num_categories, RowMetric metric);

// Which of the given rows were trained on.
struct RowOverlap {
  std::size_t rows = 0;   // given
  std::size_t known = 0;  // of them, rows that are bit for bit a training row
  // The share of known rows that fresh rows would have: of the training rows, those that are there
  // more than once.
  double share_by_chance = 0.0;
  bool same_rows = false;  // the given rows are the training rows, in their order

  double share() const { return static_cast<double>(known) / static_cast<double>(rows); }
  // Whether so many known rows cannot be chance: beyond five standard errors, and two rows.
  bool trained_on = false;
};

// Neither is empty; both have the same columns.
RowOverlap row_overlap(StatesView given, StatesView training);

}  // namespace bridgemark
