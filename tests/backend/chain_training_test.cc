#include "bridgemark/backend/backend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "bridgemark/bridge/chain_bridge.h"
#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/process/chain_tables.h"
#include "tests/support/chain_problem.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using backend::CpTensors;
using testing::chain_problems;
using testing::convert;
using testing::is_near;
using Problem = testing::ChainProblem;

constexpr testing::Tolerance kExact{1e-11, 1e-11};           // float64 against float64
constexpr testing::Tolerance kFiniteDifference{1e-5, 1e-8};  // central, step 1e-5

template <typename T>
double evaluate_loss(const Problem& problem, const CpTensors<double>& parameters,
                     CpTensors<T>& gradient, int threads = 1) {
  const Context context{.num_threads = threads};
  gradient =
      CpTensors<T>(parameters.dim, parameters.num_categories, parameters.num_components, true);
  backend::ChainWorkspace<T> workspace;
  return backend::of(context).chain_loss(
      context, convert<T>(parameters),
      make_chain_tables<T>(context, ReferenceChain(problem.process, 1)), problem.x0, problem.x1,
      gradient, workspace);
}

// From the bridge's own log-domain functions, which enumeration checks elsewhere.
double oracle_loss(const Problem& problem) {
  const CpTensors<double>& from = problem.parameters;
  const std::size_t D = from.dim, S = from.num_categories, K = from.num_components;
  const ChainBridge bridge(
      problem.process,
      ChainPotential(from.log_beta,
                     Array3<double>(D - 1, K, K, {from.log_moves.begin(), from.log_moves.end()}),
                     Array3<double>(D, S, K, {from.log_cores.begin(), from.log_cores.end()})));
  const std::size_t B = problem.x1.rows();
  std::vector<double> log_c(B), log_v(B);
  bridge.log_normalizer({}, problem.x0, log_c);
  bridge.log_potential({}, problem.x1, log_v);
  double sum = 0.0;
  for (std::size_t b = 0; b < B; ++b) sum += log_c[b] - log_v[b];
  return sum / static_cast<double>(B);
}

void check_gradient(const Problem& problem, std::size_t stride) {
  CpTensors<double> gradient, ignored, moved = problem.parameters;
  evaluate_loss(problem, problem.parameters, gradient);
  constexpr double kStep = 1e-5;
  const auto check = [&](const char* name, auto& parameters, const auto& values) {
    for (std::size_t i = 0; i < parameters.size(); i += stride) {
      const double at = parameters[i];
      parameters[i] = at + kStep;
      const double up = evaluate_loss(problem, moved, ignored);
      parameters[i] = at - kStep;
      const double down = evaluate_loss(problem, moved, ignored);
      parameters[i] = at;
      EXPECT_TRUE(is_near(values[i], (up - down) / (2.0 * kStep), kFiniteDifference))
          << name << " " << i;
    }
  };
  check("log_beta", moved.log_beta, gradient.log_beta);
  check("log_moves", moved.log_moves, gradient.log_moves);
  check("log_cores", moved.log_cores, gradient.log_cores);
}

TEST(ChainTraining, LossMatchesTheBridge) {
  for (const Problem& problem : chain_problems()) {
    CpTensors<double> gradient;
    EXPECT_TRUE(is_near(evaluate_loss(problem, problem.parameters, gradient), oracle_loss(problem),
                        kExact));
  }
}

TEST(ChainTraining, GradientsMatchFiniteDifferences) {
  for (const Problem& problem : chain_problems()) {
    check_gradient(problem, problem.parameters.num_components > 30 ? 37 : 1);
  }
}

// Differences of a loss of hundreds are good to 1e-8 or so; posteriors must add up besides.
TEST(ChainTraining, ExtremeParametersStayExact) {
  for (const double spread : {60.0, 250.0}) {
    SCOPED_TRACE(spread);
    const Problem problem = testing::extreme_chain_problem(spread);
    CpTensors<double> gradient;
    EXPECT_TRUE(is_near(evaluate_loss(problem, problem.parameters, gradient), oracle_loss(problem),
                        kExact));
    check_gradient(problem, 1);
  }
}

TEST(ChainTraining, ThreadsDoNotChangeTheResult) {
  for (const Problem& problem : chain_problems()) {
    CpTensors<float> one, three;
    EXPECT_EQ(evaluate_loss(problem, problem.parameters, one, 1),
              evaluate_loss(problem, problem.parameters, three, 3));
    EXPECT_EQ(one.log_beta, three.log_beta);
    EXPECT_EQ(one.log_moves, three.log_moves);
    EXPECT_EQ(one.log_cores, three.log_cores);
  }
}

}  // namespace
}  // namespace bridgemark
