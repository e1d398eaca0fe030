#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "bridgemark/backend/cpu/cp/exact_column.h"
#include "bridgemark/backend/cpu/cpu_backend.h"
#include "bridgemark/backend/cpu/network/dense_layer.h"
#include "bridgemark/backend/cpu/network/network_forward.h"
#include "bridgemark/backend/cpu/network/network_math.h"
#include "bridgemark/backend/cpu/simd/gemm.h"
#include "bridgemark/backend/cpu/simd/training_math.h"
#include "bridgemark/core/parallel.h"

// For a row in state x with r steps left and clean end c*, in each dimension, with p = exp(z)
// scaled to a maximum of 1:
//   y[s] = sum_c Q_{r-1}[s,c] p[c],  Z = sum_s Q_1[x,s] y[s],  model m[s] = Q_1[x,s] y[s] / Z
//   a[s] = d loss / d log m[s] (math/matching_terms.h)
//   d loss / d z[c] = p[c] sum_s Q_{r-1}[s,c] a[s] / y[s]  -  p[c] Q_r[x,c] / Z sum_s a[s]
// With one step left y = p, m = p / Z, and 1 takes the place of Q_r[x,c].
// Blocks of kBlockRows rows go forward, to the loss and back to the first layer on one thread; then
// the weights' gradients are split over outputs. Both splits are the same for any number of
// threads.
namespace bridgemark::backend::cpu {

namespace {

constexpr std::size_t kBlockRows = 16;  // rows of a block
constexpr std::size_t kOutputs = 64;    // outputs of a task of the weights' gradients

// Probabilities below this change neither loss nor gradient.
template <typename T>
constexpr T negligible() {
  return sizeof(T) == 4 ? T(1e-20f) : T(1e-200);
}

template <typename T>
class LossPass {
 public:
  LossPass(const NetworkTensors<T>& parameters, const ChainTables<T>& chain, MatchingLoss kind,
           StatesView x, StatesView clean, std::span<const std::int32_t> steps_left,
           NetworkTensors<T>* gradient, NetworkWorkspace<T>& workspace,
           const NetworkLossOutputs& outputs)
      : parameters_(parameters),
        shape_(parameters.shape),
        chain_(chain),
        kind_(kind),
        x_(x),
        clean_(clean),
        steps_left_(steps_left),
        gradient_(gradient),
        work_(workspace),
        outputs_(outputs),
        B_(x.rows),
        scale_(network_loss_scale(kind, x.rows, shape_.dim)),
        losses_(x.rows) {
    work_.activations.resize(shape_.num_layers());
    work_.flows.resize(shape_.num_layers());
    for (std::size_t l = 0; l < shape_.num_layers(); ++l) {
      work_.activations[l].resize(B_ * shape_.layer_inputs(l));
      work_.flows[l].resize(B_ * shape_.layer_outputs(l));
    }
    if (gradient != nullptr) input_flow_.resize(B_ * shape_.input_width());
  }

  double run(const Context& context) {
    forward_and_back(context);
    struct Task {
      std::size_t layer, first;
    };
    std::vector<Task> tasks;
    for (std::size_t l = 0; l < shape_.num_layers(); ++l) {
      for (std::size_t o = 0; o < shape_.layer_outputs(l); o += kOutputs) tasks.push_back({l, o});
    }
    parallel_blocks(context, tasks.size(), 1, [&](std::size_t i, std::size_t) {
      weight_gradient(tasks[i].layer, tasks[i].first);
    });
    embedding_gradient();
    double loss = 0.0;
    for (const double value : losses_) loss += value;
    return loss * scale_;
  }

  void write_row_losses(const Context& context, std::span<double> out) {
    forward_and_back(context);
    for (std::size_t b = 0; b < B_; ++b) out[b] = losses_[b] * scale_ * static_cast<double>(B_);
  }

 private:
  // Through every block of rows: its losses, and the flows of the way back where a gradient is
  // wanted.
  void forward_and_back(const Context& context) {
    pack_network(context, parameters_, work_.packed);
    parallel_blocks(context, B_, kBlockRows, [&](std::size_t first, std::size_t last) {
      forward(first, last - first);
      for (std::size_t b = first; b < last; ++b) losses_[b] = row_loss(b);
      if (gradient_ != nullptr) backward(first, last - first);
    });
  }

