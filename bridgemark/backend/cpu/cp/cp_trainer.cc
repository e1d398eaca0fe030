#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "bridgemark/backend/cpu/cpu_backend.h"
#include "bridgemark/backend/cpu/finite_values.h"
#include "bridgemark/backend/ranks/rank_sums.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark::backend::cpu {

namespace {

class CpuCpTrainer : public CpTrainer {
 public:
  CpuCpTrainer(const Backend& cpu, const Context& context, CpTrainerPlan plan)
      : cpu_(cpu),
        context_(context),
        plan_(std::move(plan)),
        gradient_(plan_.start.dim, plan_.start.num_categories, plan_.start.num_components,
                  plan_.start.is_chain, plan_.start.tree),
        state_{std::move(plan_.start), gradient_, gradient_,
               plan_.keeps_average ? gradient_ : CpTensors<float>()} {}

  void run(std::int64_t first_step, std::span<const CpUpdate> updates,
           std::span<double> losses) override {
    for (std::size_t i = 0; i < updates.size(); ++i) {
      losses[i] = train(first_step + static_cast<std::int64_t>(i), updates[i]);
    }
  }

  std::int64_t updates_at_once() const override { return 1; }

  double evaluate(StatesView x, StatesView x1, std::span<const std::int32_t> n,
                  CpTensors<float>& gradient) override {
    const double loss = loss_and_gradient(x, x1, n);
    gradient = gradient_;
    return loss;
  }

  bool has_finite_parameters() const override {
    const CpTensors<float>& parameters = state_.parameters;
    return all_finite(parameters.log_beta) && all_finite(parameters.log_cores) &&
           all_finite(parameters.log_moves);
  }
  const CpTrainingState& state() const override { return state_; }
  void set_state(CpTrainingState state) override { state_ = std::move(state); }

 private:
  double train(std::int64_t step, const CpUpdate& update) {
    const std::size_t rows = plan_.batch_size, D = state_.parameters.dim;
    const std::uint64_t first = static_cast<std::uint64_t>(step - 1) * rows;
    States x(rows, D), x1(rows, D);
    cpu_.draw_rows(context_, plan_.x0, first, x);
    cpu_.draw_rows(context_, plan_.x1, first, x1);
    std::vector<std::int32_t> n;
    if (plan_.matching) {
      if (plan_.coupling.log_q.size() > 0) cpu_.couple_rows(context_, plan_.coupling, x, first, x1);
      n = draw_steps(plan_.pinned, rows, first);
      States x_n(rows, D);
      cpu_.draw_points(context_, plan_.pinned, x, x1, n, first, x_n);
      x = std::move(x_n);
    }
    double loss = loss_and_gradient(x, x1, n);
    if (plan_.entropy > 0.0) loss += add_entropy();
    AdamWSettings settings = plan_.adamw;
    settings.learning_rate = update.learning_rate;
    const auto apply = [&](auto CpTensors<float>::*part) {
      cpu_.adamw_update(context_, settings, step, gradient_.*part, state_.parameters.*part,
                        state_.first_moment.*part, state_.second_moment.*part);
      if (update.average_share > 0.0) {
        cpu_.average_update(context_, update.average_share, state_.parameters.*part,
                            state_.average.*part);
      }
    };
    apply(&CpTensors<float>::log_beta);
    apply(&CpTensors<float>::log_cores);
    apply(&CpTensors<float>::log_moves);
    return loss;
  }

  double loss_and_gradient(StatesView x, StatesView x1, std::span<const std::int32_t> n) {
    if (plan_.matching) {
      return cpu_.matching_loss(context_, state_.parameters, plan_.chain, *plan_.matching, x, x1, n,
                                gradient_, workspace_.cores);
    }
    if (state_.parameters.tree) {
      return cpu_.tree_loss(context_, state_.parameters, plan_.chain, x, x1, gradient_,
                            tree_workspace_);
    }
    return state_.parameters.is_chain ? cpu_.chain_loss(context_, state_.parameters, plan_.chain, x,
                                                        x1, gradient_, workspace_)
                                      : cpu_.static_loss(context_, state_.parameters, plan_.chain,
                                                         x, x1, gradient_, workspace_.cores);
  }

  // Adds -entropy * H(softmax(log_beta)) to the loss, over the components of all ranks.
  double add_entropy() {
    const std::vector<float>& log_beta = state_.parameters.log_beta;
    double high = kLogZero;
    for (const float value : log_beta) high = std::max(high, static_cast<double>(value));
    max_over_ranks(context_, {&high, 1});
    const auto sum = [&](auto&& term) {
      ReproducibleSum total;
      for (const float value : log_beta) total.add(term(static_cast<double>(value)));
      sum_over_ranks(context_, {&total, 1});
      return total.value();
    };
    const double log_sum =
        high + std::log(sum([&](double value) { return std::exp(value - high); }));
    const double negative_entropy =
        sum([&](double value) { return std::exp(value - log_sum) * (value - log_sum); });
    for (std::size_t k = 0; k < log_beta.size(); ++k) {
      const double log_p = static_cast<double>(log_beta[k]) - log_sum;
      const double pull = std::exp(log_p) * (log_p - negative_entropy);
      gradient_.log_beta[k] += static_cast<float>(plan_.entropy * pull);
    }
    return plan_.entropy * negative_entropy;
  }

  const Backend& cpu_;
  Context context_;
  CpTrainerPlan plan_;
  CpTensors<float> gradient_;
  CpTrainingState state_;
  ChainWorkspace<float> workspace_;
  TreeWorkspace<float> tree_workspace_;
};

}  // namespace

std::unique_ptr<CpTrainer> CpuBackend::make_trainer(const Context& context,
                                                    CpTrainerPlan plan) const {
  return std::make_unique<CpuCpTrainer>(*this, context, std::move(plan));
}

}  // namespace bridgemark::backend::cpu
