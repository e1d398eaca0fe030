#pragma once

#include <memory>
#include <span>

#include "bridgemark/bridge/bridge.h"
#include "bridgemark/bridge/tree_potential.h"

namespace bridgemark {

// The bridge of a tree potential: sums over components are passes up and down the tree.
class TreeBridge : public Bridge {
 public:
  // Throws InvalidArgument as Bridge::check says.
  TreeBridge(ReferenceProcess process, TreePotential potential, int own_num_steps = 0);

  const TreePotential& potential() const { return potential_; }

  // c(x0) as a potential: the same tree over the cores as seen from the start.
  TreePotential normalizer(const Context& context) const;
  std::span<const double> log_weights() const override { return potential_.log_root(); }
  const Array3<double>& log_cores() const override { return potential_.log_cores(); }
  const Array3<double>& log_moves() const override { return potential_.log_moves(); }
  const TreeShape* tree() const override { return &potential_.shape(); }
  std::shared_ptr<const Bridge> with_source(SourceLaw source) const override;

 private:
  TreePotential potential_;
};

}  // namespace bridgemark
