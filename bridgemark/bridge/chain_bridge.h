#pragma once

#include <memory>
#include <span>

#include "bridgemark/bridge/bridge.h"
#include "bridgemark/bridge/chain_potential.h"

namespace bridgemark {

// The bridge of a chain potential: sums over components are passes along the coordinates.
class ChainBridge : public Bridge {
 public:
  // Throws InvalidArgument as Bridge::check says.
  ChainBridge(ReferenceProcess process, ChainPotential potential, int own_num_steps = 0);

  const ChainPotential& potential() const { return potential_; }
  std::span<const double> log_weights() const override { return potential_.log_start(); }
  const Array3<double>& log_cores() const override { return potential_.log_cores(); }
  const Array3<double>& log_moves() const override { return potential_.log_moves(); }
  std::shared_ptr<const Bridge> with_source(SourceLaw source) const override;

 private:
  ChainPotential potential_;
};

}  // namespace bridgemark
