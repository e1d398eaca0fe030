#include <algorithm>

#include "bridgemark/backend/cuda/device/lanes.h"
#include "bridgemark/backend/cuda/network/network_view.h"
#include "bridgemark/backend/cuda/runtime/check.h"
#include "bridgemark/math/exact_log_dot.h"

// The loss of bridge matching from logits to their gradient; cpu/network/network_loss.cc has the
// formulas. A block takes kDims dimensions of one row, so that they share the power Q_{r-1} of the
// row's steps left; kLanes lanes of a warp work on the categories of a dimension. A dimension that
// leaves the range of float is done again in the log domain by the whole block.
namespace bridgemark::backend::cuda {

namespace {

constexpr int kDims = 16, kLanes = 16, kLossThreads = kDims * kLanes;
constexpr int kStride = kDims + 4;  // of a category's dimensions: whole float4, few bank conflicts
constexpr float kNegligible = 1e-20f;

enum Fate : int { kDone, kExact, kSkipped };

struct LossView {
  int D, S;
  MatchingLoss kind;
  bool reference_last_step;
  StepTables tables;
  PointsView points;
  double scale;
  float* logits;
  double* row_loss;
  bool shares_power;  // the power lies in shared memory
  float* scratch;     // [blocks][2][S,kStride] where shared memory does not take them, else null
};

__device__ inline bool is_softmax_step(const LossView& view, int steps_left) {
  return steps_left == 1 && !view.reference_last_step;
}

__device__ inline float4 add_scaled(float weight, const float* x, float4 sum) {
  const float4 v = *reinterpret_cast<const float4*>(x);
  return make_float4(fmaf(weight, v.x, sum.x), fmaf(weight, v.y, sum.y), fmaf(weight, v.z, sum.z),
                     fmaf(weight, v.w, sum.w));
}

// A dimension's place in the chain.
struct Place {
  int steps_left, x, clean;
};

// The model and the target of one dimension from y [S], by the dimension's lanes: y becomes
// a[s] = d loss / d log m[s] / y[s]. False where that leaves the range of float.
__device__ bool match(const LossView& view, const Place& place, const float* power, int stride,
                      float total, float* y, double& loss, float& ratio) {
  const int S = view.S, lane = static_cast<int>(threadIdx.x) % kLanes;
  const bool last = is_softmax_step(view, place.steps_left);
  PinnedStep<float> pinned = pinned_step(view.tables.q, S, place.steps_left, place.x, place.clean);
  pinned.after = power + place.clean, pinned.stride = stride;  // the copy at hand
  float Z = total;
  if (!last) {
    Z = 0.0f;
    for (int s = lane; s < S; s += kLanes) Z += pinned.one[s] * y[s * kStride];
    Z = sum_of_lanes<kLanes>(Z);
  }
  bool in_range = last || (pinned.whole >= kProductFloor && Z >= kProductFloor);
  const float inverse = 1.0f / pinned.whole, share = 1.0f / Z;
  const bool kl = view.kind == MatchingLoss::kKl;
  float sum = 0.0f;
  loss = 0.0;
  for (int s = lane; s < S; s += kLanes) {
    const float value = y[s * kStride];
    const float m = last ? value / Z : pinned.one[s] * value * share;
    const float t = last ? (s == place.clean ? 1.0f : 0.0f) : pinned.probability(s, inverse);
    const bool near = value >= kProductFloor && m >= kProductFloor;
    const bool matters = (kl ? t : m) > kNegligible;
    const float slope = matching_slope(view.kind, t, m);
    in_range = in_range && (near || !matters);
    loss += matching_term<double>(view.kind, t, m, kl && matters ? logf(t / m) : 0.0f);
    sum += slope;
    y[s * kStride] = matters ? slope / value : 0.0f;
  }
  loss = sum_of_lanes<kLanes>(loss);
  ratio = sum_of_lanes<kLanes>(sum) / Z;
  return votes_of_lanes<kLanes>(!in_range) == 0;
}

// One dimension in the log domain, by the whole block; work is [3][S].
__device__ void match_exactly(const LossView& view, const Place& place, float* logits, double* work,
                              double* row_loss) {
  const int S = view.S;
  const bool last = is_softmax_step(view, place.steps_left);
  double *log_y = work, *pull = work + S, *part = work + 2 * S;
  const std::size_t square = static_cast<std::size_t>(S) * S;
  const PinnedStep<double> pinned =
      pinned_step(view.tables.log_q, S, place.steps_left, place.x, place.clean);
  const double* log_after = view.tables.log_q + (place.steps_left - 1) * square;
  const double* log_whole =
      view.tables.log_q + place.steps_left * square + static_cast<std::size_t>(place.x) * S;
  for (int s = threadIdx.x; s < S; s += kLossThreads) {
    log_y[s] =
        last ? static_cast<double>(logits[s]) : exact_log_dot(log_after + s * S, logits, 1, S);
  }
  __syncthreads();
  // The sum over clean ends is also that over categories.
  const double log_z = last ? log_sum(log_y, S) : exact_log_dot(log_whole, logits, 1, S);
  for (int s = threadIdx.x; s < S; s += kLossThreads) {
    const double log_m = log_y[s] + (last ? 0.0 : pinned.one[s]) - log_z;
    const double log_t = last ? pinned.after[s * pinned.stride] : pinned.log_probability(s);
    const double t = exp(log_t), m = exp(log_m);
    part[s] = matching_term(view.kind, t, m, log_t - log_m);
    pull[s] = matching_slope(view.kind, t, m);
  }
  __syncthreads();
  double sum = 0.0, loss = 0.0;
  for (int s = 0; s < S; ++s) sum += pull[s], loss += part[s];
  for (int c = threadIdx.x; c < S; c += kLossThreads) {
    const auto z = static_cast<double>(logits[c]);
    double pulled = 0.0;
    for (int s = 0; s < S; ++s) {
      if (pull[s] != 0.0) pulled += pull[s] * exp(z + log_after[s * S + c] - log_y[s]);
    }
    const double w = exp(z + (last ? 0.0 : log_whole[c]) - log_z);
    logits[c] = static_cast<float>(view.scale * (pulled - w * sum));
  }
  if (threadIdx.x == 0) *row_loss = loss;
  __syncthreads();
}

__global__ void __launch_bounds__(kLossThreads) network_loss_rows(LossView view) {
  extern __shared__ __align__(16) double shared[];
  __shared__ int fate[kDims], states[kDims];
  __shared__ float ratios[kDims];
  const int S = view.S, left = view.points.steps_left[blockIdx.x];
  const bool last = is_softmax_step(view, left);
  double* work = shared;  // [3][S]
  auto* free = reinterpret_cast<float*>(shared + 3 * S + S % 2);
  const std::size_t block = blockIdx.y * static_cast<std::size_t>(gridDim.x) + blockIdx.x;
  float* p =
      view.scratch != nullptr ? view.scratch + block * 2 * S * kStride : free;  // [S,kStride]
  float* y = p + S * kStride;
  const float* power = view.tables.q + static_cast<std::size_t>(left - 1) * S * S;
  int stride = S;
  if (view.shares_power) {
    float* copy = view.scratch != nullptr ? free : y + S * kStride;
    stride = S | 1;  // odd: lanes that walk down a column meet no bank twice
    for (int i = threadIdx.x; i < S * S; i += kLossThreads) {
      copy[i / S * stride + i % S] = power[i];
    }
    power = copy;
  }

  const int dim = static_cast<int>(threadIdx.x) / kLanes,
            lane = static_cast<int>(threadIdx.x) % kLanes;
  const std::size_t first = blockIdx.x * static_cast<std::size_t>(view.D) + blockIdx.y * kDims;
  const int dims = min(kDims, view.D - static_cast<int>(blockIdx.y) * kDims);
  const bool active = dim < dims;
  float* logits = view.logits + first * S;
  const float* own = logits + static_cast<std::size_t>(dim) * S;
  float high = -INFINITY, total = 0.0f;
  bool finite = active;
  for (int c = lane; active && c < S; c += kLanes) {
    finite = finite && isfinite(own[c]);
    high = fmaxf(high, own[c]);
  }
  high = max_of_lanes<kLanes>(high);
  finite = votes_of_lanes<kLanes>(!finite) == 0;
  for (int c = lane; c < S; c += kLanes) {
    const float value = finite ? expf(own[c] - high) : 0.0f;
    p[c * kStride + dim] = value;
    if (last) y[c * kStride + dim] = value;
    total += value;
  }
  total = sum_of_lanes<kLanes>(total);
  __syncthreads();

  // y[s] = sum_c Q[s,c] p[c] for four dimensions at a time.
  for (int i = threadIdx.x; !last && i < S * kDims / 4; i += kLossThreads) {
    const int s = i % S, group = i / S * 4;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int c = 0; c < S; ++c) {
      sum = add_scaled(power[s * stride + c], p + c * kStride + group, sum);
    }
    *reinterpret_cast<float4*>(y + s * kStride + group) = sum;
  }
  __syncthreads();

