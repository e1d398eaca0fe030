#include "bridgemark/backend/cuda/cuda_backend.h"
#include "bridgemark/backend/cuda/runtime/buffer.h"
#include "bridgemark/backend/cuda/runtime/placed.h"
#include "bridgemark/backend/cuda/runtime/stream.h"
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

__global__ void add_log_of_rows(const double* log_p, const std::int32_t* to, std::size_t rows,
                                std::size_t D, std::size_t S, double* out) {
  const std::size_t b = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (b >= rows) return;
  double sum = 0.0;
  for (std::size_t d = 0; d < D; ++d) sum += log_p[(b * D + d) * S + to[b * D + d]];
  out[b] = sum;
}

__global__ void gather_rows(const std::int32_t* x, const std::uint32_t* rows, std::size_t count,
                            std::size_t D, std::int32_t* out) {
  const std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (i < count * D) out[i] = x[rows[i / D] * D + i % D];
}

}  // namespace

void CudaBackend::step_log_probability(const Context& context, const double* log_p, StatesView to,
                                       std::size_t num_categories, double* out) const {
  if (to.rows == 0) return;
  add_log_of_rows<<<blocks_for(to.rows), kThreads, 0, stream_of(context)>>>(
      log_p, to.data, to.rows, to.cols, num_categories, out);
  BM_CUDA_CHECK(cudaGetLastError());
}

void CudaBackend::take_rows(const Context& context, StatesView x,
                            std::span<const std::uint32_t> rows, MutableStatesView out) const {
  const auto stream = stream_of(context);
  if (out.size() == 0) return;
  const Input<std::uint32_t> from(rows.data(), rows.size(), false, stream);
  gather_rows<<<blocks_for(out.size()), kThreads, 0, stream>>>(x.data, from.get(), rows.size(),
                                                               x.cols, out.data);
  BM_CUDA_CHECK(cudaGetLastError());
}

void CudaBackend::add_step_kl(const Context& context, const double* log_p, const double* log_q,
                              std::size_t rows, std::size_t dim, std::size_t num_categories,
                              double* kl) const {
  const auto stream = stream_of(context);
  if (rows == 0) return;
  const Scratch<double> of_coordinates(rows * dim, stream);
  kl_of_rows<<<blocks_for(rows * dim), kThreads, 0, stream>>>(log_p, log_q, rows * dim,
                                                              num_categories, of_coordinates.get());
  add_coordinates<<<blocks_for(rows), kThreads, 0, stream>>>(of_coordinates.get(), rows, dim, kl);
  BM_CUDA_CHECK(cudaGetLastError());
}

}  // namespace bridgemark::backend::cuda
