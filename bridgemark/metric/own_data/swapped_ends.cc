#include "bridgemark/metric/own_data/swapped_ends.h"

#include <cmath>

#include "bridgemark/metric/own_data/marginal_fit.h"

namespace bridgemark {

bool ends_look_swapped(const Context& context, StatesView x0, StatesView x1, StatesView training_x0,
                       StatesView training_x1, int num_categories) {
  constexpr double kErrors = 5.0;
  const auto is_nearer = [&](StatesView rows, StatesView to, StatesView than) {
    const MeanEstimate near = marginal_shape(context, rows, to, num_categories),
                       far = marginal_shape(context, rows, than, num_categories);
    // Without an error, of one row, nothing is said.
    return near.mean - far.mean > kErrors * std::hypot(near.standard_error, far.standard_error);
  };
  return is_nearer(x0, training_x1, training_x0) && is_nearer(x1, training_x0, training_x1);
}

}  // namespace bridgemark
