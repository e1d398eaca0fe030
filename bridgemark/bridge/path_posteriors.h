#pragma once

#include <cstdint>
#include <vector>

#include "bridgemark/math/hidden_chain.h"

namespace bridgemark {

// The posteriors of a hidden chain's states for one row: one pass along the coordinates from each
// end on a linear scale, and where underflow may show, again in the log domain.
class PathPosteriors {
 public:
  PathPosteriors(std::size_t dim, std::size_t num_states);

  // The passes of row x, which what follows then speaks of. Of the chain's linear tables, start and
  // the emissions of a category are at most 1, and each row of moves adds up to at most 1.
  // log_scale: the logarithms of all that start and moves were divided by for them. Returns the
  // logarithm of the weight of all paths. Needs one path of positive weight.
  double pass(const HiddenChain& chain, const std::int32_t* x, double log_scale);

  // P(z_d = k), [K].
  const double* states(std::size_t d) const { return states_.data() + d * K_; }

  // sums[i,j] += P(z_d = i, z_{d+1} = j), [K,K].
  void add_moves(const HiddenChain& chain, const std::int32_t* x, std::size_t d,
                 double* sums) const;

 private:
  bool linear_pass(const HiddenChain& chain, const std::int32_t* x, double& log_total);
  void log_pass(const HiddenChain& chain, const std::int32_t* x);

  std::size_t D_, K_;
  std::vector<double> before_, after_;  // [D,K], the emission at d left out; linear, or logarithms
  std::vector<double> states_;          // [D,K]
  std::vector<double> scratch_;         // [K]
  std::vector<double> scale_;           // [D]: what the sums into z_d were divided by
  std::vector<double> sums_;            // [D]: over z_d of before times emission times after
  bool is_linear_ = false;
  double log_total_ = 0.0;  // where the pass was in the log domain
};

}  // namespace bridgemark
