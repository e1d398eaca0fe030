#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/io/json.h"
#include "bridgemark/metric/estimate.h"
#include "bridgemark/pair/pair_folder.h"
#include "bridgemark/pair/training_set.h"
#include "bridgemark/process/pinned_steps.h"
#include "bridgemark/solver/core/holdout.h"
#include "bridgemark/solver/csbm/csbm_model.h"
#include "bridgemark/solver/csbm/judged_pairs.h"
#include "bridgemark/solver/csbm/network_bridge.h"
#include "bridgemark/solver/csbm/network_ladder.h"
#include "bridgemark/solver/registry.h"
#include "bridgemark/solver/run/run.h"
#include "tests/io/io_testing.h"
#include "tests/support/killed_run.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"

// Networks on rows that end: the loss on rows kept apart stops them.
namespace bridgemark {
namespace {

using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::TempDir;

const Context kOneThread{.num_threads = 1};

// The losses of a network bridge on first pairs, by direction and pair.
std::array<std::vector<double>, 2> first_losses(const Coupling& coupling,
                                                const ReferenceProcess& reference,
                                                JudgedPairs& judge) {
  const auto& bridge = dynamic_cast<const NetworkBridge&>(coupling);
  const TwoWaySteps steps = make_two_way_steps({}, reference, 4);
  backend::NetworkTrainerPlan plan;
  plan.steps = {steps.towards_x1, steps.towards_x0};
  plan.start = {backend::start_training(bridge.forward()),
                backend::start_training(bridge.backward())};
  const auto trainer = backend::of(kOneThread).make_trainer(kOneThread, std::move(plan));
  std::array<std::vector<double>, 2> losses;
  for (const Direction direction : kDirections) {
    judge.pair_first({FirstCoupling::kMinibatchOt, 256, 32}, direction);
    losses[direction_index(direction)] = judge.losses(*trainer, direction);
  }
  return losses;
}

class HeldOutNetworks : public ::testing::TestWithParam<std::string> {
 protected:
  HeldOutNetworks() { write_pair_folder({}, pair_, dir_.path() / "pair"); }

  bool both() const { return GetParam() == "alpha-csbm"; }

  // 4 steps, 2 D-IMF iterations of at most 200 and 100 updates of each network.
  RunConfig config(std::size_t samples = 120) const {
    RunConfig config{GetParam(), (dir_.path() / "pair").string(), 3, {}, {samples, 0}};
    config.options = {{"num_steps", "4"},        {"imf_iterations", "2"}, {"updates_first", "200"},
                      {"updates_later", "100"},  {"batch_size", "16"},    {"points", "2"},
                      {"hidden", "16"},          {"patience", "2"},       {"initial_pairs", "256"},
                      {"learning_rate", "0.02"}, {"initial_batch", "32"}, {"refit", "no"},
                      {"weight_decay", "0.01"}};
    return config;
  }

  std::filesystem::path folder(const std::string& name) const { return dir_.path() / name; }

  nlohmann::json train(const RunConfig& config, const std::string& name) const {
    train_run(kOneThread, config, folder(name), false);
    return load_json(folder(name) / "result.json")["diagnostics"];
  }

  std::vector<nlohmann::json> log_of(const std::string& name) const {
    std::ifstream in(folder(name) / "log.jsonl");
    std::vector<nlohmann::json> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }

