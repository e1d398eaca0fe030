#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bridgemark/io/npy.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/solver/registry.h"
#include "tests/cli/run_program.h"
#include "tests/support/context.h"
#include "tests/support/event_reader.h"

// What each command does when all is well.
namespace bridgemark {
namespace {

using nlohmann::json;
using testing::contains;
using testing::expect_success;
using testing::kContext;
using testing::run_program;
using testing::slurp;
using testing::TempDir;
using Shape = std::vector<std::size_t>;

const std::string kSmallPair = "d2-uniform-0.01";

class CommandLine : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (temp_.path() / name).string(); }

  // Runs `sample` into a file and returns the array.
  NpyArray sample(std::vector<std::string> arguments, const std::string& name = "out.npy") {
    arguments.insert(arguments.begin(), "sample");
    arguments.insert(arguments.end(), {"-o", path(name)});
    expect_success(arguments);
    return load_npy(path(name));
  }

  void save(const std::string& name, const States& states) const {
    save_npy(path(name), Shape{states.rows(), states.cols()},
             std::span<const std::int32_t>(states.data(), states.size()));
  }

  TempDir temp_;
};

TEST_F(CommandLine, HelpShowsAnExample) {
  for (const char* command : {"list", "build", "sample", "kit", "verify"}) {
    const std::string out = expect_success({command, "--help"});
    EXPECT_EQ(out.find("Not used"), std::string::npos) << command;
    contains(out, "Example");
    contains(out, std::string("bridgemark ") + command);
    contains(expect_success({"--help"}), command);
  }
  contains(expect_success({"--version"}), "bridgemark ");
  EXPECT_EQ(expect_success({}), expect_success({"--help"}));
}

// Standard error here is a file: it has nothing of the progress unless that is asked for, and then
// the first line at once, however long anything takes.
TEST_F(CommandLine, ProgressOfAFileIsWhatWasAskedFor) {
  const auto train = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"train", "dlightsb",   "--pair", kSmallPair,
                                          "-o",    path(name),   "--set",  "components=4",
                                          "--set", "updates=300"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const testing::ProgramRun run = run_program(arguments);
    EXPECT_EQ(run.status, 0) << run.err;
    return run.err;
  };
  EXPECT_EQ(train("silent", {}), "");
  EXPECT_EQ(train("quiet", {"--quiet"}), "");
  contains(train("lines", {"--progress"}), "dlightsb: ");
  const testing::ProgramRun both = run_program({"list", "--progress", "--quiet"});
  EXPECT_EQ(both.status, 2);
}

TEST_F(CommandLine, ListNamesThePresets) {
  const std::string table = expect_success({"list"});
  const json pairs = json::parse(expect_success({"list", "--json"}))["pairs"];
  ASSERT_EQ(pairs.size(), preset_specs().size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const PairSpec& spec = preset_specs()[i];
    contains(table, spec.name);
    EXPECT_EQ(pairs[i]["name"], spec.name);
    EXPECT_EQ(pairs[i]["dim"], spec.dim);
    EXPECT_EQ(pairs[i]["gamma"], spec.gamma);
    EXPECT_EQ(pairs[i]["seed"], spec.seed);
    EXPECT_EQ(pairs[i]["family"], i < 12   ? "sphere"
                                  : i < 24 ? "spread"
                                  : i < 36 ? "chain"
                                  : i < 48 ? "twosided"
                                           : "distilled");
    EXPECT_EQ(pairs[i].contains("sigma"), i < 48);
  }
}

TEST_F(CommandLine, ListDescribesSolvers) {
  const json all = json::parse(expect_success({"list", "--solver", "all", "--json"}))["solvers"];
  ASSERT_GE(all.size(), all_solvers().size());
  contains(expect_success({"list", "--solver", "all"}), "dlightsb-chain");
  for (std::size_t i = 0; i < all_solvers().size(); ++i) {
    EXPECT_EQ(all[i]["name"], all_solvers()[i]->name());
    EXPECT_EQ(all[i]["description"], all_solvers()[i]->description());
  }
  contains(expect_success({"list", "--solver", "dlightsb"}), "\n  components=");
  const json one = json::parse(expect_success({"list", "--solver", "dlightsb", "--json"}));
  EXPECT_EQ(one["solvers"][0]["options"].size(), find_solver("dlightsb").options().size());
  const testing::ProgramRun wrong = run_program({"list", "--solver", "dlightsbm"});
  EXPECT_EQ(wrong.status, 2);
  contains(wrong.err, "the nearest is dlightsb");
}

