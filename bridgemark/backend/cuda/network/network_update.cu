#include "bridgemark/backend/cuda/device/adamw.h"
#include "bridgemark/backend/cuda/network/dense_layer.h"
#include "bridgemark/backend/cuda/network/network_view.h"
#include "bridgemark/backend/cuda/runtime/buffer.h"
#include "bridgemark/backend/cuda/runtime/check.h"

// What surrounds the layers of a network: its inputs, the embeddings' gradients, the sum of the
// losses and the optimiser. Sums run in an order that depends on the sizes alone.
namespace bridgemark::backend::cuda {

namespace {

constexpr int kBlock = 256;

unsigned blocks_of(std::size_t count) {
  return static_cast<unsigned>((count + kBlock - 1) / kBlock);
}

struct InputView {
  std::size_t D, E, state_width, input_width;
  const float *steps, *categories;  // embeddings
};

InputView input_view(const NetworkShape& shape, const float* parameters) {
  return {shape.dim,
          shape.category_width,
          shape.state_width(),
          shape.input_width(),
          parameters + shape.step_offset(),
          parameters + shape.category_offset()};
}

__global__ void write_inputs(InputView view, const std::int32_t* x, const std::int32_t* steps_left,
                             int all_left, std::size_t rows, float* out) {
  const std::size_t i = blockIdx.x * std::size_t{kBlock} + threadIdx.x;
  if (i >= rows * view.input_width) return;
  const std::size_t b = i / view.input_width, column = i % view.input_width;
  if (column >= view.state_width) {
    const std::size_t left = steps_left != nullptr ? steps_left[b] : all_left;
    out[i] = view.steps[left * view.D + column - view.state_width];
  } else if (view.E == 0) {
    out[i] = static_cast<float>(x[b * view.D + column]);
  } else {
    const std::size_t category = x[b * view.D + column / view.E];
    out[i] = view.categories[category * view.E + column % view.E];
  }
}

// One thread an entry: the rows that have so many steps left, in order.
__global__ void step_gradient(std::size_t D, std::size_t entries, const float* flow,
                              std::size_t flow_width, const std::int32_t* steps_left,
                              std::size_t rows, float* out) {
  const std::size_t i = blockIdx.x * std::size_t{kBlock} + threadIdx.x;
  if (i >= entries) return;
  const std::size_t left = i / D, column = flow_width - D + i % D;
  float sum = 0.0f;
#pragma unroll 8
  for (std::size_t b = 0; b < rows; ++b) {
    if (static_cast<std::size_t>(steps_left[b]) == left) sum += flow[b * flow_width + column];
  }
  out[i] = sum;
}

// One block an entry (category, e).
__global__ void category_gradient(std::size_t D, std::size_t E, const float* flow,
                                  std::size_t flow_width, const std::int32_t* x, std::size_t rows,
                                  float* out) {
  __shared__ float sums[kBlock];
  const std::size_t category = blockIdx.x / E, e = blockIdx.x % E;
  float sum = 0.0f;
  for (std::size_t i = threadIdx.x; i < rows * D; i += kBlock) {
    if (static_cast<std::size_t>(x[i]) == category) {
      sum += flow[i / D * flow_width + i % D * E + e];
    }
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = kBlock / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}

__global__ void sum_losses(const double* row_loss, std::size_t count, double scale,
                           const Progress* progress, double* losses) {
  __shared__ double sums[kBlock];
  double sum = 0.0;
  for (std::size_t i = threadIdx.x; i < count; i += kBlock) sum += row_loss[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = kBlock / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) losses[progress->local] = scale * sums[0];
}

__global__ void optimize(OptimizedNetwork network, const UpdateSettings* all_settings,
                         const Progress* progress) {
  const std::size_t i = blockIdx.x * std::size_t{kBlock} + threadIdx.x;
  if (i >= network.count) return;
  const UpdateSettings settings = all_settings[progress->local];
  float parameter = network.parameters[i];
  update_parameter(settings.adamw, network.gradient[i], parameter, network.first[i],
                   network.second[i]);
  network.parameters[i] = parameter;
  update_average(settings.share, parameter, network.average[i]);
}

}  // namespace

void launch_inputs(const NetworkShape& shape, const float* parameters, const std::int32_t* x,
                   const std::int32_t* steps_left, int all_left, std::size_t rows, float* out,
                   cudaStream_t stream) {
  if (rows == 0) return;
  write_inputs<<<blocks_of(rows * shape.input_width()), kBlock, 0, stream>>>(
      input_view(shape, parameters), x, steps_left, all_left, rows, out);
  BM_CUDA_CHECK(cudaGetLastError());
}

void launch_step_table(const NetworkShape& shape, const float* parameters, float* out,
                       cudaStream_t stream) {
  launch_layer(parameters + shape.step_offset(), static_cast<std::size_t>(shape.num_steps) + 1,
               shape.step_width(), parameters + shape.weight_offset(0) + shape.state_width(),
               shape.input_width(), parameters + shape.bias_offset(0), shape.layer_outputs(0),
               false, LayerProduct::kInOrder, out, stream);
}

void launch_embedding_gradient(const NetworkShape& shape, const float* input_flow,
                               std::size_t flow_width, const PointsView& points, std::size_t rows,
                               float* gradient, cudaStream_t stream) {
  const std::size_t entries = shape.category_offset() - shape.step_offset();
  step_gradient<<<blocks_of(entries), kBlock, 0, stream>>>(shape.dim, entries, input_flow,
                                                           flow_width, points.steps_left, rows,
                                                           gradient + shape.step_offset());
  BM_CUDA_CHECK(cudaGetLastError());
  if (shape.category_width == 0) return;
  category_gradient<<<static_cast<unsigned>(shape.num_categories * shape.category_width), kBlock, 0,
                      stream>>>(shape.dim, shape.category_width, input_flow, flow_width, points.x,
                                rows, gradient + shape.category_offset());
  BM_CUDA_CHECK(cudaGetLastError());
}

void launch_loss_sum(const double* row_loss, std::size_t count, double scale,
                     const Progress* progress, double* losses, cudaStream_t stream) {
  sum_losses<<<1, kBlock, 0, stream>>>(row_loss, count, scale, progress, losses);
  BM_CUDA_CHECK(cudaGetLastError());
}

void launch_adamw(const OptimizedNetwork& network, const UpdateSettings* settings,
                  const Progress* progress, cudaStream_t stream) {
  optimize<<<blocks_of(network.count), kBlock, 0, stream>>>(network, settings, progress);
  BM_CUDA_CHECK(cudaGetLastError());
}

}  // namespace bridgemark::backend::cuda
