#pragma once

#include <memory>
#include <span>

#include "bridgemark/bridge/chain_potential.h"
#include "bridgemark/bridge/cp_potential.h"
#include "bridgemark/core/context.h"

namespace bridgemark {

// A law of x0 in proportion to a potential: a mixture of independent coordinates, one part a
// component, or a hidden chain. Immutable; copies share the potential.
class SourceLaw {
 public:
  SourceLaw(CpPotential mixture);
  SourceLaw(ChainPotential chain);

  // One of the two; the other is null.
  const CpPotential* mixture() const { return mixture_.get(); }
  const ChainPotential* chain() const { return chain_.get(); }

  std::size_t dim() const { return log_cores().extent(0); }
  int num_categories() const { return static_cast<int>(log_cores().extent(1)); }

  // Parts of the mixture, states of the chain.
  std::size_t num_components() const { return log_cores().extent(2); }

  // The potential's weights [J], cores [D,S,J] and, of a chain, moves [D-1,J,J]; empty otherwise.
  const std::vector<double>& log_weights() const;
  const Array3<double>& log_cores() const;
  const Array3<double>& log_moves() const;

  // out[b] = log p0(x[b]).
  void log_probability(const Context& context, StatesView x, std::span<double> out) const;

 private:
  std::shared_ptr<const CpPotential> mixture_;
  std::shared_ptr<const ChainPotential> chain_;
  double log_total_;  // of the potential over all states
};

}  // namespace bridgemark
