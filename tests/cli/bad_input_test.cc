#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "bridgemark/io/npy.h"
#include "tests/cli/run_program.h"

// Bad input of every kind: exit status 2, one line on standard error that says what is wrong,
// nothing on standard output, and no file that was not there before.
namespace bridgemark {
namespace {

using testing::put;
using testing::slurp;
using testing::TempDir;
using Shape = std::vector<std::size_t>;

const std::string kPair = "d2-uniform-0.01";

class BadInput : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::vector<std::int32_t> good{1, 2, 3, 4}, outside{1, 50, 3, 4}, negative{-1, 2, 3, 4};
    save_npy(path("good.npy"), Shape{2, 2}, std::span(good));
    save_npy(path("outside.npy"), Shape{2, 2}, std::span(outside));
    save_npy(path("negative.npy"), Shape{2, 2}, std::span(negative));
    save_npy(path("wide.npy"), Shape{1, 4}, std::span(good));
    save_npy(path("flat.npy"), Shape{4}, std::span(good));
    const std::vector<double> matrix{0.5, 0.6, 0.5, 0.5}, zero{1.0, 0.0, 0.5, 0.5};
    save_npy(path("not_stochastic.npy"), Shape{2, 2}, std::span(matrix));
    save_npy(path("not_positive.npy"), Shape{2, 2}, std::span(zero));
    save_npy(path("not_square.npy"), Shape{1, 4}, std::span(matrix));
    const std::string whole = slurp(path("good.npy"));
    put(path("truncated.npy"), whole.substr(0, whole.size() - 1));
    put(path("half_header.npy"), whole.substr(0, 40));
    put(path("gigabyte.npy"), npy_claiming("(134217728, 2)"));
    put(path("overflow.npy"), npy_claiming("(4611686018427387904, 4)"));
    put(path("text.npy"), "0 1\n2 3\n");
    put(path("file"), "a regular file");

    const std::string golden = slurp(testing::golden_folder() / "reference_5.safetensors");
    put(path("truncated.safetensors"), golden.substr(0, golden.size() - 8));
    std::string gigabyte = golden;
    const std::uint64_t length = std::uint64_t{1} << 30;
    std::memcpy(gigabyte.data(), &length, 8);
    put(path("gigabyte.safetensors"), gigabyte);
    put(path("empty.safetensors"), "");
    std::filesystem::create_directory(path("no_pair"));
    std::filesystem::create_directory(path("broken_pair"));
    put(path("broken_pair/config.json"), "{}");
    put(path("broken_pair/model.safetensors"), golden);
  }

  // A version 1.0 header with that shape over sixteen bytes of values.
  static std::string npy_claiming(const std::string& shape) {
    std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': " + shape + ", }";
    header.resize(117, ' ');
    header += '\n';
    std::string bytes("\x93NUMPY\x01\x00", 8);
    bytes += static_cast<char>(header.size());
    bytes += '\0';
    return bytes + header + std::string(16, '\0');
  }

  std::string path(const std::string& name) const { return (temp_.path() / name).string(); }

  void expect_refused(const std::vector<std::string>& arguments, const std::string& part) {
    SCOPED_TRACE(::testing::PrintToString(arguments));
    const std::set<std::string> before = testing::files_below(temp_.path());
    const testing::ProgramRun run = testing::run_program(arguments);
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_TRUE(run.err.starts_with("bridgemark: ")) << run.err;
    EXPECT_TRUE(run.err.ends_with('\n')) << run.err;
    testing::contains(run.err, part);
    EXPECT_EQ(testing::files_below(temp_.path()), before);
  }

  // `sample` with the arguments that matter.
  void sample_refused(std::vector<std::string> arguments, const std::string& part) {
    arguments.insert(arguments.begin(), "sample");
    arguments.insert(arguments.end(), {"-o", path("out.npy")});
    expect_refused(arguments, part);
  }

  void build_refused(std::vector<std::string> arguments, const std::string& part) {
    arguments.insert(arguments.begin(), {"build", "custom"});
    arguments.insert(arguments.end(), {"-o", path("out")});
    expect_refused(arguments, part);
  }

  TempDir temp_;
};

