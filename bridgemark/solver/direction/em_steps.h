#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/math/log_domain.h"

// What EM is for laws of any form (mixture_em.h, chain_em.h).
namespace bridgemark {

// Sums over rows: add(block of rows, sums) for each block. As many blocks whatever the threads,
// added up in their order by +=.
template <typename Sums, typename Add>
Sums sum_over_rows(const Context& context, StatesView rows, Add&& add) {
  constexpr std::size_t kBlocks = 32, kFewestInABlock = 256;  // blocks, rows
  const std::size_t grain = std::max(kFewestInABlock, (rows.rows + kBlocks - 1) / kBlocks);
  std::vector<Sums> blocks((rows.rows + grain - 1) / grain);
  parallel_blocks(context, rows.rows, grain, [&](std::size_t first, std::size_t last) {
    add(rows.slice(first, last - first), blocks[first / grain]);
  });
  for (std::size_t b = 1; b < blocks.size(); ++b) blocks.front() += blocks[b];
  return std::move(blocks.front());
}

inline void add_each(std::vector<double>& sums, const std::vector<double>& more) {
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += more[i];
}

// The likeliest laws of categories for counts [D,S,J] and, at coordinate d, shares [J] that start
// at d * share_stride, each with `pseudo_rows` rows of the law base [D,S] beside its own.
Array3<double> likeliest_cores(const std::vector<double>& counts, const std::vector<double>& shares,
                               std::size_t share_stride, const Matrix<double>& base,
                               double pseudo_rows);

// Steps until one adds less than `enough` nats a row, at most `most` of them; step(law, value)
// returns the next law and sets value to the log-likelihood of a row under the one it was given.
template <typename Law, typename Step>
Law climb(Law law, int most, double enough, Step&& step) {
  double before = kLogZero;
  for (int i = 0; i < most; ++i) {
    double log_likelihood = 0.0;
    Law next = step(law, log_likelihood);
    if (log_likelihood - before < enough) break;
    before = log_likelihood;
    law = std::move(next);
  }
  return law;
}

}  // namespace bridgemark