  Place place{left, 0, 0};
  if (active) place.x = view.points.x[first + dim], place.clean = view.points.clean[first + dim];
  double loss;
  float ratio;
  const bool good = match(view, place, power, stride, total, y + dim, loss, ratio);
  if (lane == 0) {
    fate[dim] = !finite ? kSkipped : good ? kDone : kExact;
    states[dim] = place.x;
    ratios[dim] = ratio;
    if (active) view.row_loss[first + dim] = finite ? loss : NAN;
  }
  __syncthreads();

  // d loss / d z[c] = p[c] (sum_s Q[s,c] a[s] - Q_r[x,c] ratio), four dimensions at a time.
  const float* whole = view.tables.q + static_cast<std::size_t>(left) * S * S;
  for (int i = threadIdx.x; i < S * kDims / 4; i += kLossThreads) {
    const int c = i % S, group = i / S * 4;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (last) {
      sum = add_scaled(1.0f, y + c * kStride + group, sum);
    } else {
      for (int s = 0; s < S; ++s) {
        sum = add_scaled(power[s * stride + c], y + s * kStride + group, sum);
      }
    }
    const float pulled[4] = {sum.x, sum.y, sum.z, sum.w};
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int d = group + j;
      if (fate[d] != kDone) continue;
      const float reach = last ? 1.0f : whole[states[d] * S + c];
      logits[static_cast<std::size_t>(d) * S + c] =
          static_cast<float>(view.scale) * p[c * kStride + d] * (pulled[j] - reach * ratios[d]);
    }
  }
  for (int d = 0; d < dims; ++d) {
    if (fate[d] != kExact) continue;
    match_exactly(view, {left, states[d], view.points.clean[first + d]},
                  logits + static_cast<std::size_t>(d) * S, work, view.row_loss + first + d);
  }
}

