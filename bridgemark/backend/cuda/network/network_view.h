#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "bridgemark/backend/cuda/cp/cp_view.h"
#include "bridgemark/backend/cuda/network/dense_layer.h"
#include "bridgemark/backend/plan/network_steps.h"
#include "bridgemark/math/philox.h"

// What the kernels of network training share: where everything lies on the device, and their
// launches. Parameters lie as in NetworkTensors.
namespace bridgemark::backend::cuda {

// A chain's steps towards the clean end on the device.
struct StepTables {
  const float* q;              // [num_steps+1][S,S], powers of the chain
  const double* log_q;         // their logarithms
  const float* log_powers;     // the same, rounded
  const float* probabilities;  // [num_steps][x][clean][s], steps left - 1 first; or null
};

// Both ends of the rows of two updates that follow each other, [2][rows,D]: update i has half i % 2
// while that of update i + 1 is drawn.
struct EndsView {
  std::int32_t *x0, *x1;
  std::size_t rows;  // of an update; directions that train at once share them
};

// The points that a direction trains on, rows = batch size * points.
struct PointsView {
  std::int32_t *x, *clean;  // [rows,D]
  std::int32_t* steps_left;
};

// What a chain starts from: rows of update `progress`, or just `from` without one.
struct ChainJob {
  const float* parameters;
  StepTables tables;
  const float* step_table;   // [num_steps+1, hidden[0]]: bias and steps left in the first layer
  const std::int32_t* from;  // the first row of an even update, or the first row
  std::int32_t* to;          // [rows,D]
  DrawKey key;
  std::uint64_t first_index;  // of row 0; those of earlier updates come on top
  const Progress* progress;   // or null
  std::size_t update_rows;    // from an update's rows to the next one's, in `from` and as indices
};

// A kernel's share of the chain's work that is the same for all jobs.
struct ChainSteps {
  int steps_left, num_steps;
  std::size_t rows;
  bool reference_last_step;  // as the network's shape says
};

// Draws both ends of update progress->index + ahead.
void launch_ends(const RowSourceView& x0, const RowSourceView& x1, int D, int S,
                 const Progress* progress, int ahead, const EndsView& out, cudaStream_t stream);

// Draws the points of update progress->index for direction 0 or 1 from `batch_size` of its rows,
// those from `first_row` on. `sampled`, where not null, takes the place of the end that the
// direction comes from.
void launch_points(const PinnedView& pinned, int D, int S, int num_steps, std::size_t first_row,
                   std::size_t batch_size, std::size_t points, int direction,
                   const Progress* progress, const EndsView& ends, const std::int32_t* sampled,
                   const PointsView& out, cudaStream_t stream);

// The inputs [rows, input_width] of states with steps_left[row], or `all_left` where that is null.
void launch_inputs(const NetworkShape& shape, const float* parameters, const std::int32_t* x,
                   const std::int32_t* steps_left, int all_left, std::size_t rows, float* out,
                   cudaStream_t stream);

// values[l + 1] = layer l of values[l], from the inputs values[0] to the logits.
void launch_forward(const NetworkShape& shape, const float* parameters, std::size_t rows,
                    std::span<float* const> values, LayerProduct product, cudaStream_t stream);

// The loss of each row and dimension, row_loss [rows,D], and d loss / d logits in the logits' place
// [rows,D*S]. Those times `scale` are the mean's.
void launch_network_loss(const NetworkShape& shape, const StepTables& tables, MatchingLoss kind,
                         const PointsView& points, std::size_t rows, double scale, float* scratch,
                         float* logits, double* row_loss, cudaStream_t stream);
// Makes room for its shared memory and says how many values of scratch it needs beside.
std::size_t prepare_network_loss(const NetworkShape& shape, std::size_t rows);

// losses[progress->local] = scale * the sum of row_loss.
void launch_loss_sum(const double* row_loss, std::size_t count, double scale,
                     const Progress* progress, double* losses, cudaStream_t stream);

// The embeddings' part of the gradient from the inputs' flow [rows, flow_width], whose last
// step_width columns belong to the step and whose first to the categories.
void launch_embedding_gradient(const NetworkShape& shape, const float* input_flow,
                               std::size_t flow_width, const PointsView& points, std::size_t rows,
                               float* gradient, cudaStream_t stream);

struct OptimizedNetwork {
  float *parameters, *average, *first, *second;
  const float* gradient;
  std::size_t count;
};

// AdamW, then the moving average.
void launch_adamw(const OptimizedNetwork& network, const UpdateSettings* settings,
                  const Progress* progress, cudaStream_t stream);

void launch_next_update(Progress* progress, cudaStream_t stream);

// Chains of any network, a kernel for each layer of each step.
struct ChainScratch {
  float *in, *out;  // [rows, widest of inputs, hidden layers and outputs]
};
void launch_chain(const NetworkShape& shape, const ChainJob& job, const ChainSteps& steps,
                  const ChainScratch& scratch, cudaStream_t stream);

// Chains in one kernel, the network in the shared memory of a cluster of blocks.
struct ClusterChain {
  int blocks = 0;  // of a cluster; 0: this network or device does not fit
  int rows = 0;    // of a cluster
};
// `rows` of all jobs together; 0 chooses as if there were many, so that a row's sums have the same
// order whatever the rows beside it. Among sharers of the device it is the throughput of all that
// counts.
ClusterChain plan_cluster_chain(const NetworkShape& shape, std::size_t rows, int sharers = 1);
void launch_cluster_chain(const NetworkShape& shape, const ClusterChain& plan,
                          std::span<const ChainJob> jobs, const ChainSteps& steps,
                          cudaStream_t stream);

// job.step_table from the parameters.
void launch_step_table(const NetworkShape& shape, const float* parameters, float* out,
                       cudaStream_t stream);

// out[row,d,s] = log of the transition from logits [rows,D*S] and states x [rows,D]; log_one and
// log_after are Q_1 and Q_{steps_left-1}, [S,S].
void launch_log_transition(int D, int S, bool softmax_step, const double* log_one,
                           const double* log_after, const std::int32_t* x, const float* logits,
                           std::size_t rows, double* out, cudaStream_t stream);

// The reference's powers that a step needs: Q_1, Q_{steps_left-1} and Q_{steps_left}, [S,S].
struct StepPowers {
  const double *log_one, *log_after, *log_whole;
  const float *after, *whole;  // linear
};

// out[row] = the sum over d of the same at to[row,d]; of_coordinates has room for rows * D values.
void launch_step_log_probability(int D, int S, bool softmax_step, const StepPowers& powers,
                                 const std::int32_t* from, const std::int32_t* to,
                                 const float* logits, std::size_t rows, double* of_coordinates,
                                 double* out, cudaStream_t stream);

}  // namespace bridgemark::backend::cuda
