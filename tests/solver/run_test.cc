#include "bridgemark/solver/run/run.h"
#include "bridgemark/solver/core/diagnostics_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/json.h"
#include "bridgemark/pair/pair_folder.h"
#include "bridgemark/solver/run/run_result.h"
#include "tests/io/io_testing.h"
#include "tests/support/run_folder.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

using testing::error_of;
using testing::read_text;
using testing::RunTest;
using testing::write_text;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(RunTest, LoadGivesTheCouplingThatWasFitted) {
  for (const char* name : {"oracle", "independent", "reference", "feature-wise", "sinkhorn"}) {
    SCOPED_TRACE(name);
    std::filesystem::remove_all(run_path());
    train(config(name));
    EXPECT_TRUE(is_complete_run(run_path()));
    std::vector<std::string> assignments;
    for (const auto& [key, value] : config(name).options) assignments.push_back(key + "=" + value);
    const auto fitted = testing::fit_solver(name, pair(), assignments, 5).coupling;
    const auto loaded = load_run({}, pair(), run_path());
    const States x0 = pair().sample_x0({}, 500, 1);
    States from_fitted(500, 2), from_loaded(500, 2);
    const DrawKey key{3, DrawPurpose::kPrediction};
    fitted->sample({}, x0, key, 0, from_fitted);
    loaded->sample({}, x0, key, 0, from_loaded);
    EXPECT_EQ(from_fitted, from_loaded);
    EXPECT_EQ(fitted->has_joint(), loaded->has_joint());
    EXPECT_EQ(fitted->has_transitions(16), loaded->has_transitions(16));
  }
}

TEST_F(RunTest, DlightsbMKeepsItsNumberOfSteps) {
  RunConfig run = config("dlightsb-m");
  run.options = {{"updates", "2"}, {"components", "3"}, {"batch_size", "4"}, {"num_steps", "8"}};
  EXPECT_EQ(train_run({}, run, pair(), run_path(), false).coupling->own_num_steps(), 8);
  EXPECT_EQ(load_run({}, pair(), run_path())->own_num_steps(), 8);
  std::filesystem::remove_all(run_path());
  run.solver = "dlightsb";
  run.options.erase("num_steps");
  train(run);
  EXPECT_EQ(load_run({}, pair(), run_path())->own_num_steps(), 0);
}

TEST_F(RunTest, FolderHoldsTheRecord) {
  train(config("feature-wise"));
  for (const char* file : {"config.toml", "model.safetensors", "log.jsonl", "result.json"}) {
    EXPECT_TRUE(std::filesystem::is_regular_file(run_path() / file)) << file;
  }
  const RunConfig saved = load_run_config(run_path());
  EXPECT_EQ(saved.solver, "feature-wise");
  EXPECT_EQ(saved.pair, pair_path().string());
  EXPECT_EQ(saved.seed, 5u);
  EXPECT_EQ(saved.options.at("marginal_samples"), "2000");
  EXPECT_EQ(saved.options.at("imf_steps"), "16");  // defaults are written out
  const nlohmann::json result = load_run_result(run_path());
  for (const char* key : {"version", "seed", "device", "machine", "threads", "wall_seconds",
                          "peak_memory_bytes", "options", "pair", "diagnostics"}) {
    EXPECT_TRUE(result.contains(key)) << key;
  }
  EXPECT_TRUE(result.at("diagnostics").at("converged").get<bool>());
  EXPECT_EQ(nlohmann::json::parse(read_text(run_path() / "log.jsonl")).at("event"), "fitted");
}

TEST_F(RunTest, DiagnosticsSurviveJson) {
  const Diagnostics diagnostics = {
      {"converged", true}, {"updates", 20000}, {"loss", 3.0}, {"note", "text"}};
  const std::string text = diagnostics_json(diagnostics).dump();
  EXPECT_EQ(text, R"({"converged":true,"loss":3.0,"note":"text","updates":20000})");
  EXPECT_EQ(read_diagnostics(nlohmann::json::parse(text)), diagnostics);
  // JSON has no numbers beyond the finite ones.
  const std::string null =
      diagnostics_json({{"loss", std::numeric_limits<double>::infinity()}}).dump();
  const Diagnostics read = read_diagnostics(nlohmann::json::parse(null));
  EXPECT_TRUE(std::isnan(std::get<double>(read.at("loss"))));
}

