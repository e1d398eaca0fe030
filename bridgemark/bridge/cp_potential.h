#pragma once

#include <span>
#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"

namespace bridgemark {

// v(x) = sum_k beta_k prod_d r_k^d[x^d], held as logarithms. -inf is a zero factor.
class CpPotential {
 public:
  // log_beta [K], log_cores [D,S,K]. Throws InvalidArgument for sizes that do not fit, NaN or +inf,
  // and where no component is positive anywhere. Components that vanish everywhere are dropped.
  CpPotential(std::vector<double> log_beta, Array3<double> log_cores);

  std::size_t dim() const { return log_cores_.extent(0); }
  int num_categories() const { return static_cast<int>(log_cores_.extent(1)); }
  std::size_t num_components() const { return log_beta_.size(); }
  const std::vector<double>& log_beta() const { return log_beta_; }
  const Array3<double>& log_cores() const { return log_cores_; }

  // out[b] = log v(x[b]).
  void log_value(const Context& context, StatesView x, std::span<double> out) const;

  // log of the sum over all states, of each component [K] and of v.
  std::vector<double> log_component_totals() const;
  double log_total() const;

 private:
  std::vector<double> log_beta_;
  Array3<double> log_cores_;
};

// a(x) b(x), one component for each pair of theirs. Throws InvalidArgument for potentials of
// different spaces and where the cores would take more than kMaxProductEntries numbers.
CpPotential product(const CpPotential& a, const CpPotential& b);
inline constexpr std::size_t kMaxProductEntries = std::size_t{1} << 27;

// The potential that is exp(log_weights[i]) at states[i] and 0 elsewhere: one component a state.
CpPotential point_potential(StatesView states, int num_categories, std::vector<double> log_weights);

// Cores [D,S,K] times factors[s].
Array3<double> scaled_cores(Array3<double> log_cores, std::span<const double> log_factors);

// v(x) prod_d factors[x^d].
CpPotential scaled(const CpPotential& potential, std::span<const double> log_factors);

}  // namespace bridgemark
