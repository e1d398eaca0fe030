#pragma once

#include <cstddef>

// How a cluster of blocks shares a network: sizes and places that host and device agree on.
namespace bridgemark::backend::cuda {

inline constexpr int kMaxClusterHidden = 8;

struct ClusterNetwork {
  int D, S, E;
  int num_hidden, num_steps;
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
// then read without bank conflicts. The same holds for an odd multiple of 4 where lanes that follow
// each other read along the rows, as in the two below.
__host__ __device__ constexpr int padded_stride(int count) {
  return count % 32 == 8 || count % 32 == 24 ? count : (count + 15) / 16 * 16 + 8;
}
__host__ __device__ constexpr int hidden_stride(int inputs) { return (inputs + 7) / 8 * 8 + 4; }
__host__ __device__ constexpr int half_row_stride(int inner) { return inner + 4; }

// Parts of the inputs that a hidden layer of a block is summed in. A part and the one kHiddenPairs
// after it are added first, whether one warp has both or two have one each, so the sums of a row do
// not depend on the rows of its cluster, and a training's not on how many share the device.
inline constexpr int kHiddenParts = 8, kHiddenPairs = kHiddenParts / 2;
// Sums of a block that wait to be added: of the parts, or of the pairs where warps have both.
__host__ __device__ constexpr int partial_sums(int rows) {
  return rows <= 32 ? kHiddenParts : kHiddenPairs;
}

// Eight rows of the last hidden layer are shared by split_warps warps, which hold at most
// most_split_inputs values of a row at once, split_pairs pairs a lane.
inline constexpr int kClusterThreads = 512;
inline constexpr int kClusterWarps = kClusterThreads / 32;
__host__ __device__ constexpr int split_warps(int rows) { return kClusterWarps / (rows / 8); }
__host__ __device__ constexpr int split_pairs(int rows) { return rows <= 32 ? 4 : 8; }
__host__ __device__ constexpr int most_split_inputs(int rows) {
  return 8 * split_pairs(rows) * split_warps(rows);
}

// A hidden layer of one block: its outputs from number `first` on, and places in the block's shared
// memory, counted in floats.
struct HiddenLayer {
  int inputs, first, count;
  int weights;        // [count up to 8, hidden_stride(inputs)], 0 behind what is there
  int start;          // [count], what the sums begin with: the bias
  int start_of_step;  // or this for each step left more, in the first layer
  int out;            // [outputs of all blocks, rows]
  int bytes;          // of `out`
};

// Where the parts lie in a block's shared memory, counted in floats; each starts at a multiple of
// four. A vector of the rows' values takes padded_stride(rows).
struct ClusterLayout {
  int logit_stride;
  int arrivals;    // barriers, of two floats each: of the hidden layers, then of the inputs
  int last;        // weights of the last layer as rows of halves, outputs up to 16
  int bias;        // [outputs up to 16]
  int input;       // [state_width up to 8, rows]
  int drawn;       // [input width of the block's dimensions, rows], on its way to `input`
  int values[2];   // [widest hidden layer up to 16, rows]; layer l is in l % 2
  int logits;      // [rows, logit_stride], in the place of the values that are not in use
  int states;      // [dimensions of the block, rows]
  int partial[2];  // [partial_sums][outputs of the block up to 8, rows], likewise
  int highs;       // [split_warps, rows]
  int layers;      // the HiddenLayers
  int hidden[kMaxClusterHidden];  // [outputs of the block up to 8, hidden_stride]
  // What a hidden layer's sums begin with, [outputs of the block]: the bias; of the first layer for
  // each number of steps left.
  int start[kMaxClusterHidden];
  int size;
};

__host__ __device__ inline ClusterLayout cluster_layout(const ClusterNetwork& net, int blocks,
                                                        int rows) {
  ClusterLayout layout;
  const int dims = share_of(net.D, blocks), stride = padded_stride(rows);
  const int outputs = round_up(dims * net.S, 16), inner = round_up(net.widths[net.num_hidden], 16);
  layout.logit_stride = padded_stride(outputs);
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
  layout.arrivals = take(2 * (net.num_hidden + 1));
  layout.last = take(outputs * half_row_stride(inner));
  layout.bias = take(outputs);
  // The last rows of a product's 16 may lie behind the end.
  constexpr int kBehind = 8;
  layout.input = take(round_up(net.widths[0], 8) * stride + kBehind);
  layout.drawn = take(dims * input_width(net) * stride);
  const int floats = round_up(widest, 16) * stride + kBehind,
            halves = rows * half_row_stride(inner);
  const int values = floats > halves ? floats : halves, logits = rows * layout.logit_stride;
  for (int turn = 0; turn < 2; ++turn) {
    const bool shared = turn == net.num_hidden % 2;
    layout.values[turn] = take(shared && logits > values ? logits : values);
    if (shared) layout.logits = layout.values[turn];
  }
  layout.states = take(dims * rows);
  layout.highs = take(split_warps(rows) * rows);
  layout.layers = take(net.num_hidden * static_cast<int>(sizeof(HiddenLayer) / sizeof(float)));
  int most = 0;
  for (int l = 0; l < net.num_hidden; ++l) {
    const int share = share_of(net.widths[l + 1], blocks), padded = round_up(share, 8);
    layout.hidden[l] = take(padded * hidden_stride(net.widths[l]));
    layout.start[l] = take(share * (l == 0 ? net.num_steps + 1 : 1));
    most = padded > most ? padded : most;
  }
  for (int& partial : layout.partial) partial = take(partial_sums(rows) * most * rows);
  layout.size = at;
  return layout;
}

}  // namespace bridgemark::backend::cuda
