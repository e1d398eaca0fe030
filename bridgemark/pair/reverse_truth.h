#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/bridge/reversed_bridge.h"
#include "bridgemark/bridge/tree_bridge.h"
#include "bridgemark/pair/source_distribution.h"

namespace bridgemark {

// The truth of a pair read from x1 to x0, q*(x0|x1) in proportion to q_ref(x1|x0) f(x0) with
// f = p0 / c: again a bridge, over the reference seen backwards and with the potential f.
// Where f is a CP potential or a tree that is a closed form with every ability of one:
//   two-sided pairs     f is given;
//   few states          one component for each state that p0 allows, listed;
//   observed states     one component for each of them.
// For any other p0 with independent coordinates, a mixture of such or a hidden chain, it is the
// envelope of ReversedBridge.
class ReverseTruth {
 public:
  // A space with at most so many states is listed.
  static constexpr std::size_t kMaxStates = 4096;

  // Numbers in the cores of listed or observed states, at most.
  static constexpr std::size_t kMaxEntries = std::size_t{1} << 24;

  // `potential` is f of a two-sided pair.
  ReverseTruth(const Context& context, std::shared_ptr<const Bridge> bridge,
               const SourceDistribution& source, const std::optional<CpPotential>& potential);

  // Of a two-sided pair of trees, f on the tree of the bridge.
  ReverseTruth(const Context& context, std::shared_ptr<const TreeBridge> bridge,
               const TreePotential& potential);

  // With the law of x0 that the bridge has. Throws InvalidArgument where it has none.
  ReverseTruth(const Context& context, std::shared_ptr<const Bridge> bridge);

  // Null where p0 has observed states beyond kMaxEntries; missing() says how many they may be.
  std::shared_ptr<const Coupling> coupling() const;
  const std::string& missing() const { return missing_; }

  // log p1(x1[b]). Throws InvalidArgument where coupling() is null.
  LogEstimates log_p1(const Context& context, StatesView x1, std::uint64_t seed) const;

  // What answers where there is no closed form, else null.
  const ReversedBridge* envelope() const { return envelope_.get(); }

 private:
  // True where the space is small: f is then made of all its states, whose log p0 this writes.
  bool set_listed(const Context& host,
                  const std::function<void(const States&, std::span<double>)>& write_log_p0);
  template <typename Potential>
  void set_closed(const Potential& potential);

  std::shared_ptr<const Bridge> bridge_;
  std::shared_ptr<const Bridge> closed_;
  std::shared_ptr<const ReversedBridge> envelope_;
  std::vector<double> log_stationary_;  // [S], of the reference
  std::string missing_;
  double log_total_ = 0.0;  // log of the sum of f c over all states
};

}  // namespace bridgemark
