#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

#include "bridgemark/core/error.h"
#include "bridgemark/io/json.h"
#include "bridgemark/io/safetensors.h"
#include "bridgemark/metric/evaluation.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/solver/core/training_loop.h"
#include "bridgemark/solver/cp/cp_recipe.h"
#include "bridgemark/solver/registry.h"
#include "bridgemark/solver/run/run.h"
#include "tests/io/io_testing.h"
#include "tests/support/killed_run.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

using testing::error_of;
using testing::TempDir;

RunConfig small_run(const std::string& solver) {
  RunConfig config{solver, "d2-gaussian-0.05", 3, {}};
  config.options = {{"updates", "60"},
                    {solver == "dlightsb-chain" ? "states" : "components", "40"},
                    {"batch_size", "16"},
                    {"log_every", "10"},
                    {"checkpoint_every", "0"}};
  if (solver == "dlightsb-m") config.options["num_steps"] = "16";
  return config;
}

std::vector<double> cores_of(const std::filesystem::path& folder) {
  return SafetensorsFile::load(folder / "model.safetensors").read_doubles("log_cores");
}

// The lines of a run's log but for the time, which no two runs share.
std::vector<nlohmann::json> log_lines(const std::filesystem::path& folder) {
  std::ifstream in(folder / "log.jsonl");
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(nlohmann::json::parse(line));
    lines.back().erase("seconds");
  }
  return lines;
}

// A checkpoint of the small run's shape with these first numbers.
void put_checkpoint(const std::filesystem::path& folder, std::vector<double> progress, float beta) {
  const SafetensorsFile good = SafetensorsFile::load(folder / "checkpoint.safetensors");
  SafetensorsWriter writer;
  writer.add("training_progress", {progress.size()}, std::span<const double>(progress));
  std::vector<std::vector<float>> values;
  for (const std::string& name : good.names()) {
    if (name != "training_progress") values.push_back(good.read_floats(name));
  }
  std::size_t i = 0;
  for (const std::string& name : good.names()) {
    if (name == "training_progress") continue;
    if (name == "log_beta") values[i][0] = beta;
    writer.add(name, {values[i].size()}, std::span<const float>(values[i]));
    ++i;
  }
  writer.write(folder / "checkpoint.safetensors");
}

TEST(Training, StoppedAndResumedGivesTheSameParameters) {
  for (const std::string solver : {"dlightsb", "dlightsb-m", "dlightsb-chain"}) {
    const TempDir dir;
    RunConfig config = small_run(solver);
    if (solver == "dlightsb-chain") config.options["start"] = "samples";  // one stage
    train_run(Context{.num_threads = 2}, config, dir.path() / "whole", false);

    Context stopping{.num_threads = 1};
    int asked = 0;
    stopping.stop = [&] { return ++asked == 25; };
    EXPECT_THROW(train_run(stopping, config, dir.path() / "parts", false), Interrupted);
    EXPECT_FALSE(is_complete_run(dir.path() / "parts"));
    train_run(Context{.num_threads = 2}, config, dir.path() / "parts", true);

    EXPECT_EQ(cores_of(dir.path() / "parts"), cores_of(dir.path() / "whole"));
    const nlohmann::json result = load_json(dir.path() / "parts" / "result.json");
    EXPECT_EQ(result["diagnostics"]["resumed_from"], 25);
    const nlohmann::json whole = load_json(dir.path() / "whole" / "result.json");
    EXPECT_FALSE(whole["diagnostics"].contains("resumed_from"));
    const auto lines = log_lines(dir.path() / "parts");
    EXPECT_EQ(lines.size(), 6u);
    EXPECT_EQ(lines, log_lines(dir.path() / "whole"));
  }
}

// An interrupt while an update is under way: it ends and is kept where that takes moments.
TEST(Training, AnInterruptedUpdateEndsAndIsKept) {
  const TempDir dir;
  const RunConfig config = small_run("dlightsb");
  train_run({}, config, dir.path() / "whole", false);
  Context context;
  std::atomic<int> asked = 0;  // some times for the start, then several times in each update
  context.interrupt = [&] { return ++asked >= 300; };
  context.stop = [&] { return asked >= 300; };
  try {
    train_run(context, config, dir.path() / "parts", false);
    FAIL() << "was done before it was interrupted";
  } catch (const Interrupted& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("stopped at update ")) << error.what();
  }
  train_run({}, config, dir.path() / "parts", true);
  EXPECT_EQ(cores_of(dir.path() / "parts"), cores_of(dir.path() / "whole"));
}

