#include <cooperative_groups.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bridgemark/backend/cuda/network/cluster_layers.h"
#include "bridgemark/backend/cuda/network/network_view.h"
#include "bridgemark/backend/cuda/runtime/check.h"

// A chain in one kernel. A cluster of blocks walks all steps of its Rows rows: each block keeps its
// share of every layer's outputs in shared memory, the last layer's by dimensions, and sends what
// it made to the others. No weight is read twice from beyond the multiprocessor.
//
// A block waits only for values to arrive. That is enough for their places to be free as well: who
// sends a layer has the layer before it from all blocks, so these no longer read the one before
// that, whose place it takes; and who sends an input has the last hidden layer from all blocks.
namespace bridgemark::backend::cuda {

namespace {

constexpr int kJobs = 2;
constexpr int kGroups = kClusterThreads / kDrawLanes;  // of lanes that draw
// Categories of a lane that draws: a kernel for the benchmark's 50, and one for as many as fit.
constexpr int kHeld = 13, kMostHeld = 16;

struct ClusterJobs {
  ChainJob job[kJobs];
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

namespace cg = cooperative_groups;

// This block's share of the weights and of what the hidden layers begin with.
__device__ void load_weights(const ClusterNetwork& net, const ClusterLayout& layout, int blocks,
                             int rank, const ChainJob& job, float* memory) {
  const float* parameters = job.parameters;
  for (int l = 0; l < net.num_hidden; ++l) {
    const int inputs = net.widths[l], outputs = net.widths[l + 1], stride = hidden_stride(inputs);
    const int share = share_of(outputs, blocks), first = rank * share;
    for (int i = threadIdx.x; i < round_up(share, 8) * stride; i += kClusterThreads) {
      const int o = i / stride, k = i % stride;
      const bool inside = o < share && first + o < outputs && k < inputs;
      memory[layout.hidden[l] + i] =
          inside ? parameters[net.weights[l] +
                              static_cast<std::size_t>(first + o) * net.strides[l] + k]
                 : 0.0f;
    }
    const float* start = l == 0 ? job.step_table : parameters + net.biases[l];
    for (int i = threadIdx.x; i < share * (l == 0 ? net.num_steps + 1 : 1); i += kClusterThreads) {
      const int o = first + i % share;
      memory[layout.start[l] + i] =
          o < outputs ? start[static_cast<std::size_t>(i / share) * outputs + o] : 0.0f;
    }
  }
  // A warp for each output of the last layer.
  const int inputs = net.widths[net.num_hidden], inner = round_up(inputs, 16);
  const int share = share_of(net.D, blocks), dims = max(0, min(share, net.D - rank * share));
  const int lane = threadIdx.x % 32;
  for (int o = threadIdx.x / 32; o < round_up(share * net.S, 16); o += kClusterWarps) {
    const std::size_t output = static_cast<std::size_t>(rank) * share * net.S + o;
    const float* weights =
        parameters + net.weights[net.num_hidden] + output * net.strides[net.num_hidden];
    const auto weight = [&](int k) { return o < dims * net.S && k < inputs ? weights[k] : 0.0f; };
    float high = 0.0f;
    for (int k = lane; k < inner; k += 32) high = fmaxf(high, fabsf(weight(k)));
    for (int offset = 16; offset > 0; offset /= 2) {
      high = fmaxf(high, __shfl_xor_sync(kWholeWarp, high, offset));
    }
    const HalfScale scale = half_scale(high);
    auto* row = reinterpret_cast<std::uint32_t*>(memory + layout.last) + o * half_row_stride(inner);
    for (int k = 2 * lane; k < inner; k += 64) {
      split_pair(weight(k) * scale.by, weight(k + 1) * scale.by, inner, row + k / 2);
    }
    if (lane != 0) continue;
    row[inner] = __float_as_uint(scale.back);
    memory[layout.bias + o] =
        o < dims * net.S ? parameters[net.biases[net.num_hidden] + output] : 0.0f;
  }
}

template <int Rows, int Held>
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
  auto* arrivals = reinterpret_cast<Arrivals*>(memory + layout.arrivals);
  auto* layers = reinterpret_cast<HiddenLayer*>(memory + layout.layers);
  const int input_bytes = net.widths[0] * kStride * static_cast<int>(sizeof(float));

