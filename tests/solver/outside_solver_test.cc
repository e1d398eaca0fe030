#include "bridgemark/solver/outside/outside_solver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/solver/registry.h"

namespace bridgemark {
namespace {

using ::testing::HasSubstr;

std::string described(const std::string& options) {
  return R"({"title": "Mine", "description": "what it does", "has_both_directions": true,
             "keeps_model": false, "options": [)" +
         options + "]}";
}

constexpr char kUpdates[] = R"({"key": "updates", "kind": "int", "default": "10", "low": 1,
                                "high": null, "help": "of what", "counts_updates": true})";
constexpr char kRate[] = R"({"key": "rate", "kind": "float", "default": "0.5", "low": 0.0,
                             "high": 1.0, "help": "", "counts_updates": false})";
constexpr char kLoss[] = R"({"key": "loss", "kind": "choice", "default": "kl",
                             "choices": ["kl", "mse"], "help": "", "counts_updates": false})";

std::string refusal(const std::string& options) {
  try {
    parse_outside_description("mine", described(options));
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "none";
}

TEST(OutsideSolver, IsWhatItsDescriptionSays) {
  const OutsideSolver solver(
      "mine", parse_outside_description(
                  "mine", described(std::string(kUpdates) + "," + kRate + "," + kLoss)));
  EXPECT_EQ(solver.title(), "Mine");
  EXPECT_EQ(solver.description(), "what it does");
  EXPECT_TRUE(solver.has_both_directions());
  EXPECT_FALSE(solver.keeps_model());
  EXPECT_FALSE(solver.runs_here());
  const std::vector<OptionSpec> options = solver.options();
  ASSERT_EQ(options.size(), 3u);
  EXPECT_EQ(options[0].allowed(), "a whole number in 1..2147483647");
  EXPECT_TRUE(options[0].counts_updates);
  EXPECT_EQ(options[1].allowed(), "a number in [0, 1]");
  EXPECT_EQ(options[2].allowed(), "one of kl, mse");
}

TEST(OutsideSolver, DescriptionsThatAreNoneAreRefused) {
  EXPECT_THAT(refusal("3"), HasSubstr("what solver mine says of itself"));
  EXPECT_THAT(refusal(R"({"key": "x"})"), HasSubstr("'kind'"));
  EXPECT_THAT(refusal(R"({"key": "x", "kind": "odd"})"), HasSubstr("got 'odd'"));
  EXPECT_THAT(refusal(R"({"key": "x", "kind": "int", "default": "3", "high": 2, "help": "",
                          "counts_updates": false})"),
              HasSubstr("defaults of mine: [options] x must be a whole number"));
  EXPECT_THROW(parse_outside_description("mine", "{"), InvalidArgument);
  EXPECT_THROW(parse_outside_description("mine", R"({"title": "two\nlines"})"), InvalidArgument);
}

// Finds one solver, and counts how often it is asked.
class FakeSolvers : public ::testing::Test {
 protected:
  FakeSolvers() {
    const auto make = [this](const std::string& name) -> std::unique_ptr<OutsideSolver> {
      ++asked_;
      if (!name.starts_with("outside-test")) return nullptr;
      return std::make_unique<OutsideSolver>(name,
                                             parse_outside_description(name, described(kUpdates)));
    };
    set_outside_solvers(
        {.find = make, .names = [] { return std::vector<std::string>{"outside-test"}; }});
  }
  ~FakeSolvers() override { set_outside_solvers({}); }

  int asked_ = 0;
};

TEST_F(FakeSolvers, AreFoundByNameOnceAndAfterTheLibrarys) {
  EXPECT_EQ(find_outside_solver("oracle"), nullptr);
  EXPECT_EQ(asked_, 0);
  const Solver& first = find_solver("outside-test-once");
  EXPECT_EQ(&first, &find_solver("outside-test-once"));
  EXPECT_EQ(asked_, 1);
  try {
    find_solver("outside-tset");
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("alpha-csbm, outside-test, got 'outside-tset'; the "
                                        "nearest is outside-test"));
  }
}

TEST_F(FakeSolvers, AreNoneOfTheLibrarys) {
  EXPECT_EQ(find_library_solver("dlightsb").name(), "dlightsb");
  for (const char* name : {"outside-test", "python:a:B", "outside-tset"}) {
    EXPECT_THROW(find_library_solver(name), InvalidArgument) << name;
  }
  EXPECT_EQ(asked_, 1);  // by the name that is nobody's
}

TEST_F(FakeSolvers, AFileFindsThoseThatAreKnownAlone) {
  EXPECT_THROW(find_solver_of_file("outside-test-file", "config.toml"), FileError);
  EXPECT_EQ(asked_, 0);
  const Solver& known = find_solver("outside-test-file");
  EXPECT_EQ(&find_solver_of_file("outside-test-file", "config.toml"), &known);
  EXPECT_EQ(find_solver_of_file("oracle", "config.toml").name(), "oracle");
}

TEST_F(FakeSolvers, CheckTheirOptionsAndAreNotFittedHere) {
  const Solver& solver = find_solver("outside-test-options");
  const BenchmarkPair pair = load_pair("d2-gaussian-0.02");
  SolverOptions options(solver.options());
  solver.check({}, pair, options);
  EXPECT_THROW(solver.fit({}, pair, options, 0), InvalidArgument);
  EXPECT_THROW(solver.load({}, pair, "model.safetensors"), InvalidArgument);
  options.set("updates", "0");
  EXPECT_THROW(solver.check({}, pair, options), InvalidArgument);
  EXPECT_THROW(options.set("update", "1"), InvalidArgument);
}

}  // namespace
}  // namespace bridgemark