// A line of the file is a start of Python.
TEST_F(CommandLine, PythonIsStartedForItsOwnSolversAlone) {
  const std::string starts = path("starts"), python = path("python");
  std::ofstream(python) << "#!/bin/sh\necho one >> '" << starts << "'\nexit 1\n";
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  setenv("BRIDGEMARK_PYTHON", python.c_str(), 1);
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"list"},
           {"list", "--solver", "dlightsb"},
           {"train", "--help"},
           {"train", "dlightsb", "--help"},
           {"run", "--help"},
           {"completions", "bash"},
           {"train", "oracle", "--pair", kSmallPair, "-o", path("run")}}) {
    expect_success(arguments);
  }
  const std::string mine = "python:my_module:MySolver";
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"train", mine, "--help"}, {"train", mine, "--pair", kSmallPair, "-o", path("none")}}) {
    const testing::ProgramRun refused = run_program(arguments);
    EXPECT_EQ(refused.status, 2);
    contains(refused.err, mine + " is a solver of Python: bridgemark run trains and scores it");
  }
  EXPECT_FALSE(std::filesystem::exists(path("none")));
  EXPECT_FALSE(std::filesystem::exists(starts));
  contains(run_program({"train", "dlightsbm", "--help"}).err, "the nearest is dlightsb");
  EXPECT_EQ(slurp(starts), "one\n");
  unsetenv("BRIDGEMARK_PYTHON");
}

TEST_F(CommandLine, SampleShapes) {
  const States given(3, 2, {0, 49, 25, 25, 10, 3});
  save("given.npy", given);
  EXPECT_EQ(sample({kSmallPair, "--what", "x0", "-n", "70"}).shape, (Shape{70, 2}));
  EXPECT_EQ(sample({kSmallPair, "--what", "x1", "-n", "70"}).shape, (Shape{70, 2}));
  EXPECT_EQ(sample({kSmallPair, "--what", "joint", "-n", "70"}).shape, (Shape{70, 2, 2}));
  EXPECT_EQ(
      sample({kSmallPair, "--what", "conditional", "-n", "5", "--given", path("given.npy")}).shape,
      (Shape{3, 5, 2}));
  EXPECT_EQ(sample({kSmallPair, "--what", "trajectory", "-n", "4", "--num-steps", "8"}).shape,
            (Shape{4, 9, 2}));
  for (const char* through : {"markov", "pinned"}) {
    const NpyArray paths = sample({kSmallPair, "--what", "trajectory", "--given", path("given.npy"),
                                   "--num-steps", "64", "--through", through});
    EXPECT_EQ(paths.shape, (Shape{3, 65, 2}));
    EXPECT_EQ(paths.dtype, DType::kI32);
    const std::vector<std::int32_t> values = paths.to_int32();
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t d = 0; d < 2; ++d) EXPECT_EQ(values[i * 65 * 2 + d], given(i, d));
    }
  }
}

// The program writes what the library draws under the same seed.
TEST_F(CommandLine, SampleIsTheLibrarysDraw) {
  const BenchmarkPair pair = load_pair(kSmallPair);
  const auto values = [](const States& states) {
    return std::vector<std::int32_t>(states.data(), states.data() + states.size());
  };
  EXPECT_EQ(sample({kSmallPair, "--what", "x0", "-n", "300", "--seed", "9"}).to_int32(),
            values(pair.sample_x0(kContext, 300, 9)));
  EXPECT_EQ(sample({kSmallPair, "--what", "x1", "-n", "300", "--seed", "9"}).to_int32(),
            values(pair.sample_x1(kContext, 300, 9)));
  const std::vector<std::int32_t> joint =
      sample({kSmallPair, "--what", "joint", "-n", "300", "--seed", "9"}).to_int32();
  const PairedStates expected = pair.sample_joint(kContext, 300, 9);
  for (std::size_t i = 0; i < 300; ++i) {
    for (std::size_t d = 0; d < 2; ++d) {
      EXPECT_EQ(joint[4 * i + d], expected.x0(i, d));
      EXPECT_EQ(joint[4 * i + 2 + d], expected.x1(i, d));
    }
  }
  EXPECT_NE(sample({kSmallPair, "--what", "x0", "-n", "300", "--seed", "10"}).to_int32(),
            values(pair.sample_x0(kContext, 300, 9)));
}

