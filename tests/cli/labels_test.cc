#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "bridgemark/io/npy.h"
#include "bridgemark/math/philox.h"
#include "tests/cli/run_program.h"

// Rows with labels: train, sample and evaluate with --condition.
namespace bridgemark {
namespace {

using ::testing::AllOf;
using testing::expect_success;
using testing::files_below;
using ::testing::HasSubstr;
using testing::ProgramRun;
using testing::run_program;
using testing::TempDir;

// Two columns of 16 categories; x0 is low, x1 is high, of label 1 by four categories more.
class LabelCommands : public ::testing::Test {
 protected:
  LabelCommands() {
    save("x0", 60, 0, 1);
    save("x1", 80, 8, 2);
    save("new-x0", 30, 0, 3);
    save("new-x1", 40, 8, 4);
  }

  void save(const std::string& name, std::size_t rows, std::int32_t low, std::uint64_t seed) const {
    std::vector<std::int32_t> values(rows * 2), labels(rows);
    for (std::size_t i = 0; i < rows; ++i) {
      labels[i] = i % 3 == 0 ? 1 : 0;
      for (std::size_t d = 0; d < 2; ++d) {
        const double drawn = draw_uniform({seed, DrawPurpose::kSource}, i * 2 + d, 0);
        values[i * 2 + d] = low + 4 * (low > 0 ? labels[i] : 0) + static_cast<int>(4.0 * drawn);
      }
    }
    save_npy(path(name + ".npy"), {rows, 2}, std::span<const std::int32_t>(values));
    save_npy(path(name + "-labels.npy"), {rows}, std::span<const std::int32_t>(labels));
  }

  std::string path(const std::string& name) const { return (temp_.path() / name).string(); }

  std::vector<std::string> with_files(std::vector<std::string> arguments, const std::string& prefix,
                                      bool condition = true) const {
    const auto file = [&](const char* name) { return path(prefix + name); };
    arguments.insert(arguments.end(), {"--x0", file("x0.npy"), "--x1", file("x1.npy")});
    if (condition) {
      arguments.insert(arguments.end(),
                       {"--condition", file("x0-labels.npy"), file("x1-labels.npy")});
    }
    return arguments;
  }

  std::string train(const std::string& run, std::vector<std::string> more = {},
                    bool condition = true) const {
    std::vector<std::string> arguments = with_files(
        {"train", "feature-wise", "--gamma", "0.2", "--categories", "16", "-o", path(run)}, "",
        condition);
    arguments.insert(arguments.end(), more.begin(), more.end());
    return expect_success(arguments);
  }

