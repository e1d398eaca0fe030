#pragma once

#include "bridgemark/backend/cuda/cluster_layout.h"
#include "bridgemark/backend/cuda/network_draw.h"
#include "bridgemark/backend/cuda/tensor_product.h"

// The layers of a network on Rows rows by a block of a cluster, on values [width, Rows] with
// vectors padded_stride(Rows) apart.
namespace bridgemark::backend::cuda {

inline constexpr int kClusterThreads = 512;
inline constexpr int kClusterWarps = kClusterThreads / 32;

// Outputs first..first+count of a hidden layer to every block's `out`. A warp makes two outputs of
// kTile rows; a lane has four rows of every kParts-th input, and lanes follow each other in memory.
// `start` is what the sums begin with, or null for the bias behind the weights.
template <int Rows, typename Cluster>
__device__ void hidden_layer(const Cluster& cluster, const float* weights, int inputs,
                             const float* start, const float* in, int first, int count,
                             float* out) {
  constexpr int kTile = Rows == 48 ? 24 : Rows, kTiles = Rows / kTile, kGroups = kTile / 4;
  constexpr int kParts = kGroups <= 2 ? 16 : kGroups <= 4 ? 8 : 4;
  constexpr int kStride = padded_stride(Rows);
  static_assert(kGroups * kParts <= 32);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int part = lane / kGroups, column = lane % kGroups;
  const int blocks = static_cast<int>(cluster.num_blocks());
  for (int item = warp; item < (count + 1) / 2 * kTiles; item += kClusterWarps) {
    const int o = item / kTiles * 2, row = item % kTiles * kTile + 4 * column;
    const int next = min(o + 1, count - 1);
    const float *weight0 = weights + o * (inputs + 1), *weight1 = weights + next * (inputs + 1);
    const float begin[2] = {start != nullptr ? start[first + o] : weight0[inputs],
                            start != nullptr ? start[first + next] : weight1[inputs]};
    float sum[2][4] = {};
    if (part < kParts) {
#pragma unroll 8
      for (int k = part; k < inputs; k += kParts) {
        const float4 x = *reinterpret_cast<const float4*>(in + k * kStride + row);
        const float w0 = weight0[k], w1 = weight1[k];
        sum[0][0] = fmaf(w0, x.x, sum[0][0]);
        sum[0][1] = fmaf(w0, x.y, sum[0][1]);
        sum[0][2] = fmaf(w0, x.z, sum[0][2]);
        sum[0][3] = fmaf(w0, x.w, sum[0][3]);
        sum[1][0] = fmaf(w1, x.x, sum[1][0]);
        sum[1][1] = fmaf(w1, x.y, sum[1][1]);
        sum[1][2] = fmaf(w1, x.z, sum[1][2]);
        sum[1][3] = fmaf(w1, x.w, sum[1][3]);
      }
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
#pragma unroll
        for (int parts = kParts / 2; parts > 0; parts /= 2) {
          sum[i][j] += __shfl_down_sync(kWholeWarp, sum[i][j], parts * kGroups);
        }
        sum[i][j] = __shfl_sync(kWholeWarp, sum[i][j], column) + begin[i];
        if (sum[i][j] < 0.0f) sum[i][j] = 0.0f;  // NaN stays
      }
    }
    for (int block = part; part < kParts && block < blocks; block += kParts) {
      float* target = cluster.map_shared_rank(out, block) + (first + o) * kStride + row;
      *reinterpret_cast<float4*>(target) = make_float4(sum[0][0], sum[0][1], sum[0][2], sum[0][3]);
      if (next == o) continue;
      *reinterpret_cast<float4*>(target + kStride) =
          make_float4(sum[1][0], sum[1][1], sum[1][2], sum[1][3]);
    }
  }
}

// logits[row, o] of this block's outputs from weights [inner, stride], inner a multiple of 8.
template <int Rows>
__device__ void last_layer(const float* weights, const float* bias, int inner, int outputs,
                           int stride, const float* in, float* logits) {
  constexpr int kColumns = Rows == 32 ? 2 : Rows / 8 < 3 ? Rows / 8 : 3;  // of 8 rows, for a warp
  static_assert(Rows % (8 * kColumns) == 0);
  const int warp = threadIdx.x / 32, tiles = (outputs + 15) / 16;
  for (int task = warp; task < tiles * (Rows / 8 / kColumns); task += kClusterWarps) {
    const int first = task % tiles * 16, row = task / tiles * 8 * kColumns;
    float sum[1][kColumns][4] = {};
    add_tensor_product(SharedMatrix<1, 0>{weights + first, stride},
                       SharedMatrix<padded_stride(Rows), 1>{in + row}, inner, sum);
    const int o = first + sum_row();
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      float* out = logits + (row + 8 * j + sum_column()) * stride + o;
      out[0] = sum[0][j][0] + bias[o];
      out[stride] = sum[0][j][1] + bias[o];
      out[8] = sum[0][j][2] + bias[o + 8];
      out[stride + 8] = sum[0][j][3] + bias[o + 8];
    }
  }
}

}  // namespace bridgemark::backend::cuda
