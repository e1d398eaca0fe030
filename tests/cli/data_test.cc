#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "bridgemark/io/npy.h"
#include "tests/cli/run_program.h"

// Data to data on the command line: train --x0 --x1, and what answers from such a run.
namespace bridgemark {
namespace {

using ::testing::AllOf;
using testing::expect_success;
using testing::files_below;
using ::testing::HasSubstr;
using testing::ProgramRun;
using testing::run_program;
using testing::TempDir;

class DataCommands : public ::testing::Test {
 protected:
  DataCommands() {
    save("x0.npy", 30, 0);
    save("x1.npy", 40, 5);
  }

  // Three categories from `low` on, in two columns.
  void save(const std::string& name, std::size_t rows, std::int32_t low) const {
    std::vector<std::int32_t> values(rows * 2);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = low + static_cast<std::int32_t>(i * 7 % 3);
    }
    save_npy(path(name), {rows, 2}, std::span<const std::int32_t>(values));
  }

  std::string path(const std::string& name) const { return (temp_.path() / name).string(); }

  ProgramRun train(std::vector<std::string> more, const std::string& run = "run") const {
    std::vector<std::string> arguments = {"train", "feature-wise", "-o", path(run)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }

  std::vector<std::string> both() const { return {"--x0", path("x0.npy"), "--x1", path("x1.npy")}; }

  TempDir temp_;
};

// A run on data becomes a pair that other commands take, whose truth it is.
TEST_F(DataCommands, ADistilledRunIsTheTruthOfItsPair) {
  expect_success({"train", "dlightsb", "--x0", path("x0.npy"), "--x1", path("x1.npy"), "--gamma",
                  "0.3", "--set", "updates=20", "--set", "components=2", "--set", "holdout=0",
                  "--quiet", "-o", path("run")});
  std::vector<std::string> distill = {"distill",  "--run",       path("run"), "--name",
                                      "low-high", "--data-name", "thirds",    "--seed",
                                      "4",        "-o",          path("pair")};
  const ProgramRun refused = run_program(distill);
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("none held out has judged it"));
  EXPECT_FALSE(std::filesystem::exists(path("pair")));

  distill.push_back("--accept-overfitted");
  EXPECT_THAT(run_program(distill).out, HasSubstr("low-high (D = 2, S = 8"));
  EXPECT_THAT(expect_success({"evaluate", path("pair"), "--run", path("run"), "--quiet"}),
              HasSubstr("joint_kl                            0.00000"));

  distill[4] = "";
  EXPECT_THAT(run_program(distill).err, HasSubstr("name must not be empty"));
}

TEST_F(DataCommands, RunOfATorchNetworkIsExplained) {
  std::filesystem::create_directory(path("run"));
  testing::put(path("run") + "/config.toml",
               "kind = \"torch\"\nsolver = \"csbm\"\npair = \"\"\nseed = \"0\"\n");
  const ProgramRun run = run_program(
      {"sample", "--run", path("run"), "--given", path("x0.npy"), "-o", path("out.npy")});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("holds a run of bridgemark.torch, whose network needs Python"));
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1);
  EXPECT_FALSE(std::filesystem::exists(path("out.npy")));
}

TEST_F(DataCommands, TrainThenSampleBothWays) {
  const ProgramRun trained = train(both());
  EXPECT_EQ(trained.status, 0) << trained.err;
  EXPECT_THAT(trained.out, HasSubstr("feature-wise on data in"));
  EXPECT_THAT(trained.err,
              AllOf(HasSubstr("note: [data] gamma 0."), HasSubstr("was chosen for 8 categories")));
  const auto sample = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"sample", "--run", path("run"), "-o", path("out.npy")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_success(arguments);
    return load_npy(path("out.npy"));
  };
  const std::vector<std::int32_t> x1 = sample({"--given", path("x0.npy")}).to_int32();
  EXPECT_EQ(x1.size(), 60u);
  EXPECT_GT(std::ranges::count_if(x1, [](int s) { return s >= 4; }), 50);
  const NpyArray back = sample({"--given", path("x1.npy"), "--reverse"});
  EXPECT_EQ(back.shape, (std::vector<std::size_t>{40, 2}));
  EXPECT_LE(std::ranges::max(back.to_int32()), 2);  // rows of x0
  const NpyArray paths =
      sample({"--given", path("x0.npy"), "--what", "trajectory", "--num-steps", "8"});
  EXPECT_EQ(paths.shape, (std::vector<std::size_t>{30, 9, 2}));
}

