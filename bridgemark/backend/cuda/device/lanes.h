#pragma once

// Reductions over lanes of a warp, which all 32 call together. Every lane gets the same bits: in a
// round it meets the lane whose number differs in one bit, from the highest bit to the lowest, so
// the order of a sum is fixed.
namespace bridgemark::backend::cuda {

inline constexpr unsigned kWholeWarp = 0xffffffffu;

// Over groups of `Lanes` lanes that lie `Stride` apart.
template <int Lanes, int Stride, typename T, typename Combine>
__device__ inline T reduce_lanes(T value, Combine&& combine) {
#pragma unroll
  for (int offset = Lanes / 2 * Stride; offset >= Stride; offset /= 2) {
    value = combine(value, __shfl_xor_sync(kWholeWarp, value, offset));
  }
  return value;
}

template <int Lanes, typename T>
__device__ inline T sum_of_lanes(T value) {
  return reduce_lanes<Lanes, 1>(value, [](T a, T b) { return a + b; });
}

// A NaN counts for nothing.
template <int Lanes, int Stride = 1, typename T>
__device__ inline T max_of_lanes(T value) {
  return reduce_lanes<Lanes, Stride>(value, [](T a, T b) { return max(a, b); });
}

// Which lanes of a group of neighbours say yes: bit i for lane i of the group.
template <int Lanes>
__device__ inline unsigned votes_of_lanes(bool yes) {
  static_assert(Lanes < 32);
  const unsigned first = threadIdx.x % 32 / Lanes * Lanes;
  return __ballot_sync(kWholeWarp, yes) >> first & ((1u << Lanes) - 1);
}

}  // namespace bridgemark::backend::cuda
