#include "bridgemark/backend/cuda/device/network_draw.h"
#include "bridgemark/backend/cuda/network/dense_layer.h"
#include "bridgemark/backend/cuda/network/network_view.h"
#include "bridgemark/backend/cuda/runtime/check.h"
#include "bridgemark/math/exact_log_dot.h"

// Chains and transitions of networks of any size, layer by layer. A row's result does not depend on
// the rows beside it.
namespace bridgemark::backend::cuda {

namespace {

constexpr int kBlock = 256;

unsigned blocks_of(std::size_t items, std::size_t lanes) {
  return static_cast<unsigned>((items * lanes + kBlock - 1) / kBlock);
}

// The rows that the job's update starts from.
__global__ void start_chain(ChainJob job, int D, std::size_t count) {
  const std::size_t i = blockIdx.x * std::size_t{kBlock} + threadIdx.x;
  if (i >= count) return;
  job.to[i] =
      job.from[(job.progress != nullptr ? job.progress->index % 2 * job.update_rows * D : 0) + i];
}

// The step pinned to a clean end from its logarithms, as in a table: S values by a draw's lanes.
__device__ void write_pinned(const StepTables& tables, int left, int S, int x, int clean, int count,
                             float* out) {
  const PinnedStep<double> pinned = pinned_step(tables.log_q, S, left, x, clean);
  for (int s = draw_lane(); s < count; s += kDrawLanes) {
    out[s] = static_cast<float>(exp(pinned.log_probability(s)));
  }
}

// One step of every row and dimension, kDrawLanes lanes each; the logits are overwritten.
__global__ void __launch_bounds__(kBlock)
    draw_step(ChainJob job, int D, int S, int step, int left, bool softmax_step, std::size_t rows,
              float* logits) {
  const std::size_t thread = blockIdx.x * std::size_t{kBlock} + threadIdx.x;
  const bool valid = thread / kDrawLanes < rows * D;
  const std::size_t i = valid ? thread / kDrawLanes : 0, b = i / D, d = i % D;
  const int count = valid ? S : 0;
  const std::uint64_t before = job.progress != nullptr ? job.progress->index * job.update_rows : 0;
  DrawSequence draws(job.key, before + job.first_index + b,
                     static_cast<std::uint32_t>(static_cast<std::size_t>(step) * D + d));
  const double for_clean = draws.uniform(), for_step = draws.uniform();
  const int x = job.to[i];
  float* values = logits + i * S;
  const float* log_weights =
      softmax_step ? nullptr : job.tables.log_powers + (static_cast<std::size_t>(left) * S + x) * S;
  int to = draw_softmax(values, log_weights, count, for_clean);
  if (left > 1) {
    const float* weights = values;
    if (job.tables.probabilities != nullptr) {
      weights =
          job.tables.probabilities + ((static_cast<std::size_t>(left - 1) * S + x) * S + to) * S;
    } else {
      write_pinned(job.tables, left, S, x, to, count, values);
      __syncwarp();
    }
    to = draw_weighted(weights, count, for_step);
  }
  if (valid && draw_lane() == 0) job.to[i] = to;
}

// A warp for each row and dimension.
__global__ void __launch_bounds__(kBlock)
    log_transition(int D, int S, bool softmax_step, const double* log_one, const double* log_after,
                   const std::int32_t* x, const float* logits, std::size_t pairs, double* out) {
  const std::size_t i = blockIdx.x * std::size_t{kBlock / 32} + threadIdx.x / 32;
  if (i >= pairs) return;
  const int lane = threadIdx.x % 32;
  const float* z = logits + i * S;
  double* row = out + i * S;
  double high = -INFINITY;
  for (int s = lane; s < S; s += 32) {
    double value = z[s];
    if (!softmax_step) {
      value = log_one[static_cast<std::size_t>(x[i]) * S + s] +
              exact_log_dot(log_after + static_cast<std::size_t>(s) * S, z, 1, S);
    }
    row[s] = value;
    high = fmax(high, value);
  }
  high = max_of_lanes<32>(high);
  double sum = 0.0;
  for (int s = lane; s < S; s += 32) sum += exp(row[s] - high);
  const double log_total = high + log(sum_of_lanes<32>(sum));
  for (int s = lane; s < S; s += 32) row[s] -= log_total;
}

// Lanes that share one coordinate of a step's probability.
constexpr int kStepLanes = 8;
// Below this a sum of linear terms may have lost some; above it those lost are under 1e-8 of it.
constexpr float kLinearSum = 1e-25f;

// log sum_c exp(z[c] + log_weights[c]) by kStepLanes lanes; log_weights may be null. Terms are
// taken in float64, relative to about the largest of them; what is left needs no more than float32.
__device__ double log_dot_of_lanes(const float* z, const double* log_weights, int S, int lane) {
  const auto term = [=](int c) {
    return static_cast<double>(z[c]) + (log_weights != nullptr ? log_weights[c] : 0.0);
  };
  float high = -INFINITY;
  for (int c = lane; c < S; c += kStepLanes) high = fmaxf(high, static_cast<float>(term(c)));
  const double shift = max_of_lanes<kStepLanes>(high);
  float sum = 0.0f;
  for (int c = lane; c < S; c += kStepLanes) sum += expf(static_cast<float>(term(c) - shift));
  return shift + static_cast<double>(logf(sum_of_lanes<kStepLanes>(sum)));
}

// The sums of both powers over the same exponentials, and whether these are large enough to trust.
struct LinearSums {
  float after, whole;