TEST_F(DataCommands, RunsOfPairsAnswerToo) {
  expect_success({"train", "reference", "--pair", "d2-uniform-0.01", "-o", path("of-pair")});
  expect_success({"sample", "--run", path("of-pair"), "--given", path("x0.npy"), "-o",
                  path("out.npy"), "--seed", "4"});
  EXPECT_EQ(load_npy(path("out.npy")).shape, (std::vector<std::size_t>{30, 2}));
}

TEST_F(DataCommands, BadRequestsAreOneLineAndLeaveNothing) {
  EXPECT_EQ(train(both()).status, 0);
  const auto before = files_below(temp_.path());
  const auto refuses = [&](const ProgramRun& run, const std::string& about) {
    EXPECT_EQ(run.status, 2) << about;
    EXPECT_THAT(run.err, HasSubstr(about));
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_EQ(files_below(temp_.path()), before) << about;
  };
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = both();
    arguments.insert(arguments.end(), more.begin(), more.end());
    return train(arguments, "bad");
  };
  refuses(train({}, "bad"), "give one of --pair and --x0 with --x1, got none");
  refuses(with({"--pair", "d2-uniform-0.01"}), "give one of --pair and --x0 with --x1, got both");
  refuses(train({"--x1", path("x1.npy")}, "bad"), "--x0 and --x1 must be given together, got --x1");
  refuses(train({"--pair", "d2-uniform-0.01", "--gamma", "0.1"}, "bad"), "--gamma requires --x0");
  refuses(with({"--reference", "gauss"}),
          "reference must be gaussian, uniform, birth-death, absorbing, a matrix");
  refuses(with({"--reference", path("x0.npy"), "--gamma", "0.1"}),
          "gamma belongs to any reference but a matrix");
  refuses(with({"--reference", "lowrank:u.npy"}), "is lowrank:U.npy,V.npy, got 'lowrank:u.npy'");
  refuses(with({"--reference", "lowrank:u.npy,v.npy"}), "u.npy");
  refuses(with({"--reference", "graph:w.npz", "--gamma", "0.1"}), "w.npz");
  refuses(with({"--reference", "birth-death"}),
          "gamma must be given with a reference birth-death, got none");
  refuses(with({"--reference", "birth-death", "--gamma", "0.1", "--steps", "2"}),
          "row 0 of x1 cannot be reached from any row of x0 in 2 steps of the birth-death");
  refuses(with({"--categories", "4", "--gamma", "0.3"}), "x1 must hold categories 0..3, got 5");
  refuses(train({"--x0", path("none.npy"), "--x1", path("x1.npy")}, "bad"), "none.npy");
  const auto sample = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"sample", "-o", path("bad.npy")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  };
  refuses(sample({}), "give one of PAIR and --run, got none");
  refuses(sample({"d2-uniform-0.01", "--run", path("run")}), "got both");
  refuses(sample({"d2-uniform-0.01", "-n", "3"}), "--what must be one of");
  refuses(sample({"d2-uniform-0.01", "-n", "3", "--what", "x0", "--reverse"}),
          "--reverse belongs to --run");
  refuses(sample({"--run", path("run")}), "--run needs --given");
  refuses(sample({"--run", path("run"), "--given", path("x0.npy"), "-n", "2"}), "-n belongs");
  refuses(sample({"--run", path("run"), "--given", path("x0.npy"), "--what", "joint"}),
          "--what of a --run must be conditional or trajectory, got joint");
  refuses(run_program({"evaluate", "d2-uniform-0.01", "--run", path("run")}),
          "was fitted to data whose S must be that of pair 'd2-uniform-0.01', 50, got 8");
}

}  // namespace
}  // namespace bridgemark
