#include <algorithm>
#include <optional>

#include "bridgemark/backend/cuda/runtime/buffer.h"
#include "bridgemark/backend/cuda_ops.h"
#include "bridgemark/math/categorical.h"
#include "bridgemark/math/exact_log_dot.h"
#include "bridgemark/math/hidden_chain.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark::backend::cuda {

namespace {

// Rows of one launch, so that a scratch of `entries` doubles a row stays within 512 MiB.
std::size_t rows_per_launch(std::size_t entries) {
  return std::max<std::size_t>(1, (std::size_t{1} << 26) / std::max<std::size_t>(entries, 1));
}

// weights[b,k] = log_beta[k] + sum_d log_u[d, x[b,d], k], added in the order of the CPU.
__global__ void component_weights(const double* log_beta, const double* log_u,
                                  const std::int32_t* x, std::size_t rows, std::size_t D,
                                  std::size_t S, std::size_t K, double* weights) {
  const std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (i >= rows * K) return;
  const std::size_t b = i / K, k = i % K;
  double sum = log_beta[k];
  for (std::size_t d = 0; d < D; ++d) sum += log_u[(d * S + x[b * D + d]) * K + k];
  weights[i] = sum;
}

__global__ void sum_components(const double* weights, std::size_t rows, std::size_t K,
                               double* out) {
  const std::size_t b = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (b < rows) out[b] = log_sum(weights + b * K, K);
}

__global__ void draw_components(double* weights, DrawKey key, std::uint64_t first_index,
                                std::size_t rows, std::size_t K, std::int32_t* components) {
  const std::size_t b = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (b >= rows) return;
  double* row = weights + b * K;
  cumulate_log(row, K, row);
  components[b] =
      static_cast<std::int32_t>(draw_category(row, K, draw_uniform(key, first_index + b, 0)));
}

// The tables of a hidden chain in device memory; those on a linear scale may be left out.
class DeviceChain {
 public:
  DeviceChain(std::span<const double> log_start, const Array3<double>& log_moves,
              const Array3<double>& log_emission, const BridgeStep* linear = nullptr)
      : log_start_(log_start.data(), log_start.size()),
        log_moves_(log_moves.data(), log_moves.size()),
        log_emission_(log_emission.data(), log_emission.size()),
        start_(linear ? linear->start.data() : nullptr, linear ? linear->start.size() : 0),
        moves_(linear ? linear->moves.data() : nullptr, linear ? linear->moves.size() : 0),
        emission_(linear ? linear->from.data() : nullptr, linear ? linear->from.size() : 0),
        view_{log_emission.extent(0), log_emission.extent(1), log_emission.extent(2),
              log_start_.get(),       start_.get(),           log_moves_.get(),
              moves_.get(),           log_emission_.get(),    emission_.get()} {}

  const HiddenChain& view() const { return view_; }

