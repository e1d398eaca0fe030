#include <algorithm>
#include <limits>
#include <vector>

#include "bridgemark/backend/cuda/cuda_backend.h"
#include "bridgemark/backend/cuda/runtime/buffer.h"
#include "bridgemark/backend/cuda/runtime/placed.h"
#include "bridgemark/backend/cuda/runtime/stream.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/math/log_rows.h"
#include "bridgemark/math/weighted_draw.h"

namespace bridgemark::backend::cuda {

namespace {

constexpr int kColumns = 8;              // that a thread sums at a time
constexpr unsigned kRows = 128;          // of a block: a thread each
constexpr std::size_t kParts = 16;       // that the columns are summed in at the most
constexpr std::size_t kLeastPart = 256;  // groups of columns
constexpr double kFloor = -45.0;         // exp(-45) is under 2^-64 of the largest term
// Shared memory that every device grants on request.
constexpr std::size_t kLargestTable = 96 << 10;

// One end, as both sides of a sum read it.
struct EndView {
  const std::uint16_t* by_coordinate;  // [D,n]: lanes read rows that lie side by side
  const uint4* groups;  // [ceil(n / 8),D], eight rows' categories in 16 bytes; the last repeats
  int rows;
};

// A sum so far: sum exp(high).
struct Part {
  double high;
  double sum;

  __device__ void add(const double (&logs)[kColumns]) {
    double highest = high;
    for (int c = 0; c < kColumns; ++c) highest = fmax(highest, logs[c]);
    if (highest == kLogZero) return;
    if (highest > high) {
      sum *= exp(high - highest);
      high = highest;
    }
    for (int c = 0; c < kColumns; ++c) {
      if (logs[c] - high >= kFloor) sum += exp(logs[c] - high);
    }
  }
};

__device__ int category(const uint4& group, int c) {
  const unsigned word = c < 2 ? group.x : c < 4 ? group.y : c < 6 ? group.z : group.w;
  return static_cast<int>(c % 2 == 0 ? word & 0xffffu : word >> 16);
}

// parts[p, i] = the sum over the columns of part p, for row i. The table [S,S] has the category of
// the row first; it lies in shared memory where it fits.
template <bool kShared>
__global__ void __launch_bounds__(kRows)
    sum_parts(const double* log_k, int S, int D, EndView rows, EndView columns,
              const double* potential, int groups_of_part, Part* parts) {
  extern __shared__ double shared[];
  if (kShared) {
    for (int i = threadIdx.x; i < S * S; i += kRows) shared[i] = log_k[i];
    __syncthreads();
  }
  const double* table = kShared ? shared : log_k;
  const int i = blockIdx.x * kRows + threadIdx.x;
  if (i >= rows.rows) return;
  const int groups = (columns.rows + kColumns - 1) / kColumns;
  const int first = blockIdx.y * groups_of_part, last = min(first + groups_of_part, groups);
  Part part{kLogZero, 0.0};
  for (int g = first; g < last; ++g) {
    double logs[kColumns];
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const int j = g * kColumns + c;
      logs[c] = j < columns.rows ? potential[j] : kLogZero;
    }
    const uint4* group = columns.groups + static_cast<std::size_t>(g) * D;
    for (int d = 0; d < D; ++d) {
      const double* entries =
          table + rows.by_coordinate[static_cast<std::size_t>(d) * rows.rows + i] * S;
      const uint4 of_columns = group[d];
#pragma unroll
      for (int c = 0; c < kColumns; ++c) logs[c] += entries[category(of_columns, c)];
    }
    part.add(logs);
  }
  parts[static_cast<std::size_t>(blockIdx.y) * rows.rows + i] = part;
}

// out[i] = log of all parts together, in their order.
__global__ void join_parts(const Part* parts, int num_parts, int rows, double* out) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= rows) return;
  double high = kLogZero, sum = 0.0;
  for (int p = 0; p < num_parts; ++p) {
    high = fmax(high, parts[static_cast<std::size_t>(p) * rows + i].high);
  }
  if (high == kLogZero) {
    out[i] = kLogZero;
    return;
  }
  for (int p = 0; p < num_parts; ++p) {
    const Part part = parts[static_cast<std::size_t>(p) * rows + i];
    if (part.high != kLogZero) sum += part.sum * exp(part.high - high);
  }
  out[i] = high + log(sum);
}

class CudaRowKernel : public RowKernel {
 public:
  CudaRowKernel(MatrixView<const double> log_k, StatesView x0, StatesView x1)
      : S_(static_cast<int>(log_k.cols)),
        D_(static_cast<int>(x0.cols)),
        log_k_(memory_.upload(log_k.data, log_k.size())),
        log_k_of_x1_(memory_.upload(transposed(log_k))),
        x0_(place(x0)),
        x1_(place(x1)) {}

  void log_sums_over_x1(const Context& context, std::span<const double> h,
                        std::span<double> out) const override {
    sums(context, log_k_, x0_, x1_, h, out);
  }
  void log_sums_over_x0(const Context& context, std::span<const double> f,
                        std::span<double> out) const override {
    sums(context, log_k_of_x1_, x1_, x0_, f, out);
  }

