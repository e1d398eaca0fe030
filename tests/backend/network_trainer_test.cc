#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/error.h"
#include "bridgemark/process/chain_tables.h"
#include "bridgemark/process/pinned_reference.h"
#include "bridgemark/process/pinned_steps.h"
#include "bridgemark/solver/csbm/network_bridge.h"
#include "bridgemark/solver/csbm/network_file.h"
#include "bridgemark/solver/run/run.h"
#include "bridgemark/verify/verify_kinds.h"
#include "tests/support/device_test.h"
#include "tests/support/float_gradient.h"
#include "tests/support/model_file.h"
#include "tests/support/network_problem.h"
#include "tests/support/places.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"

// Networks on a CUDA device against the CPU. Skipped aloud where there is no device.
namespace bridgemark {
namespace {

using backend::MatchingLoss;
using backend::NetworkTensors;
using testing::convert;
using testing::expect_close;
using testing::kFloatError;
using testing::make_network_problem;
using testing::NetworkProblem;
using testing::parameters_of;
using testing::TempDir;

constexpr MatchingLoss kLosses[] = {MatchingLoss::kKl, MatchingLoss::kMse};
const Context kCuda{.device = Device::kCuda};

class NetworkTrainer : public testing::DeviceTest {};
RUN_ON_EVERY_DEVICE(NetworkTrainer);
using CudaNetwork = testing::CudaTest;

// A trainer of networks that start from these parameters; its own batches are not looked at.
std::unique_ptr<backend::NetworkTrainer> trainer_of(const Context& context,
                                                    const ReferenceChain& chain, MatchingLoss loss,
                                                    const NetworkTensors<float>& parameters,
                                                    std::size_t rows) {
  backend::NetworkTrainerPlan plan;
  const auto steps = std::make_shared<const backend::PinnedSteps>(make_pinned_steps({}, chain));
  plan.steps = {steps, steps};
  plan.x0.cumulative = plan.x1.cumulative =
      Matrix<double>(parameters.shape.dim, parameters.shape.num_categories, 1.0);
  plan.first_x0 = plan.first_x1 = plan.x0;
  plan.pinned = pinned_rows({}, chain, 0);
  plan.batch_size = rows;
  plan.loss = loss;
  const backend::TrainedNetwork start = backend::start_training(parameters);
  plan.start = {start, start};
  return backend::of(context).make_trainer(context, std::move(plan));
}

// Directions that train at once have rows of their own, and those of updates do not overlap.
TEST(NetworkTrainerPlan, RowsOfDirections) {
  backend::NetworkTrainerPlan plan;
  plan.batch_size = 5;
  EXPECT_EQ(plan.rows_of_update(), 5u);
  EXPECT_EQ(plan.first_row(0), 0u);
  EXPECT_EQ(plan.first_row(1), 0u);
  plan.both_directions = true;
  EXPECT_EQ(plan.rows_of_update(), 10u);
  EXPECT_EQ(plan.first_row(0), 0u);
  EXPECT_EQ(plan.first_row(1), 5u);
}

void check_gradient(const Context& context, const NetworkProblem& problem) {
  for (const MatchingLoss loss : kLosses) {
    SCOPED_TRACE(static_cast<int>(loss));
    NetworkTensors<double> exact(problem.parameters.shape);
    backend::NetworkWorkspace<double> workspace;
    const double expected = backend::of({}).network_loss(
        {}, problem.parameters, make_chain_tables<double>({}, problem.chain), loss, problem.x,
        problem.clean, problem.steps_left, exact, workspace);
    const auto trainer = trainer_of(context, problem.chain, loss,
                                    convert<float>(problem.parameters), problem.x.rows());
    for (const int direction : {0, 1}) {
      NetworkTensors<float> gradient;
      EXPECT_NEAR(
          trainer->evaluate(direction, problem.x, problem.clean, problem.steps_left, gradient),
          expected, kFloatError * std::max(1.0, std::abs(expected)));
      expect_close(gradient.values, exact.values);
    }
  }
}

// The mean of the rows' losses is the loss, for more rows than an update has and for a part of
// them.
TEST_P(NetworkTrainer, LossesOfRowsHaveTheLossAsTheirMean) {
  for (const NetworkProblem& problem : testing::network_problems()) {
    for (const MatchingLoss loss : kLosses) {
      NetworkTensors<double> gradient(problem.parameters.shape);
      backend::NetworkWorkspace<double> workspace;
      const double expected = backend::of({}).network_loss(
          {}, problem.parameters, make_chain_tables<double>({}, problem.chain), loss, problem.x,
          problem.clean, problem.steps_left, gradient, workspace);
      const auto trainer =
          trainer_of(context(), problem.chain, loss, convert<float>(problem.parameters), 3);
      // Another network in training: it is the average that counts.
      backend::NetworkTrainingState state = trainer->state();
      for (auto& network : state) network.parameters.values[0] += 1.0f;
      trainer->set_state(state);
      std::vector<double> rows(problem.x.rows());
      for (const int direction : {0, 1}) {
        trainer->average_losses(direction, problem.x, problem.clean, problem.steps_left, rows);
        const double mean =
            std::accumulate(rows.begin(), rows.end(), 0.0) / static_cast<double>(rows.size());
        EXPECT_NEAR(mean, expected, kFloatError * std::max(1.0, std::abs(expected)));
        double last = 0.0;
        const std::size_t n = rows.size() - 1;
        trainer->average_losses(direction, problem.x.view().slice(n, 1),
                                problem.clean.view().slice(n, 1),
                                std::span(problem.steps_left).subspan(n, 1), {&last, 1});
        EXPECT_NEAR(last, rows.back(), kFloatError * std::max(1.0, std::abs(last)));
      }
    }
  }
}

TEST_P(NetworkTrainer, GradientsAreExact) {
  for (const NetworkProblem& problem : testing::network_problems())
    check_gradient(context(), problem);
}

// Several tiles, blocks of dimensions and parts of long sums, none of them full.
TEST_P(NetworkTrainer, GradientsAreExactAtSize) {
  for (const std::size_t category_width : {0, 3}) {
    SCOPED_TRACE(category_width);
    check_gradient(context(), make_network_problem({ReferenceProcess::gaussian(7, 0.4, 8), 8}, 3,
                                                   {40, 24}, category_width, 61, 0.3, 5));
    check_gradient(context(), make_network_problem({ReferenceProcess::gaussian(50, 0.02), 64}, 37,
                                                   {128, 70, 128}, category_width, 130, 0.05, 6));
    check_gradient(context(), make_network_problem({ReferenceProcess::uniform(130, 0.01, 16), 4}, 5,
                                                   {33}, category_width, 20, 0.1, 7));
  }
}

TEST_P(NetworkTrainer, ExtremeParametersStayExact) {
  for (const double gamma : {0.08, 0.02})
    check_gradient(context(), testing::extreme_network_problem(gamma));
}

TEST_P(NetworkTrainer, ParametersOutOfRangeGiveNan) {
  NetworkProblem problem = testing::network_problems()[0];
  for (double& value : problem.parameters.values) value *= 1e38;
  NetworkTensors<float> gradient;
  const auto trainer = trainer_of(context(), problem.chain, MatchingLoss::kKl,
                                  convert<float>(problem.parameters), problem.x.rows());
  EXPECT_TRUE(
      std::isnan(trainer->evaluate(0, problem.x, problem.clean, problem.steps_left, gradient)));
}

TEST_P(NetworkTrainer, LossesAndGradientsOfReferenceFiles) {
  for (const char* name : {"csbm_0", "csbm_1"}) {
    SCOPED_TRACE(name);
    const std::string path =
        (testing::golden_folder() / fmt::format("{}.safetensors", name)).string();
    const GoldenFile file{path, SafetensorsFile::load(path)};
    const ReferenceChain chain = file.chain(),
                         backwards(chain.process().time_reversed(), chain.num_steps());
    const auto D = static_cast<std::size_t>(file.integer("dim")),
               S = static_cast<std::size_t>(chain.num_categories());
    const backend::NetworkShape shape = read_network_shape(file.tensors, path, "param.", D, S);
    const auto parameters = read_network<float>(file.tensors, path, "param.", shape);
    const std::vector<std::int32_t> n = file.tensors.read_int32("n");
    const States clean = file.states("x_clean", n.size(), D, chain.num_categories());
    const States x = file.states("x_n", n.size(), D, chain.num_categories());
    for (const MatchingLoss loss : kLosses) {
      const std::string prefix = loss == MatchingLoss::kKl ? "kl_" : "mse_";
      NetworkTensors<float> gradient;
      const double value = trainer_of(context(), backwards, loss, parameters, n.size())
                               ->evaluate(0, x, clean, n, gradient);
      Verification result;
      add_training_check<float>(file, prefix + "loss", std::vector{value}, result);
      for (const backend::NetworkPart& part : backend::network_parts(shape)) {
        const float* first = gradient.values.data() + part.offset;
        add_training_check<float>(file, prefix + "grad." + part.name,
                                  std::vector<double>(first, first + part.count), result);
      }
      for (const TensorCheck& check : result.checks) {
        EXPECT_TRUE(check.passed()) << check.tensor << " " << check.max_error;
      }
    }
  }
}

// Draws that differ from the CPU's by rounding at a boundary: fewer than 1 in 10^5 of a step's.
void check_chain(const NetworkProblem& problem, bool with_table, std::size_t rows) {
  const NetworkTensors<float> network = convert<float>(problem.parameters);
  const std::size_t D = network.shape.dim;
  const int num_steps = network.shape.num_steps;
  backend::PinnedSteps pinned = make_pinned_steps({}, problem.chain);
  if (!with_table) pinned.probabilities.clear();
  States from(rows, D), cpu(rows, D), cuda(rows, D);
  for (std::size_t i = 0; i < rows; ++i) {
    std::copy_n(problem.x.row(i % problem.x.rows()), D, from.row(i));
  }
  const auto differing = [&](int steps_left, int steps) {
    const DrawKey key{5, DrawPurpose::kTransition};
    backend::NetworkWorkspace<float> workspace;
    backend::of({}).sample_network_chain({}, network, pinned, steps_left, steps, from, key, 70, cpu,
                                         workspace);
    backend::of(kCuda).sample_network_chain(kCuda, network, pinned, steps_left, steps, from, key,
                                            70, cuda, workspace);
    std::size_t different = 0;
    for (std::size_t i = 0; i < cpu.size(); ++i) different += cpu.data()[i] != cuda.data()[i];
    std::printf("%d steps from %d left: %zu of %zu states differ\n", steps, steps_left, different,
                cpu.size());
    return static_cast<double>(different);
  };
  const auto draws = static_cast<double>(rows * D);
  double different = 0.0;
  const std::vector<int> lefts = {1, 2, num_steps / 2, num_steps};
  for (const int left : lefts) different += differing(left, 1);
  EXPECT_LE(different, 1e-5 * draws * static_cast<double>(lefts.size()));
  // One draw that differs changes the rest of its row.
  EXPECT_LE(differing(num_steps, num_steps), 1e-3 * draws);
}

TEST_F(CudaNetwork, ChainsAreThoseOfTheCpu) {
  check_chain(make_network_problem({ReferenceProcess::gaussian(50, 0.02), 16}, 64, {128, 128, 128},
                                   0, 500, 0.02, 8),
              true, 1000);
  check_chain(
      make_network_problem({ReferenceProcess::gaussian(7, 0.4, 8), 8}, 3, {40, 24}, 3, 61, 0.4, 9),
      true, 20000);
  check_chain(
      make_network_problem({ReferenceProcess::uniform(11, 0.05, 8), 8}, 17, {19}, 0, 61, 0.2, 10),
      true, 3001);
}

// Without the table of pinned steps, and with more layers than a cluster holds.
TEST_F(CudaNetwork, LayerwiseChainsAreThoseOfTheCpu) {
  check_chain(make_network_problem({ReferenceProcess::gaussian(50, 0.02), 16}, 16, {128, 128, 128},
                                   0, 500, 0.05, 8),
              false, 2000);
  check_chain(make_network_problem({ReferenceProcess::gaussian(7, 0.4, 8), 8}, 3,
                                   std::vector<std::size_t>(9, 12), 3, 61, 0.4, 9),
              true, 20000);
}

TEST_P(NetworkTrainer, RowsDoNotDependOnTheirBatch) {
  const NetworkProblem problem = make_network_problem({ReferenceProcess::gaussian(11, 0.3, 8), 8},
                                                      3, {19, 23}, 2, 101, 0.5, 7);
  const NetworkTensors<float> network = convert<float>(problem.parameters);
  const DrawKey key{9, DrawPurpose::kConditional, 3};
  for (const bool with_table : {true, false}) {
    backend::PinnedSteps pinned = make_pinned_steps({}, problem.chain);
    if (!with_table) pinned.probabilities.clear();
    backend::NetworkWorkspace<float> workspace;
    States whole(101, 3), parts(101, 3);
    backend::of(context()).sample_network_chain(context(), network, pinned, 8, 8, problem.x, key,
                                                40, whole, workspace);
    std::size_t first = 0;
    for (const std::size_t count : {1u, 7u, 64u, 29u}) {
      backend::of(context()).sample_network_chain(
          context(), network, pinned, 8, 8, problem.x.view().slice(first, count), key, 40 + first,
          parts.view().slice(first, count), workspace);
      first += count;
    }
    EXPECT_EQ(parts, whole);
  }
}

// What the sums of the last layer may lose to rounding, each of its inputs and its bias once.
double rounding_of_logits(const NetworkProblem& problem) {
  const backend::NetworkTensors<double>& network = problem.parameters;
  const std::size_t last = network.shape.num_layers() - 1;
  double largest = 0.0;
  for (std::size_t o = 0; o < network.shape.layer_outputs(last); ++o) {
    largest = std::max(largest, std::abs(network.bias(last)[o]));
  }
  const auto terms = static_cast<double>(network.shape.layer_inputs(last) + 1);
  return terms * largest * 0x1p-24;
}

// CUDA adds the bias last and the CPU first, so logits of hundreds are rounded differently.
TEST_F(CudaNetwork, TransitionsAreThoseOfTheCpu) {
  std::vector<NetworkProblem> problems = testing::network_problems();
  problems.push_back(testing::extreme_network_problem(0.02));
  for (const NetworkProblem& problem : problems) {
    const NetworkTensors<float> network = convert<float>(problem.parameters);
    const auto tables = make_chain_tables<float>({}, problem.chain);
    for (int left = 1; left <= problem.chain.num_steps(); ++left) {
      const Array3<double> cpu = testing::log_transition({}, network, tables, left, problem.x),
                           cuda = testing::log_transition(kCuda, network, tables, left, problem.x);
      ASSERT_EQ(cuda.size(), cpu.size());
      for (std::size_t i = 0; i < cpu.size(); ++i) {
        EXPECT_NEAR(cuda.data()[i], cpu.data()[i],
                    1e-5 * (1.0 + std::abs(cpu.data()[i])) + rounding_of_logits(problem));
      }
    }
  }
}

// 4 steps, 3 D-IMF iterations of 10, 6 and 6 updates of each network.
RunConfig small_run(const std::string& solver, const std::vector<const char*>& assignments = {}) {
  RunConfig config{solver, "d2-gaussian-0.05", 3, {}};
  config.options = {{"num_steps", "4"},     {"imf_iterations", "3"},   {"updates_first", "10"},
                    {"updates_later", "6"}, {"batch_size", "24"},      {"hidden", "17,12"},
                    {"log_every", "5"},     {"checkpoint_every", "0"}, {"recipe", "paper"}};
  for (const std::string assignment : assignments) {
    const std::size_t equals = assignment.find('=');
    config.options[assignment.substr(0, equals)] = assignment.substr(equals + 1);
  }
  return config;
}

void expect_near(const std::vector<double>& values, const std::vector<double>& expected,
                 double bound) {
  ASSERT_EQ(values.size(), expected.size());
  double error = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    error = std::max(error, std::abs(values[i] - expected[i]));
  }
  EXPECT_LE(error, bound);
}

// The same draws on both devices, so the same parameters up to rounding: a small part of the rate
// times the number of updates.
TEST_F(CudaNetwork, TrainsAsTheCpuDoes) {
  for (const std::string solver : {"csbm", "alpha-csbm"}) {
    const std::vector<std::vector<const char*>> variants = {
        {"learning_rate=0.001"},
        {"learning_rate=0.001", "input=embedding", "points=3", "loss=mse"},
        {"learning_rate=0.001", "initial=minibatch-ot", "initial_pairs=300", "initial_batch=64"},
        {"learning_rate=0.001", "initial=feature-wise", "initial_pairs=500", "schedule=restarts"}};
    for (const std::vector<const char*>& variant : variants) {
      SCOPED_TRACE(solver + " " + variant.back());
      const TempDir dir;
      const RunConfig config = small_run(solver, variant);
      train_run(Context{.num_threads = 1}, config, dir.path() / "cpu", false);
      train_run(kCuda, config, dir.path() / "cuda", false);
      expect_near(parameters_of(dir.path() / "cuda"), parameters_of(dir.path() / "cpu"), 2e-3);
    }
  }
}

TEST_P(NetworkTrainer, ResumesBitForBit) {
  for (const std::string solver : {"csbm", "alpha-csbm"}) {
    SCOPED_TRACE(solver);
    const TempDir dir;
    const RunConfig config = small_run(solver, {"learning_rate=0.01", "input=embedding"});
    train_run(context(), config, dir.path() / "whole", false);
    Context stopping = context();
    int asked = 0;
    stopping.stop = [&] { return ++asked == 3; };  // within the second iteration at the latest
    EXPECT_THROW(train_run(stopping, config, dir.path() / "parts", false), Interrupted);
    train_run(context(), config, dir.path() / "parts", true);
    EXPECT_EQ(parameters_of(dir.path() / "parts"), parameters_of(dir.path() / "whole"));
  }
}

// A checkpoint is the same file whatever device wrote it.
TEST_F(CudaNetwork, ResumesWhatTheCpuBegan) {
  const TempDir dir;
  const RunConfig config = small_run("csbm", {"learning_rate=0.001"});
  train_run(Context{.num_threads = 1}, config, dir.path() / "cpu", false);
  Context stopping{.num_threads = 1};
  int asked = 0;
  stopping.stop = [&] { return ++asked == 27; };
  EXPECT_THROW(train_run(stopping, config, dir.path() / "parts", false), Interrupted);
  train_run(kCuda, config, dir.path() / "parts", true);
  expect_near(parameters_of(dir.path() / "parts"), parameters_of(dir.path() / "cpu"), 2e-3);
}

}  // namespace
}  // namespace bridgemark
