#pragma once

#include "bridgemark/backend/cuda/network/cluster_layers.h"
#include "bridgemark/backend/cuda/network/network_view.h"

// What a block of a cluster does for a chain, part by part; network_cluster.cu has the kernel that
// calls them in their order and says why no block waits for more than values.
namespace bridgemark::backend::cuda {

inline constexpr int kGroups = kClusterThreads / kDrawLanes;  // of lanes that draw

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

// This block's share of the weights and of what the hidden layers begin with.
__device__ inline void load_weights(const ClusterNetwork& net, const ClusterLayout& layout,
                                    int blocks, int rank, const ChainJob& job, float* memory) {
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
    const HalfScale scale = half_scale(max_of_lanes<32>(high));
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

// A block's part in the walk of Rows rows; a lane that draws has LaneCategories categories.
template <int Rows, int LaneCategories>
class Walk {
 public:
  __device__ __forceinline__ Walk(const ClusterNetwork& net, const ChainJob& job,
                                  const ChainSteps& steps, const ClusterLayout& layout, int blocks,
                                  int rank, float* memory)
      : net_(net),
        job_(job),
        steps_(steps),
        layout_(layout),
        blocks_(blocks),
        rank_(rank),
        memory_(memory),
        width_(input_width(net)),
        first_row_(blockIdx.x / blocks * static_cast<std::size_t>(Rows)),
        first_dim_(rank * share_of(net.D, blocks)),
        dims_(max(0, min(share_of(net.D, blocks), net.D - first_dim_))),
        pairs_(dims_ * Rows),
        input_(memory + layout_.input),
        states_(reinterpret_cast<int*>(memory + layout_.states)),
        arrivals_(reinterpret_cast<Arrivals*>(memory + layout_.arrivals)),
        layers_(reinterpret_cast<HiddenLayer*>(memory + layout_.layers)),
        input_bytes_(net.widths[0] * kStride * static_cast<int>(sizeof(float))),
        split_(memory + layout_.values[(net.num_hidden - 1) % 2]),
        inner_(round_up(net.widths[net.num_hidden], 16)),
        all_(draw_share(net.S)) {}

  // Weights, barriers and the rows' start.
  __device__ __forceinline__ void prepare() {
    load_weights(net_, layout_, blocks_, rank_, job_, memory_);
    // Values behind a layer's own meet weights of 0 and must be numbers.
    for (int i = layout_.input + tid(); i < layout_.states; i += kClusterThreads) {
      memory_[i] = 0.0f;
    }
    describe_layers();
    load_states();
    end_ = max(inner_ * kStride, Rows * half_row_stride(inner_));
    spare_ = end_;
    for (int l = (net_.num_hidden - 1) % 2; l < net_.num_hidden; l += 2) {
      if (net_.widths[l + 1] % 16 != 0) spare_ = min(spare_, net_.widths[l + 1] * kStride);
    }
    draw_uniforms(0);
  }

  // Logits of this block's dimensions from the inputs of all.
  __device__ __forceinline__ void compute_logits(int step) {
    const float* in = input_;
    if (step > 0) await_arrivals(arrivals_ + net_.num_hidden, step - 1, input_bytes_);
    for (int l = 0; l < net_.num_hidden; ++l) {
      const HiddenLayer layer = layers_[l];
      hidden_layer<Rows>(memory_, layer, left(step), in, memory_ + layout_.partial[l % 2], blocks_,
                         arrivals_ + l);
      await_arrivals(arrivals_ + l, step, layer.bytes);
      in = memory_ + layer.out;
    }
    fetch_log_reference(step, 0);
    split_values<Rows>(split_, inner_, memory_ + layout_.highs);
    __syncthreads();
    last_layer<Rows>(reinterpret_cast<const std::uint32_t*>(memory_ + layout_.last),
                     memory_ + layout_.bias, inner_, dims_ * net_.S, layout_.logit_stride,
                     reinterpret_cast<const std::uint32_t*>(split_), memory_ + layout_.logits);
    __syncthreads();
    for (int i = spare_ + tid(); i < end_; i += kClusterThreads) split_[i] = 0.0f;
  }

  // A pass handles a pair for each group of lanes: its clean end; then, while the step pinned to it
  // is fetched, the step of the pass before.
  __device__ __forceinline__ void draw(int step) {
    const int passes = (pairs_ + kGroups - 1) / kGroups;
    LaneWeights<LaneCategories> pinned = {};
    for (int pass = 0; pass <= passes; ++pass) {
      const int p = pass * kGroups + group();
      LaneWeights<LaneCategories> fetched = {};
      if (pass < passes) {
        const int clean = draw_clean_end(step, pass);
        if (left(step) > 1) {
          const std::size_t row =
              p < pairs_
                  ? (static_cast<std::size_t>(left(step) - 1) * net_.S + states_[p]) * net_.S +
                        clean
                  : 0;
          load_lane<LaneCategories>(job_.tables.probabilities + row * net_.S, share_of_pair(p),
                                    0.0f, fetched);
        } else {
          store_state(step, p, clean);
        }
      }
      if (pass > 0 && left(step) > 1) {
        const int before = p - kGroups;
        const int to = draw_lane_weights<LaneCategories>(
            pinned, share_of_pair(before).first,
            __shfl_sync(kWholeWarp, for_step_, pass - 1, kDrawLanes));
        store_state(step, before, to);
      }
#pragma unroll
      for (int j = 0; j < LaneCategories; ++j) pinned[j] = fetched[j];
    }
    __syncthreads();
  }

  // The new inputs to every block, in whole vectors. While they are on their way the uniforms of
  // the next step are drawn.
  __device__ __forceinline__ void send_inputs(int step) {
    constexpr int kSenders = 16;  // lanes of a vector
    const int vectors = dims_ * width_ * kStride / 4;
    for (int vector = tid() / kSenders; vector < vectors; vector += kClusterThreads / kSenders) {
      const float4 values = reinterpret_cast<const float4*>(memory_ + layout_.drawn)[vector];
      const float* to = input_ + first_dim_ * width_ * kStride + 4 * vector;
      for (int block = tid() % kSenders; block < blocks_; block += kSenders) {
        send(values, to, arrivals_ + net_.num_hidden, block);
      }
    }
    draw_uniforms(step + 1);
  }

 private:
  static constexpr int kStride = padded_stride(Rows);

  static __device__ __forceinline__ int tid() { return static_cast<int>(threadIdx.x); }
  static __device__ __forceinline__ int group() { return tid() / kDrawLanes; }
  __device__ __forceinline__ int left(int step) const { return steps_.steps_left - step; }
  __device__ __forceinline__ DrawShare share_of_pair(int p) const {
    return p < pairs_ ? all_ : DrawShare{0, 0};
  }

  __device__ __forceinline__ void describe_layers() {
    const int hidden = net_.num_hidden;
    if (tid() < hidden) {
      const int outputs = share_of(net_.widths[tid() + 1], blocks_), first = rank_ * outputs;
      layers_[tid()] = {net_.widths[tid()],
                        first,
                        max(0, min(outputs, net_.widths[tid() + 1] - first)),
                        layout_.hidden[tid()],
                        layout_.start[tid()],
                        tid() == 0 ? outputs : 0,
                        layout_.values[tid() % 2],
                        net_.widths[tid() + 1] * Rows * static_cast<int>(sizeof(float))};
    }
    if (tid() == 0) {
      for (int l = 0; l <= hidden; ++l) start_arrivals(arrivals_ + l);
    }
    __syncthreads();
    if (tid() == 0) {
      for (int l = 0; l < hidden; ++l) expect_arrivals(arrivals_ + l, layers_[l].bytes);
      expect_arrivals(arrivals_ + hidden, input_bytes_);
    }
  }

  // The states that the rows start from: those of all dimensions as input, this block's as such.
  __device__ __forceinline__ void load_states() {
    const std::int32_t* from =
        job_.from +
        (job_.progress != nullptr ? job_.progress->index % 2 * job_.update_rows * net_.D : 0);
    const auto state_of = [&](int row, int d) {
      return first_row_ + row < steps_.rows ? from[(first_row_ + row) * net_.D + d] : 0;
    };
    for (int i = tid(); i < net_.widths[0] * Rows; i += kClusterThreads) {
      const int row = i % Rows, column = i / Rows;
      input_[column * kStride + row] = input_of(state_of(row, column / width_), column % width_);
    }
    for (int p = tid(); p < pairs_; p += kClusterThreads) {
      states_[p] = state_of(p % Rows, first_dim_ + p / Rows);
    }
  }

  __device__ __forceinline__ float input_of(int state, int e) const {
    const float* categories = job_.parameters + net_.categories;
    return net_.E == 0 ? static_cast<float>(state)
                       : categories[static_cast<std::size_t>(state) * net_.E + e];
  }

  // The uniforms of a step for the group's pair of pass draw_lane().
  __device__ __forceinline__ void draw_uniforms(int step) {
    const int p = group() + draw_lane() * kGroups;
    if (p >= pairs_) return;
    const std::uint64_t index =
        (job_.progress != nullptr ? job_.progress->index * job_.update_rows : 0) +
        job_.first_index + first_row_;
    DrawSequence draws(job_.key, index + p % Rows,
                       static_cast<std::uint32_t>(static_cast<std::size_t>(step) * net_.D +
                                                  first_dim_ + p / Rows));
    for_clean_ = draws.uniform();
    for_step_ = draws.uniform();
  }

  // The reference's log-weights of the clean ends of a pass: they are fetched while the pass before
  // is drawn.
  __device__ __forceinline__ void fetch_log_reference(int step, int pass) {
    const int p = pass * kGroups + group();
    const bool used = (left(step) > 1 || steps_.reference_last_step) && p < pairs_;
    const std::size_t row = used ? static_cast<std::size_t>(left(step)) * net_.S + states_[p] : 0;
    load_lane<LaneCategories>(job_.tables.log_powers + row * net_.S, used ? all_ : DrawShare{0, 0},
                              0.0f, log_reference_);
  }

  __device__ __forceinline__ int draw_clean_end(int step, int pass) {
    const int p = pass * kGroups + group();
    const DrawShare share = share_of_pair(p);
    LaneWeights<LaneCategories> values;
    load_lane<LaneCategories>(
        memory_ + layout_.logits + p % Rows * layout_.logit_stride + p / Rows * net_.S, share,
        -INFINITY, values);
#pragma unroll
    for (int j = 0; j < LaneCategories; ++j) values[j] += log_reference_[j];
    fetch_log_reference(step, pass + 1);
    return draw_lane_softmax<LaneCategories>(values, share.first,
                                             __shfl_sync(kWholeWarp, for_clean_, pass, kDrawLanes));
  }

  // The state that a pair has moved to.
  __device__ __forceinline__ void store_state(int step, int p, int to) {
    __syncwarp();  // the lanes of a group have read its state
    if (p >= pairs_) return;
    const int dim = p / Rows, row = p % Rows;
    for (int e = draw_lane(); e < width_; e += kDrawLanes) {
      memory_[layout_.drawn + (dim * width_ + e) * kStride + row] = input_of(to, e);
    }
    if (draw_lane() != 0) return;
    states_[p] = to;
    if (step + 1 == steps_.num_steps && first_row_ + row < steps_.rows) {
      job_.to[(first_row_ + row) * net_.D + first_dim_ + dim] = to;
    }
  }

  const ClusterNetwork& net_;
  const ChainJob& job_;
  const ChainSteps& steps_;
  const ClusterLayout& layout_;
  const int blocks_, rank_;
  float* const memory_;
  const int width_;
  const std::size_t first_row_;
  const int first_dim_;
  // A pair is a dimension of this block in a row: number dimension * Rows + row.
  const int dims_, pairs_;
  float* const input_;
  int* const states_;
  Arrivals* const arrivals_;
  HiddenLayer* const layers_;
  const int input_bytes_;
  // The last hidden layer is split into halves in its place. From spare to end these would be met
  // as values by a layer there whose width is no multiple of 16.
  float* const split_;
  const int inner_;
  int spare_ = 0, end_ = 0;
  const DrawShare all_;  // the categories of a lane
  double for_clean_ = 0.0, for_step_ = 0.0;
  LaneWeights<LaneCategories> log_reference_;  // of the clean ends of the next pass
};

#endif

}  // namespace bridgemark::backend::cuda
