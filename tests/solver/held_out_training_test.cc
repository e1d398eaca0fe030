#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "bridgemark/io/json.h"
#include "bridgemark/metric/held_out_objective.h"
#include "bridgemark/pair/pair_folder.h"
#include "bridgemark/pair/training_set.h"
#include "bridgemark/solver/core/holdout.h"
#include "bridgemark/solver/cp/component_merge.h"
#include "bridgemark/solver/cp/cp_parameters.h"
#include "bridgemark/solver/cp/held_out_model.h"
#include "bridgemark/solver/registry.h"
#include "bridgemark/solver/run/run.h"
#include "tests/io/io_testing.h"
#include "tests/support/killed_run.h"
#include "tests/support/model_file.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"

// Trainings on rows that end: what is kept apart stops and chooses them.
namespace bridgemark {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::TempDir;

class HeldOutTraining : public ::testing::TestWithParam<std::string> {
 protected:
  HeldOutTraining() { write_pair_folder({}, pair_, dir_.path() / "pair"); }

  RunConfig config(std::size_t samples = 300) const {
    RunConfig config{GetParam(), (dir_.path() / "pair").string(), 3, {}, {samples, 0}};
    config.options = {{"updates", "200"}, {"patience", "2"}};
    if (GetParam() == "dlightsb-m") config.options["num_steps"] = "4";
    return config;
  }

  std::filesystem::path folder(const std::string& name) const { return dir_.path() / name; }

  nlohmann::json train(const RunConfig& config, const std::string& name) const {
    train_run({}, config, folder(name), false);
    return load_json(folder(name) / "result.json")["diagnostics"];
  }

