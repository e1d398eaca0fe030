#pragma once

#include "bridgemark/backend/cuda/cp/cp_view.h"

// What the kernels of a chain potential's training add to those of CP. States are components,
// padded to whole warps with weight 0; the posteriors of z_d take the place of the components'
// weights, so that cores and start are updated by CP's own kernel.
namespace bridgemark::backend::cuda {

inline constexpr int kStateTile = 32;  // what states are padded to
inline constexpr int kMostStates = 1024;

struct ChainParts {
  float *log_moves, *first_moves, *second_moves;  // [D-1,Kp,Kp]
  float* average_moves;                           // where there is an average
  float* gradient_moves;                          // where a gradient is asked for, else null
  float *moves, *moves_transposed;                // exp(log_moves - high), [D-1,Kp,Kp]
  float* moves_high;                              // [D-1], largest of each matrix
  // Of each side, [D,B,Kp]: logarithms of the paths up to z_d, largest 0; and of those on from z_d
  // over log_sums[d-1].
  float *before[2], *after[2];
  // [D,B] of each side: log of sum_ij before[d,i] moves[d,i,j] after[d+1,j], `after` not yet
  // divided.
  float* log_sums[2];
};
struct ChainView : StaticView, ChainParts {};

// moves and moves_transposed of the parameters. An update leaves those of the next one behind.
void launch_scale_moves(const ChainView& view, cudaStream_t stream);

// The passes along the coordinates from both ends: posteriors, and what the moves' gradient takes.
void launch_passes(const ChainView& view, const Batch& batch, cudaStream_t stream);

// The gradient of the moves and, unless gradient_moves is set, their update.
void launch_moves(const ChainView& view, cudaStream_t stream);

}  // namespace bridgemark::backend::cuda