 private:
  Buffer<double> log_start_, log_moves_, log_emission_, start_, moves_, emission_;
  HiddenChain view_;
};

// One thread a row of each of these.

__global__ void sum_paths(HiddenChain chain, const std::int32_t* x, std::size_t rows,
                          double* scratch, double* out) {
  const std::size_t b = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (b < rows) out[b] = log_all_paths(chain, x + b * chain.D, scratch + b * 2 * chain.K);
}

// others[b,d,k]: the paths of row b that have z_d = k, without their weight at d.
__global__ void sum_other_paths(HiddenChain chain, const std::int32_t* x, std::size_t rows,
                                double* scratch, double* others) {
  const std::size_t b = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (b >= rows) return;
  const std::size_t entries = chain.D * chain.K;
  log_other_paths(chain, x + b * chain.D, others + b * entries, scratch + b * entries);
}

__global__ void draw_paths(HiddenChain chain, const std::int32_t* x, DrawKey key,
                           std::uint64_t first_index, std::size_t rows, double* scratch,
                           std::int32_t* paths) {
  const std::size_t b = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (b >= rows) return;
  draw_path(
      chain, x + b * chain.D, [&](std::size_t d) { return draw_uniform(key, first_index + b, d); },
      paths + b * chain.D, scratch + b * (chain.D + 1) * chain.K);
}

struct StepView {
  const double *q, *log_q, *to, *log_to, *cumulative;  // cumulative may be null
  bool chain;  // a component for each coordinate, else one for all
};

__global__ void draw_coordinates(StepView step, const std::int32_t* x,
                                 const std::int32_t* components, DrawKey key,
                                 std::uint64_t first_index, std::size_t rows, std::size_t D,
                                 std::size_t S, std::size_t K, std::int32_t* out) {
  const std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (i >= rows * D) return;
  const std::size_t b = i / D, d = i % D;
  const auto s = static_cast<std::size_t>(x[i]);
  const std::size_t component = d * K + static_cast<std::size_t>(components[step.chain ? i : b]);
  const double uniform = draw_uniform(key, first_index + b, d + (step.chain ? D : 1));
  out[i] = static_cast<std::int32_t>(
      step.cumulative ? draw_category(step.cumulative + (component * S + s) * S, S, uniform)
                      : draw_product(step.q + s * S, step.to + component * S, step.log_q + s * S,
                                     step.log_to + component * S, S, uniform));
}

__global__ void draw_products(const double* left, const double* log_left, const double* right,
                              const double* log_right, const std::int32_t* left_rows,
                              const std::int32_t* right_rows, DrawKey key,
                              std::uint64_t first_index, std::size_t rows, std::size_t D,
                              std::size_t S, std::int32_t* out) {
  const std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (i >= rows * D) return;
  const std::size_t l = left_rows[i] * S, r = right_rows[i] * S;
  out[i] =
      static_cast<std::int32_t>(draw_product(left + l, right + r, log_left + l, log_right + r, S,
                                             draw_uniform(key, first_index + i / D, i % D)));
}

// others[b,d,k] = log_beta[k] + the sum over j != d, added up from both sides.
__global__ void sum_others(const double* log_beta, const double* log_from, const std::int32_t* x,
                           std::size_t rows, std::size_t D, std::size_t S, std::size_t K,
                           double* others) {
  const std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (i >= rows * K) return;
  const std::size_t b = i / K, k = i % K;
  double running = log_beta[k];
  for (std::size_t d = 0; d < D; ++d) {
    others[(b * D + d) * K + k] = running;
    running += log_from[(d * S + x[b * D + d]) * K + k];
  }
  running = 0.0;
  for (std::size_t d = D; d-- > 0;) {
    others[(b * D + d) * K + k] += running;
    running += log_from[(d * S + x[b * D + d]) * K + k];
  }
}

// out[b,d,s] = log_q[x,s] + log sum_k exp(others[b,d,k] + log_to[d*K + k, s]), not yet normalised.
__global__ void mix_components(const double* others, const double* log_to, const double* log_q,
                               const std::int32_t* x, std::size_t rows, std::size_t D,
                               std::size_t S, std::size_t K, double* out) {
  const std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (i >= rows * D * S) return;
  const std::size_t s = i % S, row = i / S, d = row % D;
  const double* other = others + row * K;
  const double* to = log_to + d * K * S + s;
  out[i] = log_q[x[row] * S + s] + exact_log_dot(other, to, S, K);
}

__global__ void normalize_rows(double* values, std::size_t rows, std::size_t count) {
  const std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (i < rows) log_normalize(values + i * count, count);
}

}  // namespace

void log_mixture(std::span<const double> log_beta, const Array3<double>& log_u, StatesView x,
                 std::span<double> out) {
  const std::size_t D = log_u.extent(0), S = log_u.extent(1), K = log_u.extent(2);
  const Buffer<double> beta(log_beta.data(), K), u(log_u.data(), log_u.size());
  const std::size_t chunk = std::min(rows_per_launch(K), x.rows);
  Buffer<double> weights(chunk * K);
  for (std::size_t first = 0; first < x.rows; first += chunk) {
    const std::size_t rows = std::min(chunk, x.rows - first);
    const Buffer<std::int32_t> states(x.row(first), rows * D);
    Buffer<double> result(rows);
    component_weights<<<blocks_for(rows * K), kThreads>>>(beta.get(), u.get(), states.get(), rows,
                                                          D, S, K, weights.get());
    sum_components<<<blocks_for(rows), kThreads>>>(weights.get(), rows, K, result.get());
    BM_CUDA_CHECK(cudaGetLastError());
    result.copy_to(out.data() + first);
  }
}

void log_chain(std::span<const double> log_start, const Array3<double>& log_moves,
               const Array3<double>& log_u, StatesView x, std::span<double> out) {
  const std::size_t D = log_u.extent(0), K = log_u.extent(2);
  const DeviceChain chain(log_start, log_moves, log_u);
  const std::size_t chunk = std::min(rows_per_launch(2 * K), x.rows);
  Buffer<double> scratch(chunk * 2 * K);
  for (std::size_t first = 0; first < x.rows; first += chunk) {
    const std::size_t rows = std::min(chunk, x.rows - first);
    const Buffer<std::int32_t> states(x.row(first), rows * D);
    Buffer<double> result(rows);
    sum_paths<<<blocks_for(rows), kThreads>>>(chain.view(), states.get(), rows, scratch.get(),
                                              result.get());
    BM_CUDA_CHECK(cudaGetLastError());
    result.copy_to(out.data() + first);
  }
}

