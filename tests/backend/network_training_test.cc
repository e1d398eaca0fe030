#include "bridgemark/backend/backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "bridgemark/backend/cpu/network/dense_layer.h"
#include "bridgemark/backend/cpu/network/network_math.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/process/chain_tables.h"
#include "bridgemark/process/pinned_reference.h"
#include "bridgemark/process/pinned_steps.h"
#include "tests/support/chi_square.h"
#include "tests/support/network_problem.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using backend::MatchingLoss;
using backend::NetworkShape;
using backend::NetworkTensors;
using backend::NetworkWorkspace;
using testing::all_near;
using testing::convert;
using testing::is_near;
using testing::make_network_problem;
using testing::network_problems;
using testing::unit;
using Problem = testing::NetworkProblem;

constexpr testing::Tolerance kExact{1e-11, 1e-11};           // float64 against float64
constexpr testing::Tolerance kFiniteDifference{1e-5, 1e-8};  // central, step 1e-6
constexpr double kFloatError = 1e-4;                         // of the largest entry
constexpr MatchingLoss kLosses[] = {MatchingLoss::kKl, MatchingLoss::kMse};

template <typename T>
double evaluate_loss(MatchingLoss loss, const Problem& problem,
                     const NetworkTensors<double>& parameters, NetworkTensors<T>& gradient,
                     int threads = 1) {
  const Context context{.num_threads = threads};
  gradient = NetworkTensors<T>(parameters.shape);
  NetworkWorkspace<T> workspace;
  return backend::of(context).network_loss(
      context, convert<T>(parameters), make_chain_tables<T>(context, problem.chain), loss,
      problem.x, problem.clean, problem.steps_left, gradient, workspace);
}

// Logits of one row by the definition.
std::vector<double> oracle_logits(const NetworkTensors<double>& parameters, const std::int32_t* x,
                                  int steps_left) {
  const NetworkShape& shape = parameters.shape;
  std::vector<double> values;
  for (std::size_t d = 0; d < shape.dim; ++d) {
    if (shape.category_width == 0) values.push_back(x[d]);
    for (std::size_t e = 0; e < shape.category_width; ++e) {
      values.push_back(parameters.category_row(static_cast<std::size_t>(x[d]))[e]);
    }
  }
  const double* step = parameters.step_row(static_cast<std::size_t>(steps_left));
  values.insert(values.end(), step, step + shape.step_width());
  for (std::size_t l = 0; l < shape.num_layers(); ++l) {
    std::vector<double> next(shape.layer_outputs(l));
    for (std::size_t o = 0; o < next.size(); ++o) {
      next[o] = parameters.bias(l)[o];
      for (std::size_t i = 0; i < values.size(); ++i) {
        next[o] += parameters.weight(l)[o * values.size() + i] * values[i];
      }
      if (l + 1 < shape.num_layers()) next[o] = std::max(next[o], 0.0);
    }
    values = std::move(next);
  }
  return values;
}

// log of the transition as a mixture of pinned steps, which are tested against enumeration.
std::vector<double> oracle_transition(const NetworkShape& shape, const ReferenceChain& chain,
                                      const double* logits, int x, int steps_left) {
  const auto S = static_cast<std::size_t>(chain.num_categories());
  const SharedMatrix log_whole = chain.log_cumulative({}, steps_left);
  std::vector<double> weights(logits, logits + S);
  if (steps_left > 1 || shape.reference_last_step) {
    for (std::size_t c = 0; c < S; ++c) weights[c] += log_whole(static_cast<std::size_t>(x), c);
  }
  log_normalize(weights.data(), S);
  const PinnedReference pinned = PinnedReference::step({}, chain, chain.num_steps() - steps_left);
  std::vector<double> terms(S * S), step(S), out(S);
  for (std::size_t c = 0; c < S; ++c) {
    pinned.log_probabilities(x, static_cast<int>(c), step.data());
    for (std::size_t s = 0; s < S; ++s) terms[s * S + c] = weights[c] + step[s];
  }
  for (std::size_t s = 0; s < S; ++s) out[s] = log_sum(terms.data() + s * S, S);
  return out;
}

