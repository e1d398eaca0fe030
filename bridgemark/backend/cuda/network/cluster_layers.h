#pragma once

#include "bridgemark/backend/cuda/device/cluster_exchange.h"
#include "bridgemark/backend/cuda/device/network_draw.h"
#include "bridgemark/backend/cuda/device/tensor_product.h"
#include "bridgemark/backend/cuda/network/cluster_layout.h"
#include "bridgemark/backend/cuda/network/half_product.h"

// The layers of a network on Rows rows by a block of a cluster, on values [width, Rows] with
// vectors padded_stride(Rows) apart. A block's layers take some hundred operations a thread, so
// what counts is that all warps take part and that little waits for something else.
namespace bridgemark::backend::cuda {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

// The layer's `out` in every block, counted by `arrivals`. The warps share the rows, 16 each, and
// the inputs; their partial sums, [kPartial][outputs, Rows], are then added by kSenders lanes that
// send the result to some of the blocks each. All may have arrived while some lanes still read
// `partial`: the next layer needs another one.
template <int Rows>
__device__ void hidden_layer(float* memory, const HiddenLayer& layer, int left, const float* in,
                             float* partial, int blocks, const Arrivals* arrivals) {
  constexpr int kTiles = (Rows + 15) / 16, kPartial = partial_sums(Rows), kSenders = 8;
  constexpr int kStride = padded_stride(Rows), kVectors = Rows / 4;
  constexpr int kOwn = kHiddenParts / kPartial;  // parts of a warp
  static_assert(kTiles * kPartial <= kClusterWarps);
  const int warp = threadIdx.x / 32, part = warp % kPartial, tile = warp / kPartial;
  const int stride = hidden_stride(layer.inputs), outputs = round_up(layer.count, 8);
  if (tile < kTiles) {
    const int steps = round_up(layer.inputs, 8) / 8, share = share_of(steps, kHiddenParts);
    for (int o = 0; o < outputs; o += 8) {
      float sum[kOwn][1][1][4] = {};
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
        const int begin = min(steps, (part + i * kPartial) * share), k = 8 * begin;
        add_tensor_product(SharedMatrix<1, kStride>{in + k * kStride + 16 * tile},
                           SharedMatrix<1, 0>{memory + layer.weights + o * stride + k, stride},
                           8 * (min(steps, begin + share) - begin), sum[i]);
      }
      const auto total = [&](int j) {
        return kOwn == 1 ? sum[0][0][0][j] : sum[0][0][0][j] + sum[kOwn - 1][0][0][j];
      };
      const int row = 16 * tile + sum_row();
      float* to = partial + (part * outputs + o + sum_column()) * Rows + row;
      to[0] = total(0);
      to[Rows] = total(1);
      if (row + 8 < Rows) {
        to[8] = total(2);
        to[Rows + 8] = total(3);
      }
    }
  }
  __syncthreads();
  const float* start = memory + layer.start + left * layer.start_of_step;
  for (int item = threadIdx.x / kSenders; item < layer.count * kVectors;
       item += kClusterThreads / kSenders) {
    const int o = item / kVectors, row = item % kVectors * 4;
    const float begin = start[o];
    float4 sum = make_float4(begin, begin, begin, begin);
    const auto add = [](const float4& some, float4& to) {
      to.x += some.x, to.y += some.y, to.z += some.z, to.w += some.w;
    };
    const auto partial_sum = [&](int p) {
      return *reinterpret_cast<const float4*>(partial + p * outputs * Rows + 4 * item);
    };
#pragma unroll
    for (int p = 0; p < kHiddenPairs; ++p) {
      float4 pair = partial_sum(p);
      if constexpr (kOwn == 1) add(partial_sum(p + kHiddenPairs), pair);
      add(pair, sum);
    }
    const auto relu = [](float value) { return value < 0.0f ? 0.0f : value; };  // NaN stays
    sum = make_float4(relu(sum.x), relu(sum.y), relu(sum.z), relu(sum.w));
    const float* out = memory + layer.out + (layer.first + o) * kStride + row;
    for (int block = threadIdx.x % kSenders; block < blocks; block += kSenders) {
      send(sum, out, arrivals, block);
    }
  }
}

// values [inner, Rows], inner a multiple of 16 and at most most_split_inputs(Rows), become rows of
// halves in their own place. highs holds the largest values of rows for a moment.
template <int Rows>
__device__ void split_values(float* values, int inner, float* highs) {
  constexpr int kOctets = Rows / 8, kWarps = split_warps(Rows), kPairs = split_pairs(Rows);
  constexpr int kStride = padded_stride(Rows);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row = warp % kOctets * 8 + lane % 8, column = lane / 8, part = warp / kOctets;
  // Pairs that lanes of one row have side by side: `inner / 8` groups of 4.
  const int groups = part < kWarps ? inner / 8 : 0;
  float own[kPairs][2], high = 0.0f;
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const int group = part + i * kWarps;
    const float* from = values + (2 * column + 8 * group) * kStride + row;
    own[i][0] = group < groups ? from[0] : 0.0f;
    own[i][1] = group < groups ? from[kStride] : 0.0f;
    high = fmaxf(high, fmaxf(fabsf(own[i][0]), fabsf(own[i][1])));
  }
  high = max_of_lanes<4, 8>(high);
  if (part < kWarps && column == 0) highs[part * Rows + row] = high;
  __syncthreads();
  if (part >= kWarps) return;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) high = fmaxf(high, highs[i * Rows + row]);
  const HalfScale scale = half_scale(high);
  auto* out = reinterpret_cast<std::uint32_t*>(values) + row * half_row_stride(inner);
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const int group = part + i * kWarps;
    if (group >= groups) continue;
    split_pair(own[i][0] * scale.by, own[i][1] * scale.by, inner, out + column + 4 * group);
  }
  if (part == 0 && column == 0) out[inner] = __float_as_uint(scale.back);
}

// logits[row, o] of this block's outputs from rows of halves: weights [outputs up to 16] and
// values.
template <int Rows>
__device__ void last_layer(const std::uint32_t* weights, const float* bias, int inner, int outputs,
                           int stride, const std::uint32_t* values, float* logits) {
  constexpr int kColumns = Rows == 48 ? 3 : Rows / 8;  // of 8 rows, for a warp
  static_assert(Rows % (8 * kColumns) == 0);
  constexpr int kParts = Rows / 8 / kColumns;
  const int warp = threadIdx.x / 32, row_words = half_row_stride(inner);
  for (int task = warp; task < (outputs + 15) / 16 * kParts; task += kClusterWarps) {
    const int first = task / kParts * 16, first_row = task % kParts * 8 * kColumns;
    float sum[kColumns][4] = {};
    add_half_product(weights + first * row_words, values + first_row * row_words, inner, sum);
    const int o = first + sum_row();
    const float back[2] = {__uint_as_float(weights[o * row_words + inner]),
                           __uint_as_float(weights[(o + 8) * row_words + inner])};
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = first_row + 8 * j + sum_column() + i % 2;
        logits[row * stride + o + i / 2 * 8] =
            sum[j][i] * back[i / 2] * __uint_as_float(values[row * row_words + inner]) +
            bias[o + i / 2 * 8];
      }
    }
  }
}

#endif

}  // namespace bridgemark::backend::cuda
