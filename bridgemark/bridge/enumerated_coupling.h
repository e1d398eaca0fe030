#pragma once

#include <cstdint>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/array.h"

namespace bridgemark {

// A coupling on a space small enough to list: q(x1|x0) as a dense matrix over all S^D states.
class EnumeratedCoupling : public Coupling {
 public:
  // States beyond this would need more than 128 MiB.
  static constexpr std::size_t kMaxStates = 4096;

  // Whether S^D is at most kMaxStates.
  static bool can_enumerate(std::size_t dim, int num_categories);

  // Row i of the result is the state of number i: the first coordinate counts slowest.
  static States all_states(std::size_t dim, int num_categories);

  // log_joint[i,j] = log q(x0 = state i, x1 = state j), up to a constant; each row needs a finite
  // entry unless the state cannot occur as x0.
  EnumeratedCoupling(std::size_t dim, int num_categories, Matrix<double> log_joint);

  std::size_t dim() const override { return dim_; }
  int num_categories() const override { return num_categories_; }

  void sample(const Context& context, StatesView x0, const DrawKey& key, std::uint64_t first_index,
              MutableStatesView x1) const override;
  bool has_marginals() const override { return true; }
  void log_marginals(const Context& context, StatesView x0, Array3<double>& out) const override;
  bool has_joint() const override { return true; }
  void log_conditional(const Context& context, StatesView x0, StatesView x1,
                       std::span<double> out) const override;

 private:
  std::size_t number(const std::int32_t* state) const;

  std::size_t dim_;
  int num_categories_;
  States states_;
  Matrix<double> log_conditional_;  // [states, states], rows normalised
  Matrix<double> cumulative_;       // [states, states]
};

}  // namespace bridgemark