double oracle_loss(MatchingLoss loss, const Problem& problem,
                   const NetworkTensors<double>& parameters) {
  const NetworkShape& shape = parameters.shape;
  const std::size_t S = shape.num_categories, B = problem.x.rows();
  double sum = 0.0;
  for (std::size_t b = 0; b < B; ++b) {
    const int left = problem.steps_left[b];
    const std::vector<double> logits = oracle_logits(parameters, problem.x.row(b), left);
    const PinnedReference pinned =
        PinnedReference::step({}, problem.chain, problem.chain.num_steps() - left);
    for (std::size_t d = 0; d < shape.dim; ++d) {
      const std::vector<double> log_model =
          oracle_transition(shape, problem.chain, logits.data() + d * S, problem.x(b, d), left);
      std::vector<double> log_target(S);
      pinned.log_probabilities(problem.x(b, d), problem.clean(b, d), log_target.data());
      for (std::size_t s = 0; s < S; ++s) {
        const double target = std::exp(log_target[s]), model = std::exp(log_model[s]);
        if (loss == MatchingLoss::kMse) {
          sum += (target - model) * (target - model);
        } else if (target > 0.0) {
          sum += target * (log_target[s] - log_model[s]) / static_cast<double>(shape.dim);
        }
      }
    }
  }
  return sum / static_cast<double>(B);
}

// Every k-th parameter by central differences of the float64 loss.
void check_gradient(MatchingLoss loss, const Problem& problem, std::size_t stride) {
  constexpr double kStep = 1e-6;
  NetworkTensors<double> gradient, ignored, moved = problem.parameters;
  evaluate_loss(loss, problem, problem.parameters, gradient);
  for (std::size_t i = 0; i < moved.values.size(); i += stride) {
    const double at = moved.values[i];
    moved.values[i] = at + kStep;
    const double above = evaluate_loss(loss, problem, moved, ignored);
    moved.values[i] = at - kStep;
    const double below = evaluate_loss(loss, problem, moved, ignored);
    moved.values[i] = at;
    EXPECT_TRUE(is_near(gradient.values[i], (above - below) / (2.0 * kStep), kFiniteDifference))
        << "parameter " << i;
  }
}

void check_float(MatchingLoss loss, const Problem& problem) {
  NetworkTensors<double> exact;
  NetworkTensors<float> gradient;
  const double expected = evaluate_loss(loss, problem, problem.parameters, exact);
  EXPECT_TRUE(is_near(evaluate_loss(loss, problem, problem.parameters, gradient), expected,
                      {kFloatError, 1e-7}));
  double largest = 0.0;
  for (const double value : exact.values) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < exact.values.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(gradient.values[i]), exact.values[i],
                kFloatError * largest + 1e-7)
        << i;
  }
}

TEST(NetworkTraining, LossMatchesTheDefinition) {
  for (const Problem& problem : network_problems()) {
    for (const MatchingLoss loss : kLosses) {
      NetworkTensors<double> gradient;
      EXPECT_TRUE(is_near(evaluate_loss(loss, problem, problem.parameters, gradient),
                          oracle_loss(loss, problem, problem.parameters), kExact));
    }
  }
}

TEST(NetworkTraining, GradientMatchesFiniteDifferences) {
  for (const Problem& problem : network_problems()) {
    for (const MatchingLoss loss : kLosses) {
      check_gradient(loss, problem, 1);
      check_float(loss, problem);
    }
  }
}

TEST(NetworkTraining, SameBitsForAnyNumberOfThreads) {
  for (const Problem& problem : network_problems()) {
    for (const MatchingLoss loss : kLosses) {
      NetworkTensors<float> one, other;
      const double expected = evaluate_loss(loss, problem, problem.parameters, one, 1);
      for (const int threads : {2, 5}) {
        EXPECT_EQ(evaluate_loss(loss, problem, problem.parameters, other, threads), expected);
        EXPECT_EQ(other.values, one.values);
      }
    }
  }
}

