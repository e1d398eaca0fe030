#pragma once

#include <cstdint>

// How the blocks of a cluster send each other values: a value goes straight into another block's
// shared memory and is counted there by a barrier, for which the receiver alone waits. A sender
// gets no answer, and the blocks do not wait for each other at a common barrier.
namespace bridgemark::backend::cuda {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

using Arrivals = std::uint64_t;  // a barrier in shared memory

__device__ inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// The same place in the shared memory of another block of the cluster.
__device__ inline std::uint32_t address_in(std::uint32_t address, int block) {
  std::uint32_t there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(block));
  return there;
}

// By one thread, before the cluster's blocks meet.
__device__ inline void start_arrivals(Arrivals* arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(arrivals)) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// By one thread, once for each round, before the first as well: what has to arrive in it.
__device__ inline void expect_arrivals(Arrivals* arrivals, int bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(arrivals)),
      "r"(bytes)
      : "memory");
}

// By all threads: waits until all of round 0, 1, ... has arrived; the next round may then begin.
__device__ inline void await_arrivals(Arrivals* arrivals, int round, int bytes) {
  const std::uint32_t address = shared_address(arrivals), parity = round % 2;
  std::uint32_t done = 0;
  while (done == 0) {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n"
        "selp.u32 %0, 1, 0, done;\n"
        "}\n"
        : "=r"(done)
        : "r"(address), "r"(parity)
        : "memory");
  }
  if (threadIdx.x == 0) expect_arrivals(arrivals, bytes);
}

// Four values to `to` of another block, counted by its `arrivals`; both are this block's addresses.
__device__ inline void send(float4 values, const float* to, const Arrivals* arrivals, int block) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, "
      "[%5];" ::"r"(address_in(shared_address(to), block)),
      "f"(values.x), "f"(values.y), "f"(values.z), "f"(values.w),
      "r"(address_in(shared_address(arrivals), block))
      : "memory");
}

#endif

}  // namespace bridgemark::backend::cuda