  load_weights(net, layout, blocks, rank, job, memory);
  // Values behind a layer's own meet weights of 0 and must be numbers.
  for (int i = layout.input + tid; i < layout.states; i += kClusterThreads) memory[i] = 0.0f;
  if (tid < hidden) {
    const int outputs = share_of(net.widths[tid + 1], blocks), first = rank * outputs;
    layers[tid] = {net.widths[tid],
                   first,
                   max(0, min(outputs, net.widths[tid + 1] - first)),
                   layout.hidden[tid],
                   layout.start[tid],
                   tid == 0 ? outputs : 0,
                   layout.values[tid % 2],
                   net.widths[tid + 1] * Rows * static_cast<int>(sizeof(float))};
  }
  if (tid == 0) {
    for (int l = 0; l <= hidden; ++l) start_arrivals(arrivals + l);
  }
  __syncthreads();
  if (tid == 0) {
    for (int l = 0; l < hidden; ++l) expect_arrivals(arrivals + l, layers[l].bytes);
    expect_arrivals(arrivals + hidden, input_bytes);
  }
  // The states that the rows start from: those of all dimensions as input, this block's as such.
  const float* categories = job.parameters + net.categories;
  const std::int32_t* from =
      job.from + (job.progress != nullptr ? job.progress->index % 2 * job.update_rows * D : 0);
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

  const std::uint64_t index =
      (job.progress != nullptr ? job.progress->index * job.update_rows : 0) + job.first_index +
      first_row;
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
  // The last hidden layer is split into halves in its place. From spare to end these would be met
  // as values by a layer there whose width is no multiple of 16.
  float* split = memory + layout.values[(hidden - 1) % 2];
  const int inner = round_up(net.widths[hidden], 16);
  const int end = max(inner * kStride, Rows * half_row_stride(inner));
  int spare = end;
  for (int l = (hidden - 1) % 2; l < hidden; l += 2) {
    if (net.widths[l + 1] % 16 != 0) spare = min(spare, net.widths[l + 1] * kStride);
  }
  const int vectors = dims * width * kStride / 4;  // of the inputs that the block draws
  draw_uniforms(0);
  cluster.sync();