  BenchmarkPair pair_ = testing::pair_with_test_set(testing::small_spec(), 500);
  TempDir dir_;
};

INSTANTIATE_TEST_SUITE_P(Bridges, HeldOutTraining,
                         ::testing::Values("dlightsb", "dlightsb-m", "dlightsb-chain"),
                         [](const auto& of) {
                           std::string name = of.param;
                           std::erase(name, '-');
                           return name;
                         });

// What the run says of its objective is that of its model on the rows kept apart.
TEST_P(HeldOutTraining, StatesTheObjectiveOfTheModelItKeeps) {
  RunConfig config = this->config();
  config.options["refit"] = "no";
  const nlohmann::json found = train(config, "run");
  const FitProblem problem = training_problem({}, pair_, config.rows);
  const Holdout holdout = split_holdout(problem, 0.2);
  const auto coupling = load_run({}, pair_, folder("run"));
  const HeldOutObjective again =
      held_out_objective({}, dynamic_cast<const Bridge&>(*coupling), holdout.x0, holdout.x1);
  EXPECT_NEAR(found["held_out"], again.value, 1e-5);
  EXPECT_NEAR(found["held_out_error"], again.standard_error, 1e-5);
  EXPECT_EQ(found["held_out_rows"], 60);
  EXPECT_EQ(found["held_out_update"].get<int>() % 50, 0);
  EXPECT_EQ(found["updates"], found["held_out_update"]);
  EXPECT_GT(found["updates_in_all"], found["updates"]);
  EXPECT_FALSE(found["refit"]);
}

// On few rows the choice is nearer to the truth than many components without one.
TEST_P(HeldOutTraining, IsNearerToTheTruthThanManyComponents) {
  const auto kl = [&](const RunConfig& config, const std::string& name) {
    train_run({}, config, folder(name), false);
    return testing::joint_kl(pair_, *load_run({}, pair_, folder(name)));
  };
  RunConfig many = config(100);
  many.options["holdout"] = "0";
  many.options.erase("patience");
  many.options["updates"] = "1000";
  many.options[GetParam() == "dlightsb-chain" ? "states" : "components"] = "60";
  EXPECT_LT(kl(config(100), "chosen"), 0.7 * kl(many, "many"));
}

TEST_P(HeldOutTraining, StoppedAnywhereAndResumedEndsInTheSameBytes) {
  train_run(Context{.num_threads = 2}, config(), folder("whole"), false);
  for (const int last : {7, 40}) {
    const std::string name = "parts" + std::to_string(last);
    Context stopping{.num_threads = 1};
    int asked = 0;
    stopping.stop = [&] { return ++asked % last == 0; };
    for (int part = 0; part < 12 && !is_complete_run(folder(name)); ++part) {
      try {
        train_run(stopping, config(), folder(name), part > 0);
      } catch (const Interrupted&) {
      }
    }
    train_run({}, config(), folder(name), true);
    EXPECT_EQ(testing::slurp(folder(name) / "model.safetensors"),
              testing::slurp(folder("whole") / "model.safetensors"));
  }
}

TEST_P(HeldOutTraining, KilledRunsResume) {
  RunConfig config = this->config();
  config.options["checkpoint_every"] = "0.02";
  train_run(Context{.num_threads = 1}, config, folder("whole"), false);
  testing::train_through_kills(config, folder("killed"), 4);
  EXPECT_EQ(testing::slurp(folder("killed") / "model.safetensors"),
            testing::slurp(folder("whole") / "model.safetensors"));
}

TEST_P(HeldOutTraining, WithoutHoldoutAllUpdatesAreMade) {
  RunConfig config = this->config();
  config.options["holdout"] = "0";
  config.options.erase("patience");
  config.options[GetParam() == "dlightsb-chain" ? "states" : "components"] = "5";
  const nlohmann::json found = train(config, "run");
  EXPECT_EQ(found["updates"], 200);
  EXPECT_FALSE(found.contains("held_out"));
  EXPECT_EQ(found["shrinkage"], 0.0);
  EXPECT_EQ(found["smoothing"], 0);
}

// As few rows and updates as there can be.
TEST_P(HeldOutTraining, TakesAHandfulOfRows) {
  for (const std::size_t samples : {1, 2, 3, 9}) {
    RunConfig config = this->config(samples);
    config.options["updates"] = samples == 9 ? "1" : "3";
    train_run({}, config, folder(std::to_string(samples)), false);
    EXPECT_TRUE(std::isfinite(
        testing::joint_kl(pair_, *load_run({}, pair_, folder(std::to_string(samples))))));
  }
}

TEST_P(HeldOutTraining, TheLogSaysWhatWasFound) {
  RunConfig config = this->config();
  config.options["log_every"] = "50";
  train(config, "run");
  const std::string log = testing::slurp(folder("run") / "log.jsonl");
  EXPECT_THAT(log, HasSubstr("\"held_out\":"));
  EXPECT_THAT(log, HasSubstr("\"shrinkage\":"));
  EXPECT_THAT(log, HasSubstr("\"smoothing\":"));
  EXPECT_THAT(log, HasSubstr("\"refit\":true"));
}

TEST_P(HeldOutTraining, RefusesBadOptions) {
  const auto refusal = [&](const std::string& key, const std::string& value) {
    RunConfig config = this->config();
    config.options[key] = value;
    return error_of<InvalidArgument>([&] { train_run({}, config, folder("refused"), false); });
  };
  EXPECT_THAT(refusal("holdout", "1"), HasSubstr("holdout must be a number in [0, 0.9], got '1'"));
  EXPECT_THAT(refusal("patience", "0"), HasSubstr("patience must be a whole number in 1.."));
  EXPECT_THAT(refusal("shrinkage", "-1"), HasSubstr("shrinkage must be a number in [0, "));
  EXPECT_THAT(refusal("smoothing", "17"), HasSubstr("smoothing must be a number in [0, 16]"));
  EXPECT_THAT(refusal("refit", "maybe"), HasSubstr("refit"));
  EXPECT_FALSE(std::filesystem::exists(folder("refused")));
}

// A refit that ends worse than the search on the rows that both know is not kept. Here it starts
// where nothing can be learned: one category of x1 has all the weight.
TEST(Refit, IsNotKeptWhereItLostAPart) {
  const BenchmarkPair pair = testing::pair_with_test_set(testing::small_spec(), 100);
  const FitProblem problem = training_problem({}, pair, {200, 0});
  const Solver& solver = find_solver("dlightsb");
  SolverOptions options(solver.options());
  options.set("updates", "100");
  solver.resolve(options);
  const CpRecipe recipe = read_cp_recipe(options);
  const CpTask task{ReferenceChain(pair.reference(), 1), std::nullopt, 3, {}, {}};
  for (const bool is_spoiled : {false, true}) {
    int starts = 0;
    const auto model = make_held_out_model(
        {}, {}, problem, task, recipe, read_held_out_settings(options, pair.reference()),
        [&](const TrainingData& rows, std::size_t components) {
          CpRecipe sized = recipe;
          sized.components = components;
          auto start =
              initial_cp_parameters({}, sized, rows, problem.dim(), problem.num_categories(), 3);
          if (++starts == 2 && is_spoiled) {
            for (std::size_t i = components; i < start.log_cores.size(); ++i) {
              start.log_cores[i] = -500.0f;
            }
          }
          return start;
        });
    while (!model->finished()) {
      std::vector<double> losses(static_cast<std::size_t>(model->updates_at_once()));
      model->updates(1, losses);
    }
    EXPECT_EQ(starts, 2);
    EXPECT_EQ(std::get<bool>(model->diagnostics().at("refit")), !is_spoiled);
  }
}

class MergeComponents : public ::testing::Test {
 protected:
  static constexpr std::size_t D = 3, S = 4, K = 2;