 private:
  static std::vector<double> transposed(MatrixView<const double> a) {
    std::vector<double> out(a.size());
    for (std::size_t i = 0; i < a.rows; ++i) {
      for (std::size_t j = 0; j < a.cols; ++j) out[j * a.rows + i] = a(i, j);
    }
    return out;
  }

  EndView place(StatesView states) {
    const std::size_t n = states.rows, D = states.cols;
    const std::size_t groups = (n + kColumns - 1) / kColumns;
    std::vector<std::uint16_t> by_coordinate(n * D), grouped(groups * D * kColumns);
    for (std::size_t j = 0; j < groups * kColumns; ++j) {
      const std::int32_t* row = states.row(std::min(j, n - 1));
      for (std::size_t d = 0; d < D; ++d) {
        const auto category = static_cast<std::uint16_t>(row[d]);
        if (j < n) by_coordinate[d * n + j] = category;
        grouped[((j / kColumns) * D + d) * kColumns + j % kColumns] = category;
      }
    }
    return {memory_.upload(by_coordinate), reinterpret_cast<const uint4*>(memory_.upload(grouped)),
            static_cast<int>(n)};
  }

  void sums(const Context& context, const double* log_k, const EndView& rows,
            const EndView& columns, std::span<const double> potential,
            std::span<double> out) const {
    context.throw_if_interrupted();
    const auto stream = stream_of(context);
    const std::size_t groups = (potential.size() + kColumns - 1) / kColumns;
    // By the number of columns alone, so that the sums do not depend on the device.
    const std::size_t of_part = std::max((groups + kParts - 1) / kParts, kLeastPart);
    const std::size_t num_parts = (groups + of_part - 1) / of_part;
    const Input<double> given(potential.data(), potential.size(), false, stream);
    Output<double> sums(out.data(), out.size(), false, stream);
    const Scratch<Part> parts(num_parts * out.size(), stream);
    const dim3 grid(static_cast<unsigned>((out.size() + kRows - 1) / kRows),
                    static_cast<unsigned>(num_parts));
    const std::size_t bytes = sizeof(double) * S_ * S_;
    const auto launch = [&](auto kernel, std::size_t shared) {
      BM_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         static_cast<int>(shared)));
      kernel<<<grid, kRows, shared, stream>>>(log_k, S_, D_, rows, columns, given.get(),
                                              static_cast<int>(of_part), parts.get());
    };
    if (bytes <= kLargestTable) {
      launch(sum_parts<true>, bytes);
    } else {
      launch(sum_parts<false>, 0);
    }
    BM_CUDA_CHECK(cudaGetLastError());
    join_parts<<<blocks_for(out.size()), kThreads, 0, stream>>>(
        parts.get(), static_cast<int>(num_parts), static_cast<int>(out.size()), sums.get());
    BM_CUDA_CHECK(cudaGetLastError());
    sums.finish();
  }

  int S_, D_;
  Memory memory_;
  const double *log_k_, *log_k_of_x1_;
  EndView x0_, x1_;
};

// logs[b,j] = log weight of row j given x0[b].
__global__ void weigh_rows(const double* log_k, std::size_t S, const std::int32_t* rows,
                           std::size_t n, std::size_t D, const double* h, const std::int32_t* x0,
                           std::size_t batch, double* logs) {
  const std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (i >= batch * n) return;
  const std::size_t b = i / n, j = i % n;
  logs[i] = h[j] + log_of_rows(log_k, S, x0 + b * D, rows + j * D, D);
}

// A block for each x0: the largest weight, the weights of blocks of rows side by side, the draw.
__global__ void draw_row(const double* all_logs, std::size_t n, const std::int32_t* rows,
                         std::size_t D, DrawKey key, std::uint64_t first_index, double* all_blocks,
                         std::int32_t* out) {
  __shared__ double highest[kThreads];
  __shared__ std::size_t drawn;
  const double* logs = all_logs + blockIdx.x * n;
  double* blocks = all_blocks + blockIdx.x * weight_blocks(n);
  double high = kLogZero;
  for (std::size_t j = threadIdx.x; j < n; j += kThreads) high = fmax(high, logs[j]);
  highest[threadIdx.x] = high;
  __syncthreads();
  for (unsigned t = 0; t < kThreads; ++t) high = fmax(high, highest[t]);
  for (std::size_t k = threadIdx.x; k < weight_blocks(n); k += kThreads) {
    blocks[k] = block_weight(logs, n, k, high);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    const double uniform = DrawSequence(key, first_index + blockIdx.x).uniform();
    drawn = draw_weighted(logs, n, blocks, high, uniform);
  }
  __syncthreads();
  for (std::size_t d = threadIdx.x; d < D; d += kThreads) {
    out[blockIdx.x * D + d] = rows[drawn * D + d];
  }
}

