#pragma once

#include <cstdint>
#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/math/hidden_chain.h"

namespace bridgemark {

// The probability to keep a proposal for a chain potential, bounded from above while its
// coordinates are drawn. With lambda, a Markov law of paths, and alpha_d(k), the weight of all
// paths of c that come to z_d = k over the coordinates before d,
//   log c(x0) >= sum_k lambda_d(k) (log alpha_d(k) - log lambda_d(k)) + (terms of the rest),
// where the terms of the rest are those that the envelope has as well. What is left,
//   log L_d = sum over i < d of gain_i(x0^i) - sum_k lambda_d(k) log alpha_d(k) + constant,
// falls from 0 at d = 0 to the logarithm of the probability itself at d = D, whatever is drawn. So
// a proposal can be given up as soon as L_d is below the uniform that decides.
class PathBound {
 public:
  // A proposal whose coordinates before some d are drawn, but for the [K] weights that go with it,
  // alpha_d up to a scale.
  struct Beginning {
    double log_ratio = 0.0;  // gains less the logarithms of all scales
    double lost = 0.0;       // that underflow may have taken from a weight
  };

  PathBound() = default;

  // lambda [D,K] are the marginals of the law of `paths`: of the chain's moves with one category,
  // whose emissions make the law. gain [D,S] is sum_k lambda_d(k) log u_k^d(s).
  PathBound(const HiddenChain& chain, const HiddenChain& paths, const Matrix<double>& lambda,
            const Matrix<double>& gain);

  // Nothing is drawn yet.
  void start(const HiddenChain& chain, double* weights) const;

  // Coordinate d of the proposal is s. scratch [K].
  void add(const HiddenChain& chain, std::size_t d, std::size_t s, double* weights, double* scratch,
           Beginning& beginning) const;

  // log L_d for d < D. Infinite where underflow leaves it open.
  double log_bound(std::size_t d, const double* weights, const Beginning& beginning) const;

  // log L_D, of a whole proposal.
  double log_keep(const Beginning& beginning) const {
    return beginning.log_ratio + constant_.back();
  }

  // Whether a whole proposal's logarithm is exact to rounding.
  static bool is_exact(const Beginning& beginning) { return beginning.lost < 1e-20; }

 private:
  Matrix<double> lambda_;         // [D,K]
  Matrix<double> gain_;           // [D,S], less the logarithm of the scale of the emissions there
  std::vector<double> constant_;  // [D+1]
};

}  // namespace bridgemark
