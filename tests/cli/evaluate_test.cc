#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "bridgemark/io/npy.h"
#include "bridgemark/pair/benchmark_pair.h"
#include "tests/cli/run_program.h"
#include "tests/io/io_testing.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::ProgramRun;
using ::testing::StartsWith;

constexpr int kCategories = 8;

// A pair folder of 64 states. The test works in a folder of its own, so paths are short.
class EvaluateCommand : public ::testing::Test {
 protected:
  EvaluateCommand() : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(dir_.path());
    const ProgramRun built =
        run("build custom --dim 2 --categories 8 --gamma 0.15 --sigma 1 --steps 16 --name tiny "
            "--seed 3 -o pair");
    EXPECT_EQ(built.status, 0) << built.err;
  }

  ~EvaluateCommand() override { std::filesystem::current_path(before_); }

  static ProgramRun run(const std::string& arguments) {
    std::istringstream words(arguments);
    std::vector<std::string> list;
    for (std::string word; words >> word;) list.push_back(word);
    return testing::run_program(list);
  }

  // Exit 2, nothing on standard output, one line on standard error that says `what`.
  void expect_refused(const std::string& arguments,
                      const ::testing::Matcher<std::string>& what) const {
    const ProgramRun outcome = run(arguments);
    EXPECT_EQ(outcome.status, 2) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_THAT(outcome.err, AllOf(StartsWith("bridgemark: "), what)) << arguments;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }

  void write_predictions(const std::vector<std::size_t>& shape,
                         const std::vector<std::size_t>& conditional_shape,
                         std::int32_t value = 1) const {
    std::filesystem::create_directories(answers());
    save(answers() / "pred_x1.npy", shape, value);
    save(answers() / "pred_conditional_x1.npy", conditional_shape, value);
  }

  static void save(const std::filesystem::path& path, const std::vector<std::size_t>& shape,
                   std::int32_t value) {
    std::size_t count = 1;
    for (const std::size_t extent : shape) count *= extent;
    const std::vector<std::int32_t> values(count, value);
    save_npy(path, shape, std::span<const std::int32_t>(values));
  }

  std::filesystem::path answers() const { return dir_.path() / "answers"; }

  testing::TempDir dir_;
  std::filesystem::path before_;
  const std::vector<std::size_t> shape_{20000, 2};
  const std::vector<std::size_t> conditional_shape_{157, 1000, 2};
};

TEST_F(EvaluateCommand, TrainsAndScoresEveryBaseline) {
  for (const std::string solver : {"oracle", "independent", "reference", "feature-wise"}) {
    SCOPED_TRACE(solver);
    const std::string samples = solver == "feature-wise" ? " --set marginal_samples=5000" : "";
    const ProgramRun trained =
        run("train " + solver + " --pair pair -o " + solver + samples + " --json");
    ASSERT_EQ(trained.status, 0) << trained.err;
    const nlohmann::json result = nlohmann::json::parse(trained.out);
    EXPECT_EQ(result.at("solver"), solver);
    EXPECT_EQ(result, nlohmann::json::parse(testing::slurp(dir_.path() / solver / "result.json")));

    const ProgramRun scored =
        run("evaluate pair --run " + solver + " --num-steps 4 --trajectories 200 --seeds 2 --json");
    ASSERT_EQ(scored.status, 0) << scored.err;
    const nlohmann::json scores = nlohmann::json::parse(scored.out);
    for (const char* key :
         {"shape_score", "trend_score", "trend_offdiagonal", "conditional_shape_score",
          "conditional_trend_score", "sampled_conditional_shape_score", "sb_perplexity",
          "mean_marginal_entropy", "version", "seed", "device", "wall_seconds", "peak_memory_bytes",
          "machine"}) {
      ASSERT_TRUE(scores.contains(key)) << key;
      EXPECT_FALSE(scores[key].is_null()) << key;
    }
    for (const char* key : {"forward_trajectory_kl", "reverse_trajectory_kl", "joint_kl"}) {
      ASSERT_TRUE(scores.contains(key)) << key;
      EXPECT_EQ(scores[key].is_null(), solver == "independent") << key;
    }
    EXPECT_EQ(scores.at("exact_conditional_shape_score").is_null(), solver == "independent");
    EXPECT_EQ(scores.at("conditional_samples"), 1000);
    EXPECT_EQ(scores.at("pair"), "tiny");
    EXPECT_EQ(scores.at("num_seeds"), 2);
    EXPECT_EQ(scores.at("num_steps"), 4);
    EXPECT_EQ(scores.at("values").at("shape_score").size(), 2u);
    EXPECT_TRUE(scores.at("standard_errors").at("shape_score").is_number());
    if (solver == "oracle") {
      EXPECT_NEAR(scores.at("exact_conditional_shape_score").get<double>(), 1.0, 1e-6);
      EXPECT_EQ(scores.at("forward_trajectory_kl"), 0.0);
      EXPECT_EQ(scores.at("joint_kl"), 0.0);
    }
  }
}