TEST_F(RunTest, ConfigSurvivesOddText) {
  std::filesystem::create_directory(run_path());
  const RunConfig config{"x", "a \"b\"\n#c = 'd'\\", 0xffffffffffffffffu, {{"k", "v\t= 1"}}};
  save_run_config(config, run_path());
  const RunConfig loaded = load_run_config(run_path());
  EXPECT_EQ(loaded.pair, config.pair);
  EXPECT_EQ(loaded.seed, config.seed);
  EXPECT_EQ(loaded.options, config.options);
}

TEST_F(RunTest, AFitWithoutAFolderIsKeptLater) {
  const BenchmarkPair at_hand = pair();
  const Fitted fitted = testing::fit_solver("feature-wise", at_hand, {"marginal_samples=2000"}, 5);
  save_run({}, config("feature-wise"), at_hand, fitted, 1.5, run_path());
  const auto loaded = load_run({}, at_hand, run_path());
  const States x0 = at_hand.sample_x0({}, 500, 1);
  States from_fitted(500, 2), from_loaded(500, 2);
  fitted.coupling->sample({}, x0, {3, DrawPurpose::kPrediction}, 0, from_fitted);
  loaded->sample({}, x0, {3, DrawPurpose::kPrediction}, 0, from_loaded);
  EXPECT_EQ(from_fitted, from_loaded);
  EXPECT_EQ(load_run_result(run_path()).at("wall_seconds"), 1.5);
  EXPECT_EQ(load_run_config(run_path()).options.at("imf_steps"), "16");
  EXPECT_THAT(error_of<Error>(
                  [&] { save_run({}, config("feature-wise"), at_hand, fitted, 1.5, run_path()); }),
              HasSubstr("already holds a run"));
}

TEST_F(RunTest, TheHistoryOfATrainingIsKept) {
  RunConfig run = config("dlightsb");
  run.options = {{"updates", "25"}, {"components", "3"}, {"batch_size", "4"}, {"log_every", "10"}};
  const Fitted fitted = testing::fit_solver(
      "dlightsb", pair(), {"updates=25", "components=3", "batch_size=4", "log_every=10"}, 5);
  ASSERT_EQ(fitted.history.size(), 3u);
  const std::int64_t updates[] = {10, 20, 25};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(fitted.history[i].update, updates[i]);
  EXPECT_EQ(fitted.history[2].loss, std::get<double>(fitted.diagnostics.at("last_loss")));
  // The log that a diverged run left is not this one's.
  std::filesystem::create_directory(run_path());
  write_file_atomically(run_path() / "log.jsonl", R"({"update":7,"loss":1.0})"
                                                  "\n");
  save_run({}, run, pair(), fitted, 1.5, run_path());
  EXPECT_EQ(log_text(load_run_history(run_path())), log_text(fitted.history));
  EXPECT_EQ(read_text(run_path() / "log.jsonl"), log_text(fitted.history));
  const Fitted again = train_run({}, run, pair(), run_path(), true);  // complete: read, not trained
  EXPECT_EQ(log_text(again.history), log_text(fitted.history));
  std::filesystem::remove_all(run_path());
  train(config("reference"));
  EXPECT_TRUE(load_run_history(run_path()).empty());
}

TEST_F(RunTest, ResumeOfACompleteRunChangesNothing) {
  train(config("feature-wise"));
  const std::string result = read_text(run_path() / "result.json"),
                    model = read_text(run_path() / "model.safetensors");
  const auto written = std::filesystem::last_write_time(run_path() / "result.json");
  train(config("feature-wise"), true);
  EXPECT_EQ(read_text(run_path() / "result.json"), result);
  EXPECT_EQ(read_text(run_path() / "model.safetensors"), model);
  EXPECT_EQ(std::filesystem::last_write_time(run_path() / "result.json"), written);
}

TEST_F(RunTest, ResumeFinishesAnInterruptedRun) {
  train(config("feature-wise"));
  const std::string model = read_text(run_path() / "model.safetensors");
  std::filesystem::remove(run_path() / "result.json");
  std::filesystem::remove(run_path() / "model.safetensors");
  EXPECT_THAT(train_error(config("feature-wise")), HasSubstr("already holds a run"));
  train(config("feature-wise"), true);
  EXPECT_TRUE(is_complete_run(run_path()));
  EXPECT_EQ(read_text(run_path() / "model.safetensors"), model);
}

