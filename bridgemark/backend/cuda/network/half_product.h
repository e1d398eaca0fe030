#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "bridgemark/backend/cuda/network/cluster_layout.h"

// Products of float32 matrices on the tensor cores in halves, twice as fast as in TF32 and as
// exact where a row's values are of one scale: x = high + low has 22 bits, and high * high +
// high * low + low * high is summed in float32. A row is first multiplied by the power of two that
// brings its largest value near 2^13: what is lost below the range of halves is 2^-38 of that.
//
// A row of halves is [high parts of inner values, low parts, the factor that undoes the scale], in
// words of two halves, half_row_stride(inner) apart; inner is a multiple of 16.
namespace bridgemark::backend::cuda {

struct HalfScale {
  float by, back;  // powers of two
};

__device__ inline HalfScale half_scale(float largest) {
  constexpr int kTarget = 13, kBias = 127;
  const int exponent = static_cast<int>(__float_as_uint(largest) >> 23 & 0xffu);
  const int back = min(max(exponent - kTarget, 1), 2 * kBias - 1);
  return {__uint_as_float(static_cast<unsigned>(2 * kBias - back) << 23),
          __uint_as_float(static_cast<unsigned>(back) << 23)};
}

// Two values that follow each other to their places, `out` being that of the high parts.
__device__ inline void split_pair(float first, float second, int inner, std::uint32_t* out) {
  const __half2 high = __floats2half2_rn(first, second);
  const __half2 low = __floats2half2_rn(first - __low2float(high), second - __high2float(high));
  out[0] = *reinterpret_cast<const std::uint32_t*>(&high);
  out[inner / 2] = *reinterpret_cast<const std::uint32_t*>(&low);
}

// Four 8 x 8 blocks of halves, one row's address from each lane.
__device__ inline void load_blocks(const std::uint32_t* row, std::uint32_t (&blocks)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(blocks[0]), "=r"(blocks[1]), "=r"(blocks[2]), "=r"(blocks[3])
               : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(row))));
}

__device__ inline void multiply_halves(float (&sum)[4], const std::uint32_t (&a)[4],
                                       std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// sum += A B^T for one warp: 16 rows of a by 8 Columns rows of b, both rows of halves.
template <int Columns>
__device__ inline void add_half_product(const std::uint32_t* a, const std::uint32_t* b, int inner,
                                        float (&sum)[Columns][4]) {
  const int lane = threadIdx.x % 32, stride = half_row_stride(inner);
  const std::uint32_t* left = a + lane % 16 * stride + lane / 16 * 4;
  const std::uint32_t* right = b + lane % 8 * stride + lane / 8 % 2 * 4 + lane / 16 * (inner / 2);
#pragma unroll 2
  for (int k = 0; k < inner / 2; k += 8) {
    std::uint32_t high[4], low[4], values[Columns][4];
    load_blocks(left + k, high);
    load_blocks(left + k + inner / 2, low);
#pragma unroll
    for (int j = 0; j < Columns; ++j) load_blocks(right + j * 8 * stride + k, values[j]);
#pragma unroll
    for (int j = 0; j < Columns; ++j) multiply_halves(sum[j], low, values[j][0], values[j][1]);
#pragma unroll
    for (int j = 0; j < Columns; ++j) multiply_halves(sum[j], high, values[j][2], values[j][3]);
#pragma unroll
    for (int j = 0; j < Columns; ++j) multiply_halves(sum[j], high, values[j][0], values[j][1]);
  }
}

}  // namespace bridgemark::backend::cuda
