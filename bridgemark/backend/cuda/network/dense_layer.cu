#include "bridgemark/backend/cuda/network/dense_layer.h"

#include <algorithm>

#include "bridgemark/backend/cuda/device/tensor_product.h"
#include "bridgemark/backend/cuda/runtime/buffer.h"
#include "bridgemark/backend/cuda/runtime/check.h"

// One product in tiles: out[m,n] = sum_k a(m,k) b(k,n). A block of 256 threads makes a tile of
// Tile x Tile, a thread Tile/16 x Tile/16 of it; the next kInner columns of a and rows of b are
// read into registers while the present ones, in shared memory, are multiplied. Where the tiles
// are too few to fill the device, several blocks share one, each with a part of the sum over k;
// the last of them to end adds the parts up in order.
namespace bridgemark::backend::cuda {

namespace {

constexpr int kSide = 16;  // threads of a block: kSide x kSide
constexpr int kBlock = kSide * kSide;
constexpr int kInner = 32;
constexpr std::size_t kBlocksOfSplit = 128;                 // that sums in parts are made for
constexpr std::size_t kMaxSplitTiles = kBlocksOfSplit / 2;  // more of them have no parts

// An operand with element (i, k) at data[i * stride + k] or, transposed, at data[k * stride + i].
struct Operand {
  const float* data;
  std::size_t stride;
};

struct ProductShape {
  std::size_t rows, columns, inner;
};

// Parts of a tile that wait for the last one: a thread's values [part, tile, value, thread].
struct SplitSum {
  std::size_t inner_of_part;
  unsigned* arrivals;  // [tiles]: blocks that have written their part; 0 between products
  float* values;
  float* row_sums;  // [part, rows]
};

struct Epilogue {
  const float* start;  // [columns]: where the sums start; or null
  bool relu;
  float* row_sums;      // [rows]: sums of a over k; or null
  const float* values;  // [rows, columns]: the result is 0 where these are not above 0; or null
};

// A thread's share of an operand's tiles of Tile x kInner, one after the other along k. Threads
// follow the operand's contiguous axis; a thread's values lie kStep lines of it apart.
template <int Tile, bool kTransposed>
class TileReader {
 public:
  static constexpr int kLoads = Tile * kInner / kBlock;

  __device__ TileReader(const Operand& operand, std::size_t first, std::size_t count,
                        std::size_t k_begin, std::size_t k_end)
      : stride_(operand.stride),
        line_(line_of(static_cast<int>(threadIdx.x))),
        lane_(lane_of(static_cast<int>(threadIdx.x))),
        lines_left_(static_cast<int>(kTransposed ? k_end - k_begin : count - first) - line_),
        lanes_left_(static_cast<int>(kTransposed ? count - first : k_end - k_begin) - lane_) {
    const std::size_t first_line = kTransposed ? k_begin : first;
    at_ = operand.data + (first_line + line_) * stride_ + (kTransposed ? first : k_begin) + lane_;
  }

  // The next tile; 0 beyond the operand's ends.
  __device__ void read(float (&values)[kLoads]) {
#pragma unroll
    for (int load = 0; load < kLoads; ++load) {
      const bool inside = load * kStep < lines_left_ && lanes_left_ > 0;
      values[load] = inside ? at_[load * kStep * stride_] : 0.0f;
    }
    at_ += kTransposed ? kInner * stride_ : kInner;
    (kTransposed ? lines_left_ : lanes_left_) -= kInner;
  }

  template <int kStride>
  __device__ void write(const float (&values)[kLoads], float (*tile)[kStride]) const {
#pragma unroll
    for (int load = 0; load < kLoads; ++load) {
      const int line = line_ + load * kStep;
      (kTransposed ? tile[line][lane_] : tile[lane_][line]) = values[load];
    }
  }

 private:
  static constexpr int kWidth = kTransposed ? Tile : kInner, kStep = kBlock / kWidth;

  // Where k is contiguous a warp reads 8 values of 4 lines: whole sectors of memory, and as the
  // tile's rows of Tile + 4 lie 4 banks apart, its 32 writes go to 32 banks.
  static __device__ int line_of(int thread) {
    return kTransposed ? thread / kWidth : thread % 32 / 8 + thread / 128 * 4;
  }
  static __device__ int lane_of(int thread) {
    return kTransposed ? thread % kWidth : thread % 8 + thread / 32 % 4 * 8;
  }