  T* activation(std::size_t l, std::size_t b) {
    return work_.activations[l].data() + b * shape_.layer_inputs(l);
  }
  T* flow(std::size_t l, std::size_t b) {
    return work_.flows[l].data() + b * shape_.layer_outputs(l);
  }

  void forward(std::size_t first, std::size_t rows) {
    network_inputs(parameters_, x_.slice(first, rows), steps_left_.data() + first,
                   activation(0, first));
    const std::size_t last = shape_.num_layers() - 1;
    for (std::size_t l = 0; l <= last; ++l) {
      // The logits lie where their gradient will: a row is read before it is overwritten.
      T* out = l < last ? activation(l + 1, first) : flow(last, first);
      apply_layer(work_.packed[l], activation(l, first), rows, shape_.layer_inputs(l),
                  shape_.layer_outputs(l), l < last, out);
    }
  }

  void backward(std::size_t first, std::size_t rows) {
    for (std::size_t l = shape_.num_layers(); l-- > 0;) {
      const std::size_t inputs = shape_.layer_inputs(l), outputs = shape_.layer_outputs(l);
      T* out = l > 0 ? flow(l - 1, first) : input_flow_.data() + first * inputs;
      gemm(rows, inputs, outputs, flow(l, first), parameters_.weight(l), out);
      if (l == 0) break;
      const T* values = activation(l, first);
      for (std::size_t i = 0; i < rows * inputs; ++i) out[i] = values[i] > T(0) ? out[i] : T(0);
    }
  }

  void weight_gradient(std::size_t l, std::size_t first) {
    const std::size_t inputs = shape_.layer_inputs(l), outputs = shape_.layer_outputs(l);
    const std::size_t count = std::min(kOutputs, outputs - first);
    gemm(Transpose::kYes, Transpose::kNo, count, inputs, B_, T(1), work_.flows[l].data() + first,
         outputs, work_.activations[l].data(), inputs, T(0), gradient_->weight(l) + first * inputs,
         inputs);
    T* bias = gradient_->bias(l) + first;
    std::fill_n(bias, count, T(0));
    for (std::size_t b = 0; b < B_; ++b) add_into(flow(l, b) + first, count, bias);
  }

  void embedding_gradient() {
    const std::size_t D = shape_.dim, E = shape_.category_width;
    std::fill(gradient_->values.begin() + static_cast<std::ptrdiff_t>(shape_.step_offset()),
              gradient_->values.end(), T(0));
    for (std::size_t b = 0; b < B_; ++b) {
      const T* row = input_flow_.data() + b * shape_.input_width();
      add_into(row + shape_.state_width(), shape_.step_width(),
               gradient_->step_row(static_cast<std::size_t>(steps_left_[b])));
      if (E == 0) continue;
      for (std::size_t d = 0; d < D; ++d) {
        add_into(row + d * E, E, gradient_->category_row(static_cast<std::size_t>(x_(b, d))));
      }
    }
  }

  struct Place {
    std::int32_t steps_left;
    std::size_t x, clean;
  };

  // Scratch of one row.
  struct Buffers {
    explicit Buffers(std::size_t S) : p(S), y(S), m(S), t(S), a(S), ratio(S), logarithm(S) {}
    std::vector<T> p, y, m, t, a, ratio, logarithm;
  };

  // The loss of a row, summed over dimensions; its logits become d loss / d logits.
  double row_loss(std::size_t b) {
    const std::size_t S = shape_.num_categories;
    Buffers buffers(S);
    double loss = 0.0;
    for (std::size_t d = 0; d < shape_.dim; ++d) {
      T* logits = flow(shape_.num_layers() - 1, b) + d * S;
      const Place place{steps_left_[b], static_cast<std::size_t>(x_(b, d)),
                        static_cast<std::size_t>(clean_(b, d))};
      write_outputs(b, d, place, logits);
      bool finite = true;
      for (std::size_t c = 0; c < S; ++c) finite = finite && std::isfinite(logits[c]);
      if (!finite) return std::numeric_limits<double>::quiet_NaN();
      const T high = max_of(logits, S);
      const T total = exp_shifted(logits, high, S, buffers.p.data());
      loss += linear_loss(place, total, logits, buffers);
    }
    return loss;
  }