// One that takes longer is given up, and the checkpoint before it stays.
TEST(Training, AnUpdateThatIsGivenUpLeavesTheCheckpointBeforeIt) {
  const TempDir dir;
  RunConfig config = small_run("dlightsb");
  config.options["updates"] = "3";
  train_run({}, config, dir.path() / "whole", false);
  Context context{.num_threads = 1};
  bool updated = false, slow = false;
  context.stop = [&] {
    updated = true;
    return false;
  };
  context.interrupt = [&] {
    if (slow) std::this_thread::sleep_for(std::chrono::seconds(1));
    slow = updated;
    return updated;
  };
  EXPECT_EQ(error_of<Interrupted>([&] { train_run(context, config, dir.path() / "parts", false); }),
            "interrupted before it was done");
  train_run({}, config, dir.path() / "parts", true);
  EXPECT_EQ(cores_of(dir.path() / "parts"), cores_of(dir.path() / "whole"));
  EXPECT_EQ(load_json(dir.path() / "parts" / "result.json")["diagnostics"]["resumed_from"], 1);
}

// kill -9 at any moment: the folder stays readable, and going on ends in the same parameters.
TEST(Training, KilledRunsResume) {
  const TempDir dir;
  RunConfig config = small_run("dlightsb");
  config.options["updates"] = "400";
  train_run(Context{.num_threads = 1}, config, dir.path() / "whole", false);
  const std::filesystem::path folder = dir.path() / "killed";
  testing::train_through_kills(config, folder, 6);
  EXPECT_EQ(cores_of(folder), cores_of(dir.path() / "whole"));
}

// By the number of dimensions: 0.3 for two of them.
// What the shares of an average come to, for parameters that are the number of their update.
double averaged_update(const CpRecipe& recipe) {
  double average = -1.0;
  std::int64_t number = 1;
  for (const backend::CpUpdate& update :
       recipe.updates_from(1, static_cast<std::size_t>(recipe.updates))) {
    average += update.average_share * (static_cast<double>(number++) - average);
  }
  return average;
}

TEST(Training, TheAverageIsAMeanOfTheLastUpdates) {
  CpRecipe recipe{};
  recipe.updates = 800;
  recipe.average = 0.5;
  EXPECT_NEAR(averaged_update(recipe), 604.0, 1e-9);  // 408, 416, .., 800
  recipe.average = 1.0;
  EXPECT_NEAR(averaged_update(recipe), 404.0, 1e-9);  // 8, 16, .., 800
  recipe.average = 1e-6;
  EXPECT_EQ(averaged_update(recipe), 800.0);
  recipe.average = 0.0;
  EXPECT_EQ(averaged_update(recipe), -1.0);
  // From the middle it goes on as it would have.
  recipe.average = 0.5;
  const std::vector<backend::CpUpdate> all = recipe.updates_from(1, 800),
                                       rest = recipe.updates_from(501, 300);
  for (std::size_t i = 0; i < rest.size(); ++i) {
    EXPECT_EQ(rest[i].average_share, all[500 + i].average_share);
  }
}

TEST(Training, FewUpdatesTakeLongSteps) {
  const auto rate = [](const char* updates) {
    SolverOptions options(cp_options());
    options.set("updates", updates);
    options.resolve();
    return read_cp_recipe(options).learning_rate;
  };
  EXPECT_EQ(rate("100"), 0.12);
  EXPECT_EQ(rate("3000"), 0.04);
  EXPECT_EQ(rate("50000"), 0.01);
}

TEST(Training, StartNoiseGoesByTheDimensions) {
  const BenchmarkPair pair = load_pair("d2-uniform-0.01");
  const TrainingData data(pair, "", "", 0);
  const auto start = [&](const std::string& noise) {
    SolverOptions options(cp_options());
    options.set("init_noise", noise);
    options.set("components", "3");
    options.resolve();
    return initial_cp_parameters({}, read_cp_recipe(options), data, 2, 50, 1).log_cores;
  };
  EXPECT_EQ(start("auto"), start("0.3"));
  EXPECT_NE(start("auto"), start("0.1"));
  try {
    start("some");
    FAIL() << "'some' was taken for a number";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("in [0, 100] or auto, got 'some'"), std::string::npos);
  }
}