  const float* at_;
  std::size_t stride_;
  int line_, lane_, lines_left_, lanes_left_;
};

__device__ inline void read_own(const float* from, float (&values)[4]) {
  const float4 read = *reinterpret_cast<const float4*>(from);
  values[0] = read.x, values[1] = read.y, values[2] = read.z, values[3] = read.w;
}
__device__ inline void read_own(const float* from, float (&values)[2]) {
  const float2 read = *reinterpret_cast<const float2*>(from);
  values[0] = read.x, values[1] = read.y;
}

// Leaves a block's part; in the last block of a tile, puts the sums of all parts in its place.
// False in the others.
template <int kOwn>
__device__ inline bool gather_parts(const SplitSum& split, std::size_t rows, std::size_t row,
                                    bool adds_rows, float (&sum)[kOwn][kOwn], float& row_sum) {
  constexpr std::size_t kTileValues = std::size_t{kOwn} * kOwn * kBlock;
  const std::size_t tile = blockIdx.y * gridDim.x + blockIdx.x,
                    num_tiles = std::size_t{gridDim.x} * gridDim.y;
  const auto values_of = [&](unsigned part) {
    return split.values + (part * num_tiles + tile) * kTileValues + threadIdx.x;
  };
  float* own = values_of(blockIdx.z);
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
#pragma unroll
    for (int j = 0; j < kOwn; ++j) own[(i * kOwn + j) * kBlock] = sum[i][j];
  }
  if (adds_rows) split.row_sums[blockIdx.z * rows + row] = row_sum;
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(&split.arrivals[tile], 1u) == gridDim.z - 1;
  __syncthreads();
  if (!is_last) return false;
  __threadfence();
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
#pragma unroll
    for (int j = 0; j < kOwn; ++j) sum[i][j] = 0.0f;
  }
  row_sum = 0.0f;
#pragma unroll(kOwn == 4 ? 1 : 4)
  for (unsigned part = 0; part < gridDim.z; ++part) {
    const float* from = values_of(part);
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
#pragma unroll
      for (int j = 0; j < kOwn; ++j) sum[i][j] += __ldcg(&from[(i * kOwn + j) * kBlock]);
    }
    if (adds_rows) row_sum += __ldcg(&split.row_sums[part * rows + row]);
  }
  if (threadIdx.x == 0) split.arrivals[tile] = 0;
  return true;
}