  BenchmarkPair pair_ = testing::pair_with_test_set(testing::small_spec(), 500);
  TempDir dir_;
};

INSTANTIATE_TEST_SUITE_P(Solvers, HeldOutNetworks, ::testing::Values("csbm", "alpha-csbm"),
                         [](const auto& of) {
                           return std::string(of.param == "csbm" ? "csbm" : "alpha");
                         });

// What the run says of its last stage is the loss of the networks that it keeps, on pairs of the
// rows kept apart; with one D-IMF iteration these are the first pairs.
TEST_P(HeldOutNetworks, StatesTheLossOfTheNetworksItKeeps) {
  RunConfig config = this->config();
  config.options["imf_iterations"] = "1";
  config.options.erase("updates_later");
  const nlohmann::json found = train(config, "run");
  const FitProblem problem = training_problem({}, pair_, config.rows);
  const Holdout holdout = split_holdout(problem, 0.2);
  const ReferenceChain chain(pair_.reference(), 4);
  JudgedPairs judge(kOneThread, chain, {holdout.x0, holdout.x1, config.seed, 0});
  const auto all = first_losses(*load_run({}, pair_, folder("run")), pair_.reference(), judge);
  std::vector<double> mean(judge.count(), 0.0);
  for (const Direction direction : kDirections) {
    const std::vector<double>& losses = all[direction_index(direction)];
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += 0.5 * losses[i];
    if (both()) continue;
    const MeanEstimate again = estimate_mean(losses);
    const std::string name = std::string("1_") + direction_name(direction);
    EXPECT_NEAR(found["held_out_loss_" + name], again.mean, 1e-9);
    EXPECT_NEAR(found["held_out_error_" + name], again.standard_error, 1e-9);
    EXPECT_EQ(found["held_out_update_" + name].get<int>() % 50, 0);
  }
  if (both()) {
    EXPECT_NEAR(found["held_out_loss_1"], estimate_mean(mean).mean, 1e-9);
    EXPECT_NEAR(found["held_out_error_1"], estimate_mean(mean).standard_error, 1e-9);
  }
  EXPECT_EQ(found["held_out_rows"], 50);
  EXPECT_FALSE(found["refit"]);
}

// The best look is no worse than any look of its stage in the log.
TEST_P(HeldOutNetworks, KeepsTheBestLookOfEachStage) {
  RunConfig config = this->config();
  config.options["log_every"] = "50";
  const nlohmann::json found = train(config, "run");
  std::size_t looks = 0;
  for (const nlohmann::json& line : log_of("run")) {
    std::string name = std::to_string(line["imf_iteration"].get<int>());
    if (!both()) name += "_" + line["direction"].get<std::string>();
    ASSERT_TRUE(line.contains("held_out_loss")) << line;
    EXPECT_LE(found["held_out_loss_" + name].get<double>(), line["held_out_loss"].get<double>());
    EXPECT_GT(line["held_out_error"].get<double>(), 0.0);
    ++looks;
  }
  EXPECT_GE(looks, 4u);
}

// A rate far too high gains by chance alone: of a hundred looks two in a row soon bring nothing,
// and the stage ends. The last line of the log is that of its own loss.
TEST_P(HeldOutNetworks, StopsWhereNothingIsGained) {
  RunConfig config = this->config();
  config.options["updates_first"] = "5000";
  config.options["learning_rate"] = "0.3";
  config.options["schedule"] = "constant";
  const nlohmann::json found = train(config, "run");
  EXPECT_LT(found["updates"].get<int>(), 5000);
  const std::vector<nlohmann::json> lines = log_of("run");
  EXPECT_EQ(lines.back()["update"], found["updates"]);
}

// The kept networks have a lower loss on new rows than those trained to the end on the same rows.
TEST_P(HeldOutNetworks, IsNearerToNewRowsThanTrainingToTheEnd) {
  PairSpec spec = testing::small_spec();
  spec.dim = 5;
  const BenchmarkPair pair = build_pair(spec);
  const FitProblem problem = training_problem({}, pair, {100, 0});
  const FitProblem new_rows = training_problem({}, pair, {400, 1});
  const auto new_loss = [&](const FitProblem& rows, const char* holdout) {
    const Solver& solver = find_solver(GetParam());
    SolverOptions options(solver.options());
    for (const auto& [key, value] : config().options) {
      const bool stops = key == "patience" || key == "refit";
      if (key != "updates_later" && !(stops && holdout == std::string("0"))) {
        options.set(key, value);
      }
    }
    options.set("imf_iterations", "1");
    options.set("updates_first", "800");
    options.set("hidden", "48");
    options.set("holdout", holdout);
    const Fitted fitted = solver.fit(kOneThread, rows, options, 3);
    JudgedPairs judge(kOneThread, ReferenceChain(pair.reference(), 4),
                      {new_rows.data()->x0.states(), new_rows.data()->x1.states(), 9, 0});
    const auto losses = first_losses(*fitted.coupling, pair.reference(), judge);
    return estimate_mean(losses[0]).mean + estimate_mean(losses[1]).mean;
  };
  EXPECT_LT(new_loss(problem, "0.2"), 0.98 * new_loss(split_holdout(problem, 0.2).training, "0"));
}

TEST_P(HeldOutNetworks, StoppedAnywhereAndResumedEndsInTheSameBytes) {
  for (const bool long_way : {false, true}) {
    RunConfig config = this->config();
    if (long_way) {
      config.options["refit"] = "yes";
      config.options["weight_decay"] = "auto";
      config.options["first_share"] = "0.5";
    }
    const std::string whole = long_way ? "whole-long" : "whole", name = "parts-of-" + whole;
    train_run(kOneThread, config, folder(whole), false);
    Context stopping = kOneThread;
    int asked = 0;
    stopping.stop = [&] { return ++asked % 97 == 0; };
    for (int part = 0; part < 60 && !is_complete_run(folder(name)); ++part) {
      try {
        train_run(stopping, config, folder(name), part > 0);
      } catch (const Interrupted&) {
      }
    }
    ASSERT_TRUE(is_complete_run(folder(name)));
    EXPECT_EQ(testing::slurp(folder(name) / "model.safetensors"),
              testing::slurp(folder(whole) / "model.safetensors"));
    nlohmann::json parts = load_json(folder(name) / "result.json")["diagnostics"];
    nlohmann::json at_once = load_json(folder(whole) / "result.json")["diagnostics"];
    for (const char* key : {"resumed_from", "training_seconds"}) {
      parts.erase(key);
      at_once.erase(key);
    }
    EXPECT_EQ(parts, at_once);
  }
}

TEST_P(HeldOutNetworks, KilledRunsResume) {
  RunConfig config = this->config();
  config.options["checkpoint_every"] = "0.02";
  train_run(kOneThread, config, folder("whole"), false);
  testing::train_through_kills(config, folder("killed"), 4);
  EXPECT_EQ(testing::slurp(folder("killed") / "model.safetensors"),
            testing::slurp(folder("whole") / "model.safetensors"));
}

// A training on all rows has the numbers of updates that were found.
TEST_P(HeldOutNetworks, RefitsForTheUpdatesFound) {
  RunConfig config = this->config();
  config.options["refit"] = "yes";
  config.options["log_every"] = "1000";
  const nlohmann::json found = train(config, "run");
  EXPECT_TRUE(found["refit"]);
  std::int64_t expected = 0;
  for (const auto& [key, value] : found.items()) {
    if (key.starts_with("held_out_update_")) expected += value.get<int>();
  }
  std::int64_t searched = 0, all = 0;
  for (const nlohmann::json& line : log_of("run")) {
    (line.contains("refit") ? all : searched) = line["update"].get<std::int64_t>();
  }
  EXPECT_EQ(all - searched, expected);
}

// The usual network, two other weight decays, two other widths; the model is one of them.
TEST_P(HeldOutNetworks, ChoosesWidthAndWeightDecay) {
  RunConfig config = this->config();
  config.options["hidden"] = config.options["weight_decay"] = "auto";
  config.options["updates_first"] = "50";
  config.options["updates_later"] = "10";
  config.options["log_every"] = "50";
  const nlohmann::json found = train(config, "run");
  EXPECT_THAT(
      found["tried"].get<std::string>(),
      AllOf(HasSubstr("width 128, weight decay 0.01: "), HasSubstr("width 128, weight decay 1: "),
            HasSubstr("width 128, weight decay 3"), HasSubstr("width 64, weight decay "),
            HasSubstr("width 256, weight decay ")));
  const auto coupling = load_run({}, pair_, folder("run"));
  const auto& bridge = dynamic_cast<const NetworkBridge&>(*coupling);
  const std::string width = std::to_string(bridge.forward().shape.hidden.at(0));
  EXPECT_EQ(found["hidden"], width + "," + width + "," + width);
  const std::vector<nlohmann::json> lines = log_of("run");
  EXPECT_EQ(lines.front()["width"], 128);
  EXPECT_EQ(lines.front()["weight_decay"], 0.01);
  EXPECT_FALSE(lines.back().contains("width"));
}

TEST_P(HeldOutNetworks, WithoutHoldoutAllUpdatesAreMade) {
  RunConfig config = this->config();
  config.options["weight_decay"] = "auto";
  config.options["holdout"] = "0";
  for (const char* unused : {"patience", "refit"}) config.options.erase(unused);
  const nlohmann::json found = train(config, "run");
  EXPECT_EQ(found["updates"], both() ? 300 : 600);
  EXPECT_FALSE(found.contains("held_out_rows"));
  EXPECT_THAT(testing::slurp(folder("run") / "log.jsonl"), Not(HasSubstr("held_out")));
}

// As few rows and updates as there can be.
TEST_P(HeldOutNetworks, TakesAHandfulOfRows) {
  for (const std::size_t samples : {1, 2, 3}) {
    RunConfig config = this->config(samples);
    config.options["updates_first"] = config.options["updates_later"] = "1";
    config.options["refit"] = "yes";
    EXPECT_EQ(train(config, std::to_string(samples)).contains("held_out_rows"), samples > 1);
  }
}

TEST_P(HeldOutNetworks, ProgressShowsTheHeldOutLoss) {
  Context context = kOneThread;
  std::string details;
  context.progress = [&](std::string_view, std::uint64_t, std::uint64_t, std::string_view detail) {
    details += std::string(detail) + "\n";
  };
  train_run(context, config(), folder("run"), false);
  EXPECT_THAT(details, HasSubstr(both() ? "D-IMF iteration 1 of 2, held-out 0."
                                        : "D-IMF iteration 1 of 2 forward, held-out 0."));
}

// The options are those of bridges, which HeldOutTraining refuses one by one.
TEST_P(HeldOutNetworks, RefusesBadOptions) {
  RunConfig config = this->config();
  config.options["patience"] = "0";
  EXPECT_THAT(error_of<InvalidArgument>([&] { train_run({}, config, folder("refused"), false); }),
              HasSubstr("patience must be a whole number in 1.."));
  EXPECT_FALSE(std::filesystem::exists(folder("refused")));
}

class Ladder : public ::testing::Test {
 protected:
  static CsbmRecipe recipe(bool hidden, bool weight_decay) {
    CsbmRecipe recipe{};
    recipe.hidden = {128, 128};
    recipe.weight_decay = 0.01;
    recipe.finds_hidden = hidden;
    recipe.finds_weight_decay = weight_decay;
    return recipe;
  }

