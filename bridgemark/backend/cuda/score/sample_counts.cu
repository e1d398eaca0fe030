#include <cstdint>
#include <limits>

#include "bridgemark/backend/cuda/cp/cp_view.h"
#include "bridgemark/backend/cuda/cuda_backend.h"
#include "bridgemark/backend/cuda/runtime/buffer.h"
#include "bridgemark/backend/cuda/runtime/memory.h"
#include "bridgemark/backend/cuda/runtime/placed.h"
#include "bridgemark/backend/cuda/runtime/stream.h"

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

// Where row i of these [D,rows] falls in a table [S,S] of columns d and e.
__device__ int cell_of(const std::int32_t* columns, std::size_t rows, std::size_t d, std::size_t e,
                       std::size_t i, int S) {
  return columns[d * rows + i] * S + columns[e * rows + i];
}

// cells[S,S] = the weighted difference of counts for columns d and e, by all threads of a block.
__device__ void count_pair(const ComparedColumns& columns, std::size_t d, std::size_t e, int S,
                           int* cells) {
  for (int i = threadIdx.x; i < S * S; i += blockDim.x) cells[i] = 0;
  __syncthreads();
  const auto add = [&](const std::int32_t* of, std::size_t rows, int weight) {
    for (std::size_t i = threadIdx.x; i < rows; i += blockDim.x) {
      atomicAdd(&cells[cell_of(of, rows, d, e, i, S)], weight);
    }
  };
  add(columns.truth, columns.truth_rows, columns.truth_weight);
  add(columns.prediction, columns.prediction_rows, -columns.prediction_weight);
  __syncthreads();
}

// One block a pair of columns (d, e), of which those with d < e do something.
__global__ void compare_pair(ComparedColumns columns, int D, int S, unsigned long long* out) {
  extern __shared__ int cells[];
  __shared__ unsigned long long sum;
  const int d = blockIdx.y, e = blockIdx.x;
  if (d >= e) return;
  if (threadIdx.x == 0) sum = 0;
  count_pair(columns, d, e, S, cells);
  unsigned long long own = 0;
  for (int i = threadIdx.x; i < S * S; i += blockDim.x) {
    own += static_cast<unsigned long long>(cells[i] < 0 ? -cells[i] : cells[i]);
  }
  atomicAdd(&sum, own);
  __syncthreads();
  if (threadIdx.x == 0) out[static_cast<std::size_t>(d) * D + e] = sum;
}

// One block a pair of columns (d, e), of which those with d <= e do something: with itself a column
// has a cell for each category. Sums are 0 before; 64 bits that wrap around add negative numbers.
__global__ void add_row_signs(ComparedColumns columns, int S, unsigned long long* of_columns,
                              unsigned long long* of_pairs) {
  extern __shared__ int cells[];
  const int d = blockIdx.y, e = blockIdx.x;
  if (d > e) return;
  count_pair(columns, d, e, S, cells);
  unsigned long long* sums = d == e ? of_columns : of_pairs;
  const std::size_t rows = columns.truth_rows;
  const auto sign_of = [&](const std::int32_t* of, std::size_t i) {
    const int difference = cells[cell_of(of, rows, d, e, i, S)];
    return (difference > 0) - (difference < 0);
  };
  for (std::size_t i = threadIdx.x; i < rows; i += blockDim.x) {
    const int sign = sign_of(columns.truth, i) - sign_of(columns.prediction, i);
    if (sign != 0) atomicAdd(&sums[i], static_cast<unsigned long long>(std::int64_t{sign}));
  }
}

// Both sets column by column, for as long as this lives.
class TurnedStates {
 public:
  TurnedStates(const ComparedStates& states, cudaStream_t stream)
      : truth_(states.truth.size(), stream), prediction_(states.prediction.size(), stream) {
    const auto turn = [&](const StatesView& x, std::int32_t* columns) {
      transpose<<<blocks_for(x.size()), kThreads, 0, stream>>>(x.data, x.rows, x.cols, columns);
      BM_CUDA_CHECK(cudaGetLastError());
    };
    turn(states.truth, truth_.get());
    turn(states.prediction, prediction_.get());
    columns_ = {truth_.get(),
                prediction_.get(),
                states.truth.rows,
                states.prediction.rows,
                static_cast<int>(states.truth_weight),
                static_cast<int>(states.prediction_weight)};
  }

