#pragma once

#include <cstdint>
#include <vector>

#include "bridgemark/bridge/path_bound.h"
#include "bridgemark/bridge/reverse_tables.h"
#include "bridgemark/core/array.h"
#include "bridgemark/math/philox.h"

namespace bridgemark {

// A product over coordinates that lies above a part of the reverse of one target: that of one part
// of p0, which is called p0 here. The geometric mean is below the arithmetic: for any lambda on the
// simplex
//   c(x0) = sum_k beta_k u_k(x0) >= prod_k (beta_k u_k(x0) / lambda_k)^lambda_k,
// so p0(x0) q_ref(x1|x0) / c(x0) is at most exp(log_mass) times the product of
//   P_d(s) in proportion to p0^d(s) q_ref(x1^d|s) prod_k u_k^d(s)^-lambda_k,
// and a draw of P is one of the reverse where it is kept with the ratio of both sides,
//   exp(-KL(lambda || rho(x0))), rho_k(x0) = beta_k u_k(x0) / c(x0).
// log_mass is convex in lambda, so the best lambda is one, and Newton's method finds it.
// Of a chain or tree potential the sum runs over hidden states z of all coordinates or nodes:
// lambda is a law of these, a Markov chain along the coordinates or down the tree, whose marginals
// lambda_d(k) are in the product.
// Where p0 is a hidden chain, P is in proportion to p0 times the product of all else: again a
// hidden chain (tilted_chain.h).
class ReverseEnvelope {
 public:
  ReverseEnvelope(const ReverseTables& tables, std::size_t part, const std::int32_t* x1);

  static std::size_t scratch_size(const ReverseTables& tables);

  // log of the sum over x0 of what lies above p0(x0) q_ref(x1|x0) / c(x0).
  double log_mass() const { return log_mass_; }

  // Draws x0 from P with the next D draws, or 2 D of a chain; returns the logarithm of the
  // probability to keep it. scratch [scratch_size].
  double propose(const ReverseTables& tables, DrawSequence& draws, std::int32_t* x0,
                 double* scratch) const;

  // The same, and whether it is kept, which is where log_uniform is below that logarithm. What a
  // bound rules out is given up on the way: x0 may then be unfinished, and log_keep is the bound.
  bool keeps(const ReverseTables& tables, DrawSequence& draws, double log_uniform, std::int32_t* x0,
             double* scratch, double& log_keep) const;

 private:
  // log_start [D,S]: log p0^d(s) q_ref(x1^d|s), p0 left out where it is a chain.
  void fit_components(const ReverseTables& tables, const Matrix<double>& log_start);
  void fit_hidden_states(const ReverseTables& tables, const Matrix<double>& log_start);

  // The product for these lambda_d(k) [D,K] of components seen as log_from [D,S,K].
  void set_product(const Array3<double>& log_from, const Matrix<double>& log_start,
                   const Matrix<double>& lambda, bool is_tilted);

  double log_bound_ = 0.0;     // of c: this plus the sum over d of gain_(d, x0^d) lies below log c
  Matrix<double> gain_;        // [D,S]: sum_k lambda_d(k) log u_k^d(s)
  Matrix<double> cumulative_;  // [D,S]: sums of each coordinate's weights
  TiltedChain tilted_;         // P where p0 is a chain
  double log_mass_ = 0.0;
  PathBound bound_;  // of a chain
};

// The envelopes of one target, one for each part of p0. Together they lie above its reverse: a
// proposal takes a part by its share times the mass of its envelope, then a draw of that.
class PartEnvelopes {
 public:
  PartEnvelopes(const ReverseTables& tables, const std::int32_t* x1);

  // log of the sum over x0 of what lies above p0(x0) q_ref(x1|x0) / c(x0).
  double log_mass() const { return log_mass_; }

  // Takes a draw where there are several.
  const ReverseEnvelope& draw(DrawSequence& draws) const;

 private:
  std::vector<ReverseEnvelope> parts_;
  std::vector<double> cumulative_;  // [J]
  double log_mass_ = 0.0;
};

}  // namespace bridgemark
