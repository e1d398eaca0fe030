#pragma once

#include <cstddef>

// How a cluster of blocks shares a network: sizes and places that host and device agree on.
namespace bridgemark::backend::cuda {

inline constexpr int kMaxClusterHidden = 8;

struct ClusterNetwork {
  int D, S, E;
  int num_hidden;
  int widths[kMaxClusterHidden + 1];   // inputs of layer l: the state's, then the hidden layers'
  int strides[kMaxClusterHidden + 1];  // between a weight's rows in the parameters
  std::size_t weights[kMaxClusterHidden + 1];  // where a layer's weights lie in the parameters
  std::size_t biases[kMaxClusterHidden + 1];
  std::size_t categories;  // the category embedding
};

__host__ __device__ inline int share_of(int count, int blocks) {
  return (count + blocks - 1) / blocks;
}
__host__ __device__ inline int round_up(int count, int to) { return (count + to - 1) / to * to; }

// What a dimension's state is to the network.
__host__ __device__ inline int input_width(const ClusterNetwork& net) {
  return net.E > 0 ? net.E : 1;
}

// Strides in shared memory of 8 or 24 more than a multiple of 32: the tensor cores' factors are
// then read without bank conflicts.
__host__ __device__ constexpr int padded_stride(int count) {
  return count % 32 == 8 || count % 32 == 24 ? count : (count + 15) / 16 * 16 + 8;
}

// Where the parts lie in a block's shared memory, counted in floats; each starts at a multiple of
// four. A vector of the rows' values takes padded_stride(rows).
struct ClusterLayout {
  int logit_stride;
  int last;       // [inputs up to 8, logit_stride]: weights, transposed
  int bias;       // [logit_stride]
  int input;      // [state_width, rows]
  int drawn;      // [input width of the block's dimensions, rows], on its way to `input`
  int values[2];  // [widest hidden layer up to 8, rows], by turns
  int logits;     // [rows, logit_stride], in the place of the values that are not in use
  int states;     // [dimensions of the block, rows]
  int hidden[kMaxClusterHidden];  // [outputs of the block, inputs + 1], the bias last
  int size;
};

__host__ __device__ inline ClusterLayout cluster_layout(const ClusterNetwork& net, int blocks,
                                                        int rows) {
  ClusterLayout layout;
  const int dims = share_of(net.D, blocks), stride = padded_stride(rows);
  layout.logit_stride = padded_stride(round_up(dims * net.S, 16));
  int widest = 0;
  for (int l = 1; l <= net.num_hidden; ++l) {
    widest = net.widths[l] > widest ? net.widths[l] : widest;
  }
  int at = 0;
  const auto take = [&](int count) {
    const int begin = at;
    at += round_up(count, 4);
    return begin;
  };
  layout.last = take(round_up(net.widths[net.num_hidden], 8) * layout.logit_stride);
  layout.bias = take(layout.logit_stride);
  layout.input = take(net.widths[0] * stride);
  layout.drawn = take(dims * input_width(net) * stride);
  const int values = round_up(widest, 8) * stride, logits = rows * layout.logit_stride;
  for (int turn = 0; turn < 2; ++turn) {
    const bool shared = turn == net.num_hidden % 2;
    layout.values[turn] = take(shared && logits > values ? logits : values);
    if (shared) layout.logits = layout.values[turn];
  }
  layout.states = take(dims * rows);
  for (int l = 0; l < net.num_hidden; ++l) {
    layout.hidden[l] = take(share_of(net.widths[l + 1], blocks) * (net.widths[l] + 1));
  }
  layout.size = at;
  return layout;
}

}  // namespace bridgemark::backend::cuda