TEST_F(RunTest, ResumeInAnEmptyFolderTrains) {
  train(config("reference"), true);
  EXPECT_TRUE(is_complete_run(run_path()));
}

TEST_F(RunTest, ResumeWithAnotherConfigurationIsRefused) {
  train(config("feature-wise"));
  const auto refused = HasSubstr("another configuration");
  EXPECT_THAT(train_error(config("reference"), true), refused);
  RunConfig other = config("feature-wise");
  other.seed = 6;
  EXPECT_THAT(train_error(other, true), refused);
  other = config("feature-wise");
  other.options["marginal_samples"] = "2001";
  EXPECT_THAT(train_error(other, true), refused);
  other = config("feature-wise");
  other.pair = "d2-gaussian-0.02";
  EXPECT_THAT(train_error(other, true), refused);
}

TEST_F(RunTest, IncompleteRunIsNotLoaded) {
  train(config("reference"));
  std::filesystem::remove(run_path() / "result.json");
  EXPECT_FALSE(is_complete_run(run_path()));
  EXPECT_THAT(load_error(), AllOf(HasSubstr("not complete"), HasSubstr("resume its training")));
}

TEST_F(RunTest, AnotherPairIsRefused) {
  train(config("reference"));
  const auto refused = [&](const PairSpec& spec) {
    EXPECT_THAT(error_of<Error>([&] { load_run({}, build_pair(spec), run_path()); }),
                HasSubstr("was fitted to pair"));
  };
  PairSpec spec = testing::small_spec();
  EXPECT_NO_THROW(load_run({}, build_pair(spec), run_path()));
  spec.seed = 5;
  refused(spec);
  spec = testing::small_spec();
  spec.reverse = true;
  refused(spec);
  // The same name and seed, another construction.
  spec = testing::small_spec();
  spec.gamma = 0.26;
  refused(spec);
  spec = testing::small_spec();
  spec.sigma = 0.81;
  refused(spec);
  // The same potential of x1, another of x0.
  spec = testing::small_spec();
  spec.source_potential = CpPotential({0.0}, Array3<double>(2, 6, 1, 0.5));
  refused(spec);
}

TEST_F(RunTest, BadRequestsLeaveNothingBehind) {
  RunConfig bad = config("feature-wise");
  bad.options["marginal_sample"] = "10";
  EXPECT_THAT(train_error(bad), HasSubstr("did you mean 'marginal_samples'"));
  EXPECT_THAT(train_error({"orcale", pair_path().string(), 0, {}}),
              HasSubstr("the nearest is oracle"));
  EXPECT_THAT(train_error({"oracle", "d2-gausian-0.02", 0, {}}),
              HasSubstr("the nearest preset is d2-gaussian-0.02"));
  bad = config("feature-wise");
  bad.options["marginal_samples"] = "many";  // found out by the solver itself
  EXPECT_THAT(train_error(bad), HasSubstr("marginal_samples"));
  EXPECT_FALSE(std::filesystem::exists(run_path()));
  std::filesystem::create_directory(run_path());
  write_text(run_path() / "notes.txt", "mine");
  EXPECT_THAT(train_error(bad), HasSubstr("marginal_samples"));
  EXPECT_FALSE(std::filesystem::exists(run_path() / "config.toml"));
  EXPECT_EQ(read_text(run_path() / "notes.txt"), "mine");
}

