#pragma once

// Products of float32 matrices in shared memory on the tensor cores. These take 11 leading bits of
// a factor, so x = high + low is multiplied in two parts, and high * high + high * low +
// low * high is summed in float32: what is left out is about 2^-21 of a term, and the exponents
// reach as far as those of float32.
namespace bridgemark::backend::cuda {

// What the tensor cores leave out of a value.
__device__ inline float low_part(float value) {
  return value - __uint_as_float(__float_as_uint(value) & 0xffffe000u);
}

__device__ inline void multiply_tf32(float (&sum)[4], const float (&a)[4], const float (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
        "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
}

// Where a lane's sums of a 16 x 8 block lie: rows sum_row() and 8 below it, columns sum_column()
// and the next; in the order (row, column), (row, next), (row + 8, column), (row + 8, next).
__device__ inline int sum_row() { return static_cast<int>(threadIdx.x % 32) / 4; }
__device__ inline int sum_column() { return 2 * static_cast<int>(threadIdx.x % 4); }

// A matrix in shared memory by its strides; 0 for one known at run time alone.
template <int Row, int Column>
struct SharedMatrix {
  const float* data;
  int run_time = 0;

  __device__ int row() const { return Row != 0 ? Row : run_time; }
  __device__ int column() const { return Column != 0 ? Column : run_time; }
};

// sum += A B for one warp: 16 Rows x inner by inner x 8 Columns, inner a multiple of 8.
template <int Rows, int Columns, typename A, typename B>
__device__ inline void add_tensor_product(A a, B b, int inner, float (&sum)[Rows][Columns][4]) {
  const int group = static_cast<int>(threadIdx.x % 32) / 4;
  const int lane = static_cast<int>(threadIdx.x % 4);
  const float* left = a.data + group * a.row() + lane * a.column();
  const float* right = b.data + lane * b.row() + group * b.column();
#pragma unroll 2
  for (int k = 0; k < inner; k += 8) {
    float high[Columns][2], low[Columns][2];
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        high[j][half] = right[4 * half * b.row() + 8 * j * b.column()];
        low[j][half] = low_part(high[j][half]);
      }
    }
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
      float own_high[4], own_low[4];
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        own_high[part] = left[(16 * i + 8 * (part % 2)) * a.row() + 4 * (part / 2) * a.column()];
        own_low[part] = low_part(own_high[part]);
      }
#pragma unroll
      for (int j = 0; j < Columns; ++j) {
        multiply_tf32(sum[i][j], own_low, high[j]);
        multiply_tf32(sum[i][j], own_high, low[j]);
        multiply_tf32(sum[i][j], own_high, high[j]);
      }
    }
    left += 8 * a.column();
    right += 8 * b.row();
  }
}

}  // namespace bridgemark::backend::cuda
