#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "bridgemark/backend/cuda/bridge/device_source.h"
#include "bridgemark/backend/cuda/cp/rank_sums.h"
#include "bridgemark/backend/cuda/runtime/stream.h"
#include "bridgemark/backend/plan/cp_trainer.h"
#include "bridgemark/math/adamw.h"

// What the kernels of CP training share: where everything lies on the device, and their launches.
// Components are padded to whole tiles with weight 0, so no kernel looks at the end of a row.
namespace bridgemark::backend::cuda {

inline constexpr int kTile = 64;  // components of a tile, and what they are padded to
inline constexpr int kTileThreads = 256;
inline constexpr int kBlockCategories = 64;  // categories whose sums a block holds at a time
inline constexpr int kPassRows = 128;        // rows of the batch that a block handles at a time
inline constexpr int kBatchesAhead = 8;      // batches drawn at once

// A scaled product below this is computed again in the log domain (math/exact_log_dot.h).
inline constexpr float kProductFloor = 1e-30f;
inline constexpr float kLogProductFloor = -69.07755f;

// Counts updates on the device, so that a captured graph can be replayed.
struct Progress {
  unsigned long long index;  // of the graph's first update, from 0
  unsigned local;            // the same within this run()
};

// kBatchesAhead batches, one behind the other, or one of them.
struct Batch {
  std::int32_t *x0, *x1, *x_n, *n;  // [B,D], and n [B]
  // Static loss: the rows of each side in passes of kPassRows, as state * kPassRows + row in their
  // order, [2,D,B].
  std::int32_t* order;
};

// AdamW's and the average's numbers of one update, made on the host.
struct UpdateSettings {
  AdamWStep adamw;
  float share;  // of the parameters in the average; 0 leaves it alone
};

// What every loss has.
struct CpView {
  int D, S, Sp, K, Kp, B, num_steps;  // Sp, Kp: padded strides, of 8 categories and kTile
  int passes;                         // of kPassRows rows over the batch
  int ahead;                          // updates since *progress

  float *log_beta, *log_cores;  // [Kp], [D,S,Kp]
  float *first_beta, *first_cores, *second_beta, *second_cores;
  float *average_beta, *average_cores;    // where a share of an update is above 0
  float *gradient_beta, *gradient_cores;  // where a gradient is asked for, else null

  // Powers n = 0..num_steps of the chain: [n][S][Sp] with row x_from, transposed, and logarithms
  // [n][S][S].
  const float *q, *q_transposed;
  const double* log_q;

  float entropy;           // its weight in the loss
  float* entropy_of_beta;  // [2]: log-sum of log_beta and the entropy's negative
  RankSums beta_sum;       // behind the first of them
  double* beta_entropy;    // and the second
  float* high;             // [D,Kp], largest core of each column
  double* row_loss;        // [2,B] of the sides, or [D,B]
  float* exact_gradient;   // [D,S,Kp], of what went the exact path

  const UpdateSettings* settings;
  Progress* progress;
  double* losses;
};

struct StaticParts {
  float* log_u;       // [D,S,Kp], propagated cores
  float* weights[2];  // [B,Kp] of each side, not yet divided by their sum; of a chain [D,B,Kp]
  std::size_t weights_of_dim;  // how far those of the next dimension lie: 0 where they are the same
  float* factors[2];           // [B], what divides them, and by the batch
  RankSums row_sums;           // [2,B] where ranks share the components
};
struct StaticView : CpView, StaticParts {};

struct MatchingParts {
  MatchingLoss kind;
  const float* step_weights;  // [num_steps]; null: each row counts once
  int first_tile;             // of the components that a launch handles, and their number, where
  int num_tiles;              // the kernel handles a part of them
  int tiles_of_part;          // of components
  float* log_r;               // [D,B,Kp]
  float* terms;               // [D,B,Kp]
  float* total;               // [B,Kp]: W
  float* total_terms;         // [B,Kp]
  float* row_high;            // [B,slices], largest W of each slice
  float* shift;               // [D,B]
  float* partial;             // [parts,D,B,Sp] of V
  float* back;                // [D,B,Sp]
  float* mixed_gradient;      // [D,S,Kp]
  int* exact_rows;            // [D,B], rows on the exact path
  int* any_exact;             // [D]; exact_gradient is touched there alone
  double* exact_back;         // [D,B,S], d loss / d log V
  double* exact_log_v;        // [D,B,S]
};
struct MatchingView : CpView, MatchingParts {};

// Number `i` of the batches.
constexpr Batch batch_at(const CpView& view, const Batch& first, int i) {
  const std::size_t rows = static_cast<std::size_t>(i) * view.B, states = rows * view.D;
  return {first.x0 + states, first.x1 + states, first.x_n + states, first.n + rows,
          first.order + 2 * states};
}

// Draws kBatchesAhead batches, from that of the update progress->index + view.ahead.
void launch_draws(const CpView& view, const RowSourceView& x0, const RowSourceView& x1,
                  const PinnedView& pinned, const CouplingView& coupling, const Batch& out,
                  cudaStream_t stream);

// Sorts the rows of `count` batches by state.
void launch_sort(const StaticView& view, const Batch& batches, int count, cudaStream_t stream);

// log_u of the parameters. An update leaves that of the next one behind.
void launch_propagate(const StaticView& view, cudaStream_t stream);

// Loss, gradient and, unless gradient_cores is set, the update. The second has all but the weights
// and the loss of each row, which are there. `ranks` is null where there is one.
void launch_static(const StaticView& view, const Batch& batch, DeviceRanks* ranks,
                   cudaStream_t stream);
void launch_weighed(const StaticView& view, const Batch& batch, cudaStream_t stream);
// On two streams: what is made of single components runs in two halves beside each other. `second`
// has to follow `first` before the first update of a row (ahead = 0), and `first` follows `second`
// after the last.
void launch_matching(const MatchingView& view, const Batch& batch, Stream& first, Stream& second);

// Moves *progress on by kBatchesAhead updates; measures log_beta for the entropy's part of the
// loss.
void launch_count(const CpView& view, cudaStream_t stream);
void launch_entropy(const CpView& view, DeviceRanks* ranks, cudaStream_t stream);

// Makes room for the shared memory of the kernels; throws DeviceError where it is not enough for
// so many categories.
void prepare_static(const StaticView& view);
void prepare_matching(const MatchingView& view);
std::size_t max_shared_memory();  // that a block can ask for
void allow_shared_memory(const void* kernel, std::size_t bytes, int num_categories);

}  // namespace bridgemark::backend::cuda
