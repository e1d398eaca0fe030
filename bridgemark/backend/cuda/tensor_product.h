#pragma once

// Products of float32 matrices in shared memory on the tensor cores. A factor is split into two
// TF32 numbers, x = high + low, and high * high + high * low + low * high is summed in float32:
// what is left out is 2^-22 of a term, and the exponents reach as far as those of float32.
namespace bridgemark::backend::cuda {

struct SplitFloat {
  unsigned high, low;
};

__device__ inline unsigned round_to_tf32(float value) {
  unsigned rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(value));
  return rounded;
}

__device__ inline SplitFloat split(float value) {
  const unsigned high = round_to_tf32(value);
  return {high, round_to_tf32(value - __uint_as_float(high))};
}

__device__ inline void multiply_tf32(float (&sum)[4], const unsigned (&a)[4],
                                     const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Where a lane's sums of a 16 x 8 block lie: rows sum_row() and 8 below it, columns sum_column()
// and the next; in the order (row, column), (row, next), (row + 8, column), (row + 8, next).
__device__ inline int sum_row() { return static_cast<int>(threadIdx.x % 32) / 4; }
__device__ inline int sum_column() { return 2 * static_cast<int>(threadIdx.x % 4); }

// A matrix in shared memory by its strides.
struct SharedMatrix {
  const float* data;
  int row, column;
};

// sum += A B for one warp: 16 Rows x inner by inner x 8 Columns, inner a multiple of 8.
template <int Rows, int Columns>
__device__ inline void add_tensor_product(SharedMatrix a, SharedMatrix b, int inner,
                                          float (&sum)[Rows][Columns][4]) {
  const int group = static_cast<int>(threadIdx.x % 32) / 4,
            lane = static_cast<int>(threadIdx.x % 4);
  const float* left = a.data + group * a.row + lane * a.column;
  const float* right = b.data + lane * b.row + group * b.column;
  for (int k = 0; k < inner; k += 8) {
    unsigned high[Columns][2], low[Columns][2];
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const SplitFloat value = split(right[(k + 4 * half) * b.row + 8 * j * b.column]);
        high[j][half] = value.high;
        low[j][half] = value.low;
      }
    }
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
      unsigned own_high[4], own_low[4];
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        const SplitFloat value =
            split(left[(16 * i + 8 * (part % 2)) * a.row + (k + 4 * (part / 2)) * a.column]);
        own_high[part] = value.high;
        own_low[part] = value.low;
      }
#pragma unroll
      for (int j = 0; j < Columns; ++j) {
        multiply_tf32(sum[i][j], own_low, high[j]);
        multiply_tf32(sum[i][j], own_high, low[j]);
        multiply_tf32(sum[i][j], own_high, high[j]);
      }
    }
  }
}

}  // namespace bridgemark::backend::cuda
