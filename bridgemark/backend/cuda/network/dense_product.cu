#include "bridgemark/backend/cuda/network/dense_product.h"

#include <algorithm>

#include "bridgemark/backend/cuda/runtime/buffer.h"
#include "bridgemark/backend/cuda/runtime/check.h"

// One product in tiles: out[m,n] = sum_k a(m,k) b(k,n). A block of 256 threads makes a tile of
// Tile x Tile, a thread Tile/16 x Tile/16 of it; the next kInner columns of a and rows of b are
// read into registers while the present ones, in shared memory, are multiplied.
namespace bridgemark::backend::cuda {

namespace {

constexpr int kSide = 16;  // threads of a block: kSide x kSide
constexpr int kBlock = kSide * kSide;
constexpr int kInner = 32;

// An operand with element (i, k) at data[i * stride + k] or, transposed, at data[k * stride + i].
struct Operand {
  const float* data;
  std::size_t stride;
};

struct ProductShape {
  std::size_t rows, columns, inner;
  std::size_t inner_of_part;  // what a block of the grid's third axis sums
};

struct Epilogue {
  const float* start;  // [columns]: where the sums start; or null
  bool relu;
  float* row_sums;      // [rows]: sums of a over k; or null
  const float* values;  // [rows, columns]: the result is 0 where these are not above 0; or null
};

// Element of a tile that a thread reads: lanes follow the operand's contiguous axis.
template <int Tile, bool kTransposed>
__device__ inline void place(int load, int& i, int& k) {
  const int at = load * kBlock + static_cast<int>(threadIdx.x);
  i = kTransposed ? at % Tile : at / kInner;
  k = kTransposed ? at / Tile : at % kInner;
}

template <int Tile, bool kTransposed>
__device__ inline void read_tile(const Operand& operand, std::size_t first, std::size_t count,
                                 std::size_t k0, std::size_t k_end,
                                 float (&values)[Tile * kInner / kBlock]) {
#pragma unroll
  for (int load = 0; load < Tile * kInner / kBlock; ++load) {
    int i, k;
    place<Tile, kTransposed>(load, i, k);
    const std::size_t row = first + i, column = k0 + k;
    const std::size_t at =
        kTransposed ? column * operand.stride + row : row * operand.stride + column;
    values[load] = row < count && column < k_end ? operand.data[at] : 0.0f;
  }
}

template <int Tile, bool kTransposed>
__device__ inline void write_tile(const float (&values)[Tile * kInner / kBlock],
                                  float (*tile)[Tile + 4]) {
#pragma unroll
  for (int load = 0; load < Tile * kInner / kBlock; ++load) {
    int i, k;
    place<Tile, kTransposed>(load, i, k);
    tile[k][i] = values[load];
  }
}

__device__ inline void read_own(const float* from, float (&values)[4]) {
  const float4 read = *reinterpret_cast<const float4*>(from);
  values[0] = read.x, values[1] = read.y, values[2] = read.z, values[3] = read.w;
}
__device__ inline void read_own(const float* from, float (&values)[2]) {
  const float2 read = *reinterpret_cast<const float2*>(from);
  values[0] = read.x, values[1] = read.y;
}

template <int Tile, bool kTransposedA, bool kTransposedB>
__global__ void __launch_bounds__(kBlock)
    multiply(ProductShape shape, Operand a, Operand b, Epilogue epilogue, float* out) {
  constexpr int kLoads = Tile * kInner / kBlock, kOwn = Tile / kSide;
  __shared__ __align__(16) float left[kInner][Tile + 4], right[kInner][Tile + 4];
  const std::size_t m0 = blockIdx.y * std::size_t{Tile}, n0 = blockIdx.x * std::size_t{Tile};
  const std::size_t k_begin = blockIdx.z * shape.inner_of_part;
  const std::size_t k_end = min(shape.inner, k_begin + shape.inner_of_part);
  const int row = static_cast<int>(threadIdx.x) / kSide * kOwn,
            column = static_cast<int>(threadIdx.x) % kSide * kOwn;
  float sum[kOwn][kOwn];
#pragma unroll
  for (int j = 0; j < kOwn; ++j) {
    const std::size_t n = n0 + column + j;
    const float start = epilogue.start != nullptr && n < shape.columns ? epilogue.start[n] : 0.0f;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) sum[i][j] = start;
  }
  const bool adds_rows = epilogue.row_sums != nullptr && blockIdx.x == 0;
  float row_sum = 0.0f;
  float next_a[kLoads], next_b[kLoads];
  read_tile<Tile, kTransposedA>(a, m0, shape.rows, k_begin, k_end, next_a);
  read_tile<Tile, kTransposedB>(b, n0, shape.columns, k_begin, k_end, next_b);
  for (std::size_t k0 = k_begin; k0 < k_end; k0 += kInner) {
    __syncthreads();
    write_tile<Tile, kTransposedA>(next_a, left);
    write_tile<Tile, kTransposedB>(next_b, right);
    __syncthreads();
    if (k0 + kInner < k_end) {
      read_tile<Tile, kTransposedA>(a, m0, shape.rows, k0 + kInner, k_end, next_a);
      read_tile<Tile, kTransposedB>(b, n0, shape.columns, k0 + kInner, k_end, next_b);
    }
#pragma unroll 8
    for (int k = 0; k < kInner; ++k) {
      float x[kOwn], y[kOwn];
      read_own(&left[k][row], x);
      read_own(&right[k][column], y);
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
#pragma unroll
        for (int j = 0; j < kOwn; ++j) sum[i][j] = fmaf(x[i], y[j], sum[i][j]);
      }
    }
    if (adds_rows && threadIdx.x < Tile) {
      for (int k = 0; k < kInner; ++k) row_sum += left[k][threadIdx.x];
    }
  }
  out += blockIdx.z * shape.rows * shape.columns;
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const std::size_t m = m0 + row + i;
    if (m >= shape.rows) break;
#pragma unroll
    for (int j = 0; j < kOwn; ++j) {
      const std::size_t n = n0 + column + j;
      // NaN stays, since it has to reach the loss: a comparison with it is false.
      float value = epilogue.relu && sum[i][j] < 0.0f ? 0.0f : sum[i][j];
      if (n >= shape.columns) continue;
      const std::size_t at = m * shape.columns + n;
      if (epilogue.values != nullptr && !(epilogue.values[at] > 0.0f)) value = 0.0f;
      out[at] = value;
    }
  }
  if (adds_rows && threadIdx.x < Tile && m0 + threadIdx.x < shape.rows) {
    epilogue.row_sums[m0 + threadIdx.x] = row_sum;
  }
}