TEST_F(EvaluateCommand, TrainsAndScoresNetworks) {
  const std::string settings =
      " --set num_steps=8 --set imf_iterations=2 --set updates_first=15 --set updates_later=5"
      " --set hidden=16,16 --set batch_size=16 --set initial_pairs=200 --threads 1";
  for (const std::string solver : {"csbm", "alpha-csbm"}) {
    SCOPED_TRACE(solver);
    const ProgramRun trained =
        run("train " + solver + " --pair pair -o " + solver + settings + " --json");
    ASSERT_EQ(trained.status, 0) << trained.err;
    EXPECT_EQ(nlohmann::json::parse(trained.out).at("diagnostics").at("updates"),
              solver == "csbm" ? 40 : 20);
    // The trajectory KL is on the grid of the run, not on the 16 steps of other solvers.
    const ProgramRun scored =
        run("evaluate pair --run " + solver +
            " --trajectories 100 --threads 1 --particles 4 --max-seconds 0 --json");
    ASSERT_EQ(scored.status, 0) << scored.err;
    const nlohmann::json scores = nlohmann::json::parse(scored.out);
    EXPECT_EQ(scores.at("num_steps"), 8);
    for (const char* key : {"forward_trajectory_kl", "reverse_trajectory_kl",
                            "conditional_shape_score", "sampled_conditional_shape_score"}) {
      EXPECT_TRUE(scores.at(key).is_number()) << key;
    }
    // No time for particles: they are those of the fewest rows.
    EXPECT_TRUE(scores.at("joint_kl").is_number());
    EXPECT_EQ(scores.at("joint_kl_bound"), "upper");
    EXPECT_EQ(scores.at("joint_kl_particles"), 4);
    EXPECT_EQ(scores.at("joint_kl_rows"), 200);
    EXPECT_EQ(scores.at("particles"), 4);
    EXPECT_TRUE(scores.at("exact_conditional_shape_score").is_null());
  }
  EXPECT_THAT(run("evaluate pair --run csbm --trajectories 10 --particles 2 --max-seconds 0").out,
              HasSubstr("joint_kl: an upper bound by 2 particles on 200 rows"));
  expect_refused("evaluate pair --run csbm --max-seconds -1", HasSubstr("max_seconds"));
  expect_refused("evaluate pair --run csbm --particles -1", HasSubstr("particles"));
  expect_refused("train csbm --pair pair -o bad --set update_first=3", HasSubstr("updates_first"));
  expect_refused("train csbm --pair pair -o bad --set num_steps=7", HasSubstr("num_steps"));
  expect_refused("train csbm --pair pair -o bad --set hidden=0", HasSubstr("hidden"));
}

// DLightSB-M's bridge has transitions for any number of steps; it is scored on those it was trained
// with, unless another number is asked for.
TEST_F(EvaluateCommand, ScoresDlightsbMOnItsOwnGrid) {
  ASSERT_EQ(run("train dlightsb-m --pair pair -o run --set num_steps=8 --set updates=20 --set "
                "components=5 --set batch_size=16")
                .status,
            0);
  const auto steps = [&](const std::string& options) {
    const ProgramRun scored = run("evaluate pair --run run --trajectories 50 --json" + options);
    EXPECT_EQ(scored.status, 0) << scored.err;
    const nlohmann::json scores = nlohmann::json::parse(scored.out);
    EXPECT_TRUE(scores.at("forward_trajectory_kl").is_number());
    return scores.at("num_steps").get<int>();
  };
  EXPECT_EQ(steps(""), 8);
  EXPECT_EQ(steps(" --num-steps 4"), 4);
}

