#pragma once

#include <cstdint>
#include <vector>

#include "bridgemark/bridge/path_bound.h"
#include "bridgemark/core/array.h"
#include "bridgemark/math/hidden_chain.h"
#include "bridgemark/math/philox.h"

namespace bridgemark {

// What the reverse of a bridge, q(x0|x1) in proportion to p0(x0) q_ref(x1|x0) / c(x0), is made of;
// shared by all targets x1.
struct ReverseTables {
  std::vector<double> log_beta;  // [K]
  Array3<double> log_from;       // [D,S,K]: log u_k^d(x0^d), the cores as seen from x0
  Matrix<double> log_p0;         // [D,S]: independent coordinates
  Matrix<double> log_q_into;     // [x1,x0] = log q_ref(x1|x0): a target reads whole rows
  Array3<double> log_moves;      // [D-1,K,K] of a chain potential; empty: CP

  // Of a chain alone: exponentials, each row scaled to a maximum of 1.
  Matrix<double> start;  // [1,K], of log_beta
  Matrix<double> moves;  // [D-1,K*K]
  Matrix<double> from;   // [D*S,K]

  bool is_chain() const { return log_moves.size() > 0; }

  // Makes the linear tables of a chain.
  void set_linear();

  // The chain of components, with log_from as what it emits.
  HiddenChain chain() const;

  // others[d,k] = log of the sum over components that have k at coordinate d, the factor
  // u_k^d(x0^d) left out.
  void log_others(const std::int32_t* x0, double* others) const;
};

// A product over coordinates that lies above the reverse of one target. The geometric mean is below
// the arithmetic: for any lambda on the simplex
//   c(x0) = sum_k beta_k u_k(x0) >= prod_k (beta_k u_k(x0) / lambda_k)^lambda_k,
// so p0(x0) q_ref(x1|x0) / c(x0) is at most exp(log_mass) times the product of
//   P_d(s) in proportion to p0^d(s) q_ref(x1^d|s) prod_k u_k^d(s)^-lambda_k,
// and a draw of P is one of the reverse where it is kept with the ratio of both sides,
//   exp(-KL(lambda || rho(x0))), rho_k(x0) = beta_k u_k(x0) / c(x0).
// log_mass is convex in lambda, so the best lambda is one, and Newton's method finds it.
// Of a chain potential the sum runs over paths z of components: lambda is a law of paths, a Markov
// chain, whose marginals lambda_d(k) stand in the product.
class ReverseEnvelope {
 public:
  ReverseEnvelope(const ReverseTables& tables, const std::int32_t* x1);

  // log of the sum over x0 of what lies above p0(x0) q_ref(x1|x0) / c(x0).
  double log_mass() const { return log_mass_; }

  // Draws x0 from the product with the next D draws; returns the logarithm of the probability to
  // keep it. scratch [2,K].
  double propose(const ReverseTables& tables, DrawSequence& draws, std::int32_t* x0,
                 double* scratch) const;

  // The same, and whether it is kept, which is where log_uniform is below that logarithm. What a
  // chain's bound rules out is given up on the way: x0 is then unfinished, log_keep the bound.
  bool keeps(const ReverseTables& tables, DrawSequence& draws, double log_uniform, std::int32_t* x0,
             double* scratch, double& log_keep) const;

 private:
  void fit_components(const ReverseTables& tables, const std::int32_t* x1);
  void fit_paths(const ReverseTables& tables, const std::int32_t* x1);

  // The product for these lambda_d(k) [D,K].
  void set_product(const ReverseTables& tables, const std::int32_t* x1,
                   const Matrix<double>& lambda);

  double log_bound_ = 0.0;     // of c: this plus the sum over d of gain_(d, x0^d) lies below log c
  Matrix<double> gain_;        // [D,S]: sum_k lambda_d(k) log u_k^d(s)
  Matrix<double> cumulative_;  // [D,S]: sums of each coordinate's weights
  double log_mass_ = 0.0;
  PathBound bound_;  // of a chain
};

}  // namespace bridgemark