  static bool in_range(T y, T m) { return y >= linear_floor<T>() && m >= linear_floor<T>(); }

  // A softmax learns the clean end itself, which the reference need not reach.
  static double log_target(const PinnedStep<double>& pinned, bool last, std::size_t s) {
    return last ? pinned.after[s * pinned.stride] : pinned.log_probability(s);
  }

  // Through the powers as they are; falls back where that leaves the range of T.
  double linear_loss(const Place& place, T total, T* logits, Buffers& buffers) const {
    const std::size_t S = shape_.num_categories;
    auto& [p, y, m, t, a, ratio, logarithm] = buffers;
    const bool last = shape_.is_softmax_step(place.steps_left);
    const T* after = chain_.linear_power(place.steps_left - 1);
    const T* whole = chain_.linear_power(place.steps_left) + place.x * S;
    T Z = total;
    if (last) {
      for (std::size_t s = 0; s < S; ++s) y[s] = p[s], m[s] = p[s] / total, t[s] = T(0);
      t[place.clean] = T(1);
    } else {
      const PinnedStep<T> pinned = chain_.pinned(place.steps_left, place.x, place.clean);
      if (pinned.whole < linear_floor<T>()) return exact_loss(place, logits);
      dot_rows(after, p.data(), S, S, y.data());
      Z = T(0);
      for (std::size_t s = 0; s < S; ++s) Z += m[s] = pinned.one[s] * y[s];
      if (!(Z >= linear_floor<T>())) return exact_loss(place, logits);
      const T inverse = T(1) / pinned.whole, share = T(1) / Z;
      for (std::size_t s = 0; s < S; ++s) {
        m[s] *= share;
        t[s] = pinned.probability(s, inverse);
      }
    }
    const bool kl = kind_ == MatchingLoss::kKl;
    T sum = T(0);
    for (std::size_t s = 0; s < S; ++s) {
      const T slope = matching_slope(kind_, t[s], m[s]);
      const bool matters = (kl ? t[s] : m[s]) > negligible<T>();
      if (matters && !in_range(y[s], m[s])) return exact_loss(place, logits);
      a[s] = matters ? slope / y[s] : T(0);
      ratio[s] = kl && matters ? t[s] / m[s] : T(1);
      sum += slope;
    }
    if (kl) log_each(ratio.data(), S, logarithm.data());
    double loss = 0.0;
    for (std::size_t s = 0; s < S; ++s) {
      loss += matching_term<double>(kind_, t[s], m[s], logarithm[s]);
    }
    T* pulled = logarithm.data();
    if (last) {
      std::copy_n(a.data(), S, pulled);
    } else {
      mix_rows(a.data(), after, S, S, pulled);
    }
    const T scale = static_cast<T>(scale_), share = sum / Z;
    for (std::size_t c = 0; c < S; ++c) {
      logits[c] = scale * p[c] * (pulled[c] - (last ? T(1) : whole[c]) * share);
    }
    return loss;
  }

  // The same in the log domain.
  double exact_loss(const Place& place, T* logits) const {
    const std::size_t S = shape_.num_categories;
    const bool last = shape_.is_softmax_step(place.steps_left);
    const double* log_after = chain_.log_power(place.steps_left - 1);
    const double* log_whole = chain_.log_power(place.steps_left) + place.x * S;
    const PinnedStep<double> pinned = chain_.log_pinned(place.steps_left, place.x, place.clean);
    const std::vector<double> z(logits, logits + S);
    std::vector<double> log_m(S), log_w(S), pulled(S, 0.0);
    log_transition_row(shape_, chain_, place.steps_left, place.x, z.data(), log_m.data());
    for (std::size_t c = 0; c < S; ++c) log_w[c] = last ? z[c] : z[c] + log_whole[c];
    const double log_z = log_sum(log_w.data(), S);
    double loss = 0.0, sum = 0.0;
    for (std::size_t s = 0; s < S; ++s) {
      const double log_t = log_target(pinned, last, s);
      const double t = std::exp(log_t), m = std::exp(log_m[s]);
      const double a = matching_slope(kind_, t, m);
      loss += matching_term(kind_, t, m, log_t - log_m[s]);
      sum += a;
      if (a == 0.0) continue;
      // log y[s], from m = Q_1 y / Z.
      const double log_y = log_m[s] + log_z - (last ? 0.0 : pinned.one[s]);
      for (std::size_t c = 0; c < S; ++c) {
        pulled[c] += a * std::exp(z[c] + log_after[s * S + c] - log_y);
      }
    }
    for (std::size_t c = 0; c < S; ++c) {
      logits[c] = static_cast<T>(scale_ * (pulled[c] - std::exp(log_w[c] - log_z) * sum));
    }
    return loss;
  }