// A Gaussian start is nothing but its noise: without any, all components would stay equal.
TEST(Training, GaussianStartHasNoise) {
  const BenchmarkPair pair = load_pair("d2-uniform-0.01");
  const TrainingData data(pair, "", "", 0);
  const auto start = [&](const char* recipe, const char* noise) {
    SolverOptions options(cp_options());
    options.set("recipe", recipe);
    options.set("init", "gaussian");
    if (noise) options.set("init_noise", noise);
    options.set("components", "3");
    options.resolve();
    return initial_cp_parameters({}, read_cp_recipe(options), data, 2, 50, 1).log_cores;
  };
  for (const char* recipe : {"tuned", "paper"}) {
    const auto cores = start(recipe, nullptr);
    EXPECT_NE(cores[0], cores[1]) << recipe;
    EXPECT_EQ(cores, start(recipe, "1")) << recipe;
    EXPECT_THROW(start(recipe, "0"), InvalidArgument) << recipe;
  }
}

TEST(Training, LearnsASmallPair) {
  const BenchmarkPair pair = load_pair("d2-uniform-0.01");
  SolverOptions options(find_solver("dlightsb").options());
  options.set("updates", "1500");
  options.set("components", "50");
  const Context context{.num_threads = 2};
  const Fitted fitted = find_solver("dlightsb").fit(context, pair, options, 1);
  EvaluationOptions evaluation;
  evaluation.num_trajectories = 50;
  const Evaluation scores = evaluate(context, pair, *fitted.coupling, evaluation);
  EXPECT_GT(scores.mean("exact_conditional_shape_score"), 0.9);
  EXPECT_LT(scores.mean("joint_kl"), 0.2);
}

class Diverging : public Trainable {
 public:
  void updates(std::int64_t first, std::span<double> losses) override {
    for (double& loss : losses) {
      loss = first++ < 7 ? 1.0 : std::numeric_limits<double>::quiet_NaN();
    }
  }
  void save_state(SafetensorsWriter& writer) const override {
    writer.add("state", {1}, std::span<const double>(state_));
  }
  void load_state(const SafetensorsFile& file) override { state_ = file.read_doubles("state"); }

 private:
  std::vector<double> state_ = {1.0};
};

TEST(Training, DivergenceStopsAndKeepsTheLastCheckpoint) {
  const TempDir dir;
  Diverging model;
  const TrainingFiles files{dir.path() / "checkpoint.safetensors", dir.path() / "log.jsonl"};
  try {
    run_training(Context{}, {"test", 100, 0.0, 1}, files, model);
    FAIL() << "did not stop";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("diverged at update 7"), std::string::npos);
  }
  EXPECT_EQ(SafetensorsFile::load(files.checkpoint).read_doubles("training_progress")[0], 6.0);
}

// Each update makes the parameters a thousand times larger: soon they are no law, then not finite,
// and only after that the loss shows it.
TEST(Training, ParametersThatAreNotFiniteAreDivergence) {
  const TempDir dir;
  const std::filesystem::path folder = dir.path() / "run";
  RunConfig config = small_run("dlightsb");
  config.options["learning_rate"] = "10";
  config.options["weight_decay"] = "100";
  config.options["schedule"] = "constant";
  config.options["checkpoint_every"] = "1000";
  config.options["log_every"] = "13";
  const auto message = [&](const char* updates) -> std::string {
    config.options["updates"] = updates;
    try {
      train_run(Context{.num_threads = 1}, config, folder, false);
    } catch (const Error& error) {
      return error.what();
    }
    return "trained";
  };
  const std::string at_once = message("400");
  EXPECT_NE(at_once.find("is not finite; there is no checkpoint"), std::string::npos) << at_once;
  EXPECT_FALSE(std::filesystem::exists(folder / "checkpoint.safetensors"));
  const std::string at_the_end = message("4");  // in the same folder
  EXPECT_NE(at_the_end.find("diverged by update 4: "), std::string::npos) << at_the_end;
  // Another run may use the folder.
  train_run(Context{.num_threads = 1}, small_run("dlightsb"), folder, false);
  EXPECT_TRUE(is_complete_run(folder));
}

