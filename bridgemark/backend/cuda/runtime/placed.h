#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "bridgemark/backend/cuda/runtime/check.h"

// Memory of one operation, in the order of its stream, and arguments of the caller that lie on the
// host or on the device.
namespace bridgemark::backend::cuda {

// Bytes of scratch that stay with the process between operations.
inline constexpr std::size_t kKeptScratch = std::size_t{1} << 29;

inline void keep_scratch() {
  static const bool done = [] {
    int device = 0;
    cudaMemPool_t pool = nullptr;
    std::size_t bytes = kKeptScratch;
    BM_CUDA_CHECK(cudaGetDevice(&device));
    BM_CUDA_CHECK(cudaDeviceGetDefaultMemPool(&pool, device));
    BM_CUDA_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &bytes));
    return true;
  }();
  static_cast<void>(done);
}

// `count` values that work of the stream may use until they are freed, in its order.
template <typename T>
class Scratch {
 public:
  Scratch(std::size_t count, cudaStream_t stream) : stream_(stream) {
    if (count == 0) return;
    keep_scratch();
    void* data = nullptr;
    const cudaError_t status = cudaMallocAsync(&data, count * sizeof(T), stream);
    if (status == cudaErrorMemoryAllocation) throw_out_of_memory(count * sizeof(T));
    BM_CUDA_CHECK(status);
    data_ = static_cast<T*>(data);
  }
  ~Scratch() {
    if (data_ != nullptr) cudaFreeAsync(data_, stream_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  T* get() const { return data_; }

 private:
  T* data_ = nullptr;
  cudaStream_t stream_;
};

// What an operation reads: the caller's values where they lie on the device, else a copy.
template <typename T>
class Input {
 public:
  Input(const T* data, std::size_t count, bool on_device, cudaStream_t stream)
      : copy_(on_device ? 0 : count, stream), data_(on_device ? data : copy_.get()) {
    if (on_device || count == 0) return;
    BM_CUDA_CHECK(
        cudaMemcpyAsync(copy_.get(), data, count * sizeof(T), cudaMemcpyHostToDevice, stream));
  }

  const T* get() const { return data_; }

 private:
  Scratch<T> copy_;
  const T* data_;
};

// What an operation writes: the caller's own where that lies on the device, else a copy that
// finish() brings to the host and waits for.
template <typename T>
class Output {
 public:
  Output(T* data, std::size_t count, bool on_device, cudaStream_t stream)
      : copy_(on_device ? 0 : count, stream),
        caller_(data),
        count_(count),
        on_device_(on_device),
        stream_(stream) {}

  T* get() const { return on_device_ ? caller_ : copy_.get(); }

  void finish() {
    if (on_device_ || count_ == 0) return;
    BM_CUDA_CHECK(
        cudaMemcpyAsync(caller_, copy_.get(), count_ * sizeof(T), cudaMemcpyDeviceToHost, stream_));
    BM_CUDA_CHECK(cudaStreamSynchronize(stream_));
  }

 private:
  Scratch<T> copy_;
  T* caller_;
  std::size_t count_;
  bool on_device_;
  cudaStream_t stream_;
};

}  // namespace bridgemark::backend::cuda