struct SharedPlan {
  bool power, rows;
  std::size_t bytes;
};

// The rows [S,kStride] come first, then the power.
SharedPlan plan_shared(std::size_t S) {
  const std::size_t room = max_shared_memory();
  SharedPlan plan{false, false, (3 * S + S % 2) * sizeof(double)};
  const std::size_t rows = 2 * S * kStride * sizeof(float), power = S * (S | 1) * sizeof(float);
  if ((plan.rows = plan.bytes + rows <= room)) plan.bytes += rows;
  if ((plan.power = plan.bytes + power <= room)) plan.bytes += power;
  return plan;
}

unsigned dim_blocks(const NetworkShape& shape) {
  return static_cast<unsigned>((shape.dim + kDims - 1) / kDims);
}

}  // namespace

std::size_t prepare_network_loss(const NetworkShape& shape, std::size_t rows) {
  const SharedPlan plan = plan_shared(shape.num_categories);
  allow_shared_memory(reinterpret_cast<const void*>(network_loss_rows), plan.bytes,
                      static_cast<int>(shape.num_categories));
  return plan.rows ? 0 : rows * dim_blocks(shape) * 2 * shape.num_categories * kStride;
}

void launch_network_loss(const NetworkShape& shape, const StepTables& tables, MatchingLoss kind,
                         const PointsView& points, std::size_t rows, double scale, float* scratch,
                         float* logits, double* row_loss, cudaStream_t stream) {
  const SharedPlan plan = plan_shared(shape.num_categories);
  const LossView view{static_cast<int>(shape.dim),
                      static_cast<int>(shape.num_categories),
                      kind,
                      shape.reference_last_step,
                      tables,
                      points,
                      scale,
                      logits,
                      row_loss,
                      plan.power,
                      plan.rows ? nullptr : scratch};
  network_loss_rows<<<dim3(static_cast<unsigned>(rows), dim_blocks(shape)), kLossThreads,
                      plan.bytes, stream>>>(view);
  BM_CUDA_CHECK(cudaGetLastError());
}

}  // namespace bridgemark::backend::cuda
