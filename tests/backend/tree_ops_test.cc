#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/backend/placed_array.h"
#include "bridgemark/backend/plan/bridge_step.h"
#include "bridgemark/backend/plan/row_source.h"
#include "bridgemark/math/categorical.h"
#include "bridgemark/math/hidden_tree.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/pair/pair_spec.h"
#include "tests/support/device_test.h"
#include "tests/support/random_bridge.h"
#include "tests/support/random_tree.h"

// Hidden trees on every device: sums against every state of every node, draws against the exact
// scalar mathematics, rows of pairs against those of the CPU.
namespace bridgemark {
namespace {

using testing::random_tree;

constexpr double kTolerance = 1e-10;  // of logarithms: both sides are float64

// A step of any reference whose cores have nothing to do with each other.
struct TreeStep {
  TreePotential before, after;
  backend::BridgeStep step;
  States x, y;
};

TreeStep make_step(const TreeShape& shape, std::size_t S, std::size_t K, double width,
                   std::size_t rows) {
  std::mt19937_64 generator(11);
  Matrix<double> log_q(S, S);
  for (std::size_t i = 0; i < log_q.size(); ++i) log_q.data()[i] = width * testing::unit(generator);
  TreePotential before = random_tree(shape, S, K, width, 5);
  TreePotential after{shape, before.log_root(), before.log_moves(),
                      random_tree(shape, S, K, width, 6).log_cores()};
  const auto states = [&] {
    States out(rows, shape.dim());
    for (std::size_t i = 0; i < out.size(); ++i) {
      out.data()[i] = static_cast<std::int32_t>(generator() % S);
    }
    return out;
  };
  backend::BridgeStep step =
      backend::make_bridge_step({}, before.log_root(), before.log_cores(), log_q, after.log_cores(),
                                before.log_moves(), &shape);
  return {std::move(before), std::move(after), std::move(step), states(), states()};
}

// log weights [states of all nodes] of a row x of a tree.
std::vector<double> weights_of_states(const TreePotential& tree, const States& hidden,
                                      const std::int32_t* x) {
  const auto at = [](std::int32_t i) { return static_cast<std::size_t>(i); };
  std::vector<double> weights(hidden.rows());
  for (std::size_t h = 0; h < hidden.rows(); ++h) {
    weights[h] = tree.log_root()[at(hidden(h, 0))];
    for (std::size_t i = 1; i < hidden.cols(); ++i) {
      const std::int32_t above = hidden(h, at(tree.shape().parent()[i]));
      weights[h] += tree.log_moves()(i - 1, at(above), at(hidden(h, i)));
    }
    for (std::size_t d = 0; d < tree.dim(); ++d) {
      weights[h] += tree.log_cores()(d, at(x[d]), at(hidden(h, at(tree.shape().node_of()[d]))));
    }
  }
  return weights;
}

class TreeOps : public testing::DeviceTest {};
RUN_ON_EVERY_DEVICE(TreeOps);
using CudaTreeOps = testing::CudaTest;

TEST_P(TreeOps, SumsAreOverAllStatesOfAllNodes) {
  constexpr std::size_t S = 5, K = 3, kRows = 20;
  const TreeShape shape({-1, 0, 0, 1, 1}, {4, 0, 4, 2});  // node 3 has no coordinate
  const States hidden = testing::all_states(shape.num_nodes(), K);
  for (const double width : {2.0, 300.0}) {  // the wide one leaves the linear way
    const TreeStep item = make_step(shape, S, K, width, kRows);
    std::vector<double> totals(kRows);
    backend::of(context()).log_tree(context(), shape, item.before.log_root(),
                                    item.before.log_moves(), item.before.log_cores(), item.x,
                                    totals);
    Array3<double> marginals(kRows, shape.dim(), S);
    backend::of(context()).bridge_step_marginals(context(), item.step, item.x,
                                                 marginals.as_matrix());
    for (std::size_t b = 0; b < kRows; ++b) {
      const std::vector<double> weights = weights_of_states(item.before, hidden, item.x.row(b));
      EXPECT_NEAR(totals[b], log_sum(weights.data(), weights.size()), kTolerance);
      for (std::size_t d = 0; d < shape.dim(); ++d) {
        const auto s_from = static_cast<std::size_t>(item.x(b, d));
        const auto node = static_cast<std::size_t>(shape.node_of()[d]);
        std::vector<double> expected(S), terms(hidden.rows());
        for (std::size_t s = 0; s < S; ++s) {
          for (std::size_t h = 0; h < hidden.rows(); ++h) {
            const auto k = static_cast<std::size_t>(hidden(h, node));
            terms[h] = weights[h] - item.before.log_cores()(d, s_from, k) +
                       item.after.log_cores()(d, s, k);
          }
          expected[s] = item.step.q.log(s_from, s) + log_sum(terms.data(), terms.size());
        }
        log_normalize(expected.data(), S);
        for (std::size_t s = 0; s < S; ++s) EXPECT_NEAR(marginals(b, d, s), expected[s], 1e-9);
      }
    }
  }
}

// The linear way, where it is sure, draws the states that the logarithms would.
TEST_P(TreeOps, SamplesAreThoseOfTheMathematics) {
  constexpr std::size_t S = 20, K = 4, kRows = 3000;
  const TreeShape shape = TreeShape::quadtree(4);
  const std::size_t D = shape.dim(), M = shape.num_nodes();
  for (const double width : {2.0, 200.0}) {
    const TreeStep item = make_step(shape, S, K, width, kRows);
    const HiddenTree tree = item.step.tree->view();
    const DrawKey key{9, DrawPurpose::kConditional};
    States drawn(kRows, D);
    backend::of(context()).sample_bridge_step(context(), item.step, item.x, key, 100, drawn.view());
    std::size_t different = 0;
    std::vector<double> below(M * K), spare(K), sums(S);
    std::vector<std::size_t> z(M);
    for (std::size_t b = 0; b < kRows; ++b) {
      log_subtrees(tree, item.x.row(b), below.data(), nullptr, spare.data());
      for (std::size_t i = 0; i < M; ++i) {
        for (std::size_t k = 0; k < K; ++k) {
          spare[k] = (i == 0 ? item.before.log_root()[k]
                             : item.before.log_moves()(i - 1, z[tree.above(i)], k)) +
                     below[i * K + k];
        }
        cumulate_log(spare.data(), K, spare.data());
        z[i] = draw_category(spare.data(), K, draw_uniform(key, 100 + b, i));
      }
      for (std::size_t d = 0; d < D; ++d) {
        const auto s = static_cast<std::size_t>(item.x(b, d));
        const std::size_t row = d * K + z[tree.node(d)];
        cumulate_product(item.step.q.linear.row(s), item.step.to.linear.row(row),
                         item.step.q.log.row(s), item.step.to.log.row(row), S, sums.data());
        different += static_cast<std::size_t>(drawn(b, d)) !=
                     draw_category(sums.data(), S, draw_uniform(key, 100 + b, M + d));
      }
    }
    EXPECT_LT(static_cast<double>(different), 1e-5 * static_cast<double>(kRows * D));
  }
}

// Rows of pairs whose truth is a tree: of independent coordinates as p0, of a tree, and of a
// mixture as a preset of data has it.
TEST_P(TreeOps, RowsOfBothEndsAreThoseOfTheCpu) {
  PairSpec one_sided;
  one_sided.family = PairFamily::kTree;
  one_sided.dim = 16;
  one_sided.num_categories = 20;
  one_sided.num_components = 4;
  one_sided.tree = TreeShape::quadtree(4);
  PairSpec two_sided = one_sided;
  two_sided.two_sided = true;
  for (const BenchmarkPair& pair :
       {build_pair(one_sided), build_pair(two_sided), load_pair("data-digits-3-8")}) {
    const PairedStates drawn = pair.sample_joint(context(), 3000, 9, 40),
                       expected = pair.sample_joint({.num_threads = 1}, 3000, 9, 40);
    EXPECT_EQ(drawn.x0, expected.x0) << pair.identity().name;
    EXPECT_EQ(drawn.x1, expected.x1) << pair.identity().name;
  }
}

// States that lie on the device give there what those of the host give.
TEST_F(CudaTreeOps, ResultsLieWhereTheStatesDo) {
  const Context context{.device = Device::kCuda};
  constexpr std::size_t S = 7, K = 3, kRows = 100;
  const TreeShape shape = TreeShape::binary(5);
  const std::size_t D = shape.dim();
  const DrawKey key{3, DrawPurpose::kConditional};
  const TreeStep item = make_step(shape, S, K, 3.0, kRows);
  const backend::PlacedStates placed(context, true, item.x), ends(context, true, item.y);
  for (const backend::BridgeStep& step : {item.step, backend::tabulated({}, item.step)}) {
    States host(kRows, D);
    backend::of(context).sample_bridge_step(context, step, item.x, key, 11, host);
    backend::PlacedStates drawn(context, true, kRows, D);
    backend::of(context).sample_bridge_step(context, step, placed.view(), key, 11, drawn.view());
    EXPECT_EQ(drawn.to_host(context), host);
  }
  backend::PlacedArray<double> there(context, true, kRows);
  backend::of(context).bridge_step_log_probability(context, item.step, placed.view(), ends.view(),
                                                   there.view().data);
  const Matrix<double> out = there.to_host(context);
  std::vector<double> log_from(kRows), log_to(kRows);
  item.before.log_value({}, item.x, log_from);
  item.after.log_value({}, item.y, log_to);
  for (std::size_t b = 0; b < kRows; ++b) {
    double log_q = 0.0;
    for (std::size_t d = 0; d < D; ++d) {
      log_q += item.step.q.log(static_cast<std::size_t>(item.x(b, d)),
                               static_cast<std::size_t>(item.y(b, d)));
    }
    EXPECT_NEAR(out(b, 0), log_to[b] + log_q - log_from[b], 1e-11);
  }
}

}  // namespace
}  // namespace bridgemark