  TempDir temp_;
};

TEST_F(LabelCommands, AnswersKeepTheirLabel) {
  EXPECT_THAT(train("run"), AllOf(HasSubstr("label-0: feature-wise on data in"),
                                  HasSubstr("label-1: feature-wise on data in")));
  const std::vector<std::string> sample = {
      "sample",       "--run",       path("run"),           "--given",
      path("x0.npy"), "--condition", path("x0-labels.npy"), "-o",
      path("out.npy")};
  expect_success(sample);
  const std::vector<std::int32_t> x1 = load_npy(path("out.npy")).to_int32();
  double mean[2] = {0.0, 0.0};
  for (std::size_t i = 0; i < 60; ++i) {
    mean[i % 3 == 0 ? 1 : 0] += (x1[2 * i] + x1[2 * i + 1]) / (i % 3 == 0 ? 40.0 : 80.0);
  }
  EXPECT_NEAR(mean[0], 9.5, 1.0);
  EXPECT_NEAR(mean[1], 13.5, 1.0);
  std::vector<std::string> paths = sample;
  paths.insert(paths.end(), {"--what", "trajectory", "--num-steps", "8"});
  expect_success(paths);
  EXPECT_EQ(load_npy(path("out.npy")).shape, (std::vector<std::size_t>{60, 9, 2}));
  std::vector<std::string> back = sample;
  back[4] = path("x1.npy");
  back[6] = path("x1-labels.npy");
  back.push_back("--reverse");
  expect_success(back);
  EXPECT_EQ(load_npy(path("out.npy")).shape, (std::vector<std::size_t>{80, 2}));
  // The run of a label is a run like any other.
  expect_success({"sample", "--run", path("run") + "/label-1", "--given", path("x0.npy"), "-o",
                  path("out.npy")});
  train("run", {"--resume"});
  const auto results = nlohmann::json::parse(train("again", {"--json"}));
  EXPECT_EQ(results.at("labels").at(1).at("label"), 1);
}

TEST_F(LabelCommands, AreEvaluatedLabelByLabel) {
  train("run");
  train("plain", {}, false);
  const std::string page = path("page.html");
  const std::string text = expect_success(with_files(
      {"evaluate", "--run", path("run"), "--run", path("plain"), "--report", page}, "new-"));
  EXPECT_THAT(text, AllOf(HasSubstr("of 2 labels, each by itself"),
                          HasSubstr("run is nearer to the bridge than "),
                          HasSubstr("label 1, 10 rows of x0 and 14 of x1")));
  EXPECT_THAT(testing::slurp(page), AllOf(HasSubstr("Label by label"), HasSubstr("label 1, 10")));
  const auto json = nlohmann::json::parse(
      expect_success(with_files({"evaluate", "--run", path("run"), "--json"}, "new-")));
  EXPECT_EQ(json.at("labels").size(), 2u);
}

TEST_F(LabelCommands, BadRequestsAreOneLineAndLeaveNothing) {
  train("run");
  train("plain", {}, false);
  const std::vector<std::int32_t> threes(30, 3), few(4, 0);
  save_npy(path("threes.npy"), {30}, std::span<const std::int32_t>(threes));
  save_npy(path("few.npy"), {4}, std::span<const std::int32_t>(few));
  const auto before = files_below(temp_.path());
  const auto refuses = [&](const std::vector<std::string>& arguments, const std::string& about) {
    const ProgramRun run = run_program(arguments);
    EXPECT_EQ(run.status, 2) << about;
    EXPECT_THAT(run.err, HasSubstr(about));
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_EQ(files_below(temp_.path()), before) << about;
  };
  const std::string run = path("run"), x0 = path("new-x0.npy"), out = path("bad");
  const auto sample = [&](const std::string& of, const std::string& labels) {
    return std::vector<std::string>{"sample", "--run",       of,    "--given", x0, "-o",
                                    out,      "--condition", labels};
  };
  refuses(sample(run, path("threes.npy")), "label must be one that was trained, 0, 1, got 3");
  refuses(sample(run, path("few.npy")), "must have a label for each of the 30 rows of x0, got 4");
  refuses(sample(run, x0), "new-x0.npy");
  refuses(sample(path("plain"), path("new-x0-labels.npy")),
          "--condition goes with a run that was trained with it, got --run " + path("plain"));
  refuses({"sample", "--run", run, "--given", x0, "-o", out}, "holds a run for each label");
  refuses({"evaluate", "--run", run, "--x0", x0, "--x1", path("new-x1.npy")},
          "holds a run for each label: give the labels of the rows (--condition)");
  refuses({"evaluate", "--run", run, "--x0", x0, "--x1", path("new-x1.npy"), "--condition",
           path("threes.npy"), path("new-x1-labels.npy")},
          "a label must be one of both ends, got 3 of x0 and no row of x1");
  refuses({"evaluate", "d2-uniform-0.01", "--run", run, "--condition", x0, x0},
          "--condition needs --x0 and --x1, got it without");
  refuses({"train", "feature-wise", "--x0", x0, "--x1", path("new-x1.npy"), "-o", out, "--gamma",
           "0.2", "--condition", path("few.npy"), path("new-x1-labels.npy")},
          "the condition of x0 must have a label for each of the 30 rows of x0, got 4");
  refuses(with_files({"train", "feature-wise", "--gamma", "0.2", "-o", run}, ""),
          "already holds a run");
  refuses(with_files({"train", "feature-wise", "--gamma", "0.2", "--categories", "16", "-o", run,
                      "--resume", "--seed", "4"},
                     ""),
          "holds a run with another configuration");
}

}  // namespace
}  // namespace bridgemark
