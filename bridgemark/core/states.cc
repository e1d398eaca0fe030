#include "bridgemark/core/states.h"

#include "bridgemark/core/error.h"

namespace bridgemark {

void check_states(std::string_view name, StatesView states, std::size_t dim, int num_categories) {
  if (states.cols != dim) {
    throw_invalid("states", "{} must have {} columns, got shape [{}, {}]", name, dim, states.rows,
                  states.cols);
  }
  if (states.on_device) return;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::int32_t value = states.data[i];
    if (value < 0 || value >= num_categories) {
      throw_invalid("states", "{} must hold categories 0..{}, got {} at row {}, column {}", name,
                    num_categories - 1, value, i / dim, i % dim);
    }
  }
}

}  // namespace bridgemark
