#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bridgemark/io/csv.h"
#include "tests/cli/run_program.h"

// Tables on the command line: train --columns, and what answers from such a run.
namespace bridgemark::table_command_testing {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ProgramRun;
using testing::run_program;
using testing::TempDir;

class TableCommands : public ::testing::Test {
 protected:
  TableCommands() {
    const char* cities[] = {"Bonn", "", "\"Kiel, north\""};
    std::string before = "age,city\n", after = before;
    for (int i = 0; i < 80; ++i) {
      before += fmt::format("{},{}\n", 20 + i % 30, i % 3 ? "Ulm" : "Bonn");
      after += fmt::format("{},{}\n", 30 + i % 30, cities[i % 3]);
    }
    testing::put(path("before.csv"), before);
    testing::put(path("after.csv"), after);
  }

  std::string path(const std::string& name) const { return (temp_.path() / name).string(); }

  ProgramRun train(std::vector<std::string> more, const std::string& solver = "dlightsb") const {
    std::vector<std::string> arguments = {
        "train", solver, "--x0", path("before.csv"), "--x1", path("after.csv"), "-o", path("run")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }

  TempDir temp_;
};

TEST_F(TableCommands, TrainSampleAndEvaluate) {
  const ProgramRun trained =
      train({"--columns", "auto", "--set", "updates=60", "--set", "components=3"});
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_THAT(trained.err, HasSubstr("note: column age: ordered, 30 categories, gamma"));
  EXPECT_THAT(trained.err,
              HasSubstr("column city: unordered, 4 categories of which one is for missing fields"));
  const ProgramRun sampled =
      run_program({"sample", "--run", path("run"), "--given", path("before.csv"), "-o",
                   path("drawn.csv"), "--seed", "4"});
  ASSERT_EQ(sampled.status, 0) << sampled.err;
  const CsvTable drawn = load_csv(path("drawn.csv"));
  EXPECT_EQ(drawn.names, (std::vector<std::string>{"age", "city"}));
  EXPECT_EQ(drawn.rows.size(), 80u);
  const ProgramRun judged = run_program({"evaluate", "--x0", path("before.csv"), "--x1",
                                         path("after.csv"), "--run", path("run"), "--json"});
  ASSERT_EQ(judged.status, 0) << judged.err;
  EXPECT_THAT(judged.err, HasSubstr("rows it was trained on"));
  const auto record = nlohmann::json::parse(judged.out);
  EXPECT_TRUE(record["runs"][0]["scores"]["held_out_objective"]["value"].is_number());
  // The columns that the run kept are those of another training.
  const ProgramRun again = run_program({"train", "dlightsb", "--x0", path("before.csv"), "--x1",
                                        path("after.csv"), "-o", path("again"), "--columns",
                                        path("run") + "/columns.toml", "--set", "updates=5"});
  EXPECT_EQ(again.status, 0) << again.err;
  const ProgramRun both =
      run_program({"evaluate", "--x0", path("before.csv"), "--x1", path("after.csv"), "--run",
                   path("run"), "--run", path("again")});
  EXPECT_EQ(both.status, 0) << both.err;
  EXPECT_THAT(both.out, HasSubstr("columns of 4 to 30 categories and references of their own"));
  EXPECT_THAT(both.out, HasSubstr("its columns differ in what a step between categories is: "));
  EXPECT_THAT(both.out, Not(HasSubstr("  -  ")));
}

TEST_F(TableCommands, WhatDoesNotGoTogetherIsRefusedInOneLine) {
  const auto refused = [&](const ProgramRun& run, const std::string& message) {
    EXPECT_EQ(run.status, 2) << run.out;
    EXPECT_THAT(run.err, HasSubstr(message));
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_FALSE(std::filesystem::exists(path("run")));
  };
  refused(train({}), "tables (.csv) need --columns, a file or auto");
  refused(train({"--columns", "auto"}, "csbm"), "--columns goes with solver dlightsb, got csbm");
  refused(train({"--columns", "auto", "--gamma", "0.1"}), "--gamma goes with arrays (.npy)");
  refused(train({"--columns", "auto", "--set", "source=none"}), "source");
  refused(train({"--columns", path("no.toml")}), "no.toml");
  refused(train({"--columns", "auto", "--device", "cuda"}), "");
  refused(train({"--columns", "auto", "--tensorboard", path("events")}),
          "--tensorboard goes with arrays (.npy) and pairs, got --columns auto");
  testing::put(path("columns.toml"), "steps = 8\n[[column]]\nname = \"city\"\n");
  refused(train({"--columns", path("columns.toml"), "--steps", "16"}),
          "--steps goes with a columns file without steps");
  testing::put(path("columns.toml"), "[[column]]\nname = \"city\"\nkind = \"count\"\n");
  refused(train({"--columns", path("columns.toml")}),
          "column 'city' must hold numbers or be given its values in their order to be count, got "
          "'Bonn' in line 2 of");
  testing::put(path("columns.toml"), "[[column]]\nname = \"city\"\nkind = 2\n");
  refused(train({"--columns", path("columns.toml")}), "columns.toml: line 3: 'kind' must be");
  testing::put(path("columns.toml"), "[[column]]\nname = \"height\"\n");
  refused(train({"--columns", path("columns.toml")}),
          "before.csv: it must have a column 'height', its columns are age, city");
}

TEST_F(TableCommands, TablesThatAreNoneAreRefusedByTheirLine) {
  const std::pair<const char*, const char*> slips[] = {
      {"", "before.csv: it must begin with the names of its columns, got none"},
      {"age,city\n", "before.csv: it must have rows, got none"},
      {"age,city\n1,Ulm\n2\n", "before.csv: line 3: a row must have 2 fields, got 1"},
      {"age,age\n1,2\n", "before.csv: line 1: names of columns must differ, got 'age' twice"},
      {"age,city,sex\n1,Ulm,f\n2,Bonn,m\n", "after.csv: it must have a column 'sex'"},
      {"age,city\n1,Ulm\ntwo,Bonn\n",
       "column 'age' must hold numbers or be given its kind, got 81 numbers and 'two' in line 3 "
       "of"}};
  for (const auto& [text, message] : slips) {
    testing::put(path("before.csv"), text);
    const ProgramRun run = train({"--columns", "auto"});
    EXPECT_EQ(run.status, 2) << text;
    EXPECT_THAT(run.err, HasSubstr(message));
    EXPECT_FALSE(std::filesystem::exists(path("run")));
  }
}

TEST_F(TableCommands, APageShowsRowsAsTheirValues) {
  ASSERT_EQ(train({"--columns", "auto", "--set", "updates=5", "--quiet"}).status, 0);
  const auto evaluate = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"evaluate",        "--x0",  path("before.csv"), "--x1",
                                          path("after.csv"), "--run", path("run")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  };
  const ProgramRun judged = evaluate({"--report", path("page.html")});
  EXPECT_EQ(judged.status, 0) << judged.err;
  EXPECT_THAT(testing::slurp(path("page.html")),
              AllOf(HasSubstr("<th>age</th><th>city</th>"), HasSubstr("Kiel, north"),
                    Not(HasSubstr("<svg "))));
  const std::pair<std::vector<std::string>, const char*> slips[] = {
      {{"--report", path("none") + "/page.html"}, "its folder is not there"},
      {{"--report", temp_.path().string()}, "the page must be a file, got a folder"},
      {{"--report", ""}, "the page must have a name, got none"},
      {{"--report", path("other.html"), "--vocabulary", path("before.csv")},
       "--vocabulary goes with arrays (.npy), got --x0 "},
      {{"--condition", path("a.npy"), path("b.npy")},
       "--condition goes with arrays (.npy), got --x0 "}};
  for (const auto& [more, message] : slips) {
    const ProgramRun refused = evaluate(more);
    EXPECT_EQ(refused.status, 2) << message;
    EXPECT_EQ(refused.out, "") << message;
    EXPECT_THAT(refused.err, HasSubstr(message));
  }
  EXPECT_FALSE(std::filesystem::exists(path("other.html")));
}

TEST_F(TableCommands, OtherCommandsSayWhatATableRunTakes) {
  ASSERT_EQ(train({"--columns", "auto", "--set", "updates=5", "--quiet"}).status, 0);
  const std::vector<std::string> sample = {"sample", "--run", path("run"), "--given"};
  const auto with = [](std::vector<std::string> some, const std::vector<std::string>& more) {
    some.insert(some.end(), more.begin(), more.end());
    return run_program(some);
  };
  EXPECT_THAT(with(sample, {path("x0.npy"), "-o", path("x1.csv")}).err,
              HasSubstr("--given must be a table (.csv)"));
  EXPECT_THAT(with(sample, {path("before.csv"), "-o", path("x1.csv"), "--reverse"}).err,
              HasSubstr("--reverse goes with a run of arrays"));
  EXPECT_THAT(run_program({"evaluate", "d2-gaussian-0.02", "--run", path("run")}).err,
              HasSubstr("holds a run of a table, whose rows are given as .csv"));
  testing::put(path("new.csv"), "age\n33\n");
  EXPECT_THAT(with(sample, {path("new.csv"), "-o", path("x1.csv")}).err,
              HasSubstr("new.csv: it must have a column 'city'"));
  testing::put(path("new.csv"), "age,city\nold,Ulm\n");
  EXPECT_THAT(with(sample, {path("new.csv"), "-o", path("x1.csv")}).err,
              HasSubstr("new.csv: line 2: column 'age' must hold a number, got 'old'"));
  testing::put(path("new.csv"), "age,city\n33,Rome\n");
  EXPECT_THAT(with(sample, {path("new.csv"), "-o", path("x1.csv")}).err,
              HasSubstr("new.csv: line 2: column 'city' must hold one of its 3 values or nothing, "
                        "got 'Rome'"));
}

}  // namespace bridgemark::table_command_testing
