#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "bridgemark/backend/cuda/runtime/check.h"

namespace bridgemark::backend::cuda {

// Device memory of `count` values, freed with its owner.
template <typename T>
class Buffer {
 public:
  explicit Buffer(std::size_t count) : count_(count) {
    if (count > 0) {
      const cudaError_t status = cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T));
      if (status == cudaErrorMemoryAllocation) throw_out_of_memory(count * sizeof(T));
      BM_CUDA_CHECK(status);
    }
  }
  Buffer(const T* host, std::size_t count) : Buffer(count) {
    if (count > 0) {
      BM_CUDA_CHECK(cudaMemcpy(data_, host, count * sizeof(T), cudaMemcpyHostToDevice));
    }
  }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  T* get() { return data_; }
  const T* get() const { return data_; }
  void copy_to(T* host) const {
    if (count_ > 0) {
      BM_CUDA_CHECK(cudaMemcpy(host, data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    }
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

// Device memory of one owner, freed together.
class Memory {
 public:
  template <typename T>
  T* allocate(std::size_t count) {
    return keep(std::make_shared<Buffer<T>>(count));
  }
  template <typename T>
  T* zeros(std::size_t count) {
    T* data = allocate<T>(count);
    if (count > 0) BM_CUDA_CHECK(cudaMemset(data, 0, count * sizeof(T)));
    return data;
  }
  template <typename T>
  T* upload(const T* host, std::size_t count) {
    return keep(std::make_shared<Buffer<T>>(host, count));
  }
  template <typename T>
  T* upload(const std::vector<T>& values) {
    return upload(values.data(), values.size());
  }

 private:
  template <typename T>
  T* keep(std::shared_ptr<Buffer<T>> buffer) {
    T* data = buffer->get();
    buffers_.push_back(std::move(buffer));
    return data;
  }

  std::vector<std::shared_ptr<void>> buffers_;
};

inline constexpr unsigned kThreads = 128;

inline unsigned blocks_for(std::size_t items) {
  return static_cast<unsigned>((items + kThreads - 1) / kThreads);
}

}  // namespace bridgemark::backend::cuda
