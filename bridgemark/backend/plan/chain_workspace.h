#pragma once

#include <vector>

#include "bridgemark/backend/plan/cp_tensors.h"

// What the loss of a chain potential (bridge/chain_potential.h) keeps: its tensors are CpTensors
// with moves. T is float for training and double for checks.
namespace bridgemark::backend {

// What the passes along the coordinates leave of a batch, [D,B,K] each.
template <typename T>
struct ChainPassArrays {
  LargeArray<T> before;     // weight of all paths up to z_d, emission included, scaled to maximum 1
  LargeArray<T> posterior;  // of z_d, times the row's weight in the loss
  LargeArray<T> after;      // of all paths on from z_d, emission included: see chain_passes.h
};

// Buffers that the loss keeps between calls.
template <typename T>
struct ChainWorkspace {
  CpWorkspace<T> cores;
  LargeArray<T> moves;         // [D-1,K,K], scaled to a maximum of 1 in each matrix
  LargeArray<T> emissions[2];  // of x0 and x1: [D,S,K], scaled to a maximum of 1 in each row
  std::vector<double> log_moves_high, log_emissions_high[2];  // [D-1] and [D,S]
  ChainPassArrays<T> passes[2];
};

}  // namespace bridgemark::backend