  for (int step = 0; step < steps.num_steps; ++step) {
    const int left = steps.steps_left - step;
    const float* in = input;
    if (step > 0) await_arrivals(arrivals + hidden, step - 1, input_bytes);
    for (int l = 0; l < hidden; ++l) {
      const HiddenLayer layer = layers[l];
      hidden_layer<Rows>(memory, layer, left, in, memory + layout.partial[l % 2], blocks,
                         arrivals + l);
      await_arrivals(arrivals + l, step, layer.bytes);
      in = memory + layer.out;
    }
    // What tilts the clean ends of a pass, on its way while others are worked on.
    HeldWeights<Held> tilt;
    const auto fetch_tilt = [&](int pass) {
      const int p = pass * kGroups + group;
      const bool used = (left > 1 || steps.reference_last_step) && p < pairs;
      const std::size_t row = used ? static_cast<std::size_t>(left) * S + states[p] : 0;
      hold<Held>(job.tables.log_powers + row * S, used ? all : none, 0.0f, tilt);
    };
    fetch_tilt(0);
    split_values<Rows>(split, inner, memory + layout.highs);
    __syncthreads();
    last_layer<Rows>(reinterpret_cast<const std::uint32_t*>(memory + layout.last),
                     memory + layout.bias, inner, dims * S, layout.logit_stride,
                     reinterpret_cast<const std::uint32_t*>(split), logits);
    __syncthreads();
    for (int i = spare + tid; i < end; i += kClusterThreads) split[i] = 0.0f;

    const auto keep = [&](int p, int to) {
      __syncwarp();  // the lanes of a group have read its state
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
    HeldWeights<Held> pinned = {};
    for (int pass = 0; pass <= passes; ++pass) {
      const int p = pass * kGroups + group;
      HeldWeights<Held> fetched = {};
      if (pass < passes) {
        const DrawShare share_of_pair = p < pairs ? all : none;
        HeldWeights<Held> values;
        hold<Held>(logits + p % Rows * layout.logit_stride + p / Rows * S, share_of_pair, -INFINITY,
                   values);
#pragma unroll
        for (int j = 0; j < Held; ++j) values[j] += tilt[j];
        fetch_tilt(pass + 1);
        const int clean = draw_held_softmax<Held>(
            values, share_of_pair.first, __shfl_sync(kWholeWarp, for_clean, pass, kDrawLanes));
        if (left > 1) {
          const std::size_t row =
              p < pairs ? (static_cast<std::size_t>(left - 1) * S + states[p]) * S + clean : 0;
          hold<Held>(job.tables.probabilities + row * S, share_of_pair, 0.0f, fetched);
        } else {
          keep(p, clean);
        }
      }
      if (pass > 0 && left > 1) {
        const int before = p - kGroups;
        const int to = draw_held<Held>(pinned, before < pairs ? all.first : 0,
                                       __shfl_sync(kWholeWarp, for_step, pass - 1, kDrawLanes));
        keep(before, to);
      }
#pragma unroll
      for (int j = 0; j < Held; ++j) pinned[j] = fetched[j];
    }
    __syncthreads();
    if (step + 1 == steps.num_steps) break;
    // To every block, in whole vectors. While they are on their way the next uniforms are drawn.
    constexpr int kSenders = 16;  // lanes of a vector
    for (int vector = tid / kSenders; vector < vectors; vector += kClusterThreads / kSenders) {
      const float4 values = reinterpret_cast<const float4*>(drawn)[vector];
      const float* to = input + first_dim * width * kStride + 4 * vector;
      for (int block = tid % kSenders; block < blocks; block += kSenders) {
        send(values, to, arrivals + hidden, block);
      }
    }
    draw_uniforms(step + 1);
  }
  cluster.sync();  // no block may leave while others send to it
}

#else

template <int Rows, int Held>
__global__ void cluster_chain(ClusterNetwork, ClusterJobs, ChainSteps) {}

#endif

using Kernel = void (*)(ClusterNetwork, ClusterJobs, ChainSteps);

template <int Held>
Kernel kernel_of(int rows) {
  switch (rows) {
    case 8:
      return cluster_chain<8, Held>;
    case 16:
      return cluster_chain<16, Held>;
    case 24:
      return cluster_chain<24, Held>;
    case 32:
      return cluster_chain<32, Held>;
    default:
      return cluster_chain<48, Held>;
  }
}

Kernel kernel_of(const ClusterNetwork& net, int rows) {
  return net.S <= kDrawLanes * kHeld ? kernel_of<kHeld>(rows) : kernel_of<kMostHeld>(rows);
}

ClusterNetwork cluster_network(const NetworkShape& shape) {
  ClusterNetwork net{};
  net.D = static_cast<int>(shape.dim);
  net.S = static_cast<int>(shape.num_categories);
  net.E = static_cast<int>(shape.category_width);
  net.num_hidden = static_cast<int>(shape.hidden.size());
  net.num_steps = shape.num_steps;
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
  const auto kernel = reinterpret_cast<const void*>(kernel_of(net, plan.rows));
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
      shape.dim > kLargest || shape.num_steps > static_cast<int>(kLargest) ||
      shape.num_categories > kDrawLanes * kMostHeld || shape.state_width() > kLargest ||
      shape.output_width() > kLargest ||
      *std::max_element(shape.hidden.begin(), shape.hidden.end()) > kLargest / 8) {
    return {};
  }
  const ClusterNetwork net = cluster_network(shape);
  ClusterChain best;
  double lowest = std::numeric_limits<double>::infinity();
  for (int blocks = 16; blocks >= 2; --blocks) {
    for (const int of_cluster : {8, 16, 24, 32, 48}) {
      const ClusterChain plan{blocks, of_cluster};
      if (share_of(net.D, blocks) * of_cluster > kGroups * kDrawLanes ||
          round_up(net.widths[net.num_hidden], 16) > most_split_inputs(of_cluster)) {
        continue;
      }
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
    BM_CUDA_CHECK(cudaLaunchKernelEx(&launch.config, kernel_of(net, plan.rows), net, some, steps));
  }
}

}  // namespace bridgemark::backend::cuda
