#include "bridgemark/metric/state_columns.h"

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/parallel.h"

namespace bridgemark {

States transposed(const Context& context, StatesView states) {
  States result(states.cols, states.rows);
  parallel_blocks(context, states.cols, kLineColumns, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = 0; i < states.rows; ++i) {
      const std::int32_t* row = states.row(i);
      for (std::size_t d = first; d < last; ++d) result(d, i) = row[d];
    }
  });
  return result;
}

States fetched(const Context& context, StatesView states) {
  States host(states.rows, states.cols);
  backend::of(context).copy_memory(context, states.data, host.data(),
                                   states.size() * sizeof(*states.data));
  return host;
}

}  // namespace bridgemark
