#include "bridgemark/solver/core/options.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "tests/io/io_testing.h"

namespace bridgemark {
namespace {

using testing::error_of;

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<OptionSpec> example_specs() {
  const auto half = [](const SolverOptions& options) {
    return std::to_string(options.integer("samples") / 2);
  };
  return {
      {.key = "recipe",
       .kind = Choices{{"tuned", "paper"}},
       .default_value = "tuned",
       .help = "which"},
      {.key = "samples",
       .kind = IntegerRange{1, 10000},
       .default_value = "1000",
       .help = "rows that are drawn"},
      {.key = "batch",
       .kind = IntegerRange{1, 5000},
       .default_value = OptionDefault("samples / 2", half),
       .paper = "128",
       .help = "rows of an update",
       .or_auto = true},
      {.key = "tolerance", .kind = RealRange{0.0, 1.0}, .default_value = "1e-10", .help = "stops"},
      {.key = "widths", .kind = IntegerList{3, 1, 64}, .default_value = "8", .help = "of layers"},
      {.key = "rounds",
       .kind = IntegerRange{0, 5000},
       .default_value = OptionDefault("samples / 2", half),
       .help = "at the most"},
      {.key = "data", .kind = FilePath{}, .default_value = "", .help = "rows to fit to"}};
}

SolverOptions example() { return SolverOptions(example_specs()); }

TEST(SolverOptions, DefaultsAndAssignments) {
  SolverOptions options = example();
  EXPECT_EQ(options.integer("samples"), 1000);
  EXPECT_EQ(options.real("tolerance"), 1e-10);
  EXPECT_EQ(options.text("data"), "");
  options.set_assignment("samples=5");
  options.set_assignment("data=a=b");
  options.set("tolerance", "0.25");
  EXPECT_EQ(options.integer("samples"), 5);
  EXPECT_EQ(options.text("data"), "a=b");
  EXPECT_EQ(options.real("tolerance"), 0.25);
  EXPECT_EQ(options.values().size(), 7u);
}

TEST(SolverOptions, WhatIsLeftOpenFollowsTheRecipe) {
  const auto batch = [](const std::vector<const char*>& assignments) {
    SolverOptions options = example();
    for (const char* assignment : assignments) options.set_assignment(assignment);
    options.resolve();
    return options.text("batch");
  };
  EXPECT_EQ(example().text("batch"), "");
  EXPECT_EQ(batch({}), "500");
  EXPECT_EQ(batch({"samples=60"}), "30");
  EXPECT_EQ(batch({"recipe=paper"}), "128");
  EXPECT_EQ(batch({"recipe=paper", "batch=7"}), "7");
  EXPECT_EQ(batch({"batch="}), "500");
  EXPECT_THAT(error_of<InvalidArgument>([&] { batch({"recipe=best"}); }),
              HasSubstr("recipe must be one of tuned, paper, got 'best'"));
  // What has a value of its own stays, empty or not.
  SolverOptions options = example();
  options.set("samples", "");
  options.set("batch", "1");
  options.set("rounds", "1");
  options.resolve();
  EXPECT_EQ(options.text("samples"), "");
}

TEST(SolverOptions, HelpSaysWhatIsAllowedAndBothRecipes) {
  std::vector<std::string> described;
  for (const OptionSpec& spec : example_specs()) described.push_back(spec.described());
  EXPECT_THAT(
      described,
      ElementsAre("which; one of tuned, paper", "rows that are drawn; a whole number in 1..10000",
                  "rows of an update; a whole number in 1..5000 or auto (tuned samples / 2; "
                  "paper 128)",
                  "stops; a number in [0, 1]", "of layers; 1 to 3 whole numbers in [1, 64]",
                  "at the most; a whole number in 0..5000 (default samples / 2)",
                  "rows to fit to"));
}

TEST(SolverOptions, ANumberWithoutABoundIsANumber) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(allowed_text(RealRange{-kInfinity, kInfinity}, false), "a number");
  EXPECT_EQ(allowed_text(RealRange{0.5, kInfinity}, true), "a number of at least 0.5 or auto");
  EXPECT_EQ(allowed_text(RealRange{-kInfinity, 2.0}, false), "a number of at most 2");
}

TEST(SolverOptions, UnknownKeyNamesTheNearest) {
  SolverOptions options = example();
  EXPECT_THAT(error_of<InvalidArgument>([&] { options.set("tolerence", "1"); }),
              AllOf(HasSubstr("'tolerence'"), HasSubstr("did you mean 'tolerance'")));
  EXPECT_THAT(error_of<InvalidArgument>([&] { options.set_assignment("sample=1"); }),
              HasSubstr("did you mean 'samples'"));
  SolverOptions none({});
  EXPECT_THAT(error_of<InvalidArgument>([&] { none.set("samples", "1"); }),
              AllOf(HasSubstr("takes no options"), HasSubstr("samples")));
  EXPECT_EQ(options.values(), example().values());
}

TEST(SolverOptions, AssignmentNeedsKeyAndEquals) {
  SolverOptions options = example();
  for (const char* bad : {"samples", "=5", ""}) {
    EXPECT_THAT(error_of<InvalidArgument>([&] { options.set_assignment(bad); }),
                HasSubstr("key=value"));
  }
}

// What a read says of a value that it refuses; empty where it takes it.
template <typename Read>
std::string refusal_of_read(const char* key, const char* value, Read&& read) {
  SolverOptions options = example();
  options.set(key, value);
  try {
    read(options);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return {};
}

TEST(SolverOptions, ValuesAreCheckedWhenRead) {
  const auto integer = [](const SolverOptions& options) { options.integer("samples"); };
  for (const char* bad : {"", "abc", "1.5", "5x", " 5", "0", "10001", "99999999999999999999"}) {
    EXPECT_EQ(refusal_of_read("samples", bad, integer),
              fmt::format("[options] samples must be a whole number in 1..10000, got '{}'", bad));
  }
  const auto real = [](const SolverOptions& options) { options.real("tolerance"); };
  for (const char* bad : {"", "abc", "nan", "inf", "1e999", "-0.1", "1.1", "0,5"}) {
    EXPECT_EQ(refusal_of_read("tolerance", bad, real),
              fmt::format("[options] tolerance must be a number in [0, 1], got '{}'", bad));
  }
  const auto list = [](const SolverOptions& options) { options.integers("widths"); };
  for (const char* bad : {"", "0", "65", "8,", ",8", "8,,8", "8 8", "8,8,8,8", "8,0", "-1"}) {
    EXPECT_EQ(
        refusal_of_read("widths", bad, list),
        fmt::format("[options] widths must be 1 to 3 whole numbers in [1, 64], got '{}'", bad));
  }
  const auto choice = [](const SolverOptions& options) { options.is("recipe", "paper"); };
  EXPECT_EQ(refusal_of_read("recipe", "Paper", choice),
            "[options] recipe must be one of tuned, paper, got 'Paper'");
  EXPECT_EQ(refusal_of_read("samples", "10000", integer) + refusal_of_read("tolerance", "1", real) +
                refusal_of_read("widths", "1,64,8", list) +
                refusal_of_read("recipe", "paper", choice),
            "");
}

TEST(SolverOptions, AProblemMayLowerTheUpperBound) {
  const auto integer = [](const SolverOptions& options) { options.integer("samples", 9); };
  EXPECT_THAT(refusal_of_read("samples", "10", integer), HasSubstr("in 1..9, got '10'"));
  EXPECT_EQ(refusal_of_read("samples", "9", integer), "");
  const auto real = [](const SolverOptions& options) { options.real("tolerance", 0.5); };
  EXPECT_THAT(refusal_of_read("tolerance", "0.6", real), HasSubstr("in [0, 0.5], got '0.6'"));
  const auto above = [](const SolverOptions& options) { options.integer("samples", 20000); };
  EXPECT_THAT(refusal_of_read("samples", "10001", above), HasSubstr("in 1..10000, got '10001'"));
}

TEST(SolverOptions, AutoIsAllowedWhereTheSpecSaysSo) {
  SolverOptions options = example();
  options.set("batch", "auto");
  options.set("samples", "auto");
  EXPECT_TRUE(options.is_auto("batch"));
  EXPECT_FALSE(options.is_auto("samples"));
  EXPECT_THAT(refusal_of_read("batch", "0", [](const SolverOptions& o) { o.integer("batch"); }),
              HasSubstr("batch must be a whole number in 1..5000 or auto, got '0'"));
}

// An option that others decide about: given where it is not used, it is refused.
TEST(SolverOptions, ValuesThatWouldNotBeUsedAreRefused) {
  std::vector<OptionSpec> specs = example_specs();
  specs.push_back({.key = "peak",
                   .kind = RealRange{0.0, 1.0},
                   .default_value = "0.5",
                   .paper = "0.9",
                   .help = "height",
                   .use = used_with("recipe", {"tuned"})});
  specs.push_back({.key = "rest",
                   .kind = IntegerRange{0, 9},
                   .default_value = "3",
                   .help = "of it",
                   .use = used_above("tolerance", 0.1)});
  specs.push_back({.key = "looks",
                   .kind = IntegerRange{0, 9},
                   .default_value = "4",
                   .help = "at it",
                   .use = used_with_auto("batch")});
  const auto resolved = [&](const std::vector<std::string>& given) {
    SolverOptions options(specs);
    for (const std::string& assignment : given) options.set_assignment(assignment);
    options.resolve();
    return options;
  };
  const auto refusal = [&](const std::vector<std::string>& given) {
    return error_of<InvalidArgument>([&] { resolved(given); });
  };
  EXPECT_EQ(refusal({"recipe=paper", "peak=0.7"}),
            "[options] peak goes with recipe=tuned, got peak=0.7 with recipe=paper");
  EXPECT_EQ(refusal({"peak=0.7", "recipe=paper"}), refusal({"recipe=paper", "peak=0.7"}));
  EXPECT_EQ(refusal({"rest=5"}),
            "[options] rest goes with tolerance above 0.1, got rest=5 with tolerance=1e-10");
  EXPECT_THAT(refusal({"looks=5"}), HasSubstr("looks goes with batch=auto, got looks=5"));
  EXPECT_THAT(refusal({"looks=4"}), HasSubstr("looks goes with batch=auto"));  // the default
  EXPECT_EQ(resolved({"peak=0.7"}).real("peak"), 0.7);
  EXPECT_EQ(resolved({"tolerance=0.2", "rest=5"}).integer("rest"), 5);
  EXPECT_EQ(resolved({"batch=auto", "looks=5"}).integer("looks"), 5);
  // Defaults are silent, and so is the record of a run, which has every option.
  const SolverOptions paper = resolved({"recipe=paper"});
  EXPECT_EQ(paper.real("peak"), 0.9);
  SolverOptions recorded(specs);
  for (const auto& [key, value] : paper.values()) recorded.set(key, value);
  EXPECT_NO_THROW(recorded.resolve());
  EXPECT_EQ(recorded.values(), paper.values());
}

}  // namespace
}  // namespace bridgemark
