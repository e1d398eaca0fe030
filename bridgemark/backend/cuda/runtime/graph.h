#pragma once

#include <cuda_runtime_api.h>

#include "bridgemark/backend/cuda/runtime/check.h"

namespace bridgemark::backend::cuda {

// Work of a stream that can be launched again and again; empty until it is captured.
class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
  }

  bool empty() const { return executable_ == nullptr; }

  // What `record` launches on the stream, and on others that it forks and joins.
  template <typename Record>
  void capture(cudaStream_t stream, Record&& record) {
    cudaGraph_t graph = nullptr;
    BM_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    record();
    BM_CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
    const cudaError_t status = cudaGraphInstantiate(&executable_, graph, 0);
    cudaGraphDestroy(graph);
    BM_CUDA_CHECK(status);
  }

  void launch(cudaStream_t stream) const { BM_CUDA_CHECK(cudaGraphLaunch(executable_, stream)); }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace bridgemark::backend::cuda
