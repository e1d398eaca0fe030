#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/npy.h"
#include "bridgemark/math/philox.h"
#include "bridgemark/metric/own_data/data_score.h"
#include "tests/cli/run_program.h"

// Runs scored on data, without a truth: evaluate --x0 --x1.
namespace bridgemark {
namespace {

using ::testing::AllOf;
using testing::expect_success;
using testing::files_below;
using ::testing::HasSubstr;
using testing::ProgramRun;
using testing::run_program;
using testing::TempDir;

// Rows of 16 categories in three columns, low ones of x0 and high ones of x1; two runs on them.
class EvaluateData : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    temp_ = new TempDir;
    save("x0.npy", 120, 0, 1);
    save("x1.npy", 150, 8, 2);
    save("new-x0.npy", 60, 0, 3);
    save("new-x1.npy", 70, 8, 4);
    train("feature-wise", {}, "features");
    train("independent", {}, "rows");
  }
  static void TearDownTestSuite() {
    delete temp_;
    temp_ = nullptr;
  }

  static std::string path(const std::string& name) { return (temp_->path() / name).string(); }

  static void save(const std::string& name, std::size_t rows, std::int32_t low,
                   std::uint64_t seed) {
    std::vector<std::int32_t> values(rows * 3);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] =
          low + static_cast<std::int32_t>(8.0 * draw_uniform({seed, DrawPurpose::kSource}, i, 0));
    }
    save_npy(path(name), {rows, 3}, std::span<const std::int32_t>(values));
  }

  static void train(const std::string& solver, std::vector<std::string> more,
                    const std::string& run) {
    std::vector<std::string> arguments = {"train",        solver,         "--x0",    path("x0.npy"),
                                          "--x1",         path("x1.npy"), "--gamma", "0.2",
                                          "--categories", "16",           "-o",      path(run)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_success(arguments);
  }

  static std::vector<std::string> evaluate(std::vector<std::string> more) {
    std::vector<std::string> arguments = {"evaluate", "--x0", path("new-x0.npy"), "--x1",
                                          path("new-x1.npy")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  static TempDir* temp_;
};

TempDir* EvaluateData::temp_ = nullptr;

TEST_F(EvaluateData, PrintsATableWithWhatEachNumberMeans) {
  const std::string table =
      expect_success(evaluate({"--run", path("features"), "--run", path("rows")}));
  EXPECT_THAT(table, HasSubstr("60 rows of x0 and 70 of x1, D = 3, S = 16; 60 draws"));
  EXPECT_THAT(table, HasSubstr("features: gaussian with gamma 0.2 and 128 steps; trained on 120 "
                               "rows of x0 and 150 of x1"));
  for (const DataScoreSpec& spec : data_score_specs()) {
    EXPECT_THAT(table, HasSubstr(std::string(spec.title)));
    const bool is_shown = table.find("\n\n" + std::string(spec.title)) != table.npos;
    EXPECT_EQ(table.find(std::string(spec.meaning)) != table.npos, is_shown);
  }
  EXPECT_THAT(table, HasSubstr("rows      -  it is no bridge: it has no potential v"));
  EXPECT_THAT(table, HasSubstr("\n\nLeft out, for every run:\n"));
}

TEST_F(EvaluateData, JsonIsOneObjectThatTheSeedDecides) {
  const auto scored = [&](const std::string& seed, const std::string& threads) {
    nlohmann::json object = nlohmann::json::parse(
        expect_success(evaluate({"--run", path("features"), "--run", path("rows"), "--json",
                                 "--seed", seed, "--threads", threads})));
    object.erase("wall_seconds");
    object.erase("peak_memory_bytes");
    return object;
  };
  const nlohmann::json first = scored("4", "1");
  EXPECT_EQ(first, scored("4", "2"));
  EXPECT_NE(first.at("runs"), scored("5", "1").at("runs"));
  EXPECT_EQ(first.at("seed"), 4);
  const nlohmann::json& scores = first.at("runs").at(0).at("scores");
  EXPECT_TRUE(scores.at(kHeldOutObjective).at("value").is_number());
  EXPECT_GT(scores.at(kDataShape).at("standard_error"), 0.0);
  EXPECT_TRUE(scores.at(kDataShape).at("beside").is_number());
  const nlohmann::json& repeats = first.at("runs").at(1).at("scores");
  EXPECT_EQ(repeats.at(kCopies).at("value"), 1.0);
  EXPECT_LT(repeats.at(kCopies).at("beside"), 0.5);
  EXPECT_TRUE(first.at("version").is_string());
}

TEST_F(EvaluateData, BridgesAreComparedInNats) {
  train("sinkhorn", {}, "sinkhorn");
  const std::string table =
      expect_success(evaluate({"--run", path("features"), "--run", path("sinkhorn")}));
  EXPECT_THAT(table, ::testing::ContainsRegex("(is nearer to the bridge than|are not told apart)"));
  train("feature-wise", {"--steps", "64"}, "half");
  EXPECT_THAT(expect_success(evaluate({"--run", path("features"), "--run", path("half")})),
              HasSubstr("their references differ, gaussian with gamma 0.2 and 128 steps and "
                        "gaussian with gamma 0.2 and 64 steps"));
}

TEST_F(EvaluateData, WritesAPage) {
  const std::string page = path("page.html"), words = path("words.txt");
  const std::vector<std::string> arguments =
      evaluate({"--run", path("features"), "--report", page});
  EXPECT_EQ(expect_success(arguments), expect_success(evaluate({"--run", path("features")})));
  EXPECT_THAT(testing::slurp(page), AllOf(HasSubstr("<!doctype html>"), HasSubstr("<svg ")));
  std::string vocabulary;
  for (int s = 0; s < 16; ++s) vocabulary += "word" + std::to_string(s) + "\n";
  write_file_atomically(words, vocabulary);
  expect_success(
      evaluate({"--run", path("features"), "--report", page, "--vocabulary", words, "--json"}));
  EXPECT_THAT(testing::slurp(page), AllOf(HasSubstr("word7"), ::testing::Not(HasSubstr("<svg "))));

  std::filesystem::remove(page);
  const auto refuses = [&](std::vector<std::string> more, const std::string& text) {
    const ProgramRun run = run_program(evaluate(std::move(more)));
    EXPECT_EQ(run.status, 2) << text;
    EXPECT_EQ(run.out, "") << text;
    EXPECT_THAT(run.err, HasSubstr(text));
    EXPECT_FALSE(std::filesystem::exists(page));
  };
  const std::string features = path("features");
  refuses({"--run", features, "--vocabulary", words}, "--vocabulary requires --report");
  refuses({"--run", features, "--report", path("none") + "/page.html"}, "its folder is not there");
  refuses({"--run", features, "--report", temp_->path().string()}, "the page must be a file");
  refuses({"--run", features, "--report", ""}, "the page must have a name, got none");
  refuses({"--run", features, "--report", page, "--vocabulary", ""}, "a file must have a name");
  refuses({"--run", features, "--report", page, "--vocabulary", path("none")}, "none");
  write_file_atomically(words, vocabulary + "one more\n");
  refuses({"--run", features, "--report", page, "--vocabulary", words},
          "the vocabulary must have a line for each of the 16 categories, got 17");
  for (const char* pair : {"d2-uniform-0.01", "--json"}) {
    const ProgramRun without = run_program({"evaluate", pair, "--run", features, "--report", page});
    EXPECT_EQ(without.status, 2);
    EXPECT_THAT(without.err, HasSubstr("--report needs --x0 and --x1, got it without"));
  }
}

TEST_F(EvaluateData, TheTrainingFileIsSaidAloud) {
  const ProgramRun run = run_program(
      {"evaluate", "--x0", path("x0.npy"), "--x1", path("new-x1.npy"), "--run", path("features")});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.err, AllOf(HasSubstr("warning: "),
                             HasSubstr("the rows of x0 are the very rows it was trained on; its "
                                       "objective and its fit are then optimistic")));
  EXPECT_THAT(run.out, HasSubstr("training rows are 100 % (by chance "));
}

TEST_F(EvaluateData, EndsInTheWrongOrderAreSaidAloud) {
  const ProgramRun run = run_program({"evaluate", "--x0", path("new-x1.npy"), "--x1",
                                      path("new-x0.npy"), "--run", path("features")});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.err, HasSubstr("if they are given in the wrong order, its numbers say nothing"));
}

