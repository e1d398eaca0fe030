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

// What CSBM asks of a device: the loss of a network with its gradient, the moving average, chains
// drawn through a network and its transition probabilities. T is float
// for training and double for checks.
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

// The loss of bridge matching for one direction. Row b stands in state x[b] with steps_left[b] to
// its clean end clean[b]; its target is the step pinned to that end. KL(target || model) is summed
// over categories and averaged over rows and dimensions; the squared error is summed over
// dimensions and categories and averaged over rows. NaN where the network left the range of T.
template <typename T>
double network_loss(const Context& context, const NetworkTensors<T>& parameters,
                    const ChainTables<T>& chain, MatchingLoss kind, StatesView x, StatesView clean,
                    std::span<const std::int32_t> steps_left, NetworkTensors<T>& gradient,
                    NetworkWorkspace<T>& workspace, const NetworkLossOutputs& outputs = {});

// The loss of each row alone, whose mean is network_loss; no gradient. On the CPU.
void network_row_losses(const Context& context, const NetworkTensors<float>& parameters,
                        const ChainTables<float>& chain, MatchingLoss kind, StatesView x,
                        StatesView clean, std::span<const std::int32_t> steps_left,
                        NetworkWorkspace<float>& workspace, std::span<double> out);

// What a term of it counts.
inline double network_loss_scale(MatchingLoss kind, std::size_t rows, std::size_t dim) {
  return 1.0 / static_cast<double>(kind == MatchingLoss::kKl ? rows * dim : rows);
}

// Walks num_steps steps through a network, from states with steps_left to the clean end: a clean
// end c is drawn by w, then a step pinned to it, which is a draw of the transition. Step i of row b
// uses the draws 2 (i D + d) (clean end) and the next (step) of index first_index + b. A row's
// result does not depend on the rows beside it. States may lie on the context's device, then both
// do; `kept` is what a device keeps of the network and its steps from call to call, null: nothing.
void sample_network_chain(const Context& context, const NetworkTensors<float>& parameters,
                          const PinnedSteps& pinned, int steps_left, int num_steps, StatesView x,
                          const DrawKey& key, std::uint64_t first_index, MutableStatesView out,
                          NetworkWorkspace<float>& workspace, KeptTables* kept = nullptr);

// out[b,d,s] = log of the model's transition probability from x[b] with steps_left to the clean
// end, where x lies. Finite wherever the reference allows the step.
void network_log_transition(const Context& context, const NetworkTensors<float>& parameters,
                            const ChainTables<float>& chain, int steps_left, StatesView x,
                            double* out, KeptTables* kept = nullptr);
void network_log_transition(const Context& context, const NetworkTensors<float>& parameters,
                            const ChainTables<float>& chain, int steps_left, StatesView x,
                            Array3<double>& out);

// out[b] = log of the model's probability of the whole step from[b] -> to[b], all coordinates
// together: the sum over d of what network_log_transition has at to[b,d], without the other
// categories. States may lie on the context's device, then both do and so does `out`.
void network_step_log_probability(const Context& context, const NetworkTensors<float>& parameters,
                                  const ChainTables<float>& chain, int steps_left, StatesView from,
                                  StatesView to, double* out, KeptTables* kept = nullptr);

}  // namespace bridgemark::backend
