#include <cooperative_groups.h>
#include <cuda_pipeline_primitives.h>

#include <algorithm>

#include "bridgemark/backend/cuda/check.h"
#include "bridgemark/backend/cuda/network_draw.h"
#include "bridgemark/backend/cuda/network_view.h"

// A chain in one kernel. A cluster of blocks walks all steps of its Rows rows: each block keeps its
// share of every layer's outputs in shared memory, the last layer's by dimensions, and sends what
// it made to the others. Per step and layer there is one barrier of the cluster, and no weight is
// read twice from beyond the multiprocessor.
namespace bridgemark::backend::cuda {

namespace {

constexpr int kClusterThreads = 512;
constexpr int kMaxHidden = 8;
constexpr int kJobs = 2;

struct ClusterNetwork {
  int D, S, E;
  int num_hidden;
  int widths[kMaxHidden + 1];           // inputs of layer l: the state's, then the hidden layers'
  int strides[kMaxHidden + 1];          // between a weight's rows
  std::size_t weights[kMaxHidden + 1];  // where a layer's weights lie in the parameters
  std::size_t biases[kMaxHidden + 1];
  std::size_t categories;  // the category embedding
};

struct ClusterJobs {
  ChainJob job[kJobs];
};

__host__ __device__ inline int share_of(int count, int blocks) {
  return (count + blocks - 1) / blocks;
}
__host__ __device__ inline int round_up(int count, int to) { return (count + to - 1) / to * to; }

// Where the parts lie in a block's shared memory, counted in floats; those that hold float4 start
// at multiples of four.
struct ClusterLayout {
  int logit_stride;        // of the last layer's outputs
  int row_stride;          // of a row of the tables
  int last;                // [inputs + 1, logit_stride], the bias last
  int logits;              // [Rows, logit_stride]
  int input;               // [state_width, Rows]
  int values[2];           // [widest hidden layer, Rows]
  int uniforms;            // [pairs, 2] double
  int states;              // [pairs]
  int rows;                // [pairs, row_stride] of the tables
  int hidden[kMaxHidden];  // [outputs, inputs + 1], the bias last
  int size;
};

__host__ __device__ inline ClusterLayout cluster_layout(const ClusterNetwork& net, int blocks,
                                                        int num_rows) {
  ClusterLayout layout;
  const int dims = share_of(net.D, blocks), pairs = dims * num_rows;
  // 4 more than a multiple of 8, so that the transposed weights are written with few conflicts.
  layout.logit_stride = round_up(dims * net.S + 4, 8) - 4;
  layout.row_stride = net.S | 1;
  int widest = 0;
  for (int l = 1; l <= net.num_hidden; ++l)
    widest = net.widths[l] > widest ? net.widths[l] : widest;
  int at = 0;
  const auto take = [&](int count) {
    const int begin = at;
    at += round_up(count, 4);
    return begin;
  };
  layout.last = take((net.widths[net.num_hidden] + 1) * layout.logit_stride);
  layout.logits = take(num_rows * layout.logit_stride);
  layout.input = take(net.widths[0] * num_rows);
  layout.values[0] = take(widest * num_rows);
  layout.values[1] = take(widest * num_rows);
  layout.uniforms = take(4 * pairs);
  layout.states = take(pairs);
  layout.rows = take(pairs * layout.row_stride);
  for (int l = 0; l < net.num_hidden; ++l) {
    layout.hidden[l] = take(share_of(net.widths[l + 1], blocks) * (net.widths[l] + 1));
  }
  layout.size = at;
  return layout;
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

namespace cg = cooperative_groups;

// Outputs first..first+count of a hidden layer to every block's `out` [outputs, Rows]. A warp makes
// one output of all rows: a lane has four rows and every kParts-th input. `start` is what the sums
// begin with, or null for the bias behind the weights.
template <int Rows>
__device__ void hidden_layer(cg::cluster_group& cluster, const float* weights, int inputs,
                             const float* start, const float* in, int first, int count,
                             float* out) {
  constexpr int kParts = 32 / (Rows / 4);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int part = lane % kParts, row = lane / kParts * 4;
  const int blocks = static_cast<int>(cluster.num_blocks());
  for (int o = warp; o < count; o += kClusterThreads / 32) {
    const float* weight = weights + o * (inputs + 1);
    const float begin = start != nullptr ? start[first + o] : weight[inputs];
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 8
    for (int k = part; k < inputs; k += kParts) {
      const float4 x = *reinterpret_cast<const float4*>(in + k * Rows + row);
      const float w = weight[k];
      sum[0] = fmaf(w, x.x, sum[0]);
      sum[1] = fmaf(w, x.y, sum[1]);
      sum[2] = fmaf(w, x.z, sum[2]);
      sum[3] = fmaf(w, x.w, sum[3]);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      for (int offset = kParts / 2; offset > 0; offset /= 2) {
        sum[i] += __shfl_xor_sync(kWholeWarp, sum[i], offset);
      }
      sum[i] += begin;
      if (sum[i] < 0.0f) sum[i] = 0.0f;  // NaN stays
    }
    for (int block = part; block < blocks; block += kParts) {
      float* target = cluster.map_shared_rank(out, block) + (first + o) * Rows + row;
      *reinterpret_cast<float4*>(target) = make_float4(sum[0], sum[1], sum[2], sum[3]);
    }
  }
}

// logits[row, o] of this block's outputs. A thread makes four outputs of kOwn rows; where threads
// are left over, two share the inputs.
template <int Rows>
__device__ void last_layer(const float* weights, int inputs, int outputs, int stride,
                           const float* in, float* logits) {
  constexpr int kOwn = Rows == 32 ? 8 : 4;
  const int groups = (outputs + 3) / 4, items = groups * (Rows / kOwn);
  const bool halved = 2 * items <= kClusterThreads;
  const int part = halved && threadIdx.x >= kClusterThreads / 2 ? 1 : 0;
  const int step = halved ? kClusterThreads / 2 : kClusterThreads;
  const int half = halved ? (inputs + 1) / 2 : inputs;
  const int k_begin = part * half, k_end = part == 0 ? half : inputs;
  const float* bias = weights + inputs * stride;
  float sum[kOwn][4];
  for (int item = threadIdx.x - part * step; item < items; item += step) {
    const int o = item % groups * 4, row = item / groups * kOwn;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) sum[i][j] = part == 0 ? bias[o + j] : 0.0f;
    }
#pragma unroll 4
    for (int k = k_begin; k < k_end; ++k) {
      const float4 w = *reinterpret_cast<const float4*>(weights + k * stride + o);
      float x[kOwn];
#pragma unroll
      for (int i = 0; i < kOwn; i += 4) {
        const float4 read = *reinterpret_cast<const float4*>(in + k * Rows + row + i);
        x[i] = read.x, x[i + 1] = read.y, x[i + 2] = read.z, x[i + 3] = read.w;
      }
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
        sum[i][0] = fmaf(x[i], w.x, sum[i][0]);
        sum[i][1] = fmaf(x[i], w.y, sum[i][1]);
        sum[i][2] = fmaf(x[i], w.z, sum[i][2]);
        sum[i][3] = fmaf(x[i], w.w, sum[i][3]);
      }
    }
    if (part == 0) {
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
        *reinterpret_cast<float4*>(logits + (row + i) * stride + o) =
            make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
      }
    }
  }
  __syncthreads();
  // A thread of the second half has one item at the most, still in its registers.
  const int item = threadIdx.x - step;
  if (part == 1 && item < items) {
    const int o = item % groups * 4, row = item / groups * kOwn;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      float4* out = reinterpret_cast<float4*>(logits + (row + i) * stride + o);
      *out = make_float4(out->x + sum[i][0], out->y + sum[i][1], out->z + sum[i][2],
                         out->w + sum[i][3]);
    }
  }
}

