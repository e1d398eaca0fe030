#pragma once

#include <cstddef>
#include <span>

#include "bridgemark/backend/plan/tree_workspace.h"
#include "bridgemark/core/array.h"

// The sums over all states of a hidden tree for the rows of a batch: one pass from the leaves up
// and one from the root down. Messages of K weights are logarithms, whose exponentials go through
// BLAS; an entry of a product that may have lost terms to underflow is summed again from the
// logarithms. math/hidden_tree.h has the same sums for one row.
namespace bridgemark::backend::cpu {

// A tree's tables, linear and as logarithms.
template <typename T>
struct HiddenTreeTables {
  const TreeShape& shape;
  std::size_t S, K;
  const T* log_root;                       // [K]
  const T *log_moves, *moves;              // [M-1,K,K], maximum 1 in each matrix of the linear ones
  std::span<const double> log_moves_high;  // [M-1], the logarithms of what scales them
  const T* log_emission;                   // [D,S,K]
};

// Products of two exponentials of logarithms with a maximum of 0 lose terms below 1e-37 (float);
// down to here that does not show.
template <typename T>
inline constexpr T kTreeProductFloor = sizeof(T) == 4 ? T(1e-18f) : T(1e-180);

// Rows [first, last) of a batch, each with this weight in the loss. log_total[b] is the logarithm
// of the sum over all states.
template <typename T>
void run_tree_passes(const HiddenTreeTables<T>& tables, StatesView x, T weight, std::size_t first,
                     std::size_t last, TreePassArrays<T>& out, std::span<double> log_total);

}  // namespace bridgemark::backend::cpu
