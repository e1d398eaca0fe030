#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bridgemark/backend/plan/network_steps.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"

// The parts that the loss, the chains and the transitions of a network share.
namespace bridgemark::backend::cpu {

// Lays out the weights of every layer for apply_layer. Throws DeviceError unless the context's
// device is the CPU: every operation starts here.
template <typename T>
void pack_network(const Context& context, const NetworkTensors<T>& parameters,
                  std::vector<std::vector<T>>& packed);

// out[rows, input_width]: the network's input for states with steps_left[row] to the clean end.
template <typename T>
void network_inputs(const NetworkTensors<T>& parameters, StatesView x,
                    const std::int32_t* steps_left, T* out);

// out[s] = log of the transition from x, exact in the log domain.
template <typename T>
void log_transition_row(const NetworkShape& shape, const ChainTables<T>& chain, int steps_left,
                        std::size_t x, const double* logits, double* out);

}  // namespace bridgemark::backend::cpu