template <int Tile, bool kTransposedA, bool kTransposedB>
__global__ void __launch_bounds__(kBlock, Tile == 64 ? 2 : 3)
    multiply(ProductShape shape, Operand a, Operand b, SplitSum split, Epilogue epilogue,
             float* out) {
  constexpr int kLoads = Tile * kInner / kBlock, kOwn = Tile / kSide;
  __shared__ __align__(16) float left[kInner][Tile + 4], right[kInner][Tile + 4];
  const std::size_t m0 = blockIdx.y * std::size_t{Tile}, n0 = blockIdx.x * std::size_t{Tile};
  const std::size_t k_begin = blockIdx.z * split.inner_of_part;
  const std::size_t k_end = min(shape.inner, k_begin + split.inner_of_part);
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
  const std::size_t summed_row = m0 + threadIdx.x;
  const bool adds_rows = epilogue.row_sums != nullptr && blockIdx.x == 0 && threadIdx.x < Tile &&
                         summed_row < shape.rows;
  float row_sum = 0.0f;
  TileReader<Tile, kTransposedA> read_a(a, m0, shape.rows, k_begin, k_end);
  TileReader<Tile, kTransposedB> read_b(b, n0, shape.columns, k_begin, k_end);
  float next_a[kLoads], next_b[kLoads];
  read_a.read(next_a);
  read_b.read(next_b);
  for (std::size_t k0 = k_begin; k0 < k_end; k0 += kInner) {
    __syncthreads();
    read_a.write(next_a, left);
    read_b.write(next_b, right);
    __syncthreads();
    if (k0 + kInner < k_end) {
      read_a.read(next_a);
      read_b.read(next_b);
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
    if (adds_rows) {
      for (int k = 0; k < kInner; ++k) row_sum += left[k][threadIdx.x];
    }
  }
  if (gridDim.z > 1 && !gather_parts(split, shape.rows, summed_row, adds_rows, sum, row_sum)) {
    return;
  }
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
  if (adds_rows) epilogue.row_sums[summed_row] = row_sum;
}

// The same without parts, on the tensor cores: a warp makes 32 x 32 of a block's tile. The strides
// of both tiles are 8 more than a multiple of 32, so no two lanes read from one bank.
constexpr int kTensorRows = 128, kTensorColumns = 64, kWarpSide = 32;

__global__ void __launch_bounds__(kBlock, 2)
    multiply_on_tensor_cores(ProductShape shape, Operand a, Operand b, const float* bias, bool relu,
                             float* out) {
  constexpr int kStrideA = kTensorRows + 8, kStrideB = kTensorColumns + 8;
  using ReaderA = TileReader<kTensorRows, false>;
  using ReaderB = TileReader<kTensorColumns, false>;
  __shared__ float left[kInner][kStrideA], right[kInner][kStrideB];
  const std::size_t m0 = blockIdx.y * std::size_t{kTensorRows},
                    n0 = blockIdx.x * std::size_t{kTensorColumns};
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int row = warp % (kTensorRows / kWarpSide) * kWarpSide,
            column = warp / (kTensorRows / kWarpSide) * kWarpSide;
  float sum[kWarpSide / 16][kWarpSide / 8][4] = {};
  ReaderA read_a(a, m0, shape.rows, 0, shape.inner);
  ReaderB read_b(b, n0, shape.columns, 0, shape.inner);
  float next_a[ReaderA::kLoads], next_b[ReaderB::kLoads];
  read_a.read(next_a);
  read_b.read(next_b);
  for (std::size_t k0 = 0; k0 < shape.inner; k0 += kInner) {
    __syncthreads();
    read_a.write(next_a, left);
    read_b.write(next_b, right);
    __syncthreads();
    if (k0 + kInner < shape.inner) {
      read_a.read(next_a);
      read_b.read(next_b);
    }
    add_tensor_product(SharedMatrix<1, kStrideA>{&left[0][row]},
                       SharedMatrix<kStrideB, 1>{&right[0][column]}, kInner, sum);
  }
#pragma unroll
  for (int i = 0; i < kWarpSide / 16; ++i) {
#pragma unroll
    for (int j = 0; j < kWarpSide / 8; ++j) {
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        const std::size_t m = m0 + row + 16 * i + sum_row() + part / 2 * 8;
        const std::size_t n = n0 + column + 8 * j + sum_column() + part % 2;
        if (m >= shape.rows || n >= shape.columns) continue;
        const float value = sum[i][j][part] + bias[n];
        out[m * shape.columns + n] = relu && value < 0.0f ? 0.0f : value;
      }
    }
  }
}

constexpr std::size_t tiles(std::size_t count, std::size_t tile) {
  return (count + tile - 1) / tile;
}

// How a product is shared out among blocks.
struct Division {
  std::size_t tile, num_tiles;
  std::size_t num_parts, inner_of_part;

  std::size_t scratch(std::size_t rows) const {
    return num_parts > 1 ? kMaxSplitTiles + num_parts * (num_tiles * tile * tile + rows) : 0;
  }
};

std::size_t tiles_of(const ProductShape& shape, std::size_t tile) {
  return tiles(shape.rows, tile) * tiles(shape.columns, tile);
}

// Whole sums, in order; tiles of 64 where they fill the device by half.
Division divide(const ProductShape& shape) {
  constexpr std::size_t kEnough = 64;
  const std::size_t tile = tiles_of(shape, 64) >= kEnough ? 64 : 32;
  return {tile, tiles_of(shape, tile), 1, shape.inner};
}

