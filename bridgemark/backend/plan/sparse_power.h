#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"

namespace bridgemark::backend {

// A power Q of a reference, of which only the entries above 0 are kept, row by row. They are
// logarithms of sums of positive numbers: an entry is exact however small it is, and one that is
// not here is 0, since no way leads there in so many steps.
struct SparsePower {
  std::vector<std::size_t> first;  // [S+1], where the entries of each row begin
  std::vector<std::int32_t> to;    // [entries], ascending in each row
  std::vector<double> log;         // [entries]

  std::size_t num_categories() const { return first.size() - 1; }
  std::size_t num_entries() const { return to.size(); }
  std::size_t bytes() const;

  // Whether every category is reached from every other.
  bool is_positive() const { return num_entries() == num_categories() * num_categories(); }

  // log Q[from, to], kLogZero for an entry that is not here.
  double log_entry(std::size_t from, std::size_t to) const;

  // log Q, [S,S]: for those who need it whole.
  Matrix<double> log_table() const;
};

// The identity on S categories.
SparsePower sparse_identity(std::size_t num_categories);

// a b, in as many operations as there are ways through both. Throws InvalidArgument where it would
// need more memory than is free, and Interrupted.
SparsePower multiply(const Context& context, const SparsePower& a, const SparsePower& b);

// out[d,x,k] = log sum_y exp(log Q[x,y] + log_cores[d,y,k]), cores [D,S,K] seen through Q, in as
// many operations as Q has entries for each d and k. For the host, which alone has such references.
void propagate_cores(const Context& context, const SparsePower& q, const Array3<double>& log_cores,
                     Array3<double>& out);

}  // namespace bridgemark::backend
