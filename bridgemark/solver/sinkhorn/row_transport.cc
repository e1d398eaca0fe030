#include "bridgemark/solver/sinkhorn/row_transport.h"

#include <fmt/format.h>

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark {

namespace {

using Vector = std::vector<double>;

double mean_of(const Vector& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Anderson's combination of the last steps h -> T(h): that of the smallest residual T(h) - h.
class StepHistory {
 public:
  void clear() { steps_.clear(); }

  void add(const Vector& h, const Vector& next) {
    if (steps_.size() == kKept) steps_.pop_front();
    Step step{next, next};
    for (std::size_t j = 0; j < h.size(); ++j) step.residual[j] -= h[j];
    steps_.push_back(std::move(step));
  }

  // The last step itself while there is no other.
  Vector combined() const {
    const Step& last = steps_.back();
    if (steps_.size() < 2) return last.next;
    const auto n = static_cast<Eigen::Index>(last.next.size());
    const auto columns = static_cast<Eigen::Index>(steps_.size()) - 1;
    Eigen::MatrixXd differences(n, columns);
    const auto of = [&](const Vector& v) { return Eigen::Map<const Eigen::VectorXd>(v.data(), n); };
    for (Eigen::Index c = 0; c < columns; ++c) {
      const auto i = static_cast<std::size_t>(c);
      differences.col(c) = of(steps_[i + 1].residual) - of(steps_[i].residual);
    }
    Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(differences);
    qr.setThreshold(1e-8);
    const Eigen::VectorXd weights = qr.solve(of(last.residual));
    Vector result = last.next;
    Eigen::Map<Eigen::VectorXd> out(result.data(), n);
    for (Eigen::Index c = 0; c < columns; ++c) {
      const auto i = static_cast<std::size_t>(c);
      out -= weights[c] * (of(steps_[i + 1].next) - of(steps_[i].next));
    }
    return out.allFinite() ? result : last.next;
  }

 private:
  static constexpr std::size_t kKept = 10;
  struct Step {
    Vector next;      // T(h)
    Vector residual;  // T(h) - h
  };
  std::deque<Step> steps_;
};

// Sums by the kernel, refused where one has no term.
class Sums {
 public:
  Sums(const Context& context, const backend::RowKernel& kernel)
      : context_(context), kernel_(kernel) {}

  // f that makes the marginal of x0 right.
  void make_f(const Vector& h, Vector& f) const {
    kernel_.log_sums_over_x1(context_, h, f);
    finish("x0", f);
  }
  void make_h(const Vector& f, Vector& h) const {
    kernel_.log_sums_over_x0(context_, f, h);
    finish("x1", h);
  }

 private:
  static void finish(const char* end, Vector& sums) {
    const double log_weight = -std::log(static_cast<double>(sums.size()));
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (sums[i] == kLogZero) {
        throw_invalid("transport",
                      "{} must hold rows that the reference connects with the other end, got row "
                      "{}, which it does not",
                      end, i);
      }
      sums[i] = log_weight - sums[i];
    }
  }

  const Context& context_;
  const backend::RowKernel& kernel_;
};

// The dual objective of h with the best f, but for a constant.
double dual_objective(const Vector& f, const Vector& h) { return mean_of(f) + mean_of(h); }

// Total variation between the plan's marginal of x1 and equal weights: h is what the plan has,
// `right` what would make the marginal right, so that row j has exp(h - right) times its weight.
double marginal_error(const Vector& h, const Vector& right) {
  double sum = 0.0;
  for (std::size_t j = 0; j < h.size(); ++j) sum += std::abs(std::expm1(h[j] - right[j]));
  return 0.5 * sum / static_cast<double>(h.size());
}

// The error falls by about the same factor each time, so its logarithm says how far it is.
void report(const Context& context, const RowTransport& plan, const TransportSettings& settings) {
  const double share = std::log(plan.error) / std::log(settings.tolerance);
  const double percent = 100.0 * std::clamp(share, 0.0, 1.0);
  context.report("convergence", static_cast<std::uint64_t>(percent), 100,
                 fmt::format("iteration {}, marginal error {:.1e}", plan.iterations, plan.error));
}

}  // namespace

RowTransport solve_row_transport(const Context& context, const backend::RowKernel& kernel,
                                 std::size_t n0, std::size_t n1, const TransportSettings& settings,
                                 std::span<const double> start) {
  constexpr double kRounding = 1e-13;  // of the objective, relative
  const Sums sums(context, kernel);
  RowTransport plan;
  plan.f.assign(n0, 0.0);
  plan.h.assign(start.begin(), start.end());
  plan.h.resize(n1, 0.0);
  StepHistory history;
  Vector next(n1), candidate, candidate_f(n0);
  sums.make_f(plan.h, plan.f);
  double objective = dual_objective(plan.f, plan.h), least_error = 1.0;
  while (true) {
    context.throw_if_interrupted();
    sums.make_h(plan.f, next);
    plan.error = marginal_error(plan.h, next);
    ++plan.iterations;
    report(context, plan, settings);
    plan.converged = plan.error <= settings.tolerance;
    if (plan.converged || plan.iterations >= settings.max_iterations) return plan;

    // A combination that led away near the end, where the objective is too flat to tell.
    if (plan.error > 10.0 * least_error) history.clear();
    least_error = std::min(least_error, plan.error);
    history.add(plan.h, next);
    // Sinkhorn's step gains at least the relative entropy of the marginals.
    const double gain = mean_of(next) - mean_of(plan.h);
    candidate = history.combined();
    sums.make_f(candidate, candidate_f);
    double reached = dual_objective(candidate_f, candidate);
    if (!(reached >= objective + 0.5 * gain - kRounding * (1.0 + std::abs(objective)))) {
      ++plan.iterations;
      history.clear();
      history.add(plan.h, next);
      candidate = next;
      sums.make_f(candidate, candidate_f);
      reached = dual_objective(candidate_f, candidate);
    }
    objective = reached;
    plan.h.swap(candidate);
    plan.f.swap(candidate_f);
  }
}

}  // namespace bridgemark