TEST(NetworkTraining, ExtremeParametersStayExact) {
  for (const double gamma : {0.08, 0.02}) {
    const Problem problem = testing::extreme_network_problem(gamma);
    for (const MatchingLoss loss : kLosses) {
      SCOPED_TRACE(static_cast<int>(loss));
      NetworkTensors<double> gradient;
      EXPECT_TRUE(is_near(evaluate_loss(loss, problem, problem.parameters, gradient),
                          oracle_loss(loss, problem, problem.parameters), {1e-10, 1e-9}));
      check_gradient(loss, problem, 3);
      check_float(loss, problem);
    }
  }
}

TEST(NetworkTraining, ParametersOutOfRangeGiveNan) {
  Problem problem = network_problems()[0];
  problem.parameters.values[0] = 1e38;
  problem.parameters.values[1] = 1e38;
  for (double& value : problem.parameters.values) value *= 1e10;
  NetworkTensors<float> gradient;
  EXPECT_TRUE(std::isnan(evaluate_loss(MatchingLoss::kKl, problem, problem.parameters, gradient)));
}

TEST(NetworkTransition, MatchesTheDefinition) {
  for (const Problem& problem : network_problems()) {
    const NetworkTensors<float> network = convert<float>(problem.parameters);
    const NetworkTensors<double> rounded = convert<double>([&] {
      NetworkTensors<double> wide(network.shape);
      std::copy(network.values.begin(), network.values.end(), wide.values.begin());
      return wide;
    }());
    const auto tables = make_chain_tables<float>({}, problem.chain);
    const std::size_t S = network.shape.num_categories;
    for (int left = 1; left <= problem.chain.num_steps(); ++left) {
      const Array3<double> log_p = testing::log_transition({}, network, tables, left, problem.x);
      for (std::size_t b = 0; b < problem.x.rows(); ++b) {
        const std::vector<double> logits = oracle_logits(rounded, problem.x.row(b), left);
        for (std::size_t d = 0; d < network.shape.dim; ++d) {
          const std::vector<double> expected =
              oracle_transition(problem.parameters.shape, problem.chain, logits.data() + d * S,
                                problem.x(b, d), left);
          // The logits are float32.
          EXPECT_TRUE(all_near(std::span(log_p.row(b, d), S), expected, {1e-5, 1e-5}));
          EXPECT_NEAR(log_sum(log_p.row(b, d), S), 0.0, 1e-12);
        }
      }
    }
  }
}

TEST(NetworkChain, StepsFollowTheTransition) {
  constexpr std::size_t kRows = 40000;
  Problem problem = network_problems()[0];
  const NetworkTensors<float> network = convert<float>(problem.parameters);
  const std::size_t D = network.shape.dim, S = network.shape.num_categories;
  for (const bool with_table : {true, false}) {
    backend::PinnedSteps pinned = make_pinned_steps({}, problem.chain);
    if (!with_table) pinned.probabilities.clear();
    for (const int left : {1, 2, 4}) {
      States from(kRows, D), to(kRows, D);
      for (std::size_t i = 0; i < kRows; ++i) std::copy_n(problem.x.row(0), D, from.row(i));
      NetworkWorkspace<float> workspace;
      const DrawKey key{5, DrawPurpose::kTransition};
      backend::of({}).sample_network_chain({}, network, pinned, left, 1, from, key, 0, to,
                                           workspace);
      const Array3<double> log_p =
          testing::log_transition({}, network, pinned.chain, left, from.view().slice(0, 1));
      for (std::size_t d = 0; d < D; ++d) {
        std::vector<std::size_t> counts(S);
        std::vector<double> p(S);
        for (std::size_t i = 0; i < kRows; ++i) ++counts[static_cast<std::size_t>(to(i, d))];
        for (std::size_t s = 0; s < S; ++s) p[s] = std::exp(log_p(0, d, s));
        EXPECT_TRUE(testing::fits(counts, p)) << "steps left " << left << ", dimension " << d;
      }
    }
  }
}

