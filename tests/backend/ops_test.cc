#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/backend/placed_array.h"
#include "bridgemark/backend/plan/bridge_step.h"
#include "bridgemark/core/error.h"
#include "bridgemark/math/categorical.h"
#include "bridgemark/math/hidden_chain.h"
#include "bridgemark/math/log_domain.h"
#include "tests/support/device_test.h"

// The operations of every device against plain loops over the scalar mathematics of math/.
namespace bridgemark {
namespace {

constexpr double kTolerance = 1e-10;  // of logarithms: both sides are float64

// Tables and states of a sequence of its own for each test.
class RandomTables {
 protected:
  double uniform() { return draw_uniform({5, DrawPurpose::kShuffle}, 0, position_++); }
  double spread(double width) { return width * (2.0 * uniform() - 1.0); }
  std::int32_t category(std::size_t S) {
    return static_cast<std::int32_t>(uniform() * static_cast<double>(S));
  }
  States random_states(std::size_t rows, std::size_t D, std::size_t S) {
    States states(rows, D);
    for (std::size_t i = 0; i < states.size(); ++i) states.data()[i] = category(S);
    return states;
  }
  Array3<double> random_cores(std::size_t D, std::size_t S, std::size_t K, double width) {
    Array3<double> cores(D, S, K);
    for (std::size_t i = 0; i < cores.size(); ++i) cores.data()[i] = spread(width);
    return cores;
  }
  Matrix<double> random_matrix(std::size_t rows, std::size_t cols, double width) {
    Matrix<double> matrix(rows, cols);
    for (std::size_t i = 0; i < matrix.size(); ++i) matrix.data()[i] = spread(width);
    return matrix;
  }
  backend::BridgeStep random_step(std::size_t D, std::size_t S, std::size_t K, double width) {
    std::vector<double> beta(K);
    for (double& value : beta) value = spread(width);
    return backend::make_bridge_step({}, beta, random_cores(D, S, K, width),
                                     random_matrix(S, S, width), random_cores(D, S, K, width));
  }

