#include "bridgemark/backend/cpu/network/network_forward.h"

#include <algorithm>

#include "bridgemark/backend/cpu/network/dense_layer.h"
#include "bridgemark/backend/cpu/simd/vector_math.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark::backend::cpu {

template <typename T>
void pack_network(const Context& context, const NetworkTensors<T>& parameters,
                  std::vector<std::vector<T>>& packed) {
  if (context.device != Device::kCpu) {
    throw DeviceError(
        fmt::format("[device] network_loss runs on the cpu, got {}", device_name(context.device)));
  }
  const NetworkShape& shape = parameters.shape;
  packed.resize(shape.num_layers());
  parallel_blocks(context, shape.num_layers(), 1, [&](std::size_t l, std::size_t) {
    pack_layer(parameters.weight(l), parameters.bias(l), shape.layer_inputs(l),
               shape.layer_outputs(l), packed[l]);
  });
}

template <typename T>
void network_inputs(const NetworkTensors<T>& parameters, StatesView x,
                    const std::int32_t* steps_left, T* out) {
  const NetworkShape& shape = parameters.shape;
  const std::size_t D = shape.dim, E = shape.category_width;
  for (std::size_t b = 0; b < x.rows; ++b) {
    const std::int32_t* state = x.row(b);
    for (std::size_t d = 0; d < D; ++d) {
      if (E == 0) {
        *out++ = static_cast<T>(state[d]);
      } else {
        out = std::copy_n(parameters.category_row(static_cast<std::size_t>(state[d])), E, out);
      }
    }
    const auto row = static_cast<std::size_t>(steps_left[b]);
    out = std::copy_n(parameters.step_row(row), shape.step_width(), out);
  }
}

template <typename T>
void log_transition_row(const NetworkShape& shape, const ChainTables<T>& chain, int steps_left,
                        std::size_t x, const double* logits, double* out) {
  const std::size_t S = chain.num_categories;
  if (shape.is_softmax_step(steps_left)) {
    std::copy_n(logits, S, out);
  } else {
    const double* log_one = chain.log_power(1) + x * S;
    const double* log_after = chain.log_power(steps_left - 1);
    for (std::size_t s = 0; s < S; ++s) {
      out[s] = log_one[s] + log_dot(logits, log_after + s * S, S);
    }
  }
  log_normalize(out, S);
}

#define BM_INSTANTIATE(T)                                                                         \
  template void pack_network<T>(const Context&, const NetworkTensors<T>&,                         \
                                std::vector<std::vector<T>>&);                                    \
  template void network_inputs<T>(const NetworkTensors<T>&, StatesView, const std::int32_t*, T*); \
  template void log_transition_row<T>(const NetworkShape&, const ChainTables<T>&, int,            \
                                      std::size_t, const double*, double*);
BM_INSTANTIATE(float)
BM_INSTANTIATE(double)
#undef BM_INSTANTIATE

}  // namespace bridgemark::backend::cpu
