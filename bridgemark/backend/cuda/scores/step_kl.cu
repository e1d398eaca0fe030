#include "bridgemark/backend/cuda/runtime/buffer.h"
#include "bridgemark/backend/cuda/runtime/placed.h"
#include "bridgemark/backend/cuda_ops.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark::backend::cuda {

namespace {

__global__ void kl_of_rows(const double* log_p, const double* log_q, std::size_t rows,
                           std::size_t S, double* out) {
  const std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (i < rows) out[i] = log_kl(log_p + i * S, log_q + i * S, S);
}

__global__ void add_coordinates(const double* of_coordinates, std::size_t rows, std::size_t D,
                                double* kl) {
  const std::size_t b = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (b >= rows) return;
  for (std::size_t d = 0; d < D; ++d) kl[b] += of_coordinates[b * D + d];
}

}  // namespace

void add_step_kl(const double* log_p, const double* log_q, std::size_t rows, std::size_t dim,
                 std::size_t num_categories, double* kl, void* queue) {
  const auto stream = static_cast<cudaStream_t>(queue);
  if (rows == 0) return;
  const Scratch<double> of_coordinates(rows * dim, stream);
  kl_of_rows<<<blocks_for(rows * dim), kThreads, 0, stream>>>(log_p, log_q, rows * dim,
                                                              num_categories, of_coordinates.get());
  add_coordinates<<<blocks_for(rows), kThreads, 0, stream>>>(of_coordinates.get(), rows, dim, kl);
  BM_CUDA_CHECK(cudaGetLastError());
}

}  // namespace bridgemark::backend::cuda
