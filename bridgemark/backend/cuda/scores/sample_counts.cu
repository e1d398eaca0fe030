#include <cstdint>
#include <limits>

#include "bridgemark/backend/cuda/cp/cp_view.h"
#include "bridgemark/backend/cuda/runtime/buffer.h"
#include "bridgemark/backend/cuda/runtime/placed.h"
#include "bridgemark/backend/cuda_ops.h"

// Counts of states: integers, so that any order of the rows gives the same.
namespace bridgemark::backend::cuda {

namespace {

constexpr int kCountThreads = 256;

// One block a column; counts [D,S] are 0 before.
__global__ void count_column(const std::int32_t* x, std::size_t rows, std::size_t D, std::size_t S,
                             unsigned long long* counts) {
  const std::size_t d = blockIdx.x;
  const std::size_t step = std::size_t{gridDim.y} * blockDim.x;
  for (std::size_t i = blockIdx.y * std::size_t{blockDim.x} + threadIdx.x; i < rows; i += step) {
    atomicAdd(&counts[d * S + static_cast<std::size_t>(x[i * D + d])], 1ull);
  }
}

// columns[d,i] = x[i,d].
__global__ void transpose(const std::int32_t* x, std::size_t rows, std::size_t D,
                          std::int32_t* columns) {
  const std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (i < rows * D) columns[i % D * rows + i / D] = x[i];
}

struct ComparedColumns {
  const std::int32_t *truth, *prediction;  // [D,rows]
  std::size_t truth_rows, prediction_rows;
  int truth_weight, prediction_weight;
};

__device__ void add_pair(const std::int32_t* columns, std::size_t rows, std::size_t d,
                         std::size_t e, int S, int weight, int* cells) {
  const std::int32_t *first = columns + d * rows, *second = columns + e * rows;
  for (std::size_t i = threadIdx.x; i < rows; i += blockDim.x) {
    atomicAdd(&cells[first[i] * S + second[i]], weight);
  }
}

// One block a pair of columns (d, e), of which those with d < e do something.
__global__ void compare_pair(ComparedColumns columns, int D, int S, unsigned long long* out) {
  extern __shared__ int cells[];
  __shared__ unsigned long long sum;
  const int d = blockIdx.y, e = blockIdx.x;
  if (d >= e) return;
  for (int i = threadIdx.x; i < S * S; i += blockDim.x) cells[i] = 0;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  add_pair(columns.truth, columns.truth_rows, d, e, S, columns.truth_weight, cells);
  add_pair(columns.prediction, columns.prediction_rows, d, e, S, -columns.prediction_weight, cells);
  __syncthreads();
  unsigned long long own = 0;
  for (int i = threadIdx.x; i < S * S; i += blockDim.x) {
    own += static_cast<unsigned long long>(cells[i] < 0 ? -cells[i] : cells[i]);
  }
  atomicAdd(&sum, own);
  __syncthreads();
  if (threadIdx.x == 0) out[static_cast<std::size_t>(d) * D + e] = sum;
}

}  // namespace

Matrix<std::int64_t> count_columns(StatesView x, int num_categories, void* queue) {
  const auto stream = static_cast<cudaStream_t>(queue);
  const auto S = static_cast<std::size_t>(num_categories);
  Matrix<std::int64_t> counts(x.cols, S);
  const Scratch<unsigned long long> found(counts.size(), stream);
  BM_CUDA_CHECK(cudaMemsetAsync(found.get(), 0, counts.size() * sizeof(std::int64_t), stream));
  const dim3 grid(static_cast<unsigned>(x.cols), 8);
  count_column<<<grid, kCountThreads, 0, stream>>>(x.data, x.rows, x.cols, S, found.get());
  BM_CUDA_CHECK(cudaGetLastError());
  copy_memory(found.get(), counts.data(), counts.size() * sizeof(std::int64_t), stream);
  return counts;
}

std::vector<std::int64_t> pair_differences(const ComparedStates& states, void* queue) {
  const auto stream = static_cast<cudaStream_t>(queue);
  const std::size_t D = states.truth.cols, S = static_cast<std::size_t>(states.num_categories);
  const std::size_t bytes = S * S * sizeof(int);
  // No cell exceeds the rows of a set times their weight, nor does one of its partial sums.
  const double largest =
      static_cast<double>(states.truth.rows) * static_cast<double>(states.truth_weight);
  if (bytes > max_shared_memory() || largest > std::numeric_limits<int>::max()) return {};
  const Scratch<std::int32_t> truth(states.truth.size(), stream),
      prediction(states.prediction.size(), stream);
  const Scratch<unsigned long long> found(D * D, stream);
  const auto turn = [&](const StatesView& x, std::int32_t* columns) {
    transpose<<<blocks_for(x.size()), kThreads, 0, stream>>>(x.data, x.rows, D, columns);
  };
  turn(states.truth, truth.get());
  turn(states.prediction, prediction.get());
  BM_CUDA_CHECK(cudaFuncSetAttribute(compare_pair, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(bytes)));
  BM_CUDA_CHECK(cudaMemsetAsync(found.get(), 0, D * D * sizeof(std::int64_t), stream));
  const ComparedColumns columns{truth.get(),
                                prediction.get(),
                                states.truth.rows,
                                states.prediction.rows,
                                static_cast<int>(states.truth_weight),
                                static_cast<int>(states.prediction_weight)};
  const dim3 grid(static_cast<unsigned>(D), static_cast<unsigned>(D));
  compare_pair<<<grid, kCountThreads, bytes, stream>>>(columns, static_cast<int>(D),
                                                       states.num_categories, found.get());
  BM_CUDA_CHECK(cudaGetLastError());
  std::vector<std::int64_t> differences(D * D);
  copy_memory(found.get(), differences.data(), D * D * sizeof(std::int64_t), stream);
  return differences;
}

}  // namespace bridgemark::backend::cuda
