#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

// Products of a dense layer in float32. Each sum runs in an order that depends on the sizes alone.
namespace bridgemark::backend::cuda {

// How launch_layer multiplies.
enum class LayerProduct {
  kInOrder,      // over the inputs in order, as on the CPU: for draws that are to be the same
  kTensorCores,  // several times as fast, to 2^-21 of a term: for probabilities of many rows
};

// out[rows, outputs] = in[rows, inputs] weight^T + bias, max(., 0) where `relu`; weight is
// [outputs, inputs] with rows weight_stride apart.
void launch_layer(const float* in, std::size_t rows, std::size_t inputs, const float* weight,
                  std::size_t weight_stride, const float* bias, std::size_t outputs, bool relu,
                  LayerProduct product, float* out, cudaStream_t stream);

// Values of scratch that the gradients need, all 0 before the first product that takes it; products
// that may run at one time need one each.
std::size_t pull_back_scratch(std::size_t rows, std::size_t outputs, std::size_t inputs);
std::size_t weight_gradient_scratch(std::size_t rows, std::size_t outputs, std::size_t inputs);

// out[rows, inputs] = flow[rows, outputs] weight, and 0 where `values` [rows, inputs] is not above
// 0; values may be null.
void launch_pull_back(const float* flow, std::size_t rows, std::size_t outputs, const float* weight,
                      std::size_t weight_stride, std::size_t inputs, const float* values,
                      float* scratch, float* out, cudaStream_t stream);

// weight[outputs, inputs] = flow^T in and bias[outputs] = the sum of flow over rows, for
// flow [rows, outputs] and in [rows, inputs].
void launch_weight_gradient(const float* flow, std::size_t rows, std::size_t outputs,
                            const float* in, std::size_t inputs, float* scratch, float* weight,
                            float* bias, cudaStream_t stream);

}  // namespace bridgemark::backend::cuda