TEST_F(CommandLine, SameBytesForAnyNumberOfThreads) {
  save("given.npy", States(40, 2, 7));
  const std::vector<std::vector<std::string>> runs = {
      {kSmallPair, "--what", "joint", "-n", "3000"},
      {kSmallPair, "--what", "x1", "-n", "3000"},
      {kSmallPair, "--what", "conditional", "-n", "50", "--given", path("given.npy")},
      {kSmallPair, "--what", "trajectory", "-n", "600", "--num-steps", "4"},
      {kSmallPair, "--what", "trajectory", "-n", "600", "--num-steps", "4", "--through", "pinned"}};
  for (std::vector<std::string> arguments : runs) {
    arguments.insert(arguments.end(), {"--seed", "3", "--threads", "1"});
    sample(arguments, "one.npy");
    arguments.back() = "2";
    sample(arguments, "two.npy");
    EXPECT_EQ(slurp(path("one.npy")), slurp(path("two.npy"))) << arguments[2];
  }
}

TEST_F(CommandLine, BuildWritesAPairThatLoads) {
  contains(expect_success({"build", kSmallPair, "-o", path("pair")}), "D = 2, S = 50, K = 4");
  const BenchmarkPair built = load_pair(path("pair")), preset = load_pair(kSmallPair);
  EXPECT_EQ(built.cp_bridge().potential().log_cores(), preset.cp_bridge().potential().log_cores());
  EXPECT_EQ(built.test_set(kContext).x1, preset.test_set(kContext).x1);
  // A folder is a PAIR like any other.
  sample({path("pair"), "--what", "joint", "-n", "200"}, "a.npy");
  sample({kSmallPair, "--what", "joint", "-n", "200"}, "b.npy");
  EXPECT_EQ(slurp(path("a.npy")), slurp(path("b.npy")));
  expect_success({"build", path("pair"), "-o", path("again")});
  EXPECT_EQ(slurp(path("again") + "/model.safetensors"),
            slurp(path("pair") + "/model.safetensors"));

  expect_success({"build", kSmallPair, "--seed", "5", "-o", path("sibling")});
  EXPECT_EQ(load_pair(path("sibling")).identity().seed, 5u);
  EXPECT_NE(load_pair(path("sibling")).cp_bridge().potential().log_cores(),
            preset.cp_bridge().potential().log_cores());
  expect_success({"build", kSmallPair, "--reverse", "-o", path("reverse")});
  EXPECT_TRUE(load_pair(path("reverse")).reverse());
}

TEST_F(CommandLine, WarnsOfAReferenceThatHardlyMoves) {
  const std::string warning = "warning: [reference] gamma 0.02 at S = 17 hardly moves: 2.6e-15 ";
  const auto build = run_program({"build", "custom", "--categories", "17", "-o", path("still")});
  EXPECT_EQ(build.status, 0) << build.err;
  contains(build.err, warning);
  const auto train = run_program({"train", "reference", "--pair", path("still"), "-o", path("r")});
  EXPECT_EQ(train.status, 0) << train.err;
  contains(train.err, warning);
}

