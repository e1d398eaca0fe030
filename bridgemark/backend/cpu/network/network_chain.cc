#include <algorithm>
#include <cmath>
#include <vector>

#include "bridgemark/backend/cpu/cpu_backend.h"
#include "bridgemark/backend/cpu/network/dense_layer.h"
#include "bridgemark/backend/cpu/network/network_forward.h"
#include "bridgemark/backend/cpu/network/network_math.h"
#include "bridgemark/backend/cpu/simd/vector_math.h"
#include "bridgemark/core/parallel.h"

namespace bridgemark::backend::cpu {

namespace {

// Several blocks for each thread, so that one that falls behind leaves work to the others; few
// enough that the weights are read for many rows, and at most as many rows as fit the cache beside
// them. A row's result does not depend on its block.
std::size_t block_rows(const Context& context, std::size_t rows) {
  constexpr std::size_t kBlocksOfThread = 4, kMinRows = 8, kMaxRows = 64;
  const auto blocks = kBlocksOfThread * static_cast<std::size_t>(context.threads());
  return std::clamp((rows + blocks - 1) / blocks, kMinRows, kMaxRows);
}

// One network evaluation after the other on the same buffers.
class Evaluator {
 public:
  Evaluator(const NetworkTensors<float>& parameters, const std::vector<std::vector<float>>& packed)
      : parameters_(parameters), packed_(packed) {}

  // Logits [rows, D*S] of states that all have steps_left.
  const float* logits(StatesView x, int steps_left) {
    const NetworkShape& shape = parameters_.shape;
    steps_.assign(x.rows, steps_left);
    in_.resize(std::max(in_.size(), x.rows * shape.input_width()));
    network_inputs(parameters_, x, steps_.data(), in_.data());
    for (std::size_t l = 0; l < shape.num_layers(); ++l) {
      out_.resize(std::max(out_.size(), x.rows * shape.layer_outputs(l)));
      apply_layer(packed_[l], in_.data(), x.rows, shape.layer_inputs(l), shape.layer_outputs(l),
                  l + 1 < shape.num_layers(), out_.data());
      std::swap(in_, out_);
    }
    return in_.data();
  }

 private:
  const NetworkTensors<float>& parameters_;
  const std::vector<std::vector<float>>& packed_;
  std::vector<std::int32_t> steps_;
  std::vector<float> in_, out_;
};

// The row q(. | x, clean): the table's, or made in `scratch`.
const float* pinned_row(const PinnedSteps& pinned, int steps_left, std::size_t x, std::size_t clean,
                        std::vector<float>& scratch) {
  const std::size_t S = pinned.chain.num_categories;
  if (!pinned.probabilities.empty()) {
    const auto table = static_cast<std::size_t>(steps_left - 1);
    return pinned.probabilities.data() + ((table * S + x) * S + clean) * S;
  }
  scratch.resize(S);
  const PinnedStep<double> step = pinned.chain.log_pinned(steps_left, x, clean);
  for (std::size_t s = 0; s < S; ++s) {
    scratch[s] = static_cast<float>(std::exp(step.log_probability(s)));
  }
  return scratch.data();
}

// The probability of a step from x to `to`, from the logits of its clean end:
//   Q_1[x,to] sum_c e^z[c] Q_{r-1}[to,c] / sum_c e^z[c] Q_r[x,c],
// the second sum being that of the first over all `to`. In float where both sums are in range, else
// in the log domain.
class StepProbability {
 public:
  StepProbability(const NetworkShape& shape, const ChainTables<float>& chain, int steps_left)
      : S_(shape.num_categories),
        softmax_step_(shape.is_softmax_step(steps_left)),
        log_one_(chain.log_power(1)),
        after_(chain.linear_power(steps_left - 1)),
        whole_(chain.linear_power(steps_left)),
        log_after_(chain.log_power(steps_left - 1)),
        log_whole_(chain.log_power(steps_left)),
        ones_(S_, 1.0f) {}

  // The sum over the coordinates, whose logits follow each other.
  double log_of_row(const float* logits, const std::int32_t* from, const std::int32_t* to,
                    std::size_t dim) {
    constexpr std::size_t kRatios = 8;  // 1e-25 to 1e25 each, so that their product is in range
    double sum = 0.0, product = 1.0;
    for (std::size_t d = 0; d < dim; ++d, logits += S_) {
      const auto x = static_cast<std::size_t>(from[d]), s = static_cast<std::size_t>(to[d]);
      if (softmax_step_) {
        const SoftmaxSums sums = softmax_sums(logits, ones_.data(), ones_.data(), S_);
        sum += static_cast<double>(logits[s]) - static_cast<double>(sums.high);
        product *= 1.0 / static_cast<double>(sums.first);
      } else {
        const SoftmaxSums sums = softmax_sums(logits, after_ + s * S_, whole_ + x * S_, S_);
        sum += log_one_[x * S_ + s];
        if (sums.first >= kSoftmaxSumFloor && sums.second >= kSoftmaxSumFloor) {
          product *= static_cast<double>(sums.first) / static_cast<double>(sums.second);
        } else {
          z_.assign(logits, logits + S_);
          sum += log_dot(z_.data(), log_after_ + s * S_, S_) -
                 log_dot(z_.data(), log_whole_ + x * S_, S_);
        }
      }
      if (d % kRatios == kRatios - 1 || d + 1 == dim) {
        sum += std::log(product);
        product = 1.0;
      }
    }
    return sum;
  }