TEST_F(RunTest, CorruptFilesGiveOneClearLine) {
  train(config("reference"));
  const std::string config_text = read_text(run_path() / "config.toml"),
                    result_text = read_text(run_path() / "result.json");
  for (const char* text : {"solver = ", "solver = 3\npair = 'x'\nseed = '0'", "", "\xff\xfe",
                           "solver = 'reference'\npair = 'p'\nseed = 'seven'",
                           "solver = 'reference'\npair = 'p'\nseed = '-1'",
                           "solver = 'reference'\npair = 'p'\nseed = '0'\n[options]\na = 1"}) {
    write_text(run_path() / "config.toml", text);
    EXPECT_THAT(load_error(), HasSubstr("config.toml")) << text;
  }
  write_text(run_path() / "config.toml", config_text);
  for (const char* text : {"{", "", "[]", "3", "null", "{}", R"({"pair": 3})",
                           R"({"pair": {}, "diagnostics": {}, "wall_seconds": "1"})",
                           R"({"pair": {"name": 5}, "diagnostics": {}, "wall_seconds": 1})",
                           R"({"pair": {"reverse": null}, "diagnostics": {}, "wall_seconds": 1})",
                           R"({"pair": {}, "diagnostics": {"a": [1]}, "wall_seconds": 1})"}) {
    write_text(run_path() / "result.json", text);
    EXPECT_THAT(load_error(), HasSubstr("result.json")) << text;
  }
  write_text(run_path() / "result.json", result_text);
  EXPECT_NO_THROW(load_run({}, pair(), run_path()));

  write_text(run_path() / "model.safetensors", "junk");
  EXPECT_THAT(load_error(), HasSubstr("model.safetensors"));
  std::filesystem::remove(run_path() / "model.safetensors");
  EXPECT_THAT(load_error(), HasSubstr("model.safetensors"));
  std::filesystem::remove_all(run_path());
  EXPECT_THAT(load_error(), HasSubstr("run: no such folder"));
}

TEST_F(RunTest, NetworksOfPythonAreExplained) {
  std::filesystem::create_directories(run_path());
  write_text(run_path() / "config.toml",
             "kind = 'torch'\nsolver = 'csbm'\npair = ''\nseed = '0'\n");
  EXPECT_THAT(load_error(), HasSubstr("holds a run of bridgemark.torch"));
  write_text(run_path() / "config.toml",
             "kind = 'other'\nsolver = 'csbm'\npair = ''\nseed = '0'\n");
  EXPECT_THAT(load_error(), HasSubstr("'kind' must be 'torch' or not there, got 'other'"));
}

TEST_F(RunTest, ModelOfAnotherShapeIsRefused) {
  train(config("reference"));
  PairSpec spec = testing::small_spec();
  spec.num_categories = 7;
  write_pair_folder({}, testing::pair_with_test_set(spec, 200), dir_.path() / "other");
  train_run({}, {"reference", (dir_.path() / "other").string(), 0, {}}, dir_.path() / "other-run",
            false);
  std::filesystem::copy_file(dir_.path() / "other-run" / "model.safetensors",
                             run_path() / "model.safetensors",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(load_error(), AllOf(HasSubstr("model.safetensors"), HasSubstr("log_cores")));
}

// One training of CSBM answers both directions of its pair; a CP bridge answers one.
TEST(Run, NetworksAnswerTheReversedPair) {
  const testing::TempDir dir;
  const BenchmarkPair pair = load_pair("d2-gaussian-0.05");
  RunConfig config{"csbm", "d2-gaussian-0.05", 1, {}};
  config.options = {{"num_steps", "4"},  {"imf_iterations", "1"}, {"updates_first", "2"},
                    {"batch_size", "4"}, {"hidden", "5"},         {"initial", "independent"}};
  const Context context{.num_threads = 1};
  train_run(context, config, dir.path() / "networks", false);

  const auto forward = load_run(context, pair, dir.path() / "networks");
  const auto backward =
      load_run(context, load_pair("d2-gaussian-0.05-reverse"), dir.path() / "networks");
  const States x1 = pair.sample_x1(context, 20, 1);
  States drawn(20, 2), expected(20, 2);
  backward->sample(context, x1, {3}, 0, drawn);
  forward->reversed()->sample(context, x1, {3}, 0, expected);
  EXPECT_EQ(drawn, expected);
  EXPECT_THROW(load_run(context, load_pair("d2-gaussian-0.02-reverse"), dir.path() / "networks"),
               InvalidArgument);

  train_run(context, {"reference", "d2-gaussian-0.05", 1, {}}, dir.path() / "reference", false);
  try {
    load_run(context, load_pair("d2-gaussian-0.05-reverse"), dir.path() / "reference");
    FAIL() << "accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("answers that direction alone"), std::string::npos);
  }
}

}  // namespace
}  // namespace bridgemark