TEST_F(CommandLine, BuildCustomFromNumbersAndFiles) {
  expect_success({"build",        "custom", "--dim",       "3",       "--categories", "8",
                  "--components", "2",      "--reference", "uniform", "--gamma",      "0.2",
                  "--steps",      "12",     "--sigma",     "0.7",     "--radius",     "3",
                  "--seed",       "4",      "--name",      "mine",    "-o",           path("a")});
  const BenchmarkPair numbers = load_pair(path("a"));
  EXPECT_EQ(numbers.identity().name, "mine");
  EXPECT_EQ(numbers.identity().radius, 3.0);
  EXPECT_EQ(numbers.dim(), 3u);
  EXPECT_EQ(numbers.num_categories(), 8);
  EXPECT_EQ(numbers.cp_bridge().potential().num_components(), 2u);
  EXPECT_EQ(numbers.bridge().process().total_steps(), 12);
  EXPECT_EQ(numbers.bridge().process().gamma(), 0.2);

  expect_success({"build", "custom", "--dim", "3", "--family", "spread", "--min-distance", "5",
                  "--seed", "4", "-o", path("spread")});
  PairSpec spec;
  spec.dim = 3;
  spec.family = PairFamily::kSpread;
  spec.min_distance = 5.0;
  spec.seed = 4;
  const BenchmarkPair spread = load_pair(path("spread"));
  EXPECT_EQ(spread.identity().family, PairFamily::kSpread);
  EXPECT_EQ(spread.identity().min_distance, 5.0);
  EXPECT_EQ(spread.cp_bridge().potential().log_cores(),
            build_pair(spec).cp_bridge().potential().log_cores());

  const std::vector<std::int32_t> parent{-1, 0, 0}, node_of{1, 2, 2};
  save_npy(path("parent.npy"), Shape{3}, std::span<const std::int32_t>(parent));
  save_npy(path("node_of.npy"), Shape{3}, std::span<const std::int32_t>(node_of));
  expect_success({"build", "custom", "--family", "tree", "--switch-rate", "0.2", "--tree",
                  path("parent.npy") + "," + path("node_of.npy"), "-o", path("tree")});
  EXPECT_EQ(*load_pair(path("tree")).bridge().tree(), TreeShape(parent, node_of));
  expect_success({"build", "custom", "--family", "tree", "--two-sided", "-o", path("two-trees")});
  EXPECT_TRUE(load_pair(path("two-trees")).source_tree().has_value());

  // A matrix decides S, a source of states decides D.
  const std::vector<double> matrix{0.9, 0.05, 0.05, 0.2, 0.7, 0.1, 0.3, 0.3, 0.4};
  save_npy(path("q.npy"), Shape{3, 3}, std::span<const double>(matrix));
  const States data(2, 4, {0, 1, 2, 0, 2, 2, 1, 1});
  save("data.npy", data);
  expect_success({"build", "custom", "--reference", path("q.npy"), "--source", path("data.npy"),
                  "-o", path("b")});
  const BenchmarkPair files = load_pair(path("b"));
  EXPECT_EQ(files.num_categories(), 3);
  EXPECT_EQ(files.dim(), 4u);
  EXPECT_EQ(files.source().states(), data);
  EXPECT_NEAR(std::exp(files.bridge().process().log_power(kContext, 1)(1, 0)), 0.2, 1e-12);

  // Factors of low rank decide S; gamma is how likely a step moves by them.
  const std::vector<double> u{0.5, 0.5, 0.25, 0.75, 0.9, 0.1}, v{0.5, 0.1, 0.3, 0.4, 0.2, 0.5};
  save_npy(path("u.npy"), Shape{3, 2}, std::span<const double>(u));
  save_npy(path("v.npy"), Shape{3, 2}, std::span<const double>(v));
  expect_success({"build", "custom", "--reference",
                  "lowrank:" + path("u.npy") + "," + path("v.npy"), "--gamma", "0.5", "-o",
                  path("low-rank")});
  const BenchmarkPair factored = load_pair(path("low-rank"));
  EXPECT_EQ(factored.num_categories(), 3);
  EXPECT_NEAR(std::exp(factored.bridge().process().log_power(kContext, 1)(1, 0)), 0.1, 1e-12);

  // Kinds whose probabilities may be 0; the weights of a graph decide S.
  expect_success({"build", "custom", "--reference", "birth-death", "--gamma", "0.4", "--categories",
                  "12", "-o", path("counts")});
  EXPECT_EQ(load_pair(path("counts")).bridge().process().kind(), ReferenceKind::kBirthDeath);
  expect_success({"build", "custom", "--reference", "absorbing", "-o", path("mask")});
  EXPECT_EQ(load_pair(path("mask")).bridge().process().kind(), ReferenceKind::kAbsorbing);
  expect_success({"build", "custom", "--reference",
                  "graph:" + (testing::golden_folder() / "ring_stored.npz").string(), "--gamma",
                  "0.7", "-o", path("graph")});
  const BenchmarkPair graph = load_pair(path("graph"));
  EXPECT_EQ(graph.num_categories(), 6);
  EXPECT_EQ(graph.bridge().process().gamma(), 0.7);

  const std::vector<double> pmf{0.5, 0.25, 0.25, 0.0, 0.5, 0.5};
  save_npy(path("p.npy"), Shape{2, 3}, std::span<const double>(pmf));
  expect_success({"build", "custom", "--categories", "3", "--gamma", "1", "--source", path("p.npy"),
                  "-o", path("c")});
  EXPECT_EQ(load_pair(path("c")).source().kind(), SourceKind::kProduct);
}