// Sums in parts of at least `least` terms until about one block runs on each multiprocessor; tiles
// of 64 where they can be as many.
Division divide(const ProductShape& shape, std::size_t least) {
  const std::size_t most = std::max<std::size_t>(1, shape.inner / least);
  const std::size_t tile = tiles_of(shape, 64) * most >= kBlocksOfSplit ? 64 : 32;
  const std::size_t num_tiles = tiles_of(shape, tile);
  const std::size_t wanted =
      std::clamp<std::size_t>(kBlocksOfSplit / std::max<std::size_t>(num_tiles, 1), 1, most);
  const std::size_t of_part = tiles(tiles(shape.inner, wanted), kInner) * kInner;
  return {tile, num_tiles, tiles(shape.inner, of_part), of_part};
}

Division divide_pull_back(const ProductShape& shape) { return divide(shape, 128); }
Division divide_weight_gradient(const ProductShape& shape) { return divide(shape, 32); }

template <bool kTransposedA, bool kTransposedB>
void launch(const ProductShape& shape, const Operand& a, const Operand& b, const Division& division,
            const Epilogue& epilogue, float* scratch, float* out, cudaStream_t stream) {
  if (shape.rows == 0) return;
  SplitSum split{division.inner_of_part, nullptr, nullptr, nullptr};
  if (division.num_parts > 1) {
    split.arrivals = reinterpret_cast<unsigned*>(scratch);
    split.values = scratch + kMaxSplitTiles;
    split.row_sums =
        split.values + division.num_parts * division.num_tiles * division.tile * division.tile;
  }
  const dim3 grid(static_cast<unsigned>(tiles(shape.columns, division.tile)),
                  static_cast<unsigned>(tiles(shape.rows, division.tile)),
                  static_cast<unsigned>(division.num_parts));
  const auto kernel = division.tile == 64 ? multiply<64, kTransposedA, kTransposedB>
                                          : multiply<32, kTransposedA, kTransposedB>;
  kernel<<<grid, kBlock, 0, stream>>>(shape, a, b, split, epilogue, out);
  BM_CUDA_CHECK(cudaGetLastError());
}

}  // namespace

void launch_layer(const float* in, std::size_t rows, std::size_t inputs, const float* weight,
                  std::size_t weight_stride, const float* bias, std::size_t outputs, bool relu,
                  LayerProduct product, float* out, cudaStream_t stream) {
  const ProductShape shape{rows, outputs, inputs};
  const Operand a{in, inputs}, b{weight, weight_stride};
  if (product == LayerProduct::kInOrder) {
    launch<false, false>(shape, a, b, divide(shape), {bias, relu, nullptr, nullptr}, nullptr, out,
                         stream);
    return;
  }
  if (rows == 0) return;
  const dim3 grid(static_cast<unsigned>(tiles(outputs, kTensorColumns)),
                  static_cast<unsigned>(tiles(rows, kTensorRows)));
  multiply_on_tensor_cores<<<grid, kBlock, 0, stream>>>(shape, a, b, bias, relu, out);
  BM_CUDA_CHECK(cudaGetLastError());
}

std::size_t pull_back_scratch(std::size_t rows, std::size_t outputs, std::size_t inputs) {
  return divide_pull_back({rows, inputs, outputs}).scratch(rows);
}

std::size_t weight_gradient_scratch(std::size_t rows, std::size_t outputs, std::size_t inputs) {
  return divide_weight_gradient({outputs, inputs, rows}).scratch(outputs);
}

void launch_pull_back(const float* flow, std::size_t rows, std::size_t outputs, const float* weight,
                      std::size_t weight_stride, std::size_t inputs, const float* values,
                      float* scratch, float* out, cudaStream_t stream) {
  const ProductShape shape{rows, inputs, outputs};
  launch<false, true>(shape, {flow, outputs}, {weight, weight_stride}, divide_pull_back(shape),
                      {nullptr, false, nullptr, values}, scratch, out, stream);
}

void launch_weight_gradient(const float* flow, std::size_t rows, std::size_t outputs,
                            const float* in, std::size_t inputs, float* scratch, float* weight,
                            float* bias, cudaStream_t stream) {
  const ProductShape shape{outputs, inputs, rows};
  launch<true, true>(shape, {flow, outputs}, {in, inputs}, divide_weight_gradient(shape),
                     {nullptr, false, bias, nullptr}, scratch, weight, stream);
}

}  // namespace bridgemark::backend::cuda