// A row of a table on its way to shared memory, by a draw's lanes.
__device__ inline void fetch_row(const float* from, int count, float* to) {
  for (int s = draw_lane(); s < count; s += kDrawLanes) {
    __pipeline_memcpy_async(to + s, from + s, sizeof(float));
  }
}

template <int Rows>
__global__ void __launch_bounds__(kClusterThreads)
    cluster_chain(ClusterNetwork net, ClusterJobs jobs, ChainSteps steps) {
  extern __shared__ __align__(16) float memory[];
  cg::cluster_group cluster = cg::this_cluster();
  const ChainJob job = jobs.job[blockIdx.y];
  const int blocks = static_cast<int>(cluster.num_blocks()),
            rank = static_cast<int>(cluster.block_rank()), tid = static_cast<int>(threadIdx.x);
  const int D = net.D, S = net.S, E = net.E, hidden = net.num_hidden;
  const ClusterLayout layout = cluster_layout(net, blocks, Rows);
  const std::size_t first_row = blockIdx.x / blocks * static_cast<std::size_t>(Rows);
  const int dims_of_block = share_of(D, blocks), first_dim = rank * dims_of_block;
  const int dims = max(0, min(dims_of_block, D - first_dim)), pairs = dims * Rows;
  float *last = memory + layout.last, *logits = memory + layout.logits,
        *input = memory + layout.input, *rows = memory + layout.rows;
  auto* uniforms = reinterpret_cast<double*>(memory + layout.uniforms);
  auto* states = reinterpret_cast<int*>(memory + layout.states);

  // The weights, once.
  for (int l = 0; l < hidden; ++l) {
    const int inputs = net.widths[l], share = share_of(net.widths[l + 1], blocks);
    const int first = rank * share, count = max(0, min(share, net.widths[l + 1] - first));
    for (int i = tid; i < count * (inputs + 1); i += kClusterThreads) {
      const int o = i / (inputs + 1), k = i % (inputs + 1);
      memory[layout.hidden[l] + i] =
          k < inputs ? job.parameters[net.weights[l] +
                                      static_cast<std::size_t>(first + o) * net.strides[l] + k]
                     : job.parameters[net.biases[l] + first + o];
    }
  }
  const int last_inputs = net.widths[hidden], outputs = dims * S;
  const std::size_t first_output = static_cast<std::size_t>(first_dim) * S;
  for (int i = tid; i < layout.logit_stride * (last_inputs + 1); i += kClusterThreads) {
    const int o = i / (last_inputs + 1), k = i % (last_inputs + 1);
    float value = 0.0f;
    if (o < outputs) {
      value =
          k < last_inputs
              ? job.parameters[net.weights[hidden] + (first_output + o) * net.strides[hidden] + k]
              : job.parameters[net.biases[hidden] + first_output + o];
    }
    last[k * layout.logit_stride + o] = value;
  }
  // The states that the rows start from: those of all dimensions as input, this block's as such.
  const float* categories = job.parameters + net.categories;
  const std::int32_t* from =
      job.from + (job.progress != nullptr ? job.progress->index % 2 * steps.rows * D : 0);
  const auto state_of = [&](int row, int d) {
    return first_row + row < steps.rows ? from[(first_row + row) * D + d] : 0;
  };
  for (int i = tid; i < net.widths[0] * Rows; i += kClusterThreads) {
    const int row = i % Rows, column = i / Rows;
    input[i] =
        E == 0 ? static_cast<float>(state_of(row, column))
               : categories[static_cast<std::size_t>(state_of(row, column / E)) * E + column % E];
  }
  for (int p = tid; p < pairs; p += kClusterThreads) {
    states[p] = state_of(p % Rows, first_dim + p / Rows);
  }
  const std::uint64_t index = (job.progress != nullptr ? job.progress->index * steps.rows : 0) +
                              job.first_index + first_row;
  const int group = tid / kDrawLanes;
  constexpr int kGroups = kClusterThreads / kDrawLanes;
  cluster.sync();

  for (int step = 0; step < steps.num_steps; ++step) {
    const int left = steps.steps_left - step;
    // What the draws need that the network does not change: the tilt and the uniforms.
    for (int p = group; p < pairs; p += kGroups) {
      if (left > 1) {
        fetch_row(job.tables.log_powers + (static_cast<std::size_t>(left) * S + states[p]) * S, S,
                  rows + p * layout.row_stride);
      }
      if (draw_lane() == 0) {
        DrawSequence draws(
            job.key, index + p % Rows,
            static_cast<std::uint32_t>(static_cast<std::size_t>(step) * D + first_dim + p / Rows));
        uniforms[2 * p] = draws.uniform();
        uniforms[2 * p + 1] = draws.uniform();
      }
    }
    __pipeline_commit();

    const float* in = input;
    for (int l = 0; l < hidden; ++l) {
      const int share = share_of(net.widths[l + 1], blocks), first = rank * share;
      const float* start =
          l == 0 ? job.step_table + static_cast<std::size_t>(left) * net.widths[1] : nullptr;
      float* out = memory + layout.values[l % 2];
      hidden_layer<Rows>(cluster, memory + layout.hidden[l], net.widths[l], start, in, first,
                         max(0, min(share, net.widths[l + 1] - first)), out);
      cluster.sync();
      in = out;
    }
    last_layer<Rows>(last, last_inputs, outputs, layout.logit_stride, in, logits);
    __pipeline_wait_prior(0);
    __syncthreads();

    // The clean ends; the rows of the steps pinned to them follow at once.
    for (int begin = 0; begin < pairs; begin += kGroups) {
      const bool valid = begin + group < pairs;
      const int p = valid ? begin + group : 0;
      float* row = rows + p * layout.row_stride;
      const int to = draw_softmax(logits + p % Rows * layout.logit_stride + p / Rows * S,
                                  left > 1 ? row : nullptr, valid ? S : 0, uniforms[2 * p]);
      if (!valid) continue;
      if (left > 1) {
        fetch_row(job.tables.probabilities +
                      ((static_cast<std::size_t>(left - 1) * S + states[p]) * S + to) * S,
                  S, row);
      } else if (draw_lane() == 0) {
        states[p] = to;
      }
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncwarp();
    for (int begin = 0; begin < pairs; begin += kGroups) {
      const bool valid = begin + group < pairs;
      const int p = valid ? begin + group : 0;
      int to = 0;
      if (left > 1) {
        to = draw_weighted(rows + p * layout.row_stride, valid ? S : 0, uniforms[2 * p + 1]);
      } else {
        to = states[p];
      }
      __syncwarp();
      if (!valid) continue;
      if (draw_lane() == 0) states[p] = to;
      const int d = first_dim + p / Rows, row = p % Rows;
      for (int block = draw_lane(); block < blocks; block += kDrawLanes) {
        float* target = cluster.map_shared_rank(input, block);
        if (E == 0) target[d * Rows + row] = static_cast<float>(to);
        for (int e = 0; e < E; ++e) {
          target[(d * E + e) * Rows + row] = categories[static_cast<std::size_t>(to) * E + e];
        }
      }
      if (step + 1 == steps.num_steps && draw_lane() == 0 && first_row + row < steps.rows) {
        job.to[(first_row + row) * D + d] = to;
      }
    }
    cluster.sync();
  }
}

#else

template <int Rows>
__global__ void cluster_chain(ClusterNetwork, ClusterJobs, ChainSteps) {}

#endif

using Kernel = void (*)(ClusterNetwork, ClusterJobs, ChainSteps);

Kernel kernel_of(int rows) {
  return rows == 8 ? cluster_chain<8> : rows == 16 ? cluster_chain<16> : cluster_chain<32>;
}

ClusterNetwork cluster_network(const NetworkShape& shape) {
  ClusterNetwork net{};
  net.D = static_cast<int>(shape.dim);
  net.S = static_cast<int>(shape.num_categories);
  net.E = static_cast<int>(shape.category_width);
  net.num_hidden = static_cast<int>(shape.hidden.size());
  for (std::size_t l = 0; l < shape.num_layers(); ++l) {
    net.widths[l] = static_cast<int>(l == 0 ? shape.state_width() : shape.layer_inputs(l));
    net.strides[l] = static_cast<int>(shape.layer_inputs(l));
    net.weights[l] = shape.weight_offset(l);
    net.biases[l] = shape.bias_offset(l);
  }
  net.categories = shape.category_offset();
  return net;
}

struct Launch {
  cudaLaunchConfig_t config{};
  cudaLaunchAttribute cluster{};
};

void configure(Launch& launch, const ClusterNetwork& net, const ClusterChain& plan, dim3 grid,
               cudaStream_t stream) {
  launch.cluster.id = cudaLaunchAttributeClusterDimension;
  launch.cluster.val.clusterDim.x = static_cast<unsigned>(plan.blocks);
  launch.cluster.val.clusterDim.y = launch.cluster.val.clusterDim.z = 1;
  launch.config.gridDim = grid;
  launch.config.blockDim = dim3(kClusterThreads);
  launch.config.dynamicSmemBytes =
      static_cast<std::size_t>(cluster_layout(net, plan.blocks, plan.rows).size) * sizeof(float);
  launch.config.stream = stream;
  launch.config.attrs = &launch.cluster;
  launch.config.numAttrs = 1;
}

// Clusters that the device runs at once; 0 where one does not fit. Allows the kernel its memory.
int clusters_at_once(const ClusterNetwork& net, const ClusterChain& plan, int shared_limit) {
  Launch launch;
  configure(launch, net, plan, dim3(static_cast<unsigned>(plan.blocks)), nullptr);
  if (launch.config.dynamicSmemBytes > static_cast<std::size_t>(shared_limit)) return 0;
  const auto kernel = reinterpret_cast<const void*>(kernel_of(plan.rows));
  BM_CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_limit));
  BM_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  int count = 0;
  if (cudaOccupancyMaxActiveClusters(&count, kernel, &launch.config) != cudaSuccess) {
    cudaGetLastError();  // this cluster is too large for the device
    return 0;
  }
  return count;
}

}  // namespace