// out = the sum over parts, 0 where values are not above 0.
__global__ void add_parts(const float* parts, int num_parts, std::size_t count, const float* values,
                          float* out) {
  const std::size_t i = blockIdx.x * std::size_t{kBlock} + threadIdx.x;
  if (i >= count) return;
  float sum = 0.0f;
  for (int part = 0; part < num_parts; ++part) sum += parts[part * count + i];
  out[i] = values == nullptr || values[i] > 0.0f ? sum : 0.0f;
}

constexpr std::size_t tiles(std::size_t count, std::size_t tile) {
  return (count + tile - 1) / tile;
}

// Tiles of 64 where they fill the device, else of 32.
bool takes_large_tiles(std::size_t rows, std::size_t columns) {
  constexpr std::size_t kEnough = 64;
  return tiles(rows, 64) * tiles(columns, 64) >= kEnough;
}

template <bool kTransposedA, bool kTransposedB>
void launch(const ProductShape& shape, const Operand& a, const Operand& b, const Epilogue& epilogue,
            float* out, cudaStream_t stream) {
  if (shape.rows == 0) return;
  const bool large = takes_large_tiles(shape.rows, shape.columns);
  const std::size_t tile = large ? 64 : 32;
  const dim3 grid(static_cast<unsigned>(tiles(shape.columns, tile)),
                  static_cast<unsigned>(tiles(shape.rows, tile)),
                  static_cast<unsigned>(tiles(shape.inner, shape.inner_of_part)));
  if (large) {
    multiply<64, kTransposedA, kTransposedB>
        <<<grid, kBlock, 0, stream>>>(shape, a, b, epilogue, out);
  } else {
    multiply<32, kTransposedA, kTransposedB>
        <<<grid, kBlock, 0, stream>>>(shape, a, b, epilogue, out);
  }
  BM_CUDA_CHECK(cudaGetLastError());
}

// Parts of a long sum over outputs, so that few rows and inputs still fill the device.
std::size_t outputs_of_part(std::size_t rows, std::size_t outputs, std::size_t inputs) {
  constexpr std::size_t kEnough = 256;  // blocks
  const std::size_t blocks = tiles(rows, 32) * tiles(inputs, 32);
  const std::size_t parts = std::max<std::size_t>(1, kEnough / std::max<std::size_t>(blocks, 1));
  return std::max<std::size_t>(128, tiles(tiles(outputs, parts), kInner) * kInner);
}

}  // namespace

void launch_layer(const float* in, std::size_t rows, std::size_t inputs, const float* weight,
                  std::size_t weight_stride, const float* bias, std::size_t outputs, bool relu,
                  float* out, cudaStream_t stream) {
  launch<false, false>({rows, outputs, inputs, inputs}, {in, inputs}, {weight, weight_stride},
                       {bias, relu, nullptr, nullptr}, out, stream);
}

std::size_t pull_back_scratch(std::size_t rows, std::size_t outputs, std::size_t inputs) {
  const std::size_t parts = tiles(outputs, outputs_of_part(rows, outputs, inputs));
  return parts > 1 ? parts * rows * inputs : 0;
}

void launch_pull_back(const float* flow, std::size_t rows, std::size_t outputs, const float* weight,
                      std::size_t weight_stride, std::size_t inputs, const float* values,
                      float* scratch, float* out, cudaStream_t stream) {
  const std::size_t part = outputs_of_part(rows, outputs, inputs), count = rows * inputs;
  const bool whole = part >= outputs;
  launch<false, true>({rows, inputs, outputs, part}, {flow, outputs}, {weight, weight_stride},
                      {nullptr, false, nullptr, whole ? values : nullptr}, whole ? out : scratch,
                      stream);
  if (whole || count == 0) return;
  add_parts<<<static_cast<unsigned>(tiles(count, kBlock)), kBlock, 0, stream>>>(
      scratch, static_cast<int>(tiles(outputs, part)), count, values, out);
  BM_CUDA_CHECK(cudaGetLastError());
}

void launch_weight_gradient(const float* flow, std::size_t rows, std::size_t outputs,
                            const float* in, std::size_t inputs, float* weight, float* bias,
                            cudaStream_t stream) {
  launch<true, true>({outputs, inputs, rows, rows}, {flow, outputs}, {in, inputs},
                     {nullptr, false, bias, nullptr}, weight, stream);
}

}  // namespace bridgemark::backend::cuda