void bridge_step_marginals(const BridgeStep& step, StatesView x, Array3<double>& out) {
  const std::size_t D = step.dim, S = step.num_categories, K = step.num_components;
  const Buffer<double> beta(step.log_beta.data(), K), from(step.log_from.data(), D * S * K),
      to(step.to.log.data(), D * K * S), q(step.q.log.data(), S * S);
  std::optional<DeviceChain> chain;
  if (step.is_chain()) chain.emplace(step.log_beta, step.log_moves, step.log_from);
  const std::size_t chunk = std::min(rows_per_launch(2 * D * std::max(K, S)), x.rows);
  Buffer<double> others(chunk * D * K), scratch(chain ? chunk * D * K : 0);
  for (std::size_t first = 0; first < x.rows; first += chunk) {
    const std::size_t rows = std::min(chunk, x.rows - first);
    const Buffer<std::int32_t> states(x.row(first), rows * D);
    Buffer<double> marginals(rows * D * S);
    if (chain) {
      sum_other_paths<<<blocks_for(rows), kThreads>>>(chain->view(), states.get(), rows,
                                                      scratch.get(), others.get());
    } else {
      sum_others<<<blocks_for(rows * K), kThreads>>>(beta.get(), from.get(), states.get(), rows, D,
                                                     S, K, others.get());
    }
    mix_components<<<blocks_for(rows * D * S), kThreads>>>(
        others.get(), to.get(), q.get(), states.get(), rows, D, S, K, marginals.get());
    normalize_rows<<<blocks_for(rows * D), kThreads>>>(marginals.get(), rows * D, S);
    BM_CUDA_CHECK(cudaGetLastError());
    marginals.copy_to(out.row(first, 0));
  }
}

void sample_bridge_step(const BridgeStep& step, StatesView x, const DrawKey& key,
                        std::uint64_t first_index, MutableStatesView out) {
  const std::size_t D = step.dim, S = step.num_categories, K = step.num_components;
  const Buffer<double> beta(step.log_beta.data(), K), from(step.log_from.data(), D * S * K),
      q(step.q.linear.data(), S * S), log_q(step.q.log.data(), S * S),
      to(step.to.linear.data(), D * K * S), log_to(step.to.log.data(), D * K * S),
      cumulative(step.cumulative.data(), step.cumulative.size());
  std::optional<DeviceChain> chain;
  if (step.is_chain()) chain.emplace(step.log_beta, step.log_moves, step.log_from, &step);
  const StepView view{q.get(),      log_q.get(),      to.get(),
                      log_to.get(), cumulative.get(), chain.has_value()};
  const std::size_t scratch = chain ? (D + 1) * K : K;  // of a row
  const std::size_t chunk = std::min(rows_per_launch(scratch + D), x.rows);
  Buffer<double> weights(chunk * scratch);
  for (std::size_t first = 0; first < x.rows; first += chunk) {
    const std::size_t rows = std::min(chunk, x.rows - first);
    const Buffer<std::int32_t> states(x.row(first), rows * D);
    Buffer<std::int32_t> components(chain ? rows * D : rows), drawn(rows * D);
    if (chain) {
      draw_paths<<<blocks_for(rows), kThreads>>>(chain->view(), states.get(), key,
                                                 first_index + first, rows, weights.get(),
                                                 components.get());
    } else {
      component_weights<<<blocks_for(rows * K), kThreads>>>(beta.get(), from.get(), states.get(),
                                                            rows, D, S, K, weights.get());
      draw_components<<<blocks_for(rows), kThreads>>>(weights.get(), key, first_index + first, rows,
                                                      K, components.get());
    }
    draw_coordinates<<<blocks_for(rows * D), kThreads>>>(
        view, states.get(), components.get(), key, first_index + first, rows, D, S, K, drawn.get());
    BM_CUDA_CHECK(cudaGetLastError());
    drawn.copy_to(out.row(first));
  }
}

void sample_product_rows(const ScaledRows& left, const ScaledRows& right, StatesView left_rows,
                         StatesView right_rows, const DrawKey& key, std::uint64_t first_index,
                         MutableStatesView out) {
  const std::size_t D = out.cols, S = left.cols();
  const Buffer<double> a(left.linear.data(), left.linear.size()),
      log_a(left.log.data(), left.log.size()), b(right.linear.data(), right.linear.size()),
      log_b(right.log.data(), right.log.size());
  const Buffer<std::int32_t> i(left_rows.data, left_rows.size()),
      j(right_rows.data, right_rows.size());
  Buffer<std::int32_t> drawn(out.size());
  if (out.size() == 0) return;
  draw_products<<<blocks_for(out.size()), kThreads>>>(a.get(), log_a.get(), b.get(), log_b.get(),
                                                      i.get(), j.get(), key, first_index, out.rows,
                                                      D, S, drawn.get());
  BM_CUDA_CHECK(cudaGetLastError());
  drawn.copy_to(out.data);
}

}  // namespace bridgemark::backend::cuda
