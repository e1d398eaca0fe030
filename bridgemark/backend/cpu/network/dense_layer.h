#pragma once

#include <cstddef>
#include <vector>

// A layer of a network, out = in W^T + bias, on weights laid out once for many calls. Each sum runs
// over the inputs in order, so the result of a row does not depend on the rows beside it: a batch
// may be split anywhere. T is float or double.
namespace bridgemark::backend::cpu {

// Lays out weight [outputs, inputs] and bias [outputs] for apply_layer.
template <typename T>
void pack_layer(const T* weight, const T* bias, std::size_t inputs, std::size_t outputs,
                std::vector<T>& packed);

// out[rows, outputs] from in[rows, inputs], with max(., 0) where `relu`.
template <typename T>
void apply_layer(const std::vector<T>& packed, const T* in, std::size_t rows, std::size_t inputs,
                 std::size_t outputs, bool relu, T* out);

}  // namespace bridgemark::backend::cpu
