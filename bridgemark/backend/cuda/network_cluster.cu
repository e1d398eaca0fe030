#include <cooperative_groups.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bridgemark/backend/cuda/check.h"
#include "bridgemark/backend/cuda/cluster_layers.h"
#include "bridgemark/backend/cuda/network_view.h"

// A chain in one kernel. A cluster of blocks walks all steps of its Rows rows: each block keeps its
// share of every layer's outputs in shared memory, the last layer's by dimensions, and sends what
// it made to the others. Per step and layer there is one barrier of the cluster, and no weight is
// read twice from beyond the multiprocessor.
namespace bridgemark::backend::cuda {

namespace {

constexpr int kJobs = 2;
constexpr int kGroups = kClusterThreads / kDrawLanes;  // of lanes that draw

struct ClusterJobs {
  ChainJob job[kJobs];
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

namespace cg = cooperative_groups;

// This block's share of the weights.
__device__ void load_weights(const ClusterNetwork& net, const ClusterLayout& layout, int blocks,
                             int rank, const float* parameters, float* memory) {
  for (int l = 0; l < net.num_hidden; ++l) {
    const int inputs = net.widths[l], share = share_of(net.widths[l + 1], blocks);
    const int first = rank * share, count = max(0, min(share, net.widths[l + 1] - first));
    for (int i = threadIdx.x; i < count * (inputs + 1); i += kClusterThreads) {
      const int o = i / (inputs + 1), k = i % (inputs + 1);
      const std::size_t at = net.weights[l] + static_cast<std::size_t>(first + o) * net.strides[l];
      memory[layout.hidden[l] + i] =
          k < inputs ? parameters[at + k] : parameters[net.biases[l] + first + o];
    }
  }
  const int inputs = net.widths[net.num_hidden], padded = round_up(inputs, 8);
  const int share = share_of(net.D, blocks), dims = max(0, min(share, net.D - rank * share));
  const std::size_t first = static_cast<std::size_t>(rank) * share * net.S;
  for (int i = threadIdx.x; i < layout.logit_stride * padded; i += kClusterThreads) {
    const int o = i / padded, k = i % padded;
    const bool inside = o < dims * net.S && k < inputs;
    memory[layout.last + k * layout.logit_stride + o] =
        inside ? parameters[net.weights[net.num_hidden] +
                            (first + o) * net.strides[net.num_hidden] + k]
               : 0.0f;
  }
  for (int o = threadIdx.x; o < layout.logit_stride; o += kClusterThreads) {
    memory[layout.bias + o] =
        o < dims * net.S ? parameters[net.biases[net.num_hidden] + first + o] : 0.0f;
  }
}

template <int Rows>
__global__ void __launch_bounds__(kClusterThreads)
    cluster_chain(ClusterNetwork net, ClusterJobs jobs, ChainSteps steps) {
  extern __shared__ __align__(16) float memory[];
  constexpr int kStride = padded_stride(Rows);
  cg::cluster_group cluster = cg::this_cluster();
  const ChainJob job = jobs.job[blockIdx.y];
  const int blocks = static_cast<int>(cluster.num_blocks()),
            rank = static_cast<int>(cluster.block_rank()), tid = static_cast<int>(threadIdx.x);
  const int D = net.D, S = net.S, E = net.E, hidden = net.num_hidden, width = input_width(net);
  const ClusterLayout layout = cluster_layout(net, blocks, Rows);
  const std::size_t first_row = blockIdx.x / blocks * static_cast<std::size_t>(Rows);
  const int share = share_of(D, blocks), first_dim = rank * share;
  // A pair is a dimension of this block in a row: number dimension * Rows + row.
  const int dims = max(0, min(share, D - first_dim)), pairs = dims * Rows;
  float *input = memory + layout.input, *drawn = memory + layout.drawn,
        *logits = memory + layout.logits;
  auto* states = reinterpret_cast<int*>(memory + layout.states);

  load_weights(net, layout, blocks, rank, job.parameters, memory);
  // Inputs behind the last layer's own meet weights of 0 and must be numbers.
  for (int i = layout.values[0] + tid; i < layout.states; i += kClusterThreads) memory[i] = 0.0f;
  __syncthreads();
  // The states that the rows start from: those of all dimensions as input, this block's as such.
  const float* categories = job.parameters + net.categories;
  const std::int32_t* from =
      job.from + (job.progress != nullptr ? job.progress->index % 2 * steps.rows * D : 0);
  const auto state_of = [&](int row, int d) {
    return first_row + row < steps.rows ? from[(first_row + row) * D + d] : 0;
  };
  const auto input_of = [&](int state, int e) {
    return E == 0 ? static_cast<float>(state) : categories[static_cast<std::size_t>(state) * E + e];
  };
  for (int i = tid; i < net.widths[0] * Rows; i += kClusterThreads) {
    const int row = i % Rows, column = i / Rows;
    input[column * kStride + row] = input_of(state_of(row, column / width), column % width);
  }
  for (int p = tid; p < pairs; p += kClusterThreads) {
    states[p] = state_of(p % Rows, first_dim + p / Rows);
  }

  const std::uint64_t index = (job.progress != nullptr ? job.progress->index * steps.rows : 0) +
                              job.first_index + first_row;
  const int group = tid / kDrawLanes, passes = (pairs + kGroups - 1) / kGroups;
  // The uniforms of a step for the group's pair of pass draw_lane().
  double for_clean = 0.0, for_step = 0.0;
  const auto draw_uniforms = [&](int step) {
    const int p = group + draw_lane() * kGroups;
    if (p >= pairs) return;
    DrawSequence draws(
        job.key, index + p % Rows,
        static_cast<std::uint32_t>(static_cast<std::size_t>(step) * D + first_dim + p / Rows));
    for_clean = draws.uniform();
    for_step = draws.uniform();
  };
  const DrawShare all = draw_share(S), none{0, 0};
  draw_uniforms(0);
  cluster.sync();

  for (int step = 0; step < steps.num_steps; ++step) {
    const int left = steps.steps_left - step;
    const float* in = input;
    for (int l = 0; l < hidden; ++l) {
      const int outputs = share_of(net.widths[l + 1], blocks), first = rank * outputs;
      const float* start =
          l == 0 ? job.step_table + static_cast<std::size_t>(left) * net.widths[1] : nullptr;
      float* out = memory + layout.values[l % 2];
      hidden_layer<Rows>(cluster, memory + layout.hidden[l], net.widths[l], start, in, first,
                         max(0, min(outputs, net.widths[l + 1] - first)), out);
      cluster.sync();
      in = out;
    }
    // What tilts the clean ends of a pass, on its way while others are worked on.
    HeldWeights tilt;
    const auto fetch_tilt = [&](int pass) {
      const int p = pass * kGroups + group;
      const bool used = left > 1 && p < pairs;
      const std::size_t row = used ? static_cast<std::size_t>(left) * S + states[p] : 0;
      hold(job.tables.log_powers + row * S, used ? all : none, 0.0f, tilt);
    };
    fetch_tilt(0);
    last_layer<Rows>(memory + layout.last, memory + layout.bias, round_up(net.widths[hidden], 8),
                     dims * S, layout.logit_stride, in, logits);
    __syncthreads();

    const auto keep = [&](int p, int to) {
      if (p >= pairs) return;
      const int dim = p / Rows, row = p % Rows;
      for (int e = draw_lane(); e < width; e += kDrawLanes) {
        drawn[(dim * width + e) * kStride + row] = input_of(to, e);
      }
      if (draw_lane() != 0) return;
      states[p] = to;
      if (step + 1 == steps.num_steps && first_row + row < steps.rows) {
        job.to[(first_row + row) * D + first_dim + dim] = to;
      }
    };
    // The clean ends of a pass; then, while the steps pinned to them are fetched, the steps of the
    // pass before.
    HeldWeights pinned = {};
    for (int pass = 0; pass <= passes; ++pass) {
      const int p = pass * kGroups + group;
      HeldWeights fetched = {};
      if (pass < passes) {
        const DrawShare share_of_pair = p < pairs ? all : none;
        HeldWeights values;
        hold(logits + p % Rows * layout.logit_stride + p / Rows * S, share_of_pair, -INFINITY,
             values);
#pragma unroll
        for (int j = 0; j < kHeldCategories; ++j) values[j] += tilt[j];
        fetch_tilt(pass + 1);
        const int clean = draw_held_softmax(values, share_of_pair.first,
                                            __shfl_sync(kWholeWarp, for_clean, pass, kDrawLanes));
        if (left > 1) {
          const std::size_t row =
              p < pairs ? (static_cast<std::size_t>(left - 1) * S + states[p]) * S + clean : 0;
          hold(job.tables.probabilities + row * S, share_of_pair, 0.0f, fetched);
        } else {
          keep(p, clean);
        }
      }
      if (pass > 0 && left > 1) {
        const int before = p - kGroups;
        const int to = draw_held(pinned, before < pairs ? all.first : 0,
                                 __shfl_sync(kWholeWarp, for_step, pass - 1, kDrawLanes));
        keep(before, to);
      }
#pragma unroll
      for (int j = 0; j < kHeldCategories; ++j) pinned[j] = fetched[j];
    }
    __syncthreads();
    // To every block, in whole vectors. While they are on their way the next uniforms are drawn.
    const int vectors = dims * width * kStride / 4;
    for (int i = tid; i < vectors * blocks; i += kClusterThreads) {
      float4* target = reinterpret_cast<float4*>(cluster.map_shared_rank(input, i / vectors) +
                                                 first_dim * width * kStride);
      target[i % vectors] = reinterpret_cast<const float4*>(drawn)[i % vectors];
    }
    cluster.barrier_arrive();
    if (step + 1 < steps.num_steps) draw_uniforms(step + 1);
    cluster.barrier_wait();
  }
}

#else

template <int Rows>
__global__ void cluster_chain(ClusterNetwork, ClusterJobs, ChainSteps) {}

#endif

using Kernel = void (*)(ClusterNetwork, ClusterJobs, ChainSteps);

Kernel kernel_of(int rows) {
  switch (rows) {
    case 8:
      return cluster_chain<8>;
    case 16:
      return cluster_chain<16>;
    case 24:
      return cluster_chain<24>;
    case 32:
      return cluster_chain<32>;
    default:
      return cluster_chain<48>;
  }
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

// What a block works in a step, about, in products of the last layer: a hidden layer's take longer,
// a draw's category as long as many, and barriers and latencies as long as kFixed.
double time_of_step(const ClusterNetwork& net, const ClusterChain& plan) {
  constexpr double kFixed = 2.4e6, kHidden = 8.0, kDraw = 75.0;
  double products = static_cast<double>(share_of(net.D, plan.blocks)) * net.S *
                    (net.widths[net.num_hidden] + kDraw);
  for (int l = 0; l < net.num_hidden; ++l) {
    products += kHidden * share_of(net.widths[l + 1], plan.blocks) * net.widths[l];
  }
  return kFixed + plan.rows * products;
}

}  // namespace

ClusterChain plan_cluster_chain(const NetworkShape& shape, std::size_t rows) {
  int device = 0, major = 0, limit = 0;
  BM_CUDA_CHECK(cudaGetDevice(&device));
  BM_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  BM_CUDA_CHECK(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  // Sizes that could leave the range of int are far beyond shared memory.
  constexpr std::size_t kLargest = 1 << 16;
  if (major < 9 || shape.hidden.empty() || shape.hidden.size() > kMaxClusterHidden ||
      shape.dim > kLargest || shape.num_categories > kDrawLanes * kHeldCategories ||
      shape.state_width() > kLargest || shape.output_width() > kLargest ||
      *std::max_element(shape.hidden.begin(), shape.hidden.end()) > kLargest / 8) {
    return {};
  }
  const ClusterNetwork net = cluster_network(shape);
  ClusterChain best;
  double lowest = std::numeric_limits<double>::infinity();
  for (int blocks = 16; blocks >= 2; --blocks) {
    for (const int of_cluster : {8, 16, 24, 32, 48}) {
      const ClusterChain plan{blocks, of_cluster};
      if (share_of(net.D, blocks) * of_cluster > kGroups * kDrawLanes) continue;
      const int at_once = clusters_at_once(net, plan, limit);
      if (at_once == 0) continue;
      const double time = time_of_step(net, plan);
      const double clusters = std::ceil(static_cast<double>(rows) / of_cluster);
      const double cost = rows > 0 ? time * std::ceil(clusters / at_once)
                                   : time / (static_cast<double>(at_once) * of_cluster);
      if (cost < lowest) {
        lowest = cost;
        best = plan;
      }
    }
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