  __device__ bool trusted() const { return after > kLinearSum && whole > kLinearSum; }
};

// Lanes that hold up to kOwn logits each in registers; with kOwn = 0 they read them twice.
template <int kOwn>
__device__ LinearSums linear_sums(const float* z, const float* after, const float* whole, int S,
                                  int lane) {
  const auto category = [=](int j) { return lane + j * kStepLanes; };
  float own[kOwn > 0 ? kOwn : 1], high = -INFINITY;
  const int count = kOwn > 0 ? kOwn : (S + kStepLanes - 1) / kStepLanes;
#pragma unroll
  for (int j = 0; j < count; ++j) {
    const float value = category(j) < S ? z[category(j)] : -INFINITY;
    if (kOwn > 0) own[j] = value;
    high = fmaxf(high, value);
  }
  high = max_of_lanes<kStepLanes>(high);
  LinearSums sums{};
#pragma unroll
  for (int j = 0; j < count; ++j) {
    if (category(j) >= S) break;
    const float term = fast_exp((kOwn > 0 ? own[j] : z[category(j)]) - high);
    sums.after = fmaf(term, after[category(j)], sums.after);
    sums.whole = fmaf(term, whole[category(j)], sums.whole);
  }
  return {sum_of_lanes<kStepLanes>(sums.after), sum_of_lanes<kStepLanes>(sums.whole)};
}

// kStepLanes lanes for each row and dimension. Where linear sums are too small, both are taken in
// the log domain. The lanes of a warp call together, so it does this for all its coordinates.
template <int kOwn>
__global__ void __launch_bounds__(kBlock)
    step_log_probability(int D, int S, bool softmax_step, StepPowers powers,
                         const std::int32_t* from, const std::int32_t* to, const float* logits,
                         std::size_t pairs, double* out) {
  const std::size_t thread = blockIdx.x * std::size_t{kBlock} + threadIdx.x;
  const bool valid = thread / kStepLanes < pairs;
  const std::size_t i = valid ? thread / kStepLanes : 0;
  const int lane = static_cast<int>(threadIdx.x) % kStepLanes;
  const float* z = logits + i * S;
  const std::size_t x = static_cast<std::size_t>(from[i]) * S, s = to[i];
  double value;
  if (softmax_step) {
    value = static_cast<double>(z[s]) - log_dot_of_lanes(z, nullptr, S, lane);
  } else {
    const LinearSums sums = linear_sums<kOwn>(z, powers.after + s * S, powers.whole + x, S, lane);
    double log_ratio = logf(sums.after / sums.whole);
    if (!__all_sync(kWholeWarp, sums.trusted())) {
      const double exact = log_dot_of_lanes(z, powers.log_after + s * S, S, lane) -
                           log_dot_of_lanes(z, powers.log_whole + x, S, lane);
      if (!sums.trusted()) log_ratio = exact;
    }
    value = powers.log_one[x + s] + log_ratio;
  }
  if (valid && lane == 0) out[i] = value;
}

__global__ void add_coordinates(const double* of_coordinates, int D, std::size_t rows,
                                double* out) {
  const std::size_t b = blockIdx.x * std::size_t{kBlock} + threadIdx.x;
  if (b >= rows) return;
  double sum = 0.0;
  for (int d = 0; d < D; ++d) sum += of_coordinates[b * D + d];
  out[b] = sum;
}

}  // namespace

void launch_forward(const NetworkShape& shape, const float* parameters, std::size_t rows,
                    std::span<float* const> values, LayerProduct product, cudaStream_t stream) {
  const std::size_t layers = shape.num_layers();
  for (std::size_t l = 0; l < layers; ++l) {
    launch_layer(values[l], rows, shape.layer_inputs(l), parameters + shape.weight_offset(l),
                 shape.layer_inputs(l), parameters + shape.bias_offset(l), shape.layer_outputs(l),
                 l + 1 < layers, product, values[l + 1], stream);
  }
}

void launch_chain(const NetworkShape& shape, const ChainJob& job, const ChainSteps& steps,
                  const ChainScratch& scratch, cudaStream_t stream) {
  if (steps.rows == 0) return;
  const std::size_t D = shape.dim;
  start_chain<<<blocks_of(steps.rows * D, 1), kBlock, 0, stream>>>(job, static_cast<int>(D),
                                                                   steps.rows * D);
  BM_CUDA_CHECK(cudaGetLastError());
  // Layers alternate between two buffers.
  std::vector<float*> values(shape.num_layers() + 1);
  for (std::size_t l = 0; l < values.size(); ++l) values[l] = l % 2 == 0 ? scratch.in : scratch.out;
  for (int step = 0; step < steps.num_steps; ++step) {
    const int left = steps.steps_left - step;
    launch_inputs(shape, job.parameters, job.to, nullptr, left, steps.rows, values[0], stream);
    launch_forward(shape, job.parameters, steps.rows, values, LayerProduct::kInOrder, stream);
    draw_step<<<blocks_of(steps.rows * D, kDrawLanes), kBlock, 0, stream>>>(
        job, static_cast<int>(D), static_cast<int>(shape.num_categories), step, left,
        shape.is_softmax_step(left), steps.rows, values.back());
    BM_CUDA_CHECK(cudaGetLastError());
  }
}

void launch_log_transition(int D, int S, bool softmax_step, const double* log_one,
                           const double* log_after, const std::int32_t* x, const float* logits,
                           std::size_t rows, double* out, cudaStream_t stream) {
  if (rows == 0) return;
  log_transition<<<blocks_of(rows * D, 32), kBlock, 0, stream>>>(
      D, S, softmax_step, log_one, log_after, x, logits, rows * D, out);
  BM_CUDA_CHECK(cudaGetLastError());
}

void launch_step_log_probability(int D, int S, bool softmax_step, const StepPowers& powers,
                                 const std::int32_t* from, const std::int32_t* to,
                                 const float* logits, std::size_t rows, double* of_coordinates,
                                 double* out, cudaStream_t stream) {
  if (rows == 0) return;
  const auto kernel = S <= 8 * kStepLanes ? step_log_probability<8> : step_log_probability<0>;
  kernel<<<blocks_of(rows * D, kStepLanes), kBlock, 0, stream>>>(
      D, S, softmax_step, powers, from, to, logits, rows * D, of_coordinates);
  add_coordinates<<<blocks_of(rows, 1), kBlock, 0, stream>>>(of_coordinates, D, rows, out);
  BM_CUDA_CHECK(cudaGetLastError());
}

}  // namespace bridgemark::backend::cuda
