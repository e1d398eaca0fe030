#pragma once

#include <cuda_runtime_api.h>

#include "bridgemark/backend/cuda/runtime/check.h"
#include "bridgemark/backend/device_queue.h"
#include "bridgemark/core/context.h"

namespace bridgemark::backend::cuda {

// The stream of a context's queue; the default stream where it has none.
inline cudaStream_t stream_of(const Context& context) {
  return context.queue ? reinterpret_cast<cudaStream_t>(context.queue->handle()) : nullptr;
}

// A stream of its own, ended with its owner.
class Stream {
 public:
  Stream() {
    BM_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    const cudaError_t status = cudaEventCreateWithFlags(&reached_, cudaEventDisableTiming);
    if (status != cudaSuccess) cudaStreamDestroy(stream_);
    BM_CUDA_CHECK(status);
  }
  ~Stream() {
    cudaEventDestroy(reached_);
    cudaStreamDestroy(stream_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  operator cudaStream_t() const { return stream_; }

  // What is launched from now on comes after all that is in `before` by now.
  void follow(const Stream& before) {
    BM_CUDA_CHECK(cudaEventRecord(before.reached_, before.stream_));
    BM_CUDA_CHECK(cudaStreamWaitEvent(stream_, before.reached_));
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t reached_ = nullptr;
};

}  // namespace bridgemark::backend::cuda