// What CLI11 finds wrong with a value is said like all else: the option, what is allowed, the
// value.
TEST_F(BadInput, ValuesOfOptions) {
  const std::vector<std::string> train = {"train", "dlightsb", "--pair", kPair, "-o", path("run")},
                                 gamma = {"gamma", "--x0", path("good.npy"), "--x1",
                                          path("good.npy")};
  const auto refused = [&](std::vector<std::string> arguments, std::vector<std::string> more,
                           const std::string& message) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_refused(arguments, "bridgemark: " + message + "; see bridgemark");
  };
  refused(train, {"--threads", "-1"}, "--threads must be a whole number in 0..4096, got '-1'");
  refused(train, {"--threads", "two"}, "--threads must be a whole number in 0..4096, got 'two'");
  refused(train, {"--seed", "-1"},
          "--seed must be a whole number in 0..18446744073709551615, got '-1'");
  refused(train, {"--x0", "a", "--gamma", "low"}, "--gamma must be a number, got 'low'");
  refused(gamma, {"--steps", "9999999999"},
          "--steps must be a whole number of at most 2147483647, got '9999999999'");
  refused(gamma, {"--gammas", "0.1", "x"}, "--gammas must be a number, got 'x'");
  refused(gamma, {"--holdout", "2"}, "--holdout must be a number in 0.01..0.9, got '2'");
  refused({"sample", kPair, "-o", path("x")}, {"--what", "all"},
          "--what must be one of x0, x1, joint, conditional, trajectory, got 'all'");
  refused({"evaluate", kPair}, {"--c2st=maybe"}, "--c2st takes no value, got 'maybe'");
  refused(train, {"--seed", "1", "--seed", "2"}, "--seed must have one value, got 2");
  refused(train, {"--threads"}, "--threads must have one value, got none");
  refused(gamma, {"--set"}, "--set must have at least one value, got none");
}

TEST_F(BadInput, Commands) {
  expect_refused({"frobnicate"}, "frobnicate");
  expect_refused({"list", "--colour"}, "--colour");
  expect_refused({"list", "--device", "tpu"}, "cpu");
  expect_refused({"list", "--seed", "1"}, "--seed");  // nothing is drawn
}

// What cannot be is refused before the work, with what to lower.
TEST_F(BadInput, Budgets) {
  build_refused({"--steps", "2147483647"}, "1..1048576");
  build_refused({"--dim", "1048576", "--components", "100000"},
                "GiB are free; lower the dimension, the categories or the components");
  expect_refused({"train", "dlightsb", "--pair", "d64-uniform-0.01", "--set", "components=1048576",
                  "-o", path("run")},
                 "GiB are free; lower components");
}

TEST_F(BadInput, Pairs) {
  for (const char* command : {"kit", "build"}) {
    expect_refused({command, "d2-unifrom-0.01", "-o", path("out")}, "d2-uniform-0.01");
    expect_refused({command, path("no_pair"), "-o", path("out")}, "config.json");
    expect_refused({command, path("broken_pair"), "-o", path("out")}, "dim");
    expect_refused({command, kPair}, "--output");
  }
  sample_refused({"d16-gaussian-0.2", "--what", "x0", "-n", "5"}, "d16-gaussian-0.02");
  sample_refused({path("broken_pair"), "--what", "x0", "-n", "5"}, "config.json");
}

TEST_F(BadInput, SampleOptions) {
  sample_refused({kPair, "--what", "x2", "-n", "5"}, "x2");
  sample_refused({kPair, "-n", "5"}, "--what");
  sample_refused({kPair, "--what", "x0"}, "-n must lie in 1..");
  sample_refused({kPair, "--what", "x0", "-n", "0"}, "-n must lie in 1..");
  sample_refused({kPair, "--what", "x0", "-n", "-5"}, "-5");
  sample_refused({kPair, "--what", "x0", "-n", "many"}, "many");
  sample_refused({kPair, "--what", "x0", "-n", "99999999999999999999"}, "99999999999999999999");
  sample_refused({kPair, "--what", "joint", "-n", "5", "--threads", "-1"}, "--threads");
  sample_refused({kPair, "--what", "joint", "-n", "5", "--seed", "x"}, "--seed");
  sample_refused({kPair, "--what", "joint", "-n", "5", "--seed", "-1"}, "-1");
  for (const char* steps : {"0", "-16", "3", "100", "256"}) {
    sample_refused({kPair, "--what", "trajectory", "-n", "5", "--num-steps", steps},
                   std::string("num_steps must be a positive divisor of 128, got ") + steps);
  }
  sample_refused({kPair, "--what", "trajectory", "-n", "5", "--through", "both"}, "both");
  sample_refused(
      {"d16-uniform-0.01-reverse", "--what", "trajectory", "-n", "5", "--through", "markov"},
      "transitions");
}

TEST_F(BadInput, GivenStates) {
  sample_refused({kPair, "--what", "conditional", "-n", "5"}, "--given");
  const auto given = [&](const std::string& name, const std::string& part) {
    sample_refused({kPair, "--what", "conditional", "-n", "5", "--given", path(name)}, part);
    sample_refused({kPair, "--what", "trajectory", "--given", path(name)}, part);
  };
  given("outside.npy", "must hold categories 0..49, got 50 at row 0, column 1");
  given("negative.npy", "got -1 at row 0, column 0");
  given("wide.npy", "must have 2 columns, got shape [1, 4]");
  given("flat.npy", "flat.npy");
  given("not_stochastic.npy", "not_stochastic.npy");  // float64
  given("missing.npy", "missing.npy");
  given("truncated.npy", "truncated.npy");
  given("half_header.npy", "half_header.npy");
  given("gigabyte.npy", "gigabyte.npy");
  given("overflow.npy", "overflow.npy");
  given("text.npy", "text.npy");
  given("no_pair", "no_pair");
}

