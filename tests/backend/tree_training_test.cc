#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/bridge/tree_bridge.h"
#include "bridgemark/process/chain_tables.h"
#include "tests/support/cp_problem.h"
#include "tests/support/float_gradient.h"
#include "tests/support/random_bridge.h"
#include "tests/support/random_tree.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using backend::CpTensors;
using testing::convert;
using testing::is_near;

constexpr testing::Tolerance kExact{1e-11, 1e-11};           // float64 against float64
constexpr testing::Tolerance kFiniteDifference{1e-5, 1e-8};  // central, step 1e-5

struct TreeProblem {
  ReferenceProcess process;
  TreePotential potential;
  CpTensors<double> parameters;
  States x0, x1;
};

TreeProblem make_tree_problem(const ReferenceProcess& process, const TreeShape& shape,
                              std::size_t K, std::size_t B, double spread, std::uint64_t seed) {
  const auto S = static_cast<std::size_t>(process.num_categories());
  const std::size_t D = shape.dim();
  TreePotential potential = testing::random_tree(shape, S, K, spread, seed);
  CpTensors<double> parameters(D, S, K, true, std::make_shared<const TreeShape>(shape));
  std::copy_n(potential.log_root().data(), K, parameters.log_beta.begin());
  std::copy_n(potential.log_moves().data(), potential.log_moves().size(),
              parameters.log_moves.begin());
  std::copy_n(potential.log_cores().data(), D * S * K, parameters.log_cores.begin());
  std::mt19937_64 generator(seed);
  States x0(B, D), x1(B, D);
  for (States* states : {&x0, &x1}) {
    for (std::size_t i = 0; i < states->size(); ++i) {
      states->data()[i] = static_cast<std::int32_t>(generator() % S);
    }
  }
  return {process, std::move(potential), std::move(parameters), std::move(x0), std::move(x1)};
}

// One node, several coordinates a node, nodes without any, more rows than a block.
std::vector<TreeProblem> tree_problems() {
  std::vector<TreeProblem> list;
  list.push_back(
      make_tree_problem(ReferenceProcess::gaussian(7, 0.4, 8), TreeShape::binary(3), 4, 6, 2.0, 1));
  list.push_back(make_tree_problem(ReferenceProcess::uniform(3, 0.1, 8), TreeShape::quadtree(2), 19,
                                   70, 1.0, 2));
  list.push_back(make_tree_problem(ReferenceProcess::uniform(4, 0.3, 2),
                                   {{-1, 0, 0, 1, 1}, {4, 0, 4, 2}}, 3, 5, 3.0, 3));
  list.push_back(
      make_tree_problem(ReferenceProcess::uniform(3, 0.3, 2), {{-1}, {0, 0, 0}}, 4, 3, 1.0, 4));
  list.push_back(
      make_tree_problem(ReferenceProcess::uniform(2, 0.9, 1), TreeShape::binary(2), 1, 1, 1.0, 5));
  return list;
}

template <typename T>
double evaluate_tree(const TreeProblem& problem, const CpTensors<double>& parameters,
                     CpTensors<T>& gradient, int threads = 1) {
  const Context context{.num_threads = threads};
  gradient = CpTensors<T>(parameters.dim, parameters.num_categories, parameters.num_components,
                          true, parameters.tree);
  backend::TreeWorkspace<T> workspace;
  return backend::of(context).tree_loss(
      context, convert<T>(parameters),
      make_chain_tables<T>(context, ReferenceChain(problem.process, 1)), problem.x0, problem.x1,
      gradient, workspace);
}

// From the bridge's own log-domain functions, which enumeration checks elsewhere.
double tree_oracle_loss(const TreeProblem& problem) {
  const TreeBridge bridge(problem.process, problem.potential);
  const std::size_t B = problem.x1.rows();
  std::vector<double> log_c(B), log_v(B);
  bridge.log_normalizer({}, problem.x0, log_c);
  bridge.log_potential({}, problem.x1, log_v);
  double sum = 0.0;
  for (std::size_t b = 0; b < B; ++b) sum += log_c[b] - log_v[b];
  return sum / static_cast<double>(B);
}