TEST_F(EvaluateData, RunsOfPairsAnswerToo) {
  expect_success({"train", "feature-wise", "--pair", "d2-uniform-0.01", "--samples", "200", "-o",
                  path("of-set")});
  expect_success({"train", "reference", "--pair", "d2-uniform-0.01", "-o", path("endless")});
  const std::string kit = path("kit");
  expect_success({"kit", "d2-uniform-0.01", "--samples", "100", "--training-set", "1", "-o", kit});
  const std::string table =
      expect_success({"evaluate", "--x0", kit + "/train_x0.npy", "--x1", kit + "/train_x1.npy",
                      "--run", path("of-set"), "--run", path("endless")});
  EXPECT_THAT(table,
              AllOf(HasSubstr("trained on 200 rows of x0 and 200 of x1"),
                    HasSubstr("trained on endless draws of a pair"), HasSubstr("by chance")));
}

TEST_F(EvaluateData, WrongRequestsAreOneLine) {
  const auto before = files_below(temp_->path());
  const auto refuses = [&](const std::vector<std::string>& arguments, const std::string& text) {
    const ProgramRun run = run_program(arguments);
    EXPECT_EQ(run.status, 2) << text;
    EXPECT_EQ(run.out, "") << text;
    EXPECT_THAT(run.err, HasSubstr(text));
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_EQ(files_below(temp_->path()), before) << text;
  };
  const std::string features = path("features"), x0 = path("new-x0.npy"), x1 = path("new-x1.npy");
  refuses({"evaluate", "--run", features}, "give one of PAIR and --x0 with --x1, got none");
  refuses({"evaluate", "d2-uniform-0.01", "--run", features, "--x0", x0, "--x1", x1},
          "give one of PAIR and --x0 with --x1, got d2-uniform-0.01 beside them; each run needs a "
          "--run of its own");
  refuses({"evaluate", "--x0", x0, "--run", features},
          "--x0 and --x1 must be given together, got --x0");
  refuses({"evaluate", "--x1", x1, "--run", features},
          "--x0 and --x1 must be given together, got --x1");
  refuses(evaluate({}), "need --run, once or more, got none");
  refuses({"evaluate", "d2-uniform-0.01", "--run", features, "--run", features},
          "one --run is scored on a PAIR, got 2");
  for (const std::vector<std::string>& option :
       std::vector<std::vector<std::string>>{{"--predictions", "answers"},
                                             {"--label", "mine"},
                                             {"--add-to", "out"},
                                             {"--submission", "mine"},
                                             {"--training-seed", "1"},
                                             {"--training-seconds", "1"},
                                             {"--samples", "10"},
                                             {"--seeds", "2"},
                                             {"--num-steps", "4"},
                                             {"--trajectories", "4"},
                                             {"--conditional-samples", "4"},
                                             {"--particles", "4"},
                                             {"--max-seconds", "4"},
                                             {"--c2st"}}) {
    std::vector<std::string> arguments = evaluate({"--run", features});
    arguments.insert(arguments.end(), option.begin(), option.end());
    refuses(arguments, option[0] + " is of a PAIR and its truth, which data has not");
  }
  refuses(evaluate({"--run", features, "--run", features}), "got '" + features + "' twice");
  refuses(evaluate({"--run", path("none")}), "none");
  refuses(evaluate({"--run", temp_->path().string()}),
          "holds no run, looked for config.toml in it");
  refuses(evaluate({"--run", x0}), "is a file, expected the folder of a run");
  refuses(evaluate({"--run", ""}), "a run folder must have a name, got none");
  refuses({"evaluate", "--x0", "", "--x1", x1, "--run", features}, "'': a file must have a name");
  save_npy(path("wide.npy"), {5, 4}, std::span<const std::int32_t>(std::vector<std::int32_t>(20)));
  save_npy(path("high.npy"), {5, 3},
           std::span<const std::int32_t>(std::vector<std::int32_t>(15, 16)));
  expect_success({"train", "reference", "--x0", path("x0.npy"), "--x1", path("x1.npy"), "--gamma",
                  "0.2", "--categories", "20", "-o", path("larger")});
  const auto after = files_below(temp_->path());
  const ProgramRun wide = run_program(
      {"evaluate", "--x0", path("wide.npy"), "--x1", path("wide.npy"), "--run", features});
  EXPECT_THAT(wide.err,
              HasSubstr("was fitted to D = 3 and the rows must have as many columns, got 4"));
  const ProgramRun high =
      run_program({"evaluate", "--x0", path("high.npy"), "--x1", x1, "--run", features});
  EXPECT_THAT(high.err, HasSubstr("x0 must hold categories 0..15, got 16"));
  const ProgramRun larger = run_program(evaluate({"--run", features, "--run", path("larger")}));
  EXPECT_THAT(larger.err, AllOf(HasSubstr("runs must be of one space, got D = 3, S = 16"),
                                HasSubstr("D = 3, S = 20")));
  EXPECT_EQ(wide.status + high.status + larger.status, 6);
  EXPECT_EQ(files_below(temp_->path()), after);
}

}  // namespace
}  // namespace bridgemark
