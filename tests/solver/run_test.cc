#include "bridgemark/solver/run/run.h"
#include "bridgemark/solver/core/diagnostics_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/folder_lock.h"
#include "bridgemark/io/json.h"
#include "bridgemark/pair/pair_folder.h"
#include "bridgemark/solver/run/run_result.h"
#include "tests/io/io_testing.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

using testing::error_of;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// The message of a library error, which must be one line.
// A small pair in a folder, and room for runs beside it.
class RunTest : public ::testing::Test {
 protected:
  RunTest() {
    write_pair_folder({}, testing::pair_with_test_set(testing::small_spec(), 200), pair_path());
  }

  std::filesystem::path pair_path() const { return dir_.path() / "pair"; }
  std::filesystem::path run_path() const { return dir_.path() / "run"; }
  BenchmarkPair pair() const { return load_pair(pair_path().string()); }

  RunConfig config(const std::string& solver) const {
    RunConfig config{solver, pair_path().string(), 5, {}};
    if (solver == "feature-wise") config.options["marginal_samples"] = "2000";
    if (solver == "sinkhorn") config.options["rows"] = "200";
    return config;
  }

  void train(const RunConfig& config, bool resume = false) const {
    train_run({}, config, run_path(), resume);
  }

  std::string train_error(const RunConfig& config, bool resume = false) const {
    return error_of<Error>([&] { train(config, resume); });
  }
  std::string load_error() const {
    return error_of<Error>([&] { load_run({}, pair(), run_path()); });
  }

  testing::TempDir dir_;
};

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
  EXPECT_EQ(nlohmann::json::parse(read(run_path() / "log.jsonl")).at("event"), "fitted");
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
  EXPECT_EQ(read(run_path() / "log.jsonl"), log_text(fitted.history));
  const Fitted again = train_run({}, run, pair(), run_path(), true);  // complete: read, not trained
  EXPECT_EQ(log_text(again.history), log_text(fitted.history));
  std::filesystem::remove_all(run_path());
  train(config("reference"));
  EXPECT_TRUE(load_run_history(run_path()).empty());
}

TEST_F(RunTest, OccupiedFolderIsRefused) {
  train(config("reference"));
  const std::string before = read(run_path() / "result.json");
  EXPECT_THAT(train_error(config("reference")),
              AllOf(HasSubstr("run"), HasSubstr("already holds a run"), HasSubstr("resume it")));
  EXPECT_EQ(read(run_path() / "result.json"), before);
}

TEST_F(RunTest, OneRunAtATimeWorksInAFolder) {
  std::filesystem::create_directory(run_path());
  {
    const FolderLock lock(run_path());
    EXPECT_THAT(train_error(config("reference")), HasSubstr("another bridgemark run is at work"));
    const Fitted fitted = testing::fit_solver("reference", pair());
    EXPECT_THAT(error_of<Error>(
                    [&] { save_run({}, config("reference"), pair(), fitted, 1.0, run_path()); }),
                HasSubstr("another bridgemark run is at work"));
  }
  train(config("reference"));
  EXPECT_FALSE(std::filesystem::exists(run_path() / "lock"));
}

