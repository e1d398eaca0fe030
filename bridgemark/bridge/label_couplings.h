#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/core/labels.h"

namespace bridgemark {

// The coupling of a label's rows.
struct LabelCoupling {
  Label label = 0;
  std::shared_ptr<const Coupling> coupling;
};

// One coupling for each label, that answers the rows which have it: x1 given x0 and a label that
// stays. Row i draws with the index of its place among all rows, label after label in ascending
// order, so that no two rows share draws.
class LabelCouplings {
 public:
  // Labels ascending. Throws InvalidArgument for none, for a label that comes twice and for
  // couplings of different spaces.
  explicit LabelCouplings(std::vector<LabelCoupling> couplings);

  std::size_t dim() const { return couplings_[0].coupling->dim(); }
  int num_categories() const { return couplings_[0].coupling->num_categories(); }
  const std::vector<LabelCoupling>& couplings() const { return couplings_; }

  // Throws InvalidArgument that names the labels there are.
  const Coupling& of(Label label) const;

  // x1[i] ~ q(. | x0[i], labels[i]), with the draws of (seed, kConditional). As all calls here:
  // throws InvalidArgument unless x0 are states with a label each, one that has a coupling.
  States sample(const Context& context, StatesView x0, std::span<const Label> labels,
                std::uint64_t seed) const;

  // Trajectories [rows,num_steps+1,D] from x0.
  Array3<std::int32_t> sample_trajectory(const Context& context, int num_steps, StatesView x0,
                                         std::span<const Label> labels, std::uint64_t seed) const;

  // log q(x1[i] | x0[i], labels[i]).
  std::vector<double> log_conditional(const Context& context, StatesView x0, StatesView x1,
                                      std::span<const Label> labels) const;

 private:
  using Visit = std::function<void(const Coupling&, const LabelGroup&, std::size_t first_index)>;
  void for_each_label(StatesView x0, std::span<const Label> labels, const Visit& visit) const;

  std::vector<LabelCoupling> couplings_;
};

}  // namespace bridgemark
