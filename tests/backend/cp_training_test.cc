#include "bridgemark/backend/backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/process/chain_tables.h"
#include "bridgemark/process/pinned_reference.h"
#include "tests/support/cp_problem.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using backend::CpTensors;
using backend::CpWorkspace;
using backend::MatchingLoss;
using testing::convert;
using testing::is_near;
using testing::problems;
using Problem = testing::CpProblem;

constexpr testing::Tolerance kExact{1e-11, 1e-11};           // float64 against float64
constexpr testing::Tolerance kFiniteDifference{1e-5, 1e-8};  // central, step 1e-5
constexpr double kFloatError = 1e-4;                         // of the largest entry

enum class Loss { kStatic, kKl, kMse };
constexpr Loss kLosses[] = {Loss::kStatic, Loss::kKl, Loss::kMse};

template <typename T>
double evaluate_loss(Loss loss, const Problem& problem, const CpTensors<double>& parameters,
                     CpTensors<T>& gradient, int threads = 1) {
  const Context context{.num_threads = threads};
  const CpTensors<T> converted = convert<T>(parameters);
  gradient = CpTensors<T>(parameters.dim, parameters.num_categories, parameters.num_components);
  CpWorkspace<T> workspace;
  if (loss == Loss::kStatic) {
    const auto tables = make_chain_tables<T>(context, ReferenceChain(problem.chain.process(), 1));
    return backend::of(context).static_loss(context, converted, tables, problem.x0, problem.x1,
                                            gradient, workspace);
  }
  const auto tables = make_chain_tables<T>(context, problem.chain, problem.steps);
  return backend::of(context).matching_loss(
      context, converted, tables, loss == Loss::kKl ? MatchingLoss::kKl : MatchingLoss::kMse,
      problem.x_n, problem.x1, problem.n, gradient, workspace);
}

// The losses from the bridge's own log-domain functions, which enumeration checks elsewhere.
double oracle_loss(Loss loss, const Problem& problem, const CpTensors<double>& parameters) {
  const Context context{.num_threads = 1};
  const CpBridge bridge(
      problem.chain.process(),
      CpPotential(
          parameters.log_beta,
          Array3<double>(parameters.dim, parameters.num_categories, parameters.num_components,
                         {parameters.log_cores.begin(), parameters.log_cores.end()})));
  const std::size_t B = problem.x1.rows(), D = parameters.dim, S = parameters.num_categories;
  double sum = 0.0;
  if (loss == Loss::kStatic) {
    std::vector<double> log_c(B), log_v(B);
    bridge.log_normalizer(context, problem.x0, log_c);
    bridge.potential().log_value(context, problem.x1, log_v);
    for (std::size_t b = 0; b < B; ++b) sum += log_c[b] - log_v[b];
    return sum / static_cast<double>(B);
  }
  for (std::size_t b = 0; b < B; ++b) {
    Array3<double> log_model;
    const int steps = problem.chain.num_steps(), n = problem.n[b];
    bridge.log_transition_marginals(context, steps, n, problem.x_n.view().slice(b, 1), log_model);
    const PinnedReference pinned = PinnedReference::step(context, problem.chain, n);
    std::vector<double> log_target(S);
    const double weight = problem.steps.weights.empty() ? 1.0 : problem.steps.weights[n];
    for (std::size_t d = 0; d < D; ++d) {
      pinned.log_probabilities(problem.x_n(b, d), problem.x1(b, d), log_target.data());
      for (std::size_t s = 0; s < S; ++s) {
        const double target = std::exp(log_target[s]), model = std::exp(log_model(0, d, s));
        if (loss == Loss::kMse) {
          sum += weight * (target - model) * (target - model);
        } else if (target > 0.0) {
          sum += weight * target * (log_target[s] - log_model(0, d, s));
        }
      }
    }
  }
  return sum / static_cast<double>(B);
}