ClusterChain plan_cluster_chain(const NetworkShape& shape, std::size_t rows) {
  int device = 0, major = 0, limit = 0;
  BM_CUDA_CHECK(cudaGetDevice(&device));
  BM_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  BM_CUDA_CHECK(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  // Sizes that could leave the range of int are far beyond shared memory.
  constexpr std::size_t kLargest = 1 << 16;
  if (major < 9 || shape.hidden.empty() || shape.hidden.size() > kMaxHidden ||
      shape.dim > kLargest || shape.num_categories > kLargest || shape.state_width() > kLargest ||
      shape.output_width() > kLargest ||
      *std::max_element(shape.hidden.begin(), shape.hidden.end()) > kLargest / 8) {
    return {};
  }
  const ClusterNetwork net = cluster_network(shape);
  ClusterChain best;
  for (const int blocks : {16, 8}) {
    for (const int of_cluster : {8, 16, 32}) {
      const ClusterChain plan{blocks, of_cluster};
      const int at_once = clusters_at_once(net, plan, limit);
      if (at_once == 0) continue;
      best = plan;
      const std::size_t needed = (rows + of_cluster - 1) / of_cluster;
      if (rows > 0 && needed <= static_cast<std::size_t>(at_once)) return best;
    }
    if (best.blocks > 0) return best;
  }
  return best;
}

void launch_cluster_chain(const NetworkShape& shape, const ClusterChain& plan,
                          std::span<const ChainJob> jobs, const ChainSteps& steps,
                          cudaStream_t stream) {
  if (steps.rows == 0) return;
  const ClusterNetwork net = cluster_network(shape);
  const auto clusters = static_cast<unsigned>((steps.rows + plan.rows - 1) / plan.rows);
  for (std::size_t first = 0; first < jobs.size(); first += kJobs) {
    ClusterJobs some{};
    const std::size_t count = std::min<std::size_t>(kJobs, jobs.size() - first);
    std::copy_n(jobs.data() + first, count, some.job);
    Launch launch;
    configure(launch, net, plan,
              dim3(clusters * static_cast<unsigned>(plan.blocks), static_cast<unsigned>(count)),
              stream);
    BM_CUDA_CHECK(cudaLaunchKernelEx(&launch.config, kernel_of(plan.rows), net, some, steps));
  }
}

}  // namespace bridgemark::backend::cuda