  static bool add(NetworkLadder& ladder, std::vector<double> losses) {
    NetworkCandidate candidate;
    candidate.choice = ladder.next();
    candidate.losses = std::move(losses);
    return ladder.add(std::move(candidate));
  }
};

TEST_F(Ladder, WidthsAreTriedAtTheBestWeightDecay) {
  NetworkLadder ladder(recipe(true, true));
  ASSERT_EQ(ladder.size(), 5u);
  EXPECT_TRUE(add(ladder, {1.0, 2.0, 3.0}));
  EXPECT_EQ(ladder.next().weight_decay, 1.0);
  EXPECT_TRUE(add(ladder, {0.9, 1.9, 2.9}));
  EXPECT_FALSE(add(ladder, {1.1, 2.1, 3.1}));
  EXPECT_EQ(ladder.next().hidden, (std::vector<std::size_t>{64, 64}));
  EXPECT_EQ(ladder.next().weight_decay, 1.0);
  // Lower in the mean, but not by more than the error of the difference.
  EXPECT_FALSE(add(ladder, {0.4, 2.1, 3.1}));
  EXPECT_FALSE(ladder.done());
  EXPECT_TRUE(add(ladder, {0.8, 1.8, 2.7}));
  EXPECT_TRUE(ladder.done());
  EXPECT_EQ(ladder.best().choice.hidden, (std::vector<std::size_t>{256, 256}));
}

// A ladder read from a checkpoint goes on as the one that was written.
TEST_F(Ladder, SurvivesACheckpoint) {
  CsbmRecipe open = recipe(true, true);
  open.num_steps = 4;
  open.updates_first = open.updates_later = 100;
  NetworkLadder ladder(open);
  add(ladder, {1.0, 2.0, 3.0});
  NetworkCandidate second;
  second.choice = ladder.next();
  backend::NetworkTensors<float> values(network_shape(2, 6, open));
  for (std::size_t i = 0; i < values.values.size(); ++i) values.values[i] = static_cast<float>(i);
  second.state = {backend::start_training(values), backend::start_training(values)};
  second.stages = {stage_of_recipe(open, 0), stage_of_recipe(open, 1)};
  second.stages[1].updates = 80;
  second.stages[1].best_update = 50;
  second.losses = {0.9, 1.9, 2.9};
  second.made = 170;
  second.counts = {90, 50};
  ASSERT_TRUE(ladder.add(second));
  const TempDir dir;
  SafetensorsWriter writer;
  ladder.save(writer);
  writer.write(dir.path() / "checkpoint");
  NetworkLadder again(open);
  again.load(SafetensorsFile::load(dir.path() / "checkpoint"), open, 2, 6, 3);
  EXPECT_EQ(again.text(), ladder.text());
  EXPECT_EQ(again.best().choice.weight_decay, 1.0);
  EXPECT_EQ(again.best().state[1].average.values, values.values);
  EXPECT_EQ(again.best().stages[1].best_update, 50);
  EXPECT_EQ(again.best().made, 170);
  EXPECT_EQ(again.best().counts, second.counts);
  EXPECT_EQ(again.next().weight_decay, ladder.next().weight_decay);
  EXPECT_FALSE(add(again, {0.91, 1.91, 2.91}));
  EXPECT_TRUE(add(again, {0.89, 1.89, 2.89}));
}

TEST_F(Ladder, TriesWhatIsLeftOpenAlone) {
  EXPECT_TRUE(NetworkLadder(recipe(false, false)).done());
  EXPECT_EQ(NetworkLadder(recipe(true, false)).size(), 3u);
  EXPECT_EQ(NetworkLadder(recipe(false, true)).size(), 3u);
}

}  // namespace
}  // namespace bridgemark