// Every k-th parameter by central differences of the float64 loss.
void check_gradient(Loss loss, const Problem& problem, std::size_t stride) {
  CpTensors<double> gradient, ignored, moved = problem.parameters;
  evaluate_loss(loss, problem, problem.parameters, gradient);
  constexpr double kStep = 1e-5;
  const auto difference = [&](double& parameter) {
    const double at = parameter;
    parameter = at + kStep;
    const double up = evaluate_loss(loss, problem, moved, ignored);
    parameter = at - kStep;
    const double down = evaluate_loss(loss, problem, moved, ignored);
    parameter = at;
    return (up - down) / (2.0 * kStep);
  };
  for (std::size_t i = 0; i < moved.log_beta.size(); i += stride) {
    EXPECT_TRUE(is_near(gradient.log_beta[i], difference(moved.log_beta[i]), kFiniteDifference))
        << "log_beta " << i;
  }
  for (std::size_t i = 0; i < moved.log_cores.size(); i += stride) {
    EXPECT_TRUE(is_near(gradient.log_cores[i], difference(moved.log_cores[i]), kFiniteDifference))
        << "log_cores " << i;
  }
}

// float32 against float64, relative to the largest entry.
void check_float(Loss loss, const Problem& problem) {
  CpTensors<double> exact;
  CpTensors<float> single;
  const double loss_exact = evaluate_loss(loss, problem, problem.parameters, exact);
  const double loss_single = evaluate_loss(loss, problem, problem.parameters, single);
  EXPECT_LE(std::abs(loss_single - loss_exact), kFloatError * std::max(1.0, std::abs(loss_exact)));
  double largest = 0.0, error = 0.0;
  for (std::size_t i = 0; i < exact.log_cores.size(); ++i) {
    largest = std::max(largest, std::abs(exact.log_cores[i]));
    const double difference = static_cast<double>(single.log_cores[i]) - exact.log_cores[i];
    ASSERT_TRUE(std::isfinite(difference)) << "log_cores " << i;
    error = std::max(error, std::abs(difference));
  }
  EXPECT_LE(error, kFloatError * std::max(largest, 1e-3));
}

TEST(CpTraining, LossesMatchTheBridge) {
  for (const Problem& problem : problems()) {
    for (const Loss loss : kLosses) {
      CpTensors<double> gradient;
      EXPECT_TRUE(is_near(evaluate_loss(loss, problem, problem.parameters, gradient),
                          oracle_loss(loss, problem, problem.parameters), kExact))
          << "loss " << static_cast<int>(loss);
    }
  }
}

TEST(CpTraining, GradientsMatchFiniteDifferences) {
  for (const Problem& problem : problems()) {
    for (const Loss loss : kLosses) {
      SCOPED_TRACE(static_cast<int>(loss));
      check_gradient(loss, problem, problem.parameters.num_components > 100 ? 37 : 1);
    }
  }
}

TEST(CpTraining, FloatAgreesWithDouble) {
  for (const Problem& problem : problems()) {
    for (const Loss loss : kLosses) {
      SCOPED_TRACE(static_cast<int>(loss));
      check_float(loss, problem);
    }
  }
}

TEST(CpTraining, SameBitsForAnyNumberOfThreads) {
  for (const Problem& problem : problems()) {
    for (const Loss loss : kLosses) {
      CpTensors<float> one, other;
      const double expected = evaluate_loss(loss, problem, problem.parameters, one, 1);
      for (const int threads : {2, 5}) {
        EXPECT_EQ(evaluate_loss(loss, problem, problem.parameters, other, threads), expected);
        EXPECT_EQ(other.log_beta, one.log_beta);
        EXPECT_EQ(other.log_cores, one.log_cores);
      }
    }
  }
}

TEST(CpTraining, ExtremeParametersStayExact) {
  for (const double gamma : {0.08, 0.02}) {
    const Problem problem = testing::extreme_problem(gamma);
    for (const Loss loss : kLosses) {
      SCOPED_TRACE(static_cast<int>(loss));
      CpTensors<double> gradient;
      EXPECT_TRUE(is_near(evaluate_loss(loss, problem, problem.parameters, gradient),
                          oracle_loss(loss, problem, problem.parameters), {1e-10, 1e-9}));
      check_gradient(loss, problem, 7);
      check_float(loss, problem);
    }
  }
}

