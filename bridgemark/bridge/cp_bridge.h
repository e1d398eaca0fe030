#pragma once

#include <memory>
#include <span>

#include "bridgemark/bridge/bridge.h"
#include "bridgemark/bridge/cp_potential.h"

namespace bridgemark {

// The bridge of a CP potential: a component keeps to all coordinates.
class CpBridge : public Bridge {
 public:
  // Throws InvalidArgument as Bridge::check says.
  CpBridge(ReferenceProcess process, CpPotential potential, int own_num_steps = 0);

  const CpPotential& potential() const { return potential_; }
  std::span<const double> log_weights() const override { return potential_.log_beta(); }
  const Array3<double>& log_cores() const override { return potential_.log_cores(); }
  const Array3<double>& log_moves() const override;
  std::shared_ptr<const Bridge> with_source(SourceLaw source) const override;

  // c as a potential of x0: the cores as seen from there.
  CpPotential normalizer(const Context& context) const;

 private:
  CpPotential potential_;
};

}  // namespace bridgemark
