#include "bridgemark/backend/cp_training.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/process/chain_tables.h"
#include "bridgemark/process/pinned_reference.h"
#include "tests/support/random_bridge.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using backend::CpTensors;
using backend::CpWorkspace;
using backend::MatchingLoss;
using testing::is_near;
using testing::unit;

constexpr testing::Tolerance kExact{1e-11, 1e-11};           // float64 against float64
constexpr testing::Tolerance kFiniteDifference{1e-5, 1e-8};  // central, step 1e-5
constexpr double kFloatError = 1e-4;                         // of the largest entry

// A batch and parameters on a small chain; components straddle the block of 128.
struct Problem {
  ReferenceChain chain;
  CpTensors<double> parameters;
  States x0, x1, x_n;
  std::vector<std::int32_t> n;
};

Problem make_problem(const ReferenceChain& chain, std::size_t D, std::size_t K, std::size_t B,
                     double spread, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  const auto S = static_cast<std::size_t>(chain.num_categories());
  Problem problem{chain, CpTensors<double>(D, S, K), States(B, D), States(B, D), States(B, D), {}};
  const auto draw = [&] { return spread * (2.0 * unit(generator) - 1.0); };
  for (double& value : problem.parameters.log_beta) value = draw();
  for (double& value : problem.parameters.log_cores) value = draw();
  for (States* states : {&problem.x0, &problem.x1, &problem.x_n}) {
    for (std::size_t i = 0; i < states->size(); ++i) {
      states->data()[i] = static_cast<std::int32_t>(unit(generator) * static_cast<double>(S));
    }
  }
  for (std::size_t b = 0; b < B; ++b) {
    problem.n.push_back(static_cast<std::int32_t>(unit(generator) * chain.num_steps()));
  }
  return problem;
}

std::vector<Problem> problems() {
  std::vector<Problem> list;
  list.push_back(make_problem({ReferenceProcess::gaussian(7, 0.4, 8), 4}, 3, 5, 6, 2.0, 1));
  list.push_back(make_problem({ReferenceProcess::uniform(5, 0.1, 8), 8}, 2, 131, 9, 1.0, 2));
  list.push_back(
      make_problem({ReferenceProcess::from_matrix(testing::random_stochastic(4, 0.5, 3), 6), 3}, 4,
                   3, 5, 3.0, 3));
  list.push_back(make_problem({ReferenceProcess::uniform(2, 0.9, 1), 1}, 1, 1, 1, 1.0, 4));
  return list;
}

template <typename T>
CpTensors<T> convert(const CpTensors<double>& from) {
  CpTensors<T> to(from.dim, from.num_categories, from.num_components);
  std::copy(from.log_beta.begin(), from.log_beta.end(), to.log_beta.begin());
  std::copy(from.log_cores.begin(), from.log_cores.end(), to.log_cores.begin());
  return to;
}

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
    return backend::static_loss<T>(context, converted, tables, problem.x0, problem.x1, gradient,
                                   workspace);
  }
  const auto tables = make_chain_tables<T>(context, problem.chain);
  return backend::matching_loss<T>(context, converted, tables,
                                   loss == Loss::kKl ? MatchingLoss::kKl : MatchingLoss::kMse,
                                   problem.x_n, problem.x1, problem.n, gradient, workspace);
}

// The losses from the bridge's own log-domain functions, which enumeration checks elsewhere.
double oracle_loss(Loss loss, const Problem& problem, const CpTensors<double>& parameters) {
  const Context context{.num_threads = 1};
  const CpBridge bridge(
      problem.chain.process(),
      CpPotential(parameters.log_beta,
                  Array3<double>(parameters.dim, parameters.num_categories,
                                 parameters.num_components, parameters.log_cores)));
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
    for (std::size_t d = 0; d < D; ++d) {
      pinned.log_probabilities(problem.x_n(b, d), problem.x1(b, d), log_target.data());
      for (std::size_t s = 0; s < S; ++s) {
        const double target = std::exp(log_target[s]), model = std::exp(log_model(0, d, s));
        if (loss == Loss::kMse) {
          sum += (target - model) * (target - model);
        } else if (target > 0.0) {
          sum += target * (log_target[s] - log_model(0, d, s));
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

// Cores at -80 and +80, and columns with all their weight on one category far from the data, over a
// narrow Gaussian reference: products leave the range of float32, and of float64 for the narrowest.
TEST(CpTraining, ExtremeParametersStayExact) {
  for (const double gamma : {0.08, 0.02}) {
    Problem problem =
        make_problem({ReferenceProcess::gaussian(30, gamma, 16), 8}, 3, 6, 8, 1.0, 11);
    std::mt19937_64 generator(12);
    const std::size_t S = 30, K = 6;
    for (std::size_t d = 0; d < 3; ++d) {
      for (std::size_t k = 0; k < K; ++k) {
        for (std::size_t s = 0; s < S; ++s) {
          double& value = problem.parameters.log_cores[(d * S + s) * K + k];
          if (k % 3 == 0) value = unit(generator) < 0.5 ? -80.0 : 80.0;
          if (k % 3 == 1) value = s == S - 1 ? 0.0 : -80.0;
        }
      }
    }
    for (std::size_t i = 0; i < problem.x0.size(); ++i) problem.x0.data()[i] %= 3;
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

TEST(AdamW, MatchesTheTextbook) {
  const std::size_t count = 37;
  std::vector<float> parameters(count), gradient(count), first(count), second(count);
  std::vector<double> p(count), m(count, 0.0), v(count, 0.0);
  for (std::size_t i = 0; i < count; ++i) {
    p[i] = parameters[i] = static_cast<float>(std::sin(static_cast<double>(i)));
  }
  backend::AdamWSettings settings;
  settings.weight_decay = 0.1;
  for (int step = 1; step <= 5; ++step) {
    for (std::size_t i = 0; i < count; ++i) {
      gradient[i] = static_cast<float>(std::cos(static_cast<double>(i * 3 + step)));
      const auto g = static_cast<double>(gradient[i]);
      m[i] = 0.95 * m[i] + 0.05 * g;
      v[i] = 0.99 * v[i] + 0.01 * g * g;
      const double m_hat = m[i] / (1.0 - std::pow(0.95, step));
      const double v_hat = v[i] / (1.0 - std::pow(0.99, step));
      p[i] -= 1e-2 * 0.1 * p[i];
      p[i] -= 1e-2 * m_hat / (std::sqrt(v_hat) + 1e-8);
    }
    backend::adamw_update(Context{.num_threads = 2}, settings, step, gradient, parameters, first,
                          second);
  }
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_NEAR(static_cast<double>(parameters[i]), p[i], 2e-6) << i;
  }
}

}  // namespace
}  // namespace bridgemark