TEST_F(EvaluateCommand, TakesAnotherNumberOfConditionalSamples) {
  write_predictions(shape_, {157, 50, 2});
  expect_refused("evaluate pair --predictions answers", HasSubstr("[157, 1000, 2]"));
  const ProgramRun outcome =
      run("evaluate pair --predictions answers --conditional-samples 50 --json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out).at("conditional_samples"), 50);
  expect_refused("evaluate pair --predictions answers --conditional-samples 0",
                 HasSubstr("conditional-samples"));
}

TEST_F(EvaluateCommand, PrintsATable) {
  ASSERT_EQ(run("train independent --pair pair -o run").status, 0);
  const ProgramRun outcome = run("evaluate pair --run run --seeds 2");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("run on tiny (2 seeds)"), HasSubstr("shape_score"), HasSubstr("±"),
                    HasSubstr("joint_kl                                  -  the coupling gives no "
                              "joint log-probability\n")));
}

TEST_F(EvaluateCommand, SeedAndThreadsDecideWhatTheyShould) {
  ASSERT_EQ(run("train reference --pair pair -o run").status, 0);
  const auto scores = [&](const std::string& options) {
    const nlohmann::json found = nlohmann::json::parse(
        run("evaluate pair --run run --json --trajectories 50 " + options).out);
    return found.at("values");
  };
  EXPECT_EQ(scores("--threads 1"), scores("--threads 3"));
  EXPECT_NE(scores("--seed 1"), scores("--seed 2"));
}

