#include "bridgemark/solver/csbm/assignment.h"

#include <limits>

namespace bridgemark {

std::vector<std::size_t> least_cost_assignment(const Context& context,
                                               MatrixView<const double> cost) {
  const std::size_t n = cost.rows;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::size_t none = n;  // a column without a row, and the column where a search starts
  std::vector<double> row_price(n, 0.0), column_price(n + 1, 0.0);
  std::vector<std::size_t> row_of(n + 1, n);
  for (std::size_t row = 0; row < n; ++row) {
    context.throw_if_interrupted();
    // Grows a tree of tight pairs from `row` until it reaches a free column.
    std::vector<double> slack(n, kInfinity);
    std::vector<std::size_t> previous(n, none);
    std::vector<char> in_tree(n + 1, 0);
    std::size_t column = none;
    row_of[none] = row;
    do {
      in_tree[column] = 1;
      const std::size_t current = row_of[column];
      std::size_t nearest = none;
      double step = kInfinity;
      for (std::size_t j = 0; j < n; ++j) {
        if (in_tree[j]) continue;
        const double reduced = cost(current, j) - row_price[current] - column_price[j];
        if (reduced < slack[j]) {
          slack[j] = reduced;
          previous[j] = column;
        }
        if (slack[j] < step || nearest == none) {
          step = slack[j];
          nearest = j;
        }
      }
      for (std::size_t j = 0; j <= n; ++j) {
        if (in_tree[j]) {
          row_price[row_of[j]] += step;
          column_price[j] -= step;
        } else if (j < n) {
          slack[j] -= step;
        }
      }
      column = nearest;
    } while (row_of[column] != n);
    // Shifts the rows along the path.
    while (column != none) {
      const std::size_t before = previous[column];
      row_of[column] = row_of[before];
      column = before;
    }
  }
  std::vector<std::size_t> column_of(n);
  for (std::size_t j = 0; j < n; ++j) column_of[row_of[j]] = j;
  return column_of;
}

}  // namespace bridgemark
