#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "bridgemark/backend/cuda/runtime/check.h"

// Kernels of a stream whose beginning overlaps the end of the one before. A kernel launched with
// launch_overlapping may start as soon as every block of its predecessor has passed
// await_predecessor(): what it does before its own call may use all that the predecessor's
// predecessor left, and must not touch what the predecessor itself writes or reads for the last
// time. Every kernel of such a row calls await_predecessor() in all its threads.
namespace bridgemark::backend::cuda {

#ifdef __CUDACC__
__device__ inline void await_predecessor() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
#endif

// Devices before compute capability 9.0 run the kernels one after the other.
inline bool can_overlap() {
  static const bool can = [] {
    int device = 0, major = 0;
    BM_CUDA_CHECK(cudaGetDevice(&device));
    BM_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    return major >= 9;
  }();
  return can;
}

// `follows`: what went before on the stream is a kernel of such a row, else the whole of what the
// stream waits for must have ended.
template <typename... Parameters, typename... Arguments>
void launch_following(bool follows, void (*kernel)(Parameters...), dim3 grid, int threads,
                      std::size_t shared_bytes, cudaStream_t stream,
                      const Arguments&... arguments) {
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &overlap;
  config.numAttrs = follows && can_overlap() ? 1 : 0;
  BM_CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...));
}

template <typename... Parameters, typename... Arguments>
void launch_overlapping(void (*kernel)(Parameters...), const Arguments&... arguments) {
  launch_following(true, kernel, arguments...);
}

}  // namespace bridgemark::backend::cuda
