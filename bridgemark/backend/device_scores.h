#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"

// What scores need of states and log-probabilities that lie in the memory of the context's device:
// counts and sums. metric/ has the counts of states of the host.
namespace bridgemark::backend {

// How often each category falls in each column of x: [D,S].
Matrix<std::int64_t> count_columns(const Context& context, StatesView x, int num_categories);

// Two sets of states whose counts are compared by integer weights.
struct ComparedStates {
  StatesView truth, prediction;
  std::int64_t truth_weight, prediction_weight;
  int num_categories;
};

// For every pair of columns d < e, at d * D + e: the sum over all pairs of categories of
// |count in truth * its weight - count in prediction * its weight|. Empty where the table of a pair
// does not fit a multiprocessor's memory or a cell may leave 32 bits.
std::vector<std::int64_t> pair_differences(const Context& context, const ComparedStates& states);

// For each row of two sets with as many rows: the sum, over the columns and over the pairs of
// columns d < e, of sign(cell of the truth's row) - sign(cell of the prediction's row). A cell is a
// category, or one of each column of the pair; its sign is that of its count in the truth less its
// count in the prediction.
struct RowSigns {
  std::vector<std::int64_t> of_columns, of_pairs;
};

// Both empty where the table of a pair does not fit a multiprocessor's memory.
RowSigns row_signs(const Context& context, StatesView truth, StatesView prediction,
                   int num_categories);

// kl[b] += sum_d KL(p || q) between the rows [b,d,:] of log-probabilities [rows,D,S], +inf where q
// has 0 and p has not. All three lie in the memory of the context's device, which may be the CPU.
void add_step_kl(const Context& context, const double* log_p, const double* log_q, std::size_t rows,
                 std::size_t dim, std::size_t num_categories, double* kl);

// out[b] = sum_d log_p[b,d,to[b,d]] of log-probabilities [rows,D,S]. All three lie in the memory of
// the context's device, which may be the CPU.
void step_log_probability(const Context& context, const double* log_p, StatesView to,
                          std::size_t num_categories, double* out);

// out[i] = x[rows[i]]: `rows` lie on the host, the states both on the host or both on the context's
// device.
void take_rows(const Context& context, StatesView x, std::span<const std::uint32_t> rows,
               MutableStatesView out);

}  // namespace bridgemark::backend