TEST(Training, ACheckpointOfADivergedRunIsNotGoneOnFrom) {
  const TempDir dir;
  const Context context{.num_threads = 1};
  train_run(context, small_run("dlightsb"), dir.path() / "whole", false);
  const std::filesystem::path folder = dir.path() / "run";
  train_run(context, small_run("dlightsb"), folder, false);
  put_checkpoint(folder, {30.0, 1.0, 1.0, 0.0, 0.0}, 5.0f);  // of another training
  for (const char* file : {"config.toml", "result.json"}) std::filesystem::remove(folder / file);
  train_run(context, small_run("dlightsb"), folder, true);
  EXPECT_EQ(cores_of(folder), cores_of(dir.path() / "whole"));
}

TEST(Training, CheckpointsThatCannotBeAreRefused) {
  const TempDir dir;
  const Context context{.num_threads = 1};
  const std::filesystem::path folder = dir.path() / "run";
  train_run(context, small_run("dlightsb"), folder, false);
  std::filesystem::remove(folder / "result.json");
  const std::string good = [&] {
    std::ifstream in(folder / "checkpoint.safetensors", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }();
  const auto refusal = [&](std::vector<double> progress, float beta) -> std::string {
    std::ofstream(folder / "checkpoint.safetensors", std::ios::binary) << good;
    put_checkpoint(folder, std::move(progress), beta);
    try {
      train_run(context, small_run("dlightsb"), folder, true);
    } catch (const FileError& error) {
      return error.what();
    }
    return "accepted";
  };
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  for (const double updates : {-1.0, 61.0, 1e300, 2.5}) {
    EXPECT_NE(refusal({updates, 1.0, 1.0, 0.0, 0.0}, 1.0f).find("0..60"), std::string::npos);
  }
  EXPECT_NE(refusal({kNaN, 1.0, 1.0, 0.0, 0.0}, 1.0f).find("not finite"), std::string::npos);
  EXPECT_NE(refusal({30.0, 1.0, -1.0, 0.0, 0.0}, 1.0f).find("seconds"), std::string::npos);
  EXPECT_NE(refusal({30.0, 1.0}, 1.0f).find("5 entries"), std::string::npos);
  EXPECT_NE(refusal({30.0, 1.0, 1.0, 0.0, 0.0}, static_cast<float>(kNaN)).find("'log_beta'"),
            std::string::npos);
  EXPECT_EQ(refusal({30.0, 1.0, 1.0}, 1.0f), "accepted");  // as older versions wrote it
}

TEST(Training, FixedDataSetsAndBadOptions) {
  const BenchmarkPair pair = load_pair("d2-uniform-0.01");
  const Solver& solver = find_solver("dlightsb");
  const auto message = [&](const char* key, const char* value) {
    SolverOptions options(solver.options());
    options.set("updates", "1");
    options.set("components", "3");
    options.set(key, value);
    try {
      solver.fit(Context{.num_threads = 1}, pair, options, 0);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message("init", "p0"), "accepted");
  EXPECT_EQ(message("init", "gaussian"), "accepted");
  EXPECT_EQ(message("init", "uniform"), "accepted");
  EXPECT_EQ(message("entropy", "0.1"), "accepted");
  EXPECT_NE(message("init_noise", "-1").find("init_noise"), std::string::npos);
  EXPECT_NE(message("init", "p2").find("p1, p0, gaussian, uniform"), std::string::npos);
  EXPECT_NE(message("updates", "0").find("updates"), std::string::npos);
  EXPECT_NE(message("schedule", "linear").find("cosine"), std::string::npos);
  EXPECT_NE(message("learning_rate", "nan").find("learning_rate"), std::string::npos);
  EXPECT_NE(message("recipe", "best").find("tuned"), std::string::npos);
  EXPECT_NE(message("x0_data", "missing.npy").find("missing.npy"), std::string::npos);
}

}  // namespace
}  // namespace bridgemark