  void write_outputs(std::size_t b, std::size_t d, const Place& place, const T* logits) const {
    if (outputs_.logits.empty() && outputs_.log_model.empty() && outputs_.target.empty()) return;
    const std::size_t S = shape_.num_categories, offset = (b * shape_.dim + d) * S;
    const std::vector<double> z(logits, logits + S);
    if (!outputs_.logits.empty()) std::copy_n(z.data(), S, outputs_.logits.data() + offset);
    if (!outputs_.log_model.empty()) {
      log_transition_row(shape_, chain_, place.steps_left, place.x, z.data(),
                         outputs_.log_model.data() + offset);
    }
    if (!outputs_.target.empty()) {
      const PinnedStep<double> pinned = chain_.log_pinned(place.steps_left, place.x, place.clean);
      const bool last = shape_.is_softmax_step(place.steps_left);
      for (std::size_t s = 0; s < S; ++s) {
        outputs_.target[offset + s] = std::exp(log_target(pinned, last, s));
      }
    }
  }

  const NetworkTensors<T>& parameters_;
  const NetworkShape& shape_;
  const ChainTables<T>& chain_;
  MatchingLoss kind_;
  StatesView x_, clean_;
  std::span<const std::int32_t> steps_left_;
  NetworkTensors<T>* gradient_;  // null where the losses alone are wanted
  NetworkWorkspace<T>& work_;
  NetworkLossOutputs outputs_;
  std::size_t B_;
  double scale_;
  std::vector<double> losses_;  // by row
  std::vector<T> input_flow_;   // d loss / d the network's input, [B, input_width]
};

}  // namespace

double CpuBackend::network_loss(const Context& context, const NetworkTensors<float>& parameters,
                                const ChainTables<float>& chain, MatchingLoss kind, StatesView x,
                                StatesView clean, std::span<const std::int32_t> steps_left,
                                NetworkTensors<float>& gradient, NetworkWorkspace<float>& workspace,
                                const NetworkLossOutputs& outputs) const {
  const OneBlasThread one_blas_thread;
  return LossPass<float>(parameters, chain, kind, x, clean, steps_left, &gradient, workspace,
                         outputs)
      .run(context);
}

double CpuBackend::network_loss(const Context& context, const NetworkTensors<double>& parameters,
                                const ChainTables<double>& chain, MatchingLoss kind, StatesView x,
                                StatesView clean, std::span<const std::int32_t> steps_left,
                                NetworkTensors<double>& gradient,
                                NetworkWorkspace<double>& workspace,
                                const NetworkLossOutputs& outputs) const {
  const OneBlasThread one_blas_thread;
  return LossPass<double>(parameters, chain, kind, x, clean, steps_left, &gradient, workspace,
                          outputs)
      .run(context);
}

void CpuBackend::network_row_losses(const Context& context, const NetworkTensors<float>& parameters,
                                    const ChainTables<float>& chain, MatchingLoss kind,
                                    StatesView x, StatesView clean,
                                    std::span<const std::int32_t> steps_left,
                                    NetworkWorkspace<float>& workspace,
                                    std::span<double> out) const {
  const OneBlasThread one_blas_thread;
  LossPass<float>(parameters, chain, kind, x, clean, steps_left, nullptr, workspace, {})
      .write_row_losses(context, out);
}

}  // namespace bridgemark::backend::cpu
