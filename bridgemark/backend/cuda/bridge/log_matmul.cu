#include "bridgemark/backend/cuda/bridge/log_product.h"
#include "bridgemark/backend/cuda/cuda_backend.h"
#include "bridgemark/backend/cuda/runtime/buffer.h"
#include "bridgemark/math/exact_log_dot.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark::backend::cuda {

namespace {

// out[p,m,n] = log sum_t exp(a[m,t] + b[p,t,n]); one thread an entry, n fastest: reads of b
// coalesce.
__global__ void log_product(const double* a, const double* b, std::size_t batches, std::size_t M,
                            std::size_t N, std::size_t K, double* out) {
  const std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (i >= batches * M * N) return;
  const std::size_t n = i % N, m = i / N % M, p = i / N / M;
  out[i] = exact_log_dot(a + m * K, b + p * K * N + n, N, K);
}

// One thread a column (d, k): its sum over categories, then every entry.
__global__ void rank_one(double log_identity, double log_uniform, const double* cores,
                         std::size_t D, std::size_t S, std::size_t K, double* out) {
  const std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (i >= D * K) return;
  const std::size_t first = i / K * S * K + i % K;
  const double shared = log_uniform + log_sum(cores + first, S, K);
  for (std::size_t s = 0; s < S; ++s) {
    out[first + s * K] = log_add(log_identity + cores[first + s * K], shared);
  }
}

}  // namespace

void launch_log_product(const double* a, const double* b, std::size_t batches, std::size_t M,
                        std::size_t N, std::size_t T, double* out, cudaStream_t stream) {
  log_product<<<blocks_for(batches * M * N), kThreads, 0, stream>>>(a, b, batches, M, N, T, out);
  BM_CUDA_CHECK(cudaGetLastError());
}

void CudaBackend::log_matmul(const Context&, MatrixView<const double> a, MatrixView<const double> b,
                             MatrixView<double> out) const {
  const Buffer<double> left(a.data, a.size()), right(b.data, b.size());
  Buffer<double> product(out.size());
  if (out.size() == 0) return;
  launch_log_product(left.get(), right.get(), 1, a.rows, b.cols, a.cols, product.get(), nullptr);
  product.copy_to(out.data);
}

void CudaBackend::propagate_cores(const Context&, MatrixView<const double> log_q,
                                  const Array3<double>& log_cores, Array3<double>& out) const {
  const std::size_t D = log_cores.extent(0), S = log_cores.extent(1), K = log_cores.extent(2);
  const Buffer<double> q(log_q.data, log_q.size()), cores(log_cores.data(), log_cores.size());
  Buffer<double> product(out.size());
  launch_log_product(q.get(), cores.get(), D, S, K, S, product.get(), nullptr);
  product.copy_to(out.data());
}

void CudaBackend::propagate_cores_rank_one(const Context&, double log_identity, double log_uniform,
                                           const Array3<double>& log_cores,
                                           Array3<double>& out) const {
  const std::size_t D = log_cores.extent(0), S = log_cores.extent(1), K = log_cores.extent(2);
  const Buffer<double> cores(log_cores.data(), log_cores.size());
  Buffer<double> product(out.size());
  rank_one<<<blocks_for(D * K), kThreads>>>(log_identity, log_uniform, cores.get(), D, S, K,
                                            product.get());
  BM_CUDA_CHECK(cudaGetLastError());
  product.copy_to(out.data());
}

}  // namespace bridgemark::backend::cuda
