#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bridgemark/backend/plan/cp_tensors.h"
#include "bridgemark/backend/plan/kept_tables.h"
#include "bridgemark/backend/plan/network_tensors.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/math/philox.h"

// What the losses, chains and probabilities of a network are given and keep. T is float for
// training and double for checks.
//
// A network sees x with r = 1..num_steps steps left to its clean end and gives logits z. Its
// transition, in each dimension, to category s:
//   sum_c w[c] q(s | x, c),  w = softmax(z + log Q_r[x,:])
//   which is Q_1[x,s] sum_c exp(z[c]) Q_{r-1}[s,c], normalised over s;
//   for r = 1 softmax(z)[s] alone, unless the shape says reference_last_step,
// with q(s | x, c) = Q_1[x,s] Q_{r-1}[s,c] / Q_r[x,c] the reference's step pinned to the end c, and
// Q_n the powers of the chain that leads from x to the clean end.
namespace bridgemark::backend {

// What draws need of a chain's pinned steps beyond its powers.
struct PinnedSteps {
  ChainTables<float> chain;
  std::vector<float> log_powers;  // [num_steps+1][S,S]
  // q(s | x, clean) as [num_steps][x][clean][s] with steps_left - 1 first; empty where it would be
  // too large.
  std::vector<float> probabilities;
};

// Buffers kept between calls; any operation may use any of them.
template <typename T>
struct NetworkWorkspace {
  std::vector<std::vector<T>> packed;       // weights of a layer, laid out for the kernel
  std::vector<std::vector<T>> activations;  // of a layer's inputs [B, inputs]
  std::vector<std::vector<T>> flows;        // d loss / d a layer's outputs [B, outputs]
};

// Optional outputs of network_loss, [B,D,S]; empty ones are not written.
struct NetworkLossOutputs {
  std::span<double> logits = {};
  std::span<double> log_model = {};
  std::span<double> target = {};
};

// What a term of the loss counts.
inline double network_loss_scale(MatchingLoss kind, std::size_t rows, std::size_t dim) {
  return 1.0 / static_cast<double>(kind == MatchingLoss::kKl ? rows * dim : rows);
}

}  // namespace bridgemark::backend
