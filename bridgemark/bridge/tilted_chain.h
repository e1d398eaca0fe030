#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bridgemark/bridge/chain_potential.h"
#include "bridgemark/bridge/path_posteriors.h"
#include "bridgemark/core/array.h"
#include "bridgemark/math/hidden_chain.h"
#include "bridgemark/math/philox.h"

namespace bridgemark {

// A hidden chain as p0, with the tables that passes and draws read. Shared by all targets.
class SourceChain {
 public:
  explicit SourceChain(const ChainPotential& potential);

  std::size_t dim() const { return log_cores_.extent(0); }
  std::size_t num_categories() const { return log_cores_.extent(1); }
  std::size_t num_states() const { return log_start_.size(); }

  // log p0(x).
  double log_probability(const std::int32_t* x) const;

  // out[d,s] = log of p0 at x with s at coordinate d, up to a constant of d.
  void log_around(const std::int32_t* x, Matrix<double>& out) const;

  // p0^d(s), [D,S].
  Matrix<double> marginals() const;

 private:
  friend class TiltedChain;

  HiddenChain log_chain() const;

  std::vector<double> log_start_;  // [J], less the logarithm of the potential's sum: p0 is a law
  Array3<double> log_moves_, log_cores_;  // [D-1,J,J], [D,S,J]
  // Exponentials: start scaled to a maximum of 1, as is each row of by_state; each matrix of moves
  // so that its rows add up to at most 1.
  Matrix<double> start_, moves_;            // [1,J], [D-1,J*J]
  Matrix<double> log_by_state_, by_state_;  // [D*J,S]: the cores, a state's categories in a row
  std::vector<double> by_state_high_;       // [D*J]
  double log_scale_ = 0.0;                  // of start and moves
  std::vector<std::int32_t> zeros_;         // [D]: a row of chains with one category
};

// p0(x) prod_d t_d(x^d) in proportion: again a hidden chain, whose state z at coordinate d weighs
// sum_s r_z^d(s) t_d(s), and then brings s in proportion to its term.
class TiltedChain {
 public:
  TiltedChain() = default;
  explicit TiltedChain(std::shared_ptr<const SourceChain> source);

  // log_tilt [D,S]: log t_d(s). Returns the logarithm of the sum over x.
  double set(const Matrix<double>& log_tilt);

  // out[d,s] = P(x^d = s).
  void marginals(Matrix<double>& out) const;

  // A draw: first the path of states, with D draws, then the coordinates in any order by it.
  // scratch [(D+1) J + D].
  void draw_path(DrawSequence& draws, std::int32_t* path, double* scratch) const;
  std::size_t draw(std::size_t d, std::int32_t state, double uniform) const;

 private:
  HiddenChain chain() const;

  std::shared_ptr<const SourceChain> source_;
  Matrix<double> log_tilt_, tilt_;          // [D,S], each row scaled to a maximum of 1
  Matrix<double> log_emission_, emission_;  // [D,J], the latter scaled to a maximum of 1
  std::vector<double> posteriors_;          // [D,J]: of the states
};

}  // namespace bridgemark