TEST_F(CommandLine, KitHoldsTheTestInputs) {
  contains(expect_success({"kit", kSmallPair, "-o", path("kit")}),
           "next: bridgemark evaluate " + kSmallPair + " --predictions answers\n");
  contains(expect_success({"kit", kSmallPair, "--samples", "9", "-o", path("rows")}),
           "--predictions answers --samples 9 --training-set 0\n");
  const BenchmarkPair pair = load_pair(kSmallPair);
  const PairedStates test = pair.test_set(kContext);
  EXPECT_EQ(load_states(path("kit/test_x0.npy")), test.x0);
  EXPECT_EQ(load_states(path("kit/test_x1.npy")), test.x1);
  const States conditional = load_states(path("kit/conditional_x0.npy"));
  EXPECT_EQ(conditional.rows(), 157u);
  EXPECT_EQ(conditional, conditional_inputs(test.x0));
}

TEST_F(CommandLine, VerifyPassesAndFails) {
  const std::string golden = testing::golden_folder();
  const std::string good = golden + "/reference_5.safetensors";
  contains(expect_success({"verify", good, golden + "/bridge_2.safetensors"}), "log_cumulative");
  const json report = json::parse(expect_success({"verify", good, "--json"}));
  EXPECT_EQ(report["passed"], true);
  EXPECT_EQ(report["files"][0]["kind"], "reference");
  EXPECT_LE(report["files"][0]["checks"][0]["max_error"].get<double>(), 1e-10);

  std::string bytes = slurp(good);
  bytes[bytes.size() - 3] ^= 1;  // in the last value's leading digits
  testing::put(path("changed.safetensors"), bytes);
  const testing::ProgramRun run = run_program({"verify", good, path("changed.safetensors")});
  EXPECT_EQ(run.status, 1);
  contains(run.out, "FAILED");
  const testing::ProgramRun as_json =
      run_program({"verify", "--json", path("changed.safetensors")});
  EXPECT_EQ(as_json.status, 1);
  EXPECT_EQ(json::parse(as_json.out)["passed"], false);
}

TEST_F(CommandLine, TrainWritesEventsForTensorBoard) {
  expect_success({"train", "dlightsb", "--pair", kSmallPair, "-o", path("run"), "--tensorboard",
                  path("events"), "--set", "components=3", "updates=4", "log_every=2", "--set",
                  "validate_every=4"});
  std::vector<std::int64_t> steps, scored;
  for (const testing::ReadEvent& event : testing::read_events(path("events"))) {
    if (event.scalars.contains("loss")) steps.push_back(event.step);
    if (event.scalars.contains("joint_kl")) scored.push_back(event.step);
  }
  EXPECT_EQ(steps, (std::vector<std::int64_t>{2, 4}));
  EXPECT_EQ(scored, (std::vector<std::int64_t>{4}));
}

}  // namespace
}  // namespace bridgemark