 private:
  std::size_t S_;
  bool softmax_step_;
  const double* log_one_;
  const float *after_, *whole_;
  const double *log_after_, *log_whole_;
  std::vector<float> ones_;
  std::vector<double> z_;
};

}  // namespace

void CpuBackend::sample_network_chain(const Context& context,
                                      const NetworkTensors<float>& parameters,
                                      const PinnedSteps& pinned, int steps_left, int num_steps,
                                      StatesView x, const DrawKey& key, std::uint64_t first_index,
                                      MutableStatesView out, NetworkWorkspace<float>& workspace,
                                      KeptTables*) const {
  const std::size_t D = parameters.shape.dim, S = parameters.shape.num_categories;
  pack_network(context, parameters, workspace.packed);
  const std::size_t grain = block_rows(context, x.rows);
  parallel_blocks(context, x.rows, grain, [&](std::size_t first, std::size_t last) {
    Evaluator evaluator(parameters, workspace.packed);
    std::vector<float> softmax(S), scratch;
    const MutableStatesView states = out.slice(first, last - first);
    std::copy_n(x.row(first), states.size(), states.data);
    for (int step = 0; step < num_steps; ++step) {
      context.throw_if_interrupted();
      const int left = steps_left - step;
      const float* logits = evaluator.logits(states, left);
      const float* log_whole = pinned.log_powers.data() + static_cast<std::size_t>(left) * S * S;
      for (std::size_t b = 0; b < states.rows; ++b) {
        DrawSequence draws(key, first_index + first + b,
                           static_cast<std::uint32_t>(static_cast<std::size_t>(step) * D));
        for (std::size_t d = 0; d < D; ++d, logits += S) {
          const double for_clean = draws.uniform(), for_step = draws.uniform();
          const auto from = static_cast<std::size_t>(states(b, d));
          const bool plain = parameters.shape.is_softmax_step(left);
          const float* log_weights = plain ? nullptr : log_whole + from * S;
          std::size_t to = draw_softmax(logits, log_weights, S, for_clean, softmax.data());
          if (left > 1) {
            to = draw_weighted(pinned_row(pinned, left, from, to, scratch), S, for_step);
          }
          states(b, d) = static_cast<std::int32_t>(to);
        }
      }
    }
  });
}

void CpuBackend::network_log_transition(const Context& context,
                                        const NetworkTensors<float>& parameters,
                                        const ChainTables<float>& chain, int steps_left,
                                        StatesView x, MatrixView<double> out, KeptTables*) const {
  const std::size_t D = parameters.shape.dim, S = parameters.shape.num_categories;
  std::vector<std::vector<float>> packed;
  pack_network(context, parameters, packed);
  const std::size_t grain = block_rows(context, x.rows);
  parallel_blocks(context, x.rows, grain, [&](std::size_t first, std::size_t last) {
    Evaluator evaluator(parameters, packed);
    std::vector<double> z(S);
    const float* logits = evaluator.logits(x.slice(first, last - first), steps_left);
    for (std::size_t b = first; b < last; ++b) {
      for (std::size_t d = 0; d < D; ++d, logits += S) {
        z.assign(logits, logits + S);
        log_transition_row(parameters.shape, chain, steps_left, static_cast<std::size_t>(x(b, d)),
                           z.data(), out.row(b) + d * S);
      }
    }
  });
}

void CpuBackend::network_step_log_probability(const Context& context,
                                              const NetworkTensors<float>& parameters,
                                              const ChainTables<float>& chain, int steps_left,
                                              StatesView from, StatesView to, double* out,
                                              KeptTables*) const {
  const std::size_t D = parameters.shape.dim;
  std::vector<std::vector<float>> packed;
  pack_network(context, parameters, packed);
  const std::size_t grain = block_rows(context, from.rows);
  parallel_blocks(context, from.rows, grain, [&](std::size_t first, std::size_t last) {
    Evaluator evaluator(parameters, packed);
    StepProbability step(parameters.shape, chain, steps_left);
    const float* logits = evaluator.logits(from.slice(first, last - first), steps_left);
    for (std::size_t b = first; b < last; ++b, logits += parameters.shape.output_width()) {
      out[b] = step.log_of_row(logits, from.row(b), to.row(b), D);
    }
  });
}

}  // namespace bridgemark::backend::cpu