  // Components 0, 0, 1, 1 of two that differ.
  static backend::CpTensors<float> doubled(bool chain) {
    backend::CpTensors<float> tensors(D, S, 2 * K, chain);
    for (std::size_t k = 0; k < 2 * K; ++k) {
      tensors.log_beta[k] = static_cast<float>(std::log(k < K ? 0.3 : 0.2));
      for (std::size_t d = 0; d < D; ++d) {
        for (std::size_t s = 0; s < S; ++s) {
          const double core = (k < K) == (s < 2) ? 0.45 + 0.01 * static_cast<double>(d + s) : 0.02;
          tensors.log_cores[(d * S + s) * 2 * K + k] = static_cast<float>(std::log(core));
        }
      }
    }
    for (std::size_t i = 0; i < tensors.log_moves.size(); ++i) {
      const std::size_t from = i / (2 * K) % (2 * K), to = i % (2 * K);
      tensors.log_moves[i] = static_cast<float>(std::log((from < K) == (to < K) ? 0.45 : 0.05));
    }
    return tensors;
  }

  static States rows() {
    States states(64, D);
    for (std::size_t i = 0; i < states.rows(); ++i) {
      for (std::size_t d = 0; d < D; ++d)
        states(i, d) = static_cast<std::int32_t>((i >> (2 * d)) % S);
    }
    return states;
  }
};

// Two equal components become one that emits the same. Its weight is its share of the rows.
TEST_F(MergeComponents, EqualOnesBecomeOne) {
  const Matrix<double> reach(D, S, -std::log(static_cast<double>(S)));
  const States x = rows();
  for (const bool chain : {false, true}) {
    const auto before = doubled(chain), after = merge_components({}, doubled(chain), reach, x, K);
    ASSERT_EQ(after.num_components, K);
    for (std::size_t d = 0; d < D; ++d) {
      const float* core = after.log_cores.data() + d * S * K;
      for (std::size_t k = 0; k < K; ++k) {
        const std::size_t was = core[k] > core[1 - k] ? 0 : K;  // the first half is high at 0
        const float* old = before.log_cores.data() + d * S * 2 * K + was;
        for (std::size_t s = 1; s < S; ++s) {
          EXPECT_NEAR(core[s * K + k] - core[k], old[s * 2 * K] - old[0], 1e-5);
        }
      }
    }
  }
}

TEST_F(MergeComponents, RefusesMoreThanThereAre) {
  const Matrix<double> reach(D, S, 0.0);
  EXPECT_THAT(
      error_of<InvalidArgument>([&] { merge_components({}, doubled(false), reach, rows(), 5); }),
      HasSubstr("count must lie in 1..4, got 5"));
}

// Smoothing by s steps and the rest of the reference is the whole reference on the cores as they
// are: c of the one is phi of the other.
TEST(Smoothed, CoresAreThoseSeenFromStepsBefore) {
  const ReferenceProcess process = ReferenceProcess::gaussian(5, 0.3, 8);
  backend::CpTensors<float> tensors(2, 5, 2);
  for (std::size_t i = 0; i < tensors.log_cores.size(); ++i) {
    tensors.log_cores[i] = static_cast<float>(std::sin(static_cast<double>(i)));
  }
  const auto bridge = bridge_of(process, tensors, 0);
  const auto smooth = bridge_of(process, smoothed({}, process, tensors, 2), 0);
  const States x(3, 2, {0, 4, 2, 2, 1, 3});
  std::vector<double> phi(3), v(3);
  bridge->log_phi({}, 4, 3, x, phi);
  smooth->log_potential({}, x, v);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(v[i], phi[i], 1e-5);
}

// A quarter of a step spreads a core by a quarter of what a whole one does.
TEST(Smoothed, PartsOfAStepAreMixtures) {
  const ReferenceProcess process = ReferenceProcess::gaussian(5, 0.3, 8);
  backend::CpTensors<float> tensors(1, 5, 1);
  for (std::size_t s = 0; s < 5; ++s)
    tensors.log_cores[s] = static_cast<float>(std::sin(3.0 * static_cast<double>(s)));
  const auto cores = [&](double steps) { return smoothed({}, process, tensors, steps).log_cores; };
  const auto two = cores(2.0), more = cores(2.25), three = cores(3.0);
  for (std::size_t s = 0; s < 5; ++s) {
    EXPECT_NEAR(std::exp(more[s]), 0.75 * std::exp(two[s]) + 0.25 * std::exp(three[s]), 1e-6);
  }
}

}  // namespace
}  // namespace bridgemark