// While a run trains, its folder is removed and another process makes a run of that name.
TEST_F(RunTest, AReplacedFolderGetsNothingOfTheRunThatLostIt) {
  RunConfig first = config("dlightsb"), second = config("reference");
  first.options = {{"updates", "64"}, {"components", "3"}, {"batch_size", "4"}, {"log_every", "1"}};
  bool replaced = false;
  const Context context{
      .num_threads = 1,
      .progress = [&](std::string_view, std::uint64_t done, std::uint64_t, std::string_view) {
        if (replaced || done < 16) return;
        replaced = true;
        const pid_t other = fork();
        if (other == 0) {
          std::filesystem::remove_all(run_path());
          train_run({.num_threads = 1}, second, run_path(), false);
          _exit(0);
        }
        waitpid(other, nullptr, 0);
      }};
  EXPECT_THAT(error_of<FolderLost>([&] { train_run(context, first, run_path(), false); }),
              AllOf(HasSubstr(run_path().string()), HasSubstr("replaced")));
  EXPECT_EQ(load_run_config(run_path()).solver, "reference");
  EXPECT_FALSE(std::filesystem::exists(run_path() / "checkpoint.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(run_path() / "lock"));
  EXPECT_NO_THROW(load_run({}, pair(), run_path()));
}

// A run finds its pair from another folder, and where the two have moved together or one of them
// alone has.
TEST_F(RunTest, FindsItsPairWhereverItIsReadFrom) {
  namespace fs = std::filesystem;
  const fs::path here = fs::current_path(), project = dir_.path() / "project";
  fs::create_directory(project);
  fs::rename(pair_path(), project / "pair");
  fs::create_directory(dir_.path() / "elsewhere");
  fs::current_path(project);
  RunConfig given = config("reference");
  given.pair = "pair";
  train_run({}, given, "run", false);
  fs::current_path(dir_.path() / "elsewhere");
  EXPECT_EQ(load_whole_run({}, "../project/run").problem.name(), "small");
  given.pair = "../project/pair";
  EXPECT_NO_THROW(train_run({}, given, "../project/run", true));  // the same place by another name
  fs::copy(project / "run", dir_.path() / "run", fs::copy_options::recursive);
  EXPECT_NO_THROW(load_whole_run({}, run_path()));  // by the whole path
  fs::rename(project, dir_.path() / "moved");
  EXPECT_NO_THROW(load_whole_run({}, "../moved/run"));  // by the path from the run
  EXPECT_THAT(error_of<Error>([&] { load_whole_run({}, run_path()); }),
              AllOf(HasSubstr("its pair"), HasSubstr((project / "pair").string())));
  // Another pair of that place is not taken for it.
  PairSpec other = testing::small_spec();
  other.seed = 77;
  fs::create_directory(project);
  write_pair_folder({}, testing::pair_with_test_set(other, 200), project / "pair");
  EXPECT_THAT(error_of<Error>([&] { load_whole_run({}, run_path()); }), HasSubstr("its pair"));
  fs::current_path(here);
}

TEST_F(RunTest, FilesOfTwoRunsAreNotMixed) {
  RunConfig trained = config("dlightsb");
  trained.options = {{"updates", "4"}, {"components", "3"}, {"batch_size", "4"}};
  train(trained);
  const std::string identity = load_run_config(run_path()).identity;
  EXPECT_EQ(identity.size(), 32u);
  EXPECT_EQ(load_run_result(run_path()).at("run_identity"), identity);
  const auto other = dir_.path() / "other";
  train_run({}, trained, other, false);
  for (const char* file : {"config.toml", "result.json"}) {
    const std::string own = read(run_path() / file);
    write(run_path() / file, read(other / file));
    const auto refused = AllOf(HasSubstr(identity), HasSubstr("files of two runs"));
    EXPECT_THAT(load_error(), refused) << file;
    EXPECT_THAT(error_of<Error>([&] { load_whole_run({}, run_path()); }), refused) << file;
    EXPECT_THAT(train_error(trained, true), refused) << file;
    write(run_path() / file, own);
  }
  std::filesystem::remove(run_path() / "result.json");  // it would go on from the other's
  write(run_path() / "checkpoint.safetensors", read(other / "checkpoint.safetensors"));
  EXPECT_THAT(train_error(trained, true),
              AllOf(HasSubstr("checkpoint.safetensors"), HasSubstr("files of two runs")));
}

TEST_F(RunTest, AModelIsTheOneOfItsResult) {
  RunConfig trained = config("dlightsb");
  trained.options = {{"updates", "4"}, {"components", "3"}, {"batch_size", "4"}};
  train(trained);
  trained.seed = 6;
  train_run({}, trained, dir_.path() / "other", false);
  write(run_path() / "model.safetensors", read(dir_.path() / "other" / "model.safetensors"));
  EXPECT_THAT(load_error(), AllOf(HasSubstr("model.safetensors"), HasSubstr("fingerprint")));
}

// As versions before 0.2 left it.
TEST_F(RunTest, AFolderWithoutARunsIdentityLoads) {
  train(config("feature-wise"));
  RunConfig before = load_run_config(run_path());
  before.identity.clear();
  save_run_config(before, run_path());
  nlohmann::json result = load_run_result(run_path());
  result.erase("run_identity");
  result.erase("model_fingerprint");
  save_json(run_path() / "result.json", result);
  EXPECT_NO_THROW(load_run({}, pair(), run_path()));
  EXPECT_NO_THROW(load_whole_run({}, run_path()));
  train(config("feature-wise"), true);
  EXPECT_THAT(read(run_path() / "config.toml"), Not(HasSubstr("run_identity")));
  std::filesystem::remove(run_path() / "result.json");
  train(config("feature-wise"), true);
  EXPECT_NO_THROW(load_run({}, pair(), run_path()));
}

TEST_F(RunTest, ResultsOfNoRunAreLeftAlone) {
  std::filesystem::create_directory(run_path());
  write(run_path() / "result.json", "{}");
  EXPECT_THAT(train_error(config("reference"), true), HasSubstr("result.json but no config.toml"));
  EXPECT_EQ(read(run_path() / "result.json"), "{}");
}

TEST_F(RunTest, WhatAKilledRunLeftIsSwept) {
  std::filesystem::create_directory(run_path());
  const auto stale = run_path() / ".checkpoint.safetensors.tmp-ab12cd";
  for (const auto& path : {stale, run_path() / ".notes.tmp-ab12cd", run_path() / ".mine"}) {
    write(path, "x");
  }
  train(config("reference"));
  EXPECT_FALSE(std::filesystem::exists(stale));
  EXPECT_TRUE(std::filesystem::exists(run_path() / ".notes.tmp-ab12cd"));
  EXPECT_TRUE(std::filesystem::exists(run_path() / ".mine"));
}

TEST_F(RunTest, ResumeOfACompleteRunChangesNothing) {
  train(config("feature-wise"));
  const std::string result = read(run_path() / "result.json"),
                    model = read(run_path() / "model.safetensors");
  const auto written = std::filesystem::last_write_time(run_path() / "result.json");
  train(config("feature-wise"), true);
  EXPECT_EQ(read(run_path() / "result.json"), result);
  EXPECT_EQ(read(run_path() / "model.safetensors"), model);
  EXPECT_EQ(std::filesystem::last_write_time(run_path() / "result.json"), written);
}

TEST_F(RunTest, ResumeFinishesAnInterruptedRun) {
  train(config("feature-wise"));
  const std::string model = read(run_path() / "model.safetensors");
  std::filesystem::remove(run_path() / "result.json");
  std::filesystem::remove(run_path() / "model.safetensors");
  EXPECT_THAT(train_error(config("feature-wise")), HasSubstr("already holds a run"));
  train(config("feature-wise"), true);
  EXPECT_TRUE(is_complete_run(run_path()));
  EXPECT_EQ(read(run_path() / "model.safetensors"), model);
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
  write(run_path() / "notes.txt", "mine");
  EXPECT_THAT(train_error(bad), HasSubstr("marginal_samples"));
  EXPECT_FALSE(std::filesystem::exists(run_path() / "config.toml"));
  EXPECT_EQ(read(run_path() / "notes.txt"), "mine");
}

TEST_F(RunTest, CorruptFilesGiveOneClearLine) {
  train(config("reference"));
  const std::string config_text = read(run_path() / "config.toml"),
                    result_text = read(run_path() / "result.json");
  for (const char* text : {"solver = ", "solver = 3\npair = 'x'\nseed = '0'", "", "\xff\xfe",
                           "solver = 'reference'\npair = 'p'\nseed = 'seven'",
                           "solver = 'reference'\npair = 'p'\nseed = '-1'",
                           "solver = 'reference'\npair = 'p'\nseed = '0'\n[options]\na = 1"}) {
    write(run_path() / "config.toml", text);
    EXPECT_THAT(load_error(), HasSubstr("config.toml")) << text;
  }
  write(run_path() / "config.toml", config_text);
  for (const char* text : {"{", "", "[]", "3", "null", "{}", R"({"pair": 3})",
                           R"({"pair": {}, "diagnostics": {}, "wall_seconds": "1"})",
                           R"({"pair": {"name": 5}, "diagnostics": {}, "wall_seconds": 1})",
                           R"({"pair": {"reverse": null}, "diagnostics": {}, "wall_seconds": 1})",
                           R"({"pair": {}, "diagnostics": {"a": [1]}, "wall_seconds": 1})"}) {
    write(run_path() / "result.json", text);
    EXPECT_THAT(load_error(), HasSubstr("result.json")) << text;
  }
  write(run_path() / "result.json", result_text);
  EXPECT_NO_THROW(load_run({}, pair(), run_path()));

  write(run_path() / "model.safetensors", "junk");
  EXPECT_THAT(load_error(), HasSubstr("model.safetensors"));
  std::filesystem::remove(run_path() / "model.safetensors");
  EXPECT_THAT(load_error(), HasSubstr("model.safetensors"));
  std::filesystem::remove_all(run_path());
  EXPECT_THAT(load_error(), HasSubstr("config.toml"));
}

TEST_F(RunTest, NetworksOfPythonAreExplained) {
  std::filesystem::create_directories(run_path());
  write(run_path() / "config.toml", "kind = 'torch'\nsolver = 'csbm'\npair = ''\nseed = '0'\n");
  EXPECT_THAT(load_error(), HasSubstr("holds a run of bridgemark.torch"));
  write(run_path() / "config.toml", "kind = 'other'\nsolver = 'csbm'\npair = ''\nseed = '0'\n");
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
