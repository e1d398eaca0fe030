#pragma once

#include <span>
#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"

namespace bridgemark {

// v(x) = sum over z_1..z_D of start[z_1] prod_d moves_d[z_{d-1}, z_d] prod_d r_{z_d}^d[x^d], held
// as logarithms: a CP potential whose component may change from one coordinate to the next. With
// moves that are the identity it is CP; with K states it is a sum of K^D products.
class ChainPotential {
 public:
  // log_start [K], log_moves [D-1,K,K] with row z_{d-1}, log_cores [D,S,K]. Throws InvalidArgument
  // for sizes that do not fit, NaN or +inf, and where the potential is 0 everywhere.
  ChainPotential(std::vector<double> log_start, Array3<double> log_moves, Array3<double> log_cores);

  std::size_t dim() const { return log_cores_.extent(0); }
  int num_categories() const { return static_cast<int>(log_cores_.extent(1)); }
  std::size_t num_components() const { return log_start_.size(); }
  const std::vector<double>& log_start() const { return log_start_; }
  const Array3<double>& log_moves() const { return log_moves_; }
  const Array3<double>& log_cores() const { return log_cores_; }

  // out[b] = log v(x[b]).
  void log_value(const Context& context, StatesView x, std::span<double> out) const;

  // log of the sum of v over all states.
  double log_total() const;

 private:
  std::vector<double> log_start_;
  Array3<double> log_moves_;
  Array3<double> log_cores_;
};

// A chain that starts evenly and leaves its state with probability switch_rate at each coordinate,
// to any other alike: log_moves [D-1,K,K]. Throws InvalidArgument unless switch_rate lies in
// [0, 1], and is 0 for one component.
Array3<double> switching_moves(std::size_t dim, std::size_t num_components, double switch_rate);

}  // namespace bridgemark
