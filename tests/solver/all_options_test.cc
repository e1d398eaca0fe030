#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/solver/registry.h"
#include "tests/support/small_pair.h"

// Every option of every solver against its spec: what the spec allows and refuses, the solver does.
namespace bridgemark {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Of 128 steps, which the solvers' own numbers of steps divide.
const BenchmarkPair& pair_to_check() {
  static const BenchmarkPair pair = [] {
    PairSpec spec = testing::small_spec();
    spec.total_steps = 128;
    spec.dim = 4;  // a square, as a quadtree asks for
    return build_pair(spec);
  }();
  return pair;
}

// What the solver says of a value of one of its options; empty where it takes it.
std::string refusal_by_solver(const Solver& solver, const std::string& key,
                              const std::string& value) {
  SolverOptions options(solver.options());
  try {
    options.set(key, value);
    solver.resolve(options);
    solver.check({}, pair_to_check(), options);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return {};
}

template <typename Visit>
void each_option(Visit&& visit) {
  std::size_t seen = 0;
  for (const auto& solver : all_solvers()) {
    for (const OptionSpec& spec : solver->options()) {
      SCOPED_TRACE(solver->name() + " " + spec.key);
      visit(*solver, spec);
      ++seen;
    }
  }
  EXPECT_GT(seen, 100u);
}

// Reads a value by its spec alone, without the solver.
void read_by_spec(const SolverOptions& options, const OptionSpec& spec) {
  if (options.is_auto(spec.key)) return;
  const std::string& key = spec.key;
  if (std::holds_alternative<IntegerRange>(spec.kind)) options.integer(key);
  if (std::holds_alternative<RealRange>(spec.kind)) options.real(key);
  if (std::holds_alternative<Choices>(spec.kind)) options.choice(key);
  if (std::holds_alternative<IntegerList>(spec.kind)) options.integers(key);
}

TEST(AllOptions, DefaultsOfEachRecipeAreAllowed) {
  for (const auto& solver : all_solvers()) {
    for (const char* recipe : {"tuned", "paper"}) {
      SCOPED_TRACE(solver->name() + " " + recipe);
      SolverOptions options(solver->options());
      if (options.values().contains("recipe")) options.set("recipe", recipe);
      solver->resolve(options);
      for (const OptionSpec& spec : options.specs()) {
        EXPECT_NO_THROW(read_by_spec(options, spec)) << spec.key;
        const bool as_published = recipe == std::string("paper") && spec.paper;
        const OptionDefault& expected = as_published ? *spec.paper : spec.default_value;
        if (!expected.rule && spec.key != "recipe") {
          EXPECT_EQ(options.text(spec.key), expected.text) << spec.key;
        }
      }
      EXPECT_NO_THROW(solver->check({}, pair_to_check(), options));
    }
  }
}

// The range as a refusal names it. The steps of the pair lower the upper bound of `smoothing`:
// those of rows (whole numbers) to eight times as many, those of cores to as many.
std::string range_text(const IntegerRange& range, const std::string& key) {
  return fmt::format("{}..{}", range.low, key == "smoothing" ? 1024 : range.high);
}
std::string range_text(const RealRange& range, const std::string& key) {
  return fmt::format("[{}, {}]", range.low, key == "smoothing" ? 128.0 : range.high);
}

TEST(AllOptions, ValuesOutsideOfTheRangeAreRefused) {
  each_option([](const Solver& solver, const OptionSpec& spec) {
    const auto refuses = [&](const std::string& value, const std::string& range) {
      const std::string message = refusal_by_solver(solver, spec.key, value);
      EXPECT_THAT(message, StartsWith("[options] " + spec.key + " must be "));
      EXPECT_THAT(message, HasSubstr(range));
      EXPECT_THAT(message, HasSubstr("got '" + value + "'"));
    };
    if (const auto* range = std::get_if<IntegerRange>(&spec.kind)) {
      refuses(std::to_string(std::int64_t{range->low} - 1), range_text(*range, spec.key));
      refuses(std::to_string(std::int64_t{range->high} + 1), range_text(*range, spec.key));
    }
    if (const auto* range = std::get_if<RealRange>(&spec.kind)) {
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      refuses(fmt::format("{}", std::nextafter(range->low, -kInfinity)),
              range_text(*range, spec.key));
      refuses(fmt::format("{}", std::nextafter(range->high, kInfinity)),
              range_text(*range, spec.key));
    }
    if (const auto* list = std::get_if<IntegerList>(&spec.kind)) {
      refuses(std::to_string(list->low - 1), spec.allowed());
      refuses(std::to_string(list->high + 1), spec.allowed());
      std::string too_many = "1";
      for (int i = 0; i < list->most; ++i) too_many += ",1";
      refuses(too_many, spec.allowed());
    }
    if (std::holds_alternative<Choices>(spec.kind)) refuses("other", spec.allowed());
  });
}

TEST(AllOptions, BoundsAreAllowed) {
  each_option([](const Solver& solver, const OptionSpec& spec) {
    std::vector<std::string> bounds;
    if (const auto* range = std::get_if<IntegerRange>(&spec.kind)) {
      bounds = {std::to_string(range->low), std::to_string(range->high)};
    }
    if (const auto* range = std::get_if<RealRange>(&spec.kind)) {
      bounds = {fmt::format("{}", range->low), fmt::format("{}", range->high)};
    }
    if (const auto* list = std::get_if<IntegerList>(&spec.kind)) {
      bounds = {std::to_string(list->low), std::to_string(list->high)};
    }
    for (const std::string& bound : bounds) {
      SolverOptions options(solver.options());
      options.set(spec.key, bound);
      EXPECT_NO_THROW(read_by_spec(options, spec)) << bound;
    }
  });
}

TEST(AllOptions, EachChoiceIsTaken) {
  each_option([](const Solver& solver, const OptionSpec& spec) {
    const auto* choices = std::get_if<Choices>(&spec.kind);
    if (!choices) return;
    for (const std::string& name : choices->names) {
      EXPECT_EQ(refusal_by_solver(solver, spec.key, name), "") << name;
    }
  });
}

TEST(AllOptions, AutoIsTakenWhereTheSpecSaysSo) {
  each_option([](const Solver& solver, const OptionSpec& spec) {
    if (std::holds_alternative<FilePath>(spec.kind)) return;
    const std::string message = refusal_by_solver(solver, spec.key, kAuto);
    if (spec.or_auto) {
      EXPECT_EQ(message, "");
    } else {
      EXPECT_THAT(message, HasSubstr("got 'auto'"));
    }
  });
}

TEST(AllOptions, EachHasAKeyOfItsOwnAndHelp) {
  for (const auto& solver : all_solvers()) {
    std::set<std::string> keys;
    for (const OptionSpec& spec : solver->options()) {
      EXPECT_TRUE(keys.insert(spec.key).second) << solver->name() << " " << spec.key;
      EXPECT_FALSE(spec.help.empty()) << solver->name() << " " << spec.key;
      EXPECT_THAT(spec.described(), HasSubstr(spec.allowed()));
    }
  }
}

// Of every option that others decide about, one case in which it is not used: a value other than
// the default is refused, by the option's name.
TEST(AllOptions, ValuesThatAreNotUsedAreRefused) {
  const std::map<std::string, std::vector<std::pair<std::string, std::string>>> unused = {
      {"init_peak", {{"init", "uniform"}, {"init_peak", "0.77"}}},
      {"embedding_size", {{"input", "numbers"}, {"embedding_size", "77"}}},
      {"initial_pairs", {{"initial", "independent"}, {"initial_pairs", "77"}}},
      {"initial_batch", {{"initial", "reference"}, {"initial_batch", "77"}}},
      {"first_share", {{"imf_iterations", "1"}, {"first_share", "0.77"}}},
      {"updates_later", {{"imf_iterations", "1"}, {"updates_later", "77"}}},
      {"patience", {{"holdout", "0"}, {"patience", "77"}}},
      {"holdout", {{"smoothing", "2"}, {"holdout", "0.77"}}},
      {"refit", {{"holdout", "0"}, {"smoothing", "2"}, {"refit", "no"}}}};
  std::set<std::string> tried;
  each_option([&](const Solver& solver, const OptionSpec& spec) {
    if (!spec.use) return;
    ASSERT_TRUE(unused.contains(spec.key));
    SolverOptions options(solver.options());
    for (const auto& [key, value] : unused.at(spec.key)) {
      const bool decides = key == spec.key || key == spec.use->decided_by;
      if (decides) options.set(key, value);
    }
    try {
      solver.resolve(options);
      ADD_FAILURE() << "was taken";
    } catch (const InvalidArgument& error) {
      EXPECT_THAT(error.what(), StartsWith("[options] " + spec.key + " goes with "));
    }
    tried.insert(spec.key);
  });
  EXPECT_EQ(tried.size(), unused.size());
}

// Of every option that goes with one kind of rows: refused with the other by its name, the default
// as well where it is asked for, and taken in silence where nobody asked.
TEST(AllOptions, ValuesThatTheRowsHaveNoUseForAreRefused) {
  const std::map<std::string, std::string> values = {
      {"holdout", "0.2"},    {"patience", "8"}, {"refit", "yes"},         {"shrinkage", "0"},
      {"smoothing", "auto"}, {"rows", "10000"}, {"marginal_samples", "9"}};
  std::set<std::string> tried;
  each_option([&](const Solver& solver, const OptionSpec& spec) {
    if (spec.rows == RowKind::kAny) return;
    const RowKind other = spec.rows == RowKind::kEndless ? RowKind::kThatEnd : RowKind::kEndless;
    SolverOptions options(solver.options());
    solver.resolve(options);
    options.refuse_unused_with(other, "mine");
    ASSERT_TRUE(values.contains(spec.key));
    options.give(spec.key, values.at(spec.key));
    options.refuse_unused_with(spec.rows, "mine");
    EXPECT_THAT(
        [&] { options.refuse_unused_with(other, "mine"); },
        ::testing::ThrowsMessage<InvalidArgument>(StartsWith(
            "[options] " + spec.key + " goes with " + std::string(row_kind_text(spec.rows)))));
    tried.insert(spec.key);
  });
  EXPECT_EQ(tried.size(), values.size());
}

}  // namespace
}  // namespace bridgemark
