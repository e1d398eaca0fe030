#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bridgemark/backend/plan/cp_tensors.h"

// The static loss of a chain potential (bridge/chain_potential.h) with its gradient in closed form:
// its tensors are CpTensors with moves. T is float for training and double for checks.
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

// loss = mean log c(x0) - mean log v(x1), reference.num_steps steps between the ends. Optional
// outputs log_c [B] and log_v [B] may be empty.
template <typename T>
double chain_loss(const Context& context, const CpTensors<T>& parameters,
                  const ChainTables<T>& reference, StatesView x0, StatesView x1,
                  CpTensors<T>& gradient, ChainWorkspace<T>& workspace,
                  std::span<double> log_c = {}, std::span<double> log_v = {});

}  // namespace bridgemark::backend
