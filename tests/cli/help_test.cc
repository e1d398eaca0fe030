#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "bridgemark/solver/registry.h"
#include "tests/cli/run_program.h"

// What the program says of itself: help, manual pages, completions of shells and hints.
namespace bridgemark {
namespace {

using ::testing::AllOf;
using testing::expect_success;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ProgramRun;
using testing::run_program;
using testing::slurp;
using testing::TempDir;

constexpr std::size_t kColumns = 80;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

using Words = std::vector<std::string>;

Words with(Words words, const std::string& last) {
  words.push_back(last);
  return words;
}

// Of the help: the commands that it lists, each with those within it.
std::vector<Words> commands(const Words& within = {}) {
  std::vector<Words> all;
  bool listed = false;
  for (const std::string& line : lines_of(expect_success(with(within, "--help")))) {
    if (line == "Commands:") {
      listed = true;
    } else if (line.empty()) {
      listed = false;
    } else if (listed && line[2] != ' ') {
      all.push_back(with(within, line.substr(2, line.find(' ', 2) - 2)));
      for (const Words& command : commands(all.back())) all.push_back(command);
    }
  }
  return all;
}

void expect_narrow(const std::vector<std::string>& arguments) {
  for (const std::string& line : lines_of(expect_success(arguments))) {
    const auto columns = std::ranges::count_if(line, [](char c) { return (c & 0xc0) != 0x80; });
    EXPECT_LE(columns, static_cast<std::ptrdiff_t>(kColumns))
        << fmt::format("{}", fmt::join(arguments, " ")) << ": " << line;
  }
}

TEST(HelpTest, FitsEightyColumns) {
  ASSERT_EQ(commands().size(), 21u);
  expect_narrow({"--help"});
  expect_narrow({"list"});
  for (const Words& command : commands()) expect_narrow(with(command, "--help"));
  for (const auto& solver : all_solvers()) expect_narrow({"train", solver->name(), "--help"});
}

TEST(HelpTest, TheHelpOfASolverHasItsKeysAlone) {
  const std::string all = expect_success({"train", "--help"});
  for (const auto& solver : all_solvers()) {
    EXPECT_THAT(all, HasSubstr("\n  " + solver->name() + " "));
    const std::string one = expect_success({"train", solver->name(), "--help"});
    for (const OptionSpec& spec : solver->options()) {
      EXPECT_THAT(one, HasSubstr("\n  " + spec.key + "=")) << solver->name();
    }
  }
  EXPECT_THAT(all, Not(HasSubstr("batch_size=")));
  EXPECT_THAT(expect_success({"train", "sinkhorn", "--help"}), Not(HasSubstr("batch_size=")));
  const ProgramRun unknown = run_program({"train", "dlightbs", "--help"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_EQ(unknown.out, "");
  EXPECT_THAT(unknown.err, HasSubstr("the nearest is dlightsb"));
}

TEST(HelpTest, MistypedNamesAreRefusedWithTheLikelyOne) {
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& says) {
    const ProgramRun run = run_program(arguments);
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(run.err, "bridgemark: " + says + "\n");
  };
  refused({"trian"}, "unknown command 'trian'; did you mean 'train'? see bridgemark --help");
  refused({"frobnicate"}, "unknown command 'frobnicate'; see bridgemark --help");
  refused({"--verion"},
          "unknown option '--verion'; did you mean '--version'? see bridgemark "
          "--help");
  refused({"build", "d2-uniform-0.01", "--outptu", "x"},
          "build has no option '--outptu'; did you mean '--output'? see bridgemark build --help");
  refused({"train", "dlightsb", "--pair", "d2-uniform-0.01", "--batch-size=3", "-o", "x"},
          "train has no option '--batch-size'; it is a key of solvers: --set batch_size=VALUE; see "
          "bridgemark train --help");
  refused({"train", "dlightsb", "--componets", "3"},
          "train has no option '--componets'; did you mean '--set components=VALUE'? see "
          "bridgemark train --help");
  refused({"list", "everything"}, "list has no use for 'everything'; see bridgemark list --help");
  refused({"train", "dlightsb"}, "--output is required; see bridgemark train --help");
  refused({"challenge", "comit"},
          "unknown command 'challenge comit'; did you mean 'commit'? see bridgemark challenge "
          "--help");
  refused({"challenge", "commit", "x", "--lable", "y"},
          "challenge commit has no option '--lable'; did you mean '--label'? see bridgemark "
          "challenge commit --help");
  refused({"run", "x.toml", "-o", "x", "--job", "3"},
          "run has no option '--job'; did you mean '--jobs'? see bridgemark run --help");
}

TEST(HelpTest, TheNextCommandIsSaidUnlessQuiet) {
  const TempDir dir;
  const std::string pair = (dir.path() / "my pair").string(), run = (dir.path() / "run").string();
  EXPECT_THAT(expect_success({"build", "d2-uniform-0.01", "-o", pair}),
              HasSubstr("next: bridgemark train dlightsb --pair '" + pair + "' -o run\n"));
  const std::string out = expect_success({"train", "reference", "--pair", pair, "-o", run});
  EXPECT_THAT(out, HasSubstr("next: bridgemark evaluate '" + pair + "' --run " + run + "\n"));
  for (const char* quiet : {"-q", "--quiet"}) {
    EXPECT_THAT(expect_success({"build", "d2-uniform-0.01", "-o", pair, quiet}),
                Not(HasSubstr("next:")));
  }
}

TEST(HelpTest, DiagnosticsHaveFourDigits) {
  const TempDir dir;
  const std::string out = expect_success({"train", "dlightsb", "--pair", "d2-uniform-0.01", "-o",
                                          (dir.path() / "run").string(), "--set", "components=4",
                                          "--set", "updates=20"});
  for (const std::string& line : lines_of(out)) {
    if (!line.starts_with("  last_loss")) continue;
    EXPECT_LE(std::ranges::count_if(line, [](char c) { return c >= '0' && c <= '9'; }), 4) << line;
    return;
  }
  FAIL() << out;
}

TEST(ManualTest, EveryCommandHasAPageWithItsOptions) {
  const TempDir dir;
  expect_success({"manual", "-o", dir.path().string()});
  EXPECT_EQ(testing::files_below(dir.path()).size(), commands().size() + 1);
  for (const Words& words : commands()) {
    const std::string command = fmt::format("{}", fmt::join(words, " "));
    const std::string page =
        slurp(dir.path() / fmt::format("bridgemark-{}.1", fmt::join(words, "-")));
    EXPECT_EQ(page, expect_success({"manual", command}));
    EXPECT_TRUE(page.starts_with(".TH BRIDGEMARK\\-")) << command;
    for (const std::string& line : lines_of(expect_success(with(words, "--help")))) {
      if (!line.starts_with("  -")) continue;
      std::string name = line.substr(2, line.find_first_of(" ,=", 2) - 2), escaped;
      for (const char c : name) escaped += c == '-' ? std::string("\\-") : std::string(1, c);
      EXPECT_THAT(page, HasSubstr("\\fB" + escaped + "\\fR")) << command;
    }
  }
  EXPECT_THAT(expect_success({"manual", "train"}), HasSubstr("\\fBbatch_size=\\fR"));
  EXPECT_EQ(expect_success({"manual"}), slurp(dir.path() / "bridgemark.1"));
}

class CompletionsTest : public ::testing::Test {
 protected:
  bool has(const std::string& shell) const {
    return std::system(("command -v " + shell + " >/dev/null").c_str()) == 0;
  }

  std::string script(const std::string& shell) const {
    const std::string path = (dir_.path() / shell).string();
    testing::put(path, expect_success({"completions", shell}));
    return path;
  }

  std::string output_of(const std::string& command) const {
    const std::string out = (dir_.path() / "out").string();
    EXPECT_EQ(std::system((command + " > '" + out + "' 2>&1").c_str()), 0) << slurp(out);
    return slurp(out);
  }

  TempDir dir_;
};

TEST_F(CompletionsTest, BashOffersCommandsOptionsAndNames) {
  if (!has("bash")) GTEST_SKIP() << "this machine has no bash";
  const std::string path = script("bash");
  const auto offered = [&](const std::string& words) {
    return output_of("bash -c '. \"" + path + "\"; COMP_WORDS=(bridgemark " + words +
                     "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _bridgemark; "
                     "echo \"${COMPREPLY[@]}\"'");
  };
  EXPECT_EQ(offered("tr"), "train\n");
  EXPECT_EQ(offered("--v"), "--version\n");
  EXPECT_EQ(offered("train dlightsb-m"), "dlightsb-m\n");
  EXPECT_EQ(offered("train dlightsb --pair d64-uniform-0.005-t"), "d64-uniform-0.005-twosided\n");
  EXPECT_EQ(offered("train dlightsb --outp"), "--output\n");
  EXPECT_EQ(offered("train dlightsb --device cu"), "cuda\n");
  EXPECT_EQ(offered("train dlightsb --set up"), "updates=\n");
  EXPECT_EQ(offered("train sinkhorn --set up"), "\n");  // it has no such key
  EXPECT_EQ(offered("sample --what tr"), "trajectory\n");
  EXPECT_EQ(offered("challenge re"), "reveal\n");
  EXPECT_EQ(offered("challenge reveal x --ki"), "--kits\n");
  EXPECT_EQ(offered("challenge new --pair d64-uniform-0.005-t"), "d64-uniform-0.005-twosided\n");
  EXPECT_EQ(offered("train dlightsb -o tr"), "\n");  // a file: left to the shell
}

TEST_F(CompletionsTest, ZshAndFishReadTheirs) {
  for (const std::string shell : {"zsh", "fish"}) {
    const std::string path = script(shell);
    EXPECT_THAT(slurp(path), AllOf(HasSubstr("check-submission"), HasSubstr("twosided")));
    if (has(shell)) {
      EXPECT_EQ(output_of(shell + " -n '" + path + "'"), "");
    }
  }
  if (!has("fish")) return;
  const auto offered = [&](const std::string& line) {
    return output_of("fish -c 'source \"" + (dir_.path() / "fish").string() + "\"; complete -C \"" +
                     line + "\"'");
  };
  EXPECT_THAT(offered("bridgemark train dlightsb --set upd"), HasSubstr("updates="));
  EXPECT_THAT(offered("bridgemark challenge re"), HasSubstr("reveal"));
  EXPECT_THAT(offered("bridgemark challenge reveal x --ki"), HasSubstr("--kits"));
}

TEST_F(CompletionsTest, OtherShellsAreRefused) {
  const ProgramRun run = run_program({"completions", "tcsh"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("tcsh"), HasSubstr("bash")));
}

}  // namespace
}  // namespace bridgemark