TEST_F(EvaluateCommand, ReversedPairTrainsTheClassifier) {
  ASSERT_EQ(run("build custom --dim 2 --categories 3 --gamma 0.2 --sigma 1 --steps 16 --reverse "
                "-o back")
                .status,
            0);
  ASSERT_EQ(run("train oracle --pair back -o run").status, 0);
  const ProgramRun outcome = run("evaluate back --run run --json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const nlohmann::json scores = nlohmann::json::parse(outcome.out);
  EXPECT_NEAR(scores.at("c2st_auc").get<double>(), 0.5, 0.05);
  EXPECT_GT(scores.at("conditional_shape_score").get<double>(), 0.9);
  EXPECT_EQ(scores.at("forward_trajectory_kl").get<double>(), 0.0);
}

TEST_F(EvaluateCommand, ScoresPredictionFiles) {
  write_predictions(shape_, conditional_shape_);
  const ProgramRun outcome = run("evaluate pair --predictions answers --json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const nlohmann::json scores = nlohmann::json::parse(outcome.out);
  EXPECT_LT(scores.at("shape_score").get<double>(), 0.9);
  EXPECT_TRUE(scores.at("conditional_shape_score").is_number());
  for (const char* key : {"forward_trajectory_kl", "reverse_trajectory_kl", "joint_kl"}) {
    EXPECT_TRUE(scores.at(key).is_null()) << key;
  }
}

// The way of an outside solver: kit, then answers; here the answers are the truth's own.
TEST_F(EvaluateCommand, KitToAnswersAndBack) {
  ASSERT_EQ(run("kit pair -o kit").status, 0);
  std::filesystem::create_directories(answers());
  const States test_x1 = load_states(dir_.path() / "kit" / "test_x1.npy");
  save_npy(answers() / "pred_x1.npy", {test_x1.rows(), 2},
           std::span<const std::int32_t>(test_x1.data(), test_x1.size()));
  ASSERT_EQ(run("sample pair --what conditional --given kit/conditional_x0.npy -n 1000 "
                "-o answers/pred_conditional_x1.npy")
                .status,
            0);
  const ProgramRun outcome = run("evaluate pair --predictions answers --json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const nlohmann::json scores = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(scores.at("shape_score"), 1.0);
  EXPECT_GT(scores.at("conditional_shape_score").get<double>(), 0.95);
  EXPECT_GT(scores.at("sampled_conditional_shape_score").get<double>(), 0.95);
}

TEST_F(EvaluateCommand, RefusesBadPredictionFiles) {
  const std::string command = "evaluate pair --predictions answers --json";
  expect_refused(command, AllOf(HasSubstr("answers"), HasSubstr("pred_x1.npy")));
  write_predictions({19999, 2}, conditional_shape_);
  expect_refused(command, AllOf(HasSubstr("pred_x1.npy"), HasSubstr("expected shape [20000, 2]"),
                                HasSubstr("found [19999, 2]")));
  write_predictions({20000, 3}, conditional_shape_);
  expect_refused(command, HasSubstr("expected shape [20000, 2], found [20000, 3]"));
  write_predictions(shape_, {157, 999, 2});
  expect_refused(command, AllOf(HasSubstr("pred_conditional_x1.npy"),
                                HasSubstr("expected shape [157, 1000, 2], found [157, 999, 2]")));
  write_predictions(shape_, conditional_shape_, kCategories);
  expect_refused(command, AllOf(HasSubstr("pred_x1.npy"), HasSubstr("0..7"), HasSubstr("got 8")));
  write_predictions(shape_, conditional_shape_, -1);
  expect_refused(command, AllOf(HasSubstr("0..7"), HasSubstr("got -1")));
  write_predictions(shape_, conditional_shape_);
  const std::vector<double> reals(40000, 1.0);
  save_npy(answers() / "pred_x1.npy", shape_, std::span<const double>(reals));
  expect_refused(command, AllOf(HasSubstr("integer dtype"), HasSubstr("found")));
  write_predictions(shape_, conditional_shape_);
  std::filesystem::resize_file(answers() / "pred_x1.npy", 5000);
  expect_refused(command, HasSubstr("pred_x1.npy"));
  write_predictions(shape_, conditional_shape_);
  std::filesystem::remove(answers() / "pred_conditional_x1.npy");
  expect_refused(command, HasSubstr("pred_conditional_x1.npy"));
}

TEST_F(EvaluateCommand, RefusesBadRequests) {
  ASSERT_EQ(run("train reference --pair pair -o run").status, 0);
  expect_refused("evaluate pair",
                 AllOf(HasSubstr("--predictions"), HasSubstr("--run"), HasSubstr("none")));
  expect_refused("evaluate pair --run run --predictions answers", HasSubstr("both"));
  expect_refused("evaluate pair --run nowhere", HasSubstr("nowhere"));
  expect_refused("evaluate d2-gausian-0.02 --run run", HasSubstr("d2-gaussian-0.02"));
  expect_refused("evaluate d2-gaussian-0.02 --run run", HasSubstr("was fitted to"));
  expect_refused("evaluate pair --run run --seeds 0", HasSubstr("seeds"));
  expect_refused("evaluate pair --run run --num-steps 5", AllOf(HasSubstr("16"), HasSubstr("5")));
  expect_refused("evaluate pair --run run --trajectories 0", HasSubstr("trajectories"));
  std::ofstream(dir_.path() / "run" / "result.json") << "[]";
  expect_refused("evaluate pair --run run", HasSubstr("result.json"));
  expect_refused("train reference --pair pair -o run --resume", HasSubstr("result.json"));
  std::filesystem::remove(dir_.path() / "run" / "result.json");
  expect_refused("evaluate pair --run run", HasSubstr("not complete"));
}

TEST_F(EvaluateCommand, RefusesBadTraining) {
  expect_refused("train refrence --pair pair -o run", HasSubstr("the nearest is reference"));
  expect_refused("train feature-wise --pair pair -o run --set marginal_sample=5",
                 HasSubstr("did you mean 'marginal_samples'"));
  expect_refused("train feature-wise --pair pair -o run --set samples", HasSubstr("key=value"));
  expect_refused("train feature-wise --pair pair -o run --set marginal_samples=many",
                 AllOf(HasSubstr("marginal_samples"), HasSubstr("many")));
  expect_refused("train oracle --pair pair -o run --set samples=5", HasSubstr("no options"));
  expect_refused("train oracle --pair nowhere -o run", HasSubstr("nowhere"));
  expect_refused("train oracle --pair pair", HasSubstr("--output"));
  ASSERT_EQ(run("train reference --pair pair -o run2").status, 0);
  expect_refused("train reference --pair pair -o run2", HasSubstr("already holds a run"));
  expect_refused("train reference --pair pair -o run2 --resume --seed 1",
                 HasSubstr("another configuration"));
  EXPECT_EQ(run("train reference --pair pair -o run2 --resume").status, 0);
}

}  // namespace
}  // namespace bridgemark