// From products that leave the range of float32 to such that do not.
TEST(CpTraining, ModelsFarFromTheirTargets) {
  for (double gamma = 0.06; gamma < 0.2; gamma += 0.005) {
    SCOPED_TRACE(gamma);
    const Problem problem = testing::distant_problem(gamma);
    for (const Loss loss : {Loss::kKl, Loss::kMse}) {
      SCOPED_TRACE(static_cast<int>(loss));
      CpTensors<double> gradient;
      EXPECT_TRUE(is_near(evaluate_loss(loss, problem, problem.parameters, gradient),
                          oracle_loss(loss, problem, problem.parameters), {1e-10, 1e-9}));
      check_float(loss, problem);
    }
  }
}

// The loss and the gradient with every category: those who ask for the model's transitions get it.
template <typename T>
double whole_loss(MatchingLoss kind, const Problem& problem, CpTensors<T>& gradient) {
  const Context context{.num_threads = 1};
  const CpTensors<T> parameters = convert<T>(problem.parameters);
  gradient = CpTensors<T>(parameters.dim, parameters.num_categories, parameters.num_components);
  CpWorkspace<T> workspace;
  std::vector<double> log_model(problem.x1.size() * parameters.num_categories);
  return backend::of(context).matching_loss(
      context, parameters, make_chain_tables<T>(context, problem.chain, problem.steps), kind,
      problem.x_n, problem.x1, problem.n, gradient, workspace, log_model);
}

// The largest difference of two gradients, relative to the largest entry.
template <typename T>
double gradient_error(const CpTensors<T>& one, const CpTensors<T>& other) {
  double largest = 0.0, error = 0.0;
  const auto look = [&](const auto& a, const auto& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(b[i])));
      error = std::max(error, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    }
  };
  look(one.log_beta, other.log_beta);
  look(one.log_cores, other.log_cores);
  return error / largest;
}

// What training leaves out where the reference moves little is below the rounding: with rows that
// the pinned reference visits and with any rows, and with cores so flat that the bands are narrow,
// so steep that there are none, and of all kinds at once.
TEST(CpTraining, NegligibleCategoriesAreNegligible) {
  for (const double gamma : {0.02, 0.05}) {
    for (const bool visited : {true, false}) {
      for (const double spread : {1.0, 2.5, 5.0, 12.0, 60.0, 0.0}) {
        SCOPED_TRACE(::testing::Message() << gamma << " " << visited << " " << spread);
        Problem problem = testing::make_problem({ReferenceProcess::gaussian(50, gamma, 128), 64}, 3,
                                                150, 40, spread == 0.0 ? 1.0 : spread, 17);
        problem.steps = {};   // rounding is judged where all rows count alike
        if (spread == 0.0) {  // the steeper, the later the component
          for (std::size_t i = 0; i < problem.parameters.log_cores.size(); ++i) {
            problem.parameters.log_cores[i] *= 1.0 + static_cast<double>(i % 150) / 5.0;
          }
        }
        if (visited) testing::visit(problem);
        for (const MatchingLoss kind : {MatchingLoss::kKl, MatchingLoss::kMse}) {
          const Loss loss = kind == MatchingLoss::kKl ? Loss::kKl : Loss::kMse;
          CpTensors<double> exact, banded;
          const double expected = whole_loss(kind, problem, exact);
          EXPECT_TRUE(is_near(evaluate_loss(loss, problem, problem.parameters, banded), expected,
                              {1e-13, 1e-13}));
          EXPECT_LE(gradient_error(banded, exact), 2e-14);
          CpTensors<float> exact_single, banded_single;
          const double expected_single = whole_loss(kind, problem, exact_single);
          EXPECT_TRUE(is_near(evaluate_loss(loss, problem, problem.parameters, banded_single),
                              expected_single, {2e-6, 2e-6}));
          EXPECT_LE(gradient_error(banded_single, exact_single), 4e-6);
          EXPECT_LE(gradient_error(convert<double>(banded_single), exact), kFloatError);
        }
      }
    }
  }
}

}  // namespace
}  // namespace bridgemark