  const ComparedColumns& columns() const { return columns_; }

 private:
  Scratch<std::int32_t> truth_, prediction_;
  ComparedColumns columns_;
};

std::size_t table_bytes(int num_categories) {
  const auto S = static_cast<std::size_t>(num_categories);
  return S * S * sizeof(int);
}

// Launches a kernel with a block for each pair of D columns and a table in its shared memory.
template <typename... Parameters, typename... Arguments>
void for_each_pair(void (*kernel)(Parameters...), std::size_t D, int num_categories,
                   cudaStream_t stream, Arguments... arguments) {
  const std::size_t bytes = table_bytes(num_categories);
  BM_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(bytes)));
  const dim3 grid(static_cast<unsigned>(D), static_cast<unsigned>(D));
  kernel<<<grid, kCountThreads, bytes, stream>>>(arguments...);
  BM_CUDA_CHECK(cudaGetLastError());
}

// Sums of a kernel: 0 at first.
class DeviceSums {
 public:
  DeviceSums(std::size_t count, cudaStream_t stream) : sums_(count, stream), count_(count) {
    BM_CUDA_CHECK(cudaMemsetAsync(sums_.get(), 0, count * sizeof(std::int64_t), stream));
  }
  unsigned long long* get() const { return sums_.get(); }
  std::vector<std::int64_t> fetch(cudaStream_t stream) const {
    std::vector<std::int64_t> host(count_);
    copy_and_wait(sums_.get(), host.data(), count_ * sizeof(std::int64_t), stream);
    return host;
  }

 private:
  Scratch<unsigned long long> sums_;
  std::size_t count_;
};

}  // namespace

Matrix<std::int64_t> CudaBackend::count_columns(const Context& context, StatesView x,
                                                int num_categories) const {
  const auto stream = stream_of(context);
  const auto S = static_cast<std::size_t>(num_categories);
  const DeviceSums counts(x.cols * S, stream);
  const dim3 grid(static_cast<unsigned>(x.cols), 8);
  count_column<<<grid, kCountThreads, 0, stream>>>(x.data, x.rows, x.cols, S, counts.get());
  BM_CUDA_CHECK(cudaGetLastError());
  return {x.cols, S, counts.fetch(stream)};
}

std::vector<std::int64_t> CudaBackend::pair_differences(const Context& context,
                                                        const ComparedStates& states) const {
  const auto stream = stream_of(context);
  const std::size_t D = states.truth.cols;
  // No cell exceeds the rows of a set times their weight, nor does one of its partial sums.
  const double largest =
      static_cast<double>(states.truth.rows) * static_cast<double>(states.truth_weight);
  if (table_bytes(states.num_categories) > max_shared_memory() ||
      largest > std::numeric_limits<int>::max()) {
    return {};
  }
  const TurnedStates turned(states, stream);
  const DeviceSums differences(D * D, stream);
  for_each_pair(compare_pair, D, states.num_categories, stream, turned.columns(),
                static_cast<int>(D), states.num_categories, differences.get());
  return differences.fetch(stream);
}

RowSigns CudaBackend::row_signs(const Context& context, StatesView truth, StatesView prediction,
                                int num_categories) const {
  const auto stream = stream_of(context);
  if (table_bytes(num_categories) > max_shared_memory()) return {};
  const TurnedStates turned({truth, prediction, 1, 1, num_categories}, stream);
  const DeviceSums of_columns(truth.rows, stream), of_pairs(truth.rows, stream);
  for_each_pair(add_row_signs, truth.cols, num_categories, stream, turned.columns(), num_categories,
                of_columns.get(), of_pairs.get());
  return {of_columns.fetch(stream), of_pairs.fetch(stream)};
}

}  // namespace bridgemark::backend::cuda