void check_tree_gradient(const TreeProblem& problem, std::size_t stride) {
  CpTensors<double> gradient, ignored, moved = problem.parameters;
  evaluate_tree(problem, problem.parameters, gradient);
  constexpr double kStep = 1e-5;
  const auto check = [&](const char* name, auto& parameters, const auto& values) {
    for (std::size_t i = 0; i < parameters.size(); i += stride) {
      const double at = parameters[i];
      parameters[i] = at + kStep;
      const double up = evaluate_tree(problem, moved, ignored);
      parameters[i] = at - kStep;
      const double down = evaluate_tree(problem, moved, ignored);
      parameters[i] = at;
      EXPECT_TRUE(is_near(values[i], (up - down) / (2.0 * kStep), kFiniteDifference))
          << name << " " << i;
    }
  };
  check("log_beta", moved.log_beta, gradient.log_beta);
  check("log_moves", moved.log_moves, gradient.log_moves);
  check("log_cores", moved.log_cores, gradient.log_cores);
}

TEST(TreeTraining, LossMatchesTheBridge) {
  for (const TreeProblem& problem : tree_problems()) {
    CpTensors<double> gradient;
    EXPECT_TRUE(is_near(evaluate_tree(problem, problem.parameters, gradient),
                        tree_oracle_loss(problem), kExact));
  }
}

TEST(TreeTraining, GradientsMatchFiniteDifferences) {
  for (const TreeProblem& problem : tree_problems()) {
    check_tree_gradient(problem, problem.parameters.num_components > 10 ? 37 : 1);
  }
}

// Weights that leave the range of float32, and with the largest spread of float64: the exact way
// of messages and of moves.
TEST(TreeTraining, ExtremeParametersStayExact) {
  for (const double spread : {60.0, 250.0}) {
    SCOPED_TRACE(spread);
    const TreeProblem problem = make_tree_problem(ReferenceProcess::gaussian(6, 0.1, 16),
                                                  TreeShape::quadtree(3), 4, 12, spread, 7);
    CpTensors<double> gradient;
    EXPECT_TRUE(is_near(evaluate_tree(problem, problem.parameters, gradient),
                        tree_oracle_loss(problem), kExact));
    check_tree_gradient(problem, 3);
  }
}

TEST(TreeTraining, GradientsInFloat32AreThoseInFloat64) {
  std::vector<TreeProblem> problems = tree_problems();
  problems.push_back(make_tree_problem(ReferenceProcess::gaussian(20, 0.1), TreeShape::quadtree(4),
                                       32, 64, 2.0, 8));
  problems.push_back(
      make_tree_problem(ReferenceProcess::uniform(5, 0.01), TreeShape::binary(9), 5, 40, 60.0, 9));
  for (TreeProblem& problem : problems) {
    // What float32 holds, so that only the sums are judged.
    problem.parameters = convert<double>(convert<float>(problem.parameters));
    CpTensors<double> exact;
    CpTensors<float> gradient;
    const double expected = evaluate_tree(problem, problem.parameters, exact);
    EXPECT_NEAR(evaluate_tree(problem, problem.parameters, gradient), expected,
                testing::kFloatError * std::max(1.0, std::abs(expected)));
    testing::expect_close(gradient.log_beta, exact.log_beta);
    testing::expect_close(gradient.log_moves, exact.log_moves);
    testing::expect_close(gradient.log_cores, exact.log_cores);
  }
}

TEST(TreeTraining, ThreadsDoNotChangeTheResult) {
  for (const TreeProblem& problem : tree_problems()) {
    CpTensors<float> one, three;
    EXPECT_EQ(evaluate_tree(problem, problem.parameters, one, 1),
              evaluate_tree(problem, problem.parameters, three, 3));
    EXPECT_EQ(one.log_beta, three.log_beta);
    EXPECT_EQ(one.log_moves, three.log_moves);
    EXPECT_EQ(one.log_cores, three.log_cores);
  }
}

}  // namespace
}  // namespace bridgemark