// out[b,d,s] before it is normalised: a thread for each entry.
__global__ void sum_categories(const double* logs, const std::int32_t* rows, std::size_t n,
                               std::size_t D, std::size_t S, std::size_t batch, double* out) {
  const std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (i >= batch * D * S) return;
  const std::size_t s = i % S, d = i / S % D, b = i / S / D;
  const double* weights = logs + b * n;
  const auto has = [&](std::size_t j) { return static_cast<std::size_t>(rows[j * D + d]) == s; };
  double high = kLogZero, sum = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    if (has(j)) high = fmax(high, weights[j]);
  }
  if (high != kLogZero) {
    for (std::size_t j = 0; j < n; ++j) {
      if (has(j)) sum += exp(weights[j] - high);
    }
  }
  out[i] = high == kLogZero ? kLogZero : high + log(sum);
}

__global__ void normalize_rows(double* values, std::size_t rows, std::size_t S) {
  const std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (i < rows) log_normalize(values + i * S, S);
}

// The rows and their weights on the device, with logs of so many x0 at a time that they take 64
// MiB.
class WeightedBatches {
 public:
  WeightedBatches(const Context& context, const WeightedRows& weighted, StatesView x0)
      : context_(context),
        stream_(stream_of(context)),
        n_(weighted.rows.rows),
        D_(weighted.rows.cols),
        S_(weighted.log_k.cols),
        size_(std::clamp<std::size_t>((std::size_t{1} << 23) / n_, 1,
                                      std::max<std::size_t>(x0.rows, 1))),
        log_k_(weighted.log_k.data, weighted.log_k.size(), false, stream_),
        rows_(weighted.rows.data, weighted.rows.size(), false, stream_),
        h_(weighted.h.data(), n_, false, stream_),
        x0_(x0.data, x0.size(), x0.on_device, stream_),
        logs_(size_ * n_, stream_),
        count_(x0.rows) {}

  // Calls use(first, batch) once the logs of that batch are on their way.
  template <typename Use>
  void for_each(const Use& use) const {
    for (std::size_t first = 0; first < count_; first += size_) {
      context_.throw_if_interrupted();
      const std::size_t batch = std::min(size_, count_ - first);
      weigh_rows<<<blocks_for(batch * n_), kThreads, 0, stream_>>>(
          log_k_.get(), S_, rows_.get(), n_, D_, h_.get(), x0_.get() + first * D_, batch,
          logs_.get());
      BM_CUDA_CHECK(cudaGetLastError());
      use(first, batch);
      BM_CUDA_CHECK(cudaGetLastError());
    }
  }

  std::size_t size() const { return size_; }
  const std::int32_t* rows() const { return rows_.get(); }
  const double* logs() const { return logs_.get(); }

 private:
  const Context& context_;
  cudaStream_t stream_;
  std::size_t n_, D_, S_, size_;
  Input<double> log_k_;
  Input<std::int32_t> rows_;
  Input<double> h_;
  Input<std::int32_t> x0_;
  Scratch<double> logs_;
  std::size_t count_;
};

}  // namespace

std::unique_ptr<RowKernel> CudaBackend::make_row_kernel(const Context&,
                                                        MatrixView<const double> log_k,
                                                        StatesView x0, StatesView x1) const {
  require_device();
  return std::make_unique<CudaRowKernel>(log_k, x0, x1);
}

void CudaBackend::sample_weighted_rows(const Context& context, const WeightedRows& weighted,
                                       StatesView x0, const DrawKey& key, std::uint64_t first_index,
                                       MutableStatesView out) const {
  const auto stream = stream_of(context);
  const std::size_t n = weighted.rows.rows, D = weighted.rows.cols;
  const WeightedBatches batches(context, weighted, x0);
  const Scratch<double> blocks(batches.size() * weight_blocks(n), stream);
  Output<std::int32_t> drawn(out.data, out.size(), out.on_device, stream);
  batches.for_each([&](std::size_t first, std::size_t batch) {
    draw_row<<<static_cast<unsigned>(batch), kThreads, 0, stream>>>(
        batches.logs(), n, batches.rows(), D, key, first_index + first, blocks.get(),
        drawn.get() + first * D);
  });
  drawn.finish();
}

void CudaBackend::weighted_row_marginals(const Context& context, const WeightedRows& weighted,
                                         StatesView x0, MatrixView<double> out) const {
  const auto stream = stream_of(context);
  const std::size_t n = weighted.rows.rows, D = weighted.rows.cols, S = weighted.log_k.cols;
  const WeightedBatches batches(context, weighted, x0);
  Output<double> marginals(out.data, x0.rows * D * S, x0.on_device, stream);
  batches.for_each([&](std::size_t first, std::size_t batch) {
    double* of_batch = marginals.get() + first * D * S;
    sum_categories<<<blocks_for(batch * D * S), kThreads, 0, stream>>>(
        batches.logs(), batches.rows(), n, D, S, batch, of_batch);
    BM_CUDA_CHECK(cudaGetLastError());
    normalize_rows<<<blocks_for(batch * D), kThreads, 0, stream>>>(of_batch, batch * D, S);
  });
  marginals.finish();
}

}  // namespace bridgemark::backend::cuda