 private:
  std::uint64_t position_ = 0;
};

class Ops : public testing::DeviceTest, protected RandomTables {};
class CudaOps : public testing::CudaTest, protected RandomTables {};

RUN_ON_EVERY_DEVICE(Ops);

std::vector<double> component_weights(const backend::BridgeStep& step, const std::int32_t* x) {
  std::vector<double> weights(step.log_beta);
  for (std::size_t d = 0; d < step.dim; ++d) {
    for (std::size_t k = 0; k < step.num_components; ++k) {
      weights[k] += step.log_from(d, static_cast<std::size_t>(x[d]), k);
    }
  }
  return weights;
}

TEST_P(Ops, LogMatmulAndPropagation) {
  for (const double width : {2.0, 2000.0}) {
    const std::size_t D = 3, S = 7, K = 5;
    const Matrix<double> q = random_matrix(S, S, width);
    const Array3<double> cores = random_cores(D, S, K, width);
    Array3<double> out(D, S, K), rank_one(D, S, K);
    backend::of(context()).propagate_cores(context(), q, cores, out);
    backend::of(context()).propagate_cores_rank_one(context(), -0.3, -4.0, cores, rank_one);
    Matrix<double> square(S, S);
    backend::of(context()).log_matmul(context(), q, q, square.view());
    std::vector<double> terms(S);
    for (std::size_t d = 0; d < D; ++d) {
      for (std::size_t s = 0; s < S; ++s) {
        for (std::size_t k = 0; k < K; ++k) {
          for (std::size_t t = 0; t < S; ++t) terms[t] = q(s, t) + cores(d, t, k);
          EXPECT_NEAR(out(d, s, k), log_sum(terms.data(), S), kTolerance);
          const double sum = log_sum(cores.row(d, 0) + k, S, K);
          EXPECT_NEAR(rank_one(d, s, k), log_add(cores(d, s, k) - 0.3, sum - 4.0), kTolerance);
        }
      }
    }
    for (std::size_t i = 0; i < S; ++i) {
      for (std::size_t j = 0; j < S; ++j) {
        for (std::size_t t = 0; t < S; ++t) terms[t] = q(i, t) + q(t, j);
        EXPECT_NEAR(square(i, j), log_sum(terms.data(), S), kTolerance);
      }
    }
  }
}

TEST_P(Ops, MixtureAndMarginals) {
  for (const double width : {2.0, 500.0}) {
    const std::size_t D = 4, S = 6, K = 9, rows = 33;
    const backend::BridgeStep step = random_step(D, S, K, width);
    const States x = random_states(rows, D, S);
    std::vector<double> mixture(rows);
    backend::of(context()).log_mixture(context(), step.log_beta, step.log_from, x, mixture);
    Array3<double> marginals(rows, D, S);
    backend::of(context()).bridge_step_marginals(context(), step, x, marginals.as_matrix());
    for (std::size_t b = 0; b < rows; ++b) {
      const std::vector<double> weights = component_weights(step, x.row(b));
      EXPECT_NEAR(mixture[b], log_sum(weights.data(), K), kTolerance);
      for (std::size_t d = 0; d < D; ++d) {
        std::vector<double> expected(S), terms(K);
        for (std::size_t s = 0; s < S; ++s) {
          for (std::size_t k = 0; k < K; ++k) {
            terms[k] = weights[k] - step.log_from(d, static_cast<std::size_t>(x(b, d)), k) +
                       step.to.log(d * K + k, s);
          }
          expected[s] = step.q.log(static_cast<std::size_t>(x(b, d)), s) + log_sum(terms.data(), K);
        }
        log_normalize(expected.data(), S);
        for (std::size_t s = 0; s < S; ++s) {
          EXPECT_NEAR(marginals(b, d, s), expected[s], 1e-9);
        }
      }
    }
  }
}

// The same states, up to draws within rounding of a boundary: fewer than 1 in 10^5.
TEST_P(Ops, SamplesAreThoseOfTheMathematics) {
  for (const double width : {2.0, 600.0}) {  // the wide one takes the exact path
    const std::size_t D = 16, S = 50, K = 4, rows = 20000;
    const backend::BridgeStep step = random_step(D, S, K, width);
    const States x = random_states(rows, D, S), ends = random_states(rows, D, S);
    const DrawKey key{9, DrawPurpose::kConditional};
    States drawn(rows, D), tabulated(rows, D), products(rows, D);
    backend::of(context()).sample_bridge_step(context(), step, x, key, 100, drawn.view());
    backend::of(context()).sample_bridge_step(context(), backend::tabulated(Context{}, step), x,
                                              key, 100, tabulated.view());
    backend::of(context()).sample_product_rows(context(), step.q, step.q, x, ends, key, 7,
                                               products.view());
    // As few that no sums are prepared for them.
    States few(100, D);
    backend::of(context()).sample_product_rows(
        context(), step.q, step.q, std::as_const(x).view().slice(0, few.rows()),
        std::as_const(ends).view().slice(0, few.rows()), key, 7, few.view());
    for (std::size_t i = 0; i < few.size(); ++i) EXPECT_EQ(few.data()[i], products.data()[i]);
    std::size_t different = 0;
    std::vector<double> sums(S), components(K);
    for (std::size_t b = 0; b < rows; ++b) {
      DrawSequence draws(key, 100 + b), product_draws(key, 7 + b);
      const std::vector<double> weights = component_weights(step, x.row(b));
      cumulate_log(weights.data(), K, components.data());
      const std::size_t k = draw_category(components.data(), K, draws.uniform());
      for (std::size_t d = 0; d < D; ++d) {
        const auto s = static_cast<std::size_t>(x(b, d)),
                   end = static_cast<std::size_t>(ends(b, d));
        const auto draw = [&](const backend::ScaledRows& other, std::size_t row, double u) {
          cumulate_product(step.q.linear.row(s), other.linear.row(row), step.q.log.row(s),
                           other.log.row(row), S, sums.data());
          return static_cast<std::int32_t>(draw_category(sums.data(), S, u));
        };
        const std::int32_t expected = draw(step.to, d * K + k, draws.uniform());
        different += drawn(b, d) != expected;
        different += tabulated(b, d) != expected;
        different += products(b, d) != draw(step.q, end, product_draws.uniform());
      }
    }
    EXPECT_LT(static_cast<double>(different), 1e-5 * static_cast<double>(3 * rows * D));
    RecordProperty("different", static_cast<int>(different));
    std::printf("draws that differ: %zu of %zu\n", different, 3 * rows * D);
  }
}

// States that lie on the device give there what those of the host give, in rows of their own.
TEST_F(CudaOps, ResultsLieWhereTheStatesDo) {
  const Context context{.device = Device::kCuda};
  const std::size_t D = 5, S = 7, K = 3, rows = 100;
  const backend::BridgeStep plain = random_step(D, S, K, 3.0);
  const backend::BridgeStep chain =
      backend::make_bridge_step({}, plain.log_beta, plain.log_from, plain.q.log,
                                random_cores(D, S, K, 3.0), random_cores(D - 1, K, K, 3.0));
  const States x = random_states(rows, D, S);
  const DrawKey key{3, DrawPurpose::kConditional};
  for (const backend::BridgeStep& step : {plain, backend::tabulated({}, plain), chain}) {
    States host(rows, D);
    backend::of(context).sample_bridge_step(context, step, x, key, 11, host);
    const backend::PlacedStates placed(context, true, x);
    backend::PlacedStates drawn(context, true, rows, D);
    backend::of(context).sample_bridge_step(context, step, placed.view(), key, 11, drawn.view());
    EXPECT_EQ(drawn.to_host(context), host);

    Matrix<double> marginals(rows, D * S);
    backend::of(context).bridge_step_marginals(context, step, x, marginals);
    backend::PlacedArray<double> there(context, true, rows, D * S);
    backend::of(context).bridge_step_marginals(context, step, placed.view(), there.view());
    EXPECT_EQ(there.to_host(context), marginals);
  }
}

// log q(y|x) of a step whose three parts are mixtures known from the host.
TEST_F(CudaOps, LogProbabilityOfAStep) {
  const Context context{.device = Device::kCuda};
  const std::size_t D = 4, S = 5, K = 3, rows = 50;
  const Array3<double> log_to = random_cores(D, S, K, 2.0),
                       log_moves = random_cores(D - 1, K, K, 2.0);
  const backend::BridgeStep any = random_step(D, S, K, 2.0);
  const States x = random_states(rows, D, S), y = random_states(rows, D, S);
  for (const bool chain : {false, true}) {
    const backend::BridgeStep step = backend::make_bridge_step(
        {}, any.log_beta, any.log_from, any.q.log, log_to, chain ? log_moves : Array3<double>());
    std::vector<double> before(rows), after(rows);
    const auto sum = [&](const Array3<double>& cores, StatesView states, std::vector<double>& to) {
      chain ? backend::of({}).log_chain({}, step.log_beta, log_moves, cores, states, to)
            : backend::of({}).log_mixture({}, step.log_beta, cores, states, to);
    };
    sum(step.log_from, x, before);
    sum(log_to, y, after);
    const backend::PlacedStates from(context, true, x), to(context, true, y);
    backend::PlacedArray<double> there(context, true, rows);
    backend::of(context).bridge_step_log_probability(context, step, from.view(), to.view(),
                                                     there.view().data);
    const Matrix<double> out = there.to_host(context);
    for (std::size_t b = 0; b < rows; ++b) {
      double reference = 0.0;
      for (std::size_t d = 0; d < D; ++d) {
        reference +=
            step.q.log(static_cast<std::size_t>(x(b, d)), static_cast<std::size_t>(y(b, d)));
      }
      EXPECT_NEAR(out(b, 0), after[b] + reference - before[b], 1e-11);
    }
  }
}

TEST_F(CudaOps, IntegersOfAnyWidthBecomeStates) {
  const Context context{.device = Device::kCuda};
  const auto take = [&]<typename T>(const std::vector<T>& values) {
    const std::shared_ptr<void> memory =
        backend::of(context).allocate_memory(values.size() * sizeof(T));
    backend::of(context).copy_memory(context, values.data(), memory.get(),
                                     values.size() * sizeof(T));
    backend::PlacedStates out(context, true, values.size() / 2, 2);
    backend::of(context).take_states(context, "x0", {memory.get(), sizeof(T), std::is_signed_v<T>},
                                     5, out.view());
    return out.to_host(context);
  };
  const States expected(2, 2, {0, 4, 2, 1});
  EXPECT_EQ(take(std::vector<std::int8_t>{0, 4, 2, 1}), expected);
  EXPECT_EQ(take(std::vector<std::uint16_t>{0, 4, 2, 1}), expected);
  EXPECT_EQ(take(std::vector<std::int32_t>{0, 4, 2, 1}), expected);
  EXPECT_EQ(take(std::vector<std::int64_t>{0, 4, 2, 1}), expected);
  const auto message = [&](const auto& values) -> std::string {
    try {
      take(values);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "taken";
  };
  EXPECT_EQ(message(std::vector<std::int64_t>{0, 4, -3, 9}),
            "[states] x0 must hold categories 0..4, got -3 at row 1, column 0");
  EXPECT_EQ(message(std::vector<std::uint8_t>{0, 255, 2, 1}),
            "[states] x0 must hold categories 0..4, got 255 at row 0, column 1");
}

// A hidden chain against a sum over each of its paths.
TEST_P(Ops, ChainsAreSumsOverPaths) {
  for (const double width : {2.0, 300.0}) {
    const std::size_t D = 4, S = 5, K = 3, rows = 20, paths = 81;
    backend::BridgeStep step = random_step(D, S, K, width);
    step =
        backend::make_bridge_step({}, step.log_beta, step.log_from, step.q.log,
                                  random_cores(D, S, K, width), random_cores(D - 1, K, K, width));
    const States x = random_states(rows, D, S);
    std::vector<double> totals(rows);
    backend::of(context()).log_chain(context(), step.log_beta, step.log_moves, step.log_from, x,
                                     totals);
    Array3<double> marginals(rows, D, S);
    backend::of(context()).bridge_step_marginals(context(), step, x, marginals.as_matrix());
    for (std::size_t b = 0; b < rows; ++b) {
      std::vector<double> weights(paths);
      Matrix<double> others(D * K, paths, kLogZero);  // of the paths with z_d = k, less that weight
      for (std::size_t p = 0; p < paths; ++p) {
        std::size_t z[4] = {p / 27, p / 9 % 3, p / 3 % 3, p % 3};
        for (std::size_t d = 0; d < D; ++d) {
          weights[p] += (d == 0 ? step.log_beta[z[0]] : step.log_moves(d - 1, z[d - 1], z[d])) +
                        step.log_from(d, static_cast<std::size_t>(x(b, d)), z[d]);
        }
        for (std::size_t d = 0; d < D; ++d) {
          others(d * K + z[d], p) =
              weights[p] - step.log_from(d, static_cast<std::size_t>(x(b, d)), z[d]);
        }
      }
      EXPECT_NEAR(totals[b], log_sum(weights.data(), paths), kTolerance);
      for (std::size_t d = 0; d < D; ++d) {
        std::vector<double> expected(S), terms(K);
        for (std::size_t s = 0; s < S; ++s) {
          for (std::size_t k = 0; k < K; ++k) {
            terms[k] = log_sum(others.row(d * K + k), paths) + step.to.log(d * K + k, s);
          }
          expected[s] = step.q.log(static_cast<std::size_t>(x(b, d)), s) + log_sum(terms.data(), K);
        }
        log_normalize(expected.data(), S);
        for (std::size_t s = 0; s < S; ++s) EXPECT_NEAR(marginals(b, d, s), expected[s], 1e-9);
      }
    }
  }
}

// Draws of a chain's step by its exact path: the linear way, where it is sure, gives the same.
TEST_P(Ops, ChainSamplesAreThoseOfTheMathematics) {
  for (const double width : {2.0, 200.0}) {  // the wide one leaves the linear way
    const std::size_t D = 16, S = 20, K = 4, rows = 5000;
    backend::BridgeStep step = random_step(D, S, K, width);
    step =
        backend::make_bridge_step({}, step.log_beta, step.log_from, step.q.log,
                                  random_cores(D, S, K, width), random_cores(D - 1, K, K, width));
    const States x = random_states(rows, D, S);
    const DrawKey key{9, DrawPurpose::kConditional};
    States drawn(rows, D);
    backend::of(context()).sample_bridge_step(context(), step, x, key, 100, drawn.view());
    std::size_t different = 0;
    std::vector<double> after(D * K), weights(K), sums(S);
    for (std::size_t b = 0; b < rows; ++b) {
      log_paths_after(step.chain(), x.row(b), after.data());
      std::size_t last = 0;
      for (std::size_t d = 0; d < D; ++d) {
        const auto s = static_cast<std::size_t>(x(b, d));
        for (std::size_t k = 0; k < K; ++k) {
          weights[k] = (d == 0 ? step.log_beta[k] : step.log_moves(d - 1, last, k)) +
                       step.log_from(d, s, k) + after[d * K + k];
        }
        cumulate_log(weights.data(), K, weights.data());
        last = draw_category(weights.data(), K, draw_uniform(key, 100 + b, d));
        cumulate_product(step.q.linear.row(s), step.to.linear.row(d * K + last), step.q.log.row(s),
                         step.to.log.row(d * K + last), S, sums.data());
        different += static_cast<std::size_t>(drawn(b, d)) !=
                     draw_category(sums.data(), S, draw_uniform(key, 100 + b, D + d));
      }
    }
    EXPECT_LT(static_cast<double>(different), 1e-5 * static_cast<double>(rows * D));
  }
}

}  // namespace
}  // namespace bridgemark
