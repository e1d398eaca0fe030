#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bridgemark/pair/pair_folder.h"
#include "tests/cli/run_program.h"
#include "tests/support/small_pair.h"

// Files that somebody else wrote, and places that cannot be written.
namespace bridgemark {
namespace {

using ::testing::AllOf;
using testing::expect_success;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::put;
using testing::run_program;
using testing::slurp;

class GuardedInput : public ::testing::Test {
 protected:
  GuardedInput() {
    write_pair_folder({}, testing::pair_with_test_set(testing::small_spec(), 200), path("pair"));
    put(path("x.toml"), "name = 'x'\n[evaluation]\ntrajectories = 20\n[[grid]]\npairs = ['" +
                            path("pair") + "']\nsolvers = ['oracle']\n");
    expect_success({"run", path("x.toml"), "-o", path("out")});
    const std::string text = slurp(path("out/results.jsonl"));
    line_ = nlohmann::json::parse(text.substr(0, text.find('\n')));
  }

  std::string path(const std::string& name) const { return (temp_.path() / name).string(); }

  std::vector<std::string> report() const {
    return {"report", path("out"), "-o", path("report.html"), "--tables-only"};
  }

  // What the report says of these results: one line of words of our own.
  std::string refusal(const std::string& results) const {
    put(path("out/results.jsonl"), results);
    const testing::ProgramRun run = run_program(report());
    EXPECT_EQ(run.status, 2) << run.out;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_LT(run.err.size(), 1200u);
    EXPECT_THAT(run.err, AllOf(Not(HasSubstr("exception")), Not(HasSubstr("sto"))));
    return run.err;
  }

  testing::TempDir temp_;
  nlohmann::json line_;  // a good line of results
};

TEST_F(GuardedInput, ResultsAreRefusedWithFileAndLine) {
  const std::string good = line_.dump() + "\n";
  const std::string second = "results.jsonl: line 2: ";
  EXPECT_THAT(refusal(good + std::string(100000, '[') + "\n"), HasSubstr(second + "nested deeper"));
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_THAT(refusal(good + objects + "\n"), HasSubstr(second + "nested deeper"));
  EXPECT_THAT(refusal(good + "{\"run\": }\n"), HasSubstr(second + "not JSON at column"));
  EXPECT_THAT(refusal(good + "[]\n"), HasSubstr(second));
  EXPECT_THAT(refusal(good + "{\"seed\": 1e999}\n"), HasSubstr(second + "not JSON"));
  for (const char* key : {"run", "seed", "dim", "options", "set", "pair_identity", "diagnostics",
                          "scores", "threads", "peak_memory_bytes", "data"}) {
    for (const nlohmann::json& value :
         {nlohmann::json(true), nlohmann::json(-1.5), nlohmann::json("text")}) {
      nlohmann::json line = line_;
      if (line[key].type() == value.type()) continue;
      line[key] = value;
      EXPECT_THAT(refusal(good + line.dump() + "\n"), HasSubstr(second)) << key << value;
    }
  }
  for (const char* key :
       {"shape_score", "values", "standard_errors", "missing", "infinite", "blocks"}) {
    for (const nlohmann::json& value : {nlohmann::json(true), nlohmann::json("text")}) {
      nlohmann::json line = line_;
      line["scores"][key] = value;
      EXPECT_THAT(refusal(good + line.dump() + "\n"), HasSubstr(second)) << key << value;
    }
  }
}

TEST_F(GuardedInput, PairRecordsAreRefusedWithFileAndLine) {
  for (const char* key : {"reverse", "name"}) {
    for (const nlohmann::json& value : {nlohmann::json(1), nlohmann::json(), nlohmann::json({1})}) {
      nlohmann::json line = line_;
      line["pair_identity"][key] = value;
      EXPECT_THAT(refusal(line.dump() + "\n"),
                  HasSubstr("results.jsonl: line 1: '" + std::string(key) + "' of a pair must be"));
    }
  }
}

// A run's id is a folder's name, of any length.
TEST_F(GuardedInput, LongIdsHaveNoFigures) {
  line_["run"] = std::string(300, 'a');
  put(path("out/results.jsonl"), line_.dump() + "\n");
  expect_success({"report", path("out"), "-o", path("report.html")});
}

TEST_F(GuardedInput, LabelsAndStepsAreShownAsText) {
  line_["method"] = "a\x1b[31mred\nb";
  line_["num_steps"] = "many";
  line_["loss"] = "kl";
  put(path("out/results.jsonl"), line_.dump() + "\n");
  const std::string shown = expect_success(report());
  EXPECT_THAT(shown, AllOf(HasSubstr("a\\x1b[31mred\\x0ab"), HasSubstr("KL, many"),
                           Not(HasSubstr("\x1b"))));
}

TEST_F(GuardedInput, MessagesAreTextAndCut) {
  const testing::ProgramRun run = run_program({"report", "a\x1b[31mb", "-o", path("r.html")});
  EXPECT_THAT(run.err, HasSubstr("a\\x1b[31mb: no such folder"));
  std::vector<std::string> arguments = {"list"};
  for (int i = 0; i < 2000; ++i) arguments.push_back("word");
  EXPECT_LT(run_program(arguments).err.size(), 1200u);
  const testing::ProgramRun name = run_program({"kit", std::string(5000, 'a'), "-o", path("kit")});
  EXPECT_EQ(name.status, 2);
  EXPECT_THAT(name.err, AllOf(Not(HasSubstr("filesystem error")), HasSubstr("aaa")));
}

// A shell's line with the program in it, for redirections.
int shell_status(const std::string& arguments, const std::string& redirection) {
  const std::string line = "'" + testing::tested_program() + "' " + arguments + " " + redirection;
  const int raw = std::system(line.c_str());
  return WIFEXITED(raw) ? WEXITSTATUS(raw) : -1;
}

TEST_F(GuardedInput, OutputThatDoesNotArriveIsAFailure) {
  const std::string error = path("error");
  for (const char* command : {"list", "list --json", "--help", "train --help"}) {
    EXPECT_EQ(shell_status(command, ">/dev/full 2>'" + error + "'"), 2) << command;
    EXPECT_THAT(slurp(error), HasSubstr("standard output cannot be written")) << command;
    EXPECT_EQ(shell_status(command, ">&- 2>'" + error + "'"), 2) << command;
  }
  // A file that is opened while standard output is closed must not become it.
  const std::string sample = "sample d2-uniform-0.01 --what x0 -n 5 -o '" + path("x.npy") + "'";
  EXPECT_EQ(shell_status(sample, ">&- 2>/dev/null"), 2);
  EXPECT_EQ(std::filesystem::file_size(path("x.npy")), 168u);
}

// Long enough to tell of its progress, which begins after two seconds.
TEST_F(GuardedInput, ATrainingNeedsNoStandardError) {
  const std::string train =
      "train dlightsb --pair d2-uniform-0.01 --set updates=45000 --set components=100 --set "
      "batch_size=32 --threads 1 -o '" +
      path("run") + "'";
  EXPECT_EQ(shell_status(train, "2>/dev/full >/dev/null"), 0);
}

}  // namespace
}  // namespace bridgemark
