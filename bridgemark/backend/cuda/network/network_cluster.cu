#include <cooperative_groups.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bridgemark/backend/cuda/network/cluster_walk.h"
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
// Categories of a lane that draws: a kernel for the benchmark's 50, and one for as many as fit.
constexpr int kLaneCategories = 13, kMostLaneCategories = 16;

struct ClusterJobs {
  ChainJob job[kJobs];
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

namespace cg = cooperative_groups;

template <int Rows, int LaneCategories>
__global__ void __launch_bounds__(kClusterThreads)
    cluster_chain(const __grid_constant__ ClusterNetwork net,
                  const __grid_constant__ ClusterJobs jobs,
                  const __grid_constant__ ChainSteps steps) {
  extern __shared__ __align__(16) float memory[];
  cg::cluster_group cluster = cg::this_cluster();
  const int blocks = static_cast<int>(cluster.num_blocks());
  const ClusterLayout layout = cluster_layout(net, blocks, Rows);
  Walk<Rows, LaneCategories> walk(net, jobs.job[blockIdx.y], steps, layout, blocks,
                                  static_cast<int>(cluster.block_rank()), memory);
  walk.prepare();
  cluster.sync();
  for (int step = 0; step < steps.num_steps; ++step) {
    walk.compute_logits(step);
    walk.draw(step);
    if (step + 1 < steps.num_steps) walk.send_inputs(step);
  }
  cluster.sync();  // no block may leave while others send to it
}

#else

template <int Rows, int LaneCategories>
__global__ void cluster_chain(const __grid_constant__ ClusterNetwork,
                              const __grid_constant__ ClusterJobs,
                              const __grid_constant__ ChainSteps) {}

#endif

using Kernel = void (*)(ClusterNetwork, ClusterJobs, ChainSteps);

template <int LaneCategories>
Kernel kernel_of(int rows) {
  switch (rows) {
    case 8:
      return cluster_chain<8, LaneCategories>;
    case 16:
      return cluster_chain<16, LaneCategories>;
    case 24:
      return cluster_chain<24, LaneCategories>;
    case 32:
      return cluster_chain<32, LaneCategories>;
    default:
      return cluster_chain<48, LaneCategories>;
  }
}

Kernel kernel_of(const ClusterNetwork& net, int rows) {
  return net.S <= kDrawLanes * kLaneCategories ? kernel_of<kLaneCategories>(rows)
                                               : kernel_of<kMostLaneCategories>(rows);
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

ClusterChain plan_cluster_chain(const NetworkShape& shape, std::size_t rows, int sharers) {
  int device = 0, major = 0, limit = 0;
  BM_CUDA_CHECK(cudaGetDevice(&device));
  BM_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  BM_CUDA_CHECK(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  // Sizes that could leave the range of int are far beyond shared memory.
  constexpr std::size_t kLargest = 1 << 16;
  if (major < 9 || shape.hidden.empty() || shape.hidden.size() > kMaxClusterHidden ||
      shape.dim > kLargest || shape.num_steps > static_cast<int>(kLargest) ||
      shape.num_categories > kDrawLanes * kMostLaneCategories || shape.state_width() > kLargest ||
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
      // Alone, a chain waits for whole rounds of clusters; beside others they all fill the device.
      const double rounds = sharers == 1 ? std::ceil(clusters / at_once)
                                         : std::max(1.0, clusters * sharers / at_once);
      const double cost =
          rows > 0 ? time * rounds : time / (static_cast<double>(at_once) * of_cluster);
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