TEST_F(BadInput, CustomPairs) {
  for (const char* gamma : {"0", "1", "-0.1", "1.5", "nan"}) {
    build_refused({"--reference", "uniform", "--gamma", gamma},
                  "gamma of a uniform reference must lie in (0, 1), got ");
  }
  for (const char* gamma : {"0", "-0.1", "nan"}) {
    build_refused({"--gamma", gamma}, "gamma of a gaussian reference must be positive and finite");
  }
  build_refused({"--dim", "0"}, "dim must lie in");
  build_refused({"--dim", "-3", "--source", "uniform"}, "dim must");
  build_refused({"--categories", "1"}, "num_categories");
  build_refused({"--components", "0"}, "num_components");
  build_refused({"--steps", "0"}, "total_steps");
  build_refused({"--sigma", "0"}, "sigma");
  build_refused({"--radius", "-1"}, "radius");
  build_refused({"--family", "cube"},
                "family must be sphere, spread, chain, twosided or tree, got 'cube'");
  build_refused({"--family", "spread", "--categories", "10"},
                "num_categories must be at least 11 for family spread, got 10");
  build_refused({"--family", "spread", "--radius", "3"},
                "--radius goes with --family sphere, got --family spread");
  build_refused(
      {"--min-distance", "3"},
      "--min-distance goes with --family spread or chain or twosided or tree, got --family sphere");
  build_refused({"--reference", "absorbent"}, "'absorbent'");
  build_refused({"--reference", path("not_stochastic.npy")}, "must sum to 1, got 1.1 for row 0");
  build_refused({"--reference", path("not_positive.npy")}, "strictly positive");
  build_refused({"--reference", path("not_square.npy")}, "square");
  build_refused({"--reference", path("flat.npy")}, "flat.npy");
  build_refused({"--reference", path("truncated.npy")}, "truncated.npy");
  build_refused({"--reference", path("gigabyte.npy")}, "gigabyte.npy");
  build_refused({"--reference", "graph:" + path("flat.npy"), "--gamma", "0.4"}, "not a .npz file");
  build_refused({"--source", "cauchy"}, "'cauchy'");
  build_refused({"--source", path("outside.npy"), "--categories", "50"}, "got 50");
  build_refused({"--source", path("not_stochastic.npy"), "--categories", "2"}, "sum to 1");
  build_refused({"--source", path("missing.npy")}, "missing.npy");
  build_refused({"--source", path("outside.npy")},
                "num_categories must be given with a source of states, got none");
  build_refused({"--source", path("outside.npy"), "--categories", "51", "--dim", "5"},
                "dim must be the same in all arguments, got [2, 5]");
  expect_refused({"build", kPair, "--gamma", "0.1", "-o", path("out")}, "goes with PAIR 'custom'");
}

TEST_F(BadInput, ReferenceFiles) {
  for (const char* name : {"truncated.safetensors", "gigabyte.safetensors", "empty.safetensors",
                           "missing.safetensors", "good.npy", "no_pair"}) {
    expect_refused({"verify", path(name)}, name);
  }
  expect_refused({"verify"}, "FILE");
}

// Tests may run as root, who may write anywhere: a folder inside a regular file is the one place
// nobody can write to.
TEST_F(BadInput, UnwritableOutput) {
  for (const char* what : {"x0", "x1", "joint", "trajectory"}) {
    expect_refused({"sample", kPair, "--what", what, "-n", "5", "-o", path("file/out.npy")},
                   path("file"));
  }
  expect_refused({"sample", kPair, "--what", "x0", "-n", "5", "-o", path("absent/out.npy")},
                 path("absent"));
  expect_refused({"build", kPair, "-o", path("file/out")}, path("file"));
  expect_refused({"kit", kPair, "-o", path("file/out")}, path("file"));
  EXPECT_EQ(slurp(path("file")), "a regular file");
}

TEST_F(BadInput, OldOutputSurvives) {
  put(path("out.npy"), "old");
  sample_refused({kPair, "--what", "conditional", "-n", "5", "--given", path("outside.npy")},
                 "got 50");
  EXPECT_EQ(slurp(path("out.npy")), "old");
}

#ifndef BRIDGEMARK_TEST_CUDA
TEST_F(BadInput, CudaInABuildWithoutIt) {
  sample_refused({kPair, "--what", "x0", "-n", "5", "--device", "cuda"},
                 "must be cpu in this build");
  expect_refused({"build", kPair, "-o", path("out"), "--device", "cuda"},
                 "must be cpu in this build");
}
#endif

}  // namespace
}  // namespace bridgemark
