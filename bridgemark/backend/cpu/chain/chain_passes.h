#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bridgemark/backend/plan/chain_workspace.h"
#include "bridgemark/core/array.h"

// The sums over all paths of a hidden chain for the rows of a batch: one pass along the coordinates
// from each end. A message of K weights is kept on a linear scale, with a maximum of 1, beside its
// logarithms: products run through BLAS, and an entry that may have lost terms to underflow is
// summed again from the logarithms. math/hidden_chain.h has the same sums for one row.
namespace bridgemark::backend::cpu {

// A chain's tables, linear and as logarithms. The scales of the linear ones are in log_*_high.
template <typename T>
struct HiddenTables {
  std::size_t D, S, K;
  const T* log_start;                                         // [K]
  const T *log_moves, *moves;                                 // [D-1,K,K], maximum 1 in each matrix
  const T *log_emission, *emission;                           // [D,S,K], maximum 1 in each row
  std::span<const double> log_moves_high, log_emission_high;  // [D-1], [D,S]
};

// Rows [first, last) of a batch. On return
//   before[d,b,:] holds the paths up to z_d, posterior[d,b,:] = weight times that of z_d, and
//   before[d-1,b,i] moves[d-1,i,j] after[d,b,j] = weight times the posterior of (z_{d-1}, z_d).
// A row whose pairs leave the range of T has exact[b] set, and posterior and after of 0.
// log_total[b] is the logarithm of the sum over all paths.
template <typename T>
void run_chain_passes(const HiddenTables<T>& tables, StatesView x, T weight, std::size_t first,
                      std::size_t last, ChainPassArrays<T>& out, std::span<double> log_total,
                      std::span<std::uint8_t> exact);

// The same posteriors for one row, in double and in the log domain.
class ExactPosterior {
 public:
  template <typename T>
  ExactPosterior(const HiddenTables<T>& tables, const std::int32_t* x);

  double of(std::size_t d, std::size_t k) const;                          // z_d = k
  double of_pair(std::size_t d, std::size_t from, std::size_t to) const;  // z_d, z_{d+1}

 private:
  std::size_t K_;
  std::vector<double> moves_, emission_, before_, after_;  // logarithms
  double log_total_;
};

}  // namespace bridgemark::backend::cpu