TEST(NetworkChain, RowsDoNotDependOnTheirBatch) {
  const Problem problem = make_network_problem({ReferenceProcess::gaussian(11, 0.3, 8), 8}, 3,
                                               {19, 23}, 2, 101, 0.5, 7);
  const NetworkTensors<float> network = convert<float>(problem.parameters);
  const backend::PinnedSteps pinned = make_pinned_steps({}, problem.chain);
  const DrawKey key{9, DrawPurpose::kConditional, 3};
  NetworkWorkspace<float> workspace;
  States whole(101, 3), parts(101, 3);
  backend::of(Context{.num_threads = 1})
      .sample_network_chain(Context{.num_threads = 1}, network, pinned, 8, 8, problem.x, key, 40,
                            whole, workspace);
  for (const int threads : {2, 5}) {
    backend::of(Context{.num_threads = threads})
        .sample_network_chain(Context{.num_threads = threads}, network, pinned, 8, 8, problem.x,
                              key, 40, parts, workspace);
    EXPECT_EQ(parts, whole);
  }
  std::size_t first = 0;
  for (const std::size_t count : {1u, 7u, 64u, 29u}) {
    backend::of({}).sample_network_chain({}, network, pinned, 8, 8,
                                         problem.x.view().slice(first, count), key, 40 + first,
                                         parts.view().slice(first, count), workspace);
    first += count;
  }
  EXPECT_EQ(parts, whole);
}

// Integers, so that every order of the sums gives the same result.
template <typename T>
void check_layers() {
  std::mt19937_64 generator(21);
  const auto integer = [&] { return static_cast<T>(static_cast<int>(unit(generator) * 9.0) - 4); };
  for (const std::size_t outputs : {1u, 2u, 7u, 8u, 9u, 15u, 16u, 17u, 31u, 33u, 70u}) {
    for (const std::size_t inputs : {1u, 3u, 4u, 5u, 13u}) {
      for (std::size_t rows = 0; rows <= 19; ++rows) {
        std::vector<T> weight(outputs * inputs), bias(outputs), in(rows * inputs),
            out(rows * outputs, T(99)), packed;
        for (auto* values : {&weight, &bias, &in}) {
          for (T& value : *values) value = integer();
        }
        backend::cpu::pack_layer(weight.data(), bias.data(), inputs, outputs, packed);
        for (const bool relu : {false, true}) {
          backend::cpu::apply_layer(packed, in.data(), rows, inputs, outputs, relu, out.data());
          for (std::size_t r = 0; r < rows; ++r) {
            for (std::size_t o = 0; o < outputs; ++o) {
              T sum = bias[o];
              for (std::size_t i = 0; i < inputs; ++i) {
                sum += weight[o * inputs + i] * in[r * inputs + i];
              }
              ASSERT_EQ(out[r * outputs + o], relu ? std::max(sum, T(0)) : sum)
                  << rows << "x" << inputs << "x" << outputs;
            }
          }
        }
      }
    }
  }
}

TEST(DenseLayer, RaggedSizes) {
  check_layers<float>();
  check_layers<double>();
}

TEST(DrawWeighted, EdgesAndZeros) {
  for (std::size_t count = 1; count <= 19; ++count) {
    std::vector<float> weights(count, 0.0f), logits(count, -1e30f), scratch(count);
    for (std::size_t only = 0; only < count; ++only) {
      weights[only] = 0.3f;
      logits[only] = 5.0f;
      for (const double u : {0.0, 0.5, std::nextafter(1.0, 0.0)}) {
        EXPECT_EQ(backend::cpu::draw_weighted(weights.data(), count, u), only);
        EXPECT_EQ(backend::cpu::draw_softmax(logits.data(), nullptr, count, u, scratch.data()),
                  only);
      }
      weights[only] = 0.0f;
      logits[only] = -1e30f;
    }
    const std::vector<float> bad(count, std::nanf(""));
    EXPECT_LT(backend::cpu::draw_weighted(bad.data(), count, 0.7), count);
    EXPECT_LT(backend::cpu::draw_softmax(bad.data(), nullptr, count, 0.7, scratch.data()), count);
  }
}

}  // namespace
}  // namespace bridgemark
