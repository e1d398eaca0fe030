#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "bridgemark/io/npy.h"
#include "bridgemark/pair/pair_spec.h"
#include "tests/cli/run_program.h"
#include "tests/support/temp_dir.h"

// No option does nothing: it is used, or refused by a line that names it.
namespace bridgemark {
namespace {

using testing::expect_success;
using ::testing::HasSubstr;
using testing::ProgramRun;
using testing::run_program;

// A command line that has no use for the option, and what its refusal says.
struct Unused {
  std::string command, option;
  std::string arguments;  // %PAIR, %RUN, %MATRIX, %ROWS and %NEW are paths
  std::string says;
};

const std::vector<Unused>& unused_options() {
  static const std::vector<Unused> cases = {
      {"list", "--device", "--device cuda", "--device goes with commands that compute"},
      {"build", "--seed", "%PAIR --seed 3 -o %NEW", "--seed goes with a preset or PAIR 'custom'"},
      {"build", "--reverse", "d2-gaussian-0.02-reverse --reverse -o %NEW", "which is reversed"},
      {"build", "--dim", "%PAIR --dim 2 -o %NEW", "--dim goes with PAIR 'custom'"},
      {"build", "--categories", "%PAIR --categories 9 -o %NEW", "--categories goes with PAIR"},
      {"build", "--components", "%PAIR --components 9 -o %NEW", "--components goes with PAIR"},
      {"build", "--reference", "%PAIR --reference uniform -o %NEW", "--reference goes with PAIR"},
      {"build", "--gamma", "custom --reference %MATRIX --gamma 0.5 -o %NEW",
       "--gamma goes with --reference gaussian, uniform or lowrank, got --reference"},
      {"build", "--gamma", "%PAIR --gamma 0.5 -o %NEW", "--gamma goes with PAIR 'custom'"},
      {"build", "--steps", "%PAIR --steps 4 -o %NEW", "--steps goes with PAIR 'custom'"},
      {"build", "--sigma", "%PAIR --sigma 4 -o %NEW", "--sigma goes with PAIR 'custom'"},
      {"build", "--family", "%PAIR --family spread -o %NEW", "--family goes with PAIR 'custom'"},
      {"build", "--radius", "custom --family spread --radius 4 -o %NEW",
       "--radius goes with --family sphere, got --family spread"},
      {"build", "--min-distance", "custom --min-distance 4 -o %NEW",
       "--min-distance goes with --family spread or chain or twosided or tree, got --family "
       "sphere"},
      {"build", "--min-distance", "custom --family spread --min-distance 60 -o %NEW",
       "min_distance must be one that 4 means in 50 categories and 2 dimensions have"},
      {"build", "--min-distance", "custom --family twosided --min-distance nan -o %NEW",
       "min_distance"},
      {"build", "--switch-rate", "custom --switch-rate 0.5 -o %NEW",
       "--switch-rate goes with --family chain or tree"},
      {"build", "--tree", "custom --tree quadtree -o %NEW", "--tree goes with --family tree"},
      {"build", "--two-sided", "custom --two-sided -o %NEW", "--two-sided goes with --family tree"},
      {"build", "--source", "%PAIR --source uniform -o %NEW", "--source goes with PAIR 'custom'"},
      {"build", "--name", "%PAIR --name mine -o %NEW", "--name goes with PAIR 'custom'"},
      {"sample", "--given", "%PAIR --what x0 -n 3 --given %ROWS -o %NEW",
       "--given goes with --run, --what conditional or --what trajectory, got --what x0"},
      {"sample", "--num-steps", "%PAIR --what x0 -n 3 --num-steps 4 -o %NEW",
       "--num-steps goes with --what trajectory, got --what x0"},
      {"sample", "--num-steps", "--run %RUN --given %ROWS --num-steps 4 -o %NEW",
       "--num-steps goes with --what trajectory, got --what none"},
      {"sample", "--condition", "%PAIR --what x0 -n 3 --condition %ROWS -o %NEW",
       "--condition goes with --run, got PAIR"},
      {"sample", "--through", "%PAIR --what joint -n 3 --through pinned -o %NEW",
       "--through goes with --what trajectory, got --what joint"},
      {"sample", "--through", "--run %RUN --what trajectory --given %ROWS --through pinned -o %NEW",
       "--through goes with a PAIR, got --run"},
      {"sample", "-n", "%PAIR --what trajectory --given %ROWS -n 3 -o %NEW",
       "-n goes with trajectories from draws of p0, got --given"},
      {"sample", "-n", "--run %RUN --given %ROWS -n 3 -o %NEW", "-n belongs to a PAIR"},
      {"sample", "--what", "--run %RUN --given %ROWS --what joint -o %NEW",
       "--what of a --run must be conditional or trajectory"},
      {"sample", "--reverse", "%PAIR --what x0 -n 3 --reverse -o %NEW",
       "--reverse belongs to --run"},
      {"sample", "--run", "%PAIR --run %RUN --given %ROWS -o %NEW", "one of PAIR and --run"},
      {"kit", "--training-set", "%PAIR --training-set 1 -o %NEW", "--samples"},
      {"kit", "--training-set", "%PAIR --samples 0 --training-set 1 -o %NEW",
       "--training-set goes with --samples above 0, got --samples 0"},
      {"train", "--pair", "oracle --pair %PAIR --x0 %ROWS --x1 %ROWS -o %NEW", "got both"},
      {"train", "--samples", "independent --x0 %ROWS --x1 %ROWS --samples 5 -o %NEW",
       "--samples goes with --pair, got --x0"},
      {"train", "--training-set", "independent --pair %PAIR --samples 0 --training-set 1 -o %NEW",
       "--training-set goes with --samples above 0"},
      {"train", "--x0", "oracle --pair %PAIR --x0 %ROWS -o %NEW", "got both"},
      {"train", "--x1", "oracle --pair %PAIR --x1 %ROWS -o %NEW", "got both"},
      {"train", "--reference", "oracle --pair %PAIR --reference uniform -o %NEW", "--x0"},
      {"train", "--gamma", "oracle --pair %PAIR --gamma 0.5 -o %NEW", "--x0"},
      {"train", "--gamma",
       "independent --x0 %ROWS --x1 %ROWS --reference %MATRIX --gamma 0.5 -o %NEW",
       "gamma belongs to a gaussian"},
      {"train", "--categories", "oracle --pair %PAIR --categories 9 -o %NEW", "--x0"},
      {"train", "--condition", "oracle --pair %PAIR --condition %ROWS %ROWS -o %NEW", "--x0"},
      {"train", "--steps", "oracle --pair %PAIR --steps 9 -o %NEW", "--x0"},
      {"train", "--columns", "dlightsb --pair %PAIR --columns auto -o %NEW", "--x0"},
      {"train", "--columns", "dlightsb --x0 %ROWS --x1 %ROWS --columns auto -o %NEW",
       "--columns goes with tables (.csv), got --x0"},
      {"train", "--set", "dlightsb --pair %PAIR --set init=uniform --set init_peak=0.5 -o %NEW",
       "init_peak goes with init=p1 or init=p0, got init_peak=0.5 with init=uniform"},
      {"train", "--set", "dlightsb --pair %PAIR --set holdout=0.2 -o %NEW",
       "holdout goes with rows that end, of a training set or of data, got holdout=0.2"},
      {"train", "--set", "csbm --pair %PAIR --set patience=3 -o %NEW", "patience goes with rows"},
      {"train", "--set", "sinkhorn --x0 %ROWS --x1 %ROWS --set rows=10000 -o %NEW",
       "rows goes with endless draws of a pair, got rows=10000 with data, rows that end"},
      {"train", "--tensorboard", "reference --pair %PAIR --tensorboard %NEW -o %NEW",
       "tensorboard goes with a solver that trains by updates, got reference"},
      {"distill", "--data-name", "--run %RUN --data-name mine -o %NEW",
       "data_name goes with a run on own data, got 'mine' and one on pair"},
      {"distill", "--run", "--run %RUN -o %NEW", "fits a potential and a law of x0"},
      {"evaluate", "--predictions", "%PAIR --run %RUN --predictions %NEW", "got both"},
      {"evaluate", "--run", "%PAIR --run %RUN --predictions %NEW", "got both"},
      {"evaluate", "--label", "%PAIR --run %RUN --label A --json",
       "--label goes with a printed list, --add-to or --submission, got --json"},
      {"evaluate", "--add-to", "%PAIR --run %RUN --add-to %NEW", "--add-to needs --label"},
      {"evaluate", "--submission", "%PAIR --run %RUN --label A --add-to %NEW --submission %NEW",
       "one of --add-to and --submission"},
      {"evaluate", "--training-seed", "%PAIR --run %RUN --training-seed 3",
       "--training-seed goes with --submission, got none"},
      {"evaluate", "--training-seed",
       "%PAIR --run %RUN --label A --submission %NEW --training-seed 3",
       "--training-seed goes with --predictions, got --run"},
      {"evaluate", "--training-seconds", "%PAIR --run %RUN --training-seconds 3",
       "--training-seconds goes with --submission or --add-to, got none"},
      {"evaluate", "--training-seconds",
       "%PAIR --run %RUN --label A --add-to %NEW --training-seconds 3",
       "--training-seconds goes with --predictions, got --run"},
      {"evaluate", "--training-seconds",
       "%PAIR --predictions %NEW --label A --submission %NEW --training-seconds nan",
       "must be a number in 0"},
      {"evaluate", "--samples", "%PAIR --run %RUN --samples 5", "--run knows its own"},
      {"evaluate", "--training-set", "%PAIR --run %RUN --samples 0 --training-set 2",
       "--training-set goes with --samples above 0"},
      {"evaluate", "--max-seconds", "%PAIR --run %RUN --particles 0 --max-seconds 3",
       "--max-seconds goes with --particles above 0, got --particles 0"},
      {"evaluate", "--num-steps", "%PAIR --predictions %NEW --num-steps 4",
       "--num-steps goes with --run, got --predictions"},
      {"evaluate", "--trajectories", "%PAIR --predictions %NEW --trajectories 4",
       "--trajectories goes with --run, got --predictions"},
      {"evaluate", "--particles", "%PAIR --predictions %NEW --particles 4",
       "--particles goes with --run, got --predictions"},
      {"evaluate", "--max-seconds", "%PAIR --predictions %NEW --max-seconds 4",
       "--max-seconds goes with --run, got --predictions"},
      {"evaluate", "--x0", "%PAIR --run %RUN --x0 %ROWS --x1 %ROWS",
       "give one of PAIR and --x0 with --x1, got both"},
      {"evaluate", "--x1", "--run %RUN --x1 %ROWS", "--x0 and --x1 must be given together"},
      {"evaluate", "--report", "%PAIR --run %RUN --report %NEW", "--report needs --x0 and --x1"},
      {"evaluate", "--condition", "%PAIR --run %RUN --condition %ROWS %ROWS",
       "--condition needs --x0 and --x1"},
      {"evaluate", "--vocabulary", "--run %RUN --x0 %ROWS --x1 %ROWS --vocabulary %ROWS",
       "--vocabulary requires --report"},
      {"gamma", "--reference", "--x0 %ROWS --x1 %ROWS --reference %MATRIX --gammas 0.1 0.2 -o %NEW",
       "got a matrix"},
      {"run", "--jobs", "%NEW -o %NEW --dry-run --jobs 2", "--jobs goes with runs that are made"},
      {"run", "--resume", "%NEW -o %NEW --estimate --resume",
       "--resume goes with runs that are made, got --estimate"},
      {"run", "--shard", "%NEW -o %NEW --estimate --shard 1/2",
       "--shard goes with runs that are made, got --estimate"},
      {"run", "--slurm", "%NEW -o %NEW --slurm --dry-run", "--slurm"},
      {"run", "--runs-per-task", "%NEW -o %NEW --runs-per-task 2", "--slurm"},
      {"run", "--at-once", "%NEW -o %NEW --at-once 2", "--slurm"},
      {"run", "--stale-after", "%NEW -o %NEW --stale-after 9", "--shard or --slurm"},
      {"run", "--stale-after", "%NEW -o %NEW --shard 1/2 --stale-after nan",
       "must be a number in 0.5"},
      {"run", "--estimate", "%NEW -o %NEW --dry-run --estimate", "got --dry-run"},
      {"run", "--device", "%NEW -o %NEW --dry-run --device cpu", "got --dry-run"},
      {"run", "--threads", "%NEW -o %NEW --dry-run --threads 2", "got --dry-run"},
      {"run", "--progress", "%NEW -o %NEW --estimate --progress", "got --estimate"},
      {"run", "--json", "%NEW -o %NEW --dry-run --json", "got --dry-run"},
      {"report", "--vega", "%NEW -o %NEW --tables-only --vega x",
       "--vega goes with an HTML file, got --tables-only"},
      {"report", "--brief", "%NEW -o %NEW --brief --json",
       "--brief goes with printed tables, got --json"},
      {"check-submission", "--seed", "%NEW --seed 3", "--seed goes with --ask or --answers"},
      {"check-submission", "--ask", "%NEW --ask %NEW --answers %NEW", "--ask excludes --answers"},
      {"check-submission", "--answers", "%NEW --ask %NEW --answers %NEW", "--ask excludes"},
      {"evaluate", "--answer", "%PAIR --predictions %NEW --answer %NEW",
       "--answer goes with --run, got --predictions"},
      {"evaluate", "--answer", "%PAIR --run %RUN --label A --add-to %NEW --answer %NEW",
       "give one of --add-to and --answer, got both"},
      {"board", "--leave-out", "--leave-out A -o %NEW", "--leave-out goes with RESULTS, got none"},
  };
  return cases;
}

// Used by whatever else is asked for.
const std::map<std::string, std::set<std::string>>& used_options() {
  static const std::set<std::string> common = {"--help",  "--threads", "--device", "--progress",
                                               "--quiet", "--json",    "--output", "--seed"};
  const auto with = [](std::set<std::string> more) {
    more.insert(common.begin(), common.end());
    return more;
  };
  static const std::map<std::string, std::set<std::string>> used = {
      {"list", with({"--solver"})},
      {"build", with({})},
      {"sample", with({})},
      {"kit", with({"--samples"})},
      {"train", with({"--resume"})},
      {"distill", with({"--run", "--name", "--data-name", "--accept-overfitted"})},
      {"evaluate", with({"--seeds", "--conditional-samples", "--c2st"})},
      {"gamma", with({"--x0", "--x1", "--gammas", "--categories", "--steps", "--solver", "--set",
                      "--holdout"})},
      {"run", with({"--only", "--dry-run"})},
      {"report", with({"--whole", "--tables-only"})},
      {"check-submission", with({})},
      {"challenge", with({})},
      {"challenge new",
       with({"--pair", "--instances", "--samples", "--max-seconds", "--closes", "--value-from"})},
      {"challenge commit", with({"--label", "--files"})},
      {"challenge reveal", with({"--value", "--kits"})},
      {"challenge check", with({"--secret", "--files-from", "--open"})},
      {"board", with({"--submissions"})},
      {"verify", with({})},
      {"doctor", with({})},
      {"completions", with({})},
      {"manual", with({})},
  };
  return used;
}

std::string help_of(const std::string& command) {
  std::vector<std::string> arguments;
  std::istringstream words(command);
  for (std::string word; words >> word;) arguments.push_back(word);
  arguments.push_back("--help");
  return expect_success(arguments);
}

// The commands that the help of a command lists, or of the program, and those within them.
std::set<std::string> commands_of(const std::string& command) {
  std::istringstream help(help_of(command));
  std::set<std::string> commands;
  bool listed = false;
  for (std::string line; std::getline(help, line);) {
    if (line.starts_with("Commands:")) listed = true;
    if (listed && line.empty()) break;
    if (!listed || !line.starts_with("  ") || line[2] == ' ') continue;
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    const std::string full = command.empty() ? name : command + " " + name;
    commands.insert(full);
    commands.merge(commands_of(full));
  }
  return commands;
}

// The options that the help of a command lists, by their long names where they have one.
std::set<std::string> options_of(const std::string& command) {
  std::istringstream help(help_of(command));
  std::set<std::string> options;
  for (std::string line; std::getline(help, line);) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first != 2 || line[first] != '-') continue;
    const std::string names = line.substr(first, line.find(' ', first) - first);
    options.insert(names.substr(names.rfind(',') + 1));
  }
  return options;
}

class OptionUseTest : public ::testing::Test {
 protected:
  OptionUseTest() {
    const std::vector<std::vector<std::string>> made = {
        {"build", "custom", "--categories", "6", "--sigma", "0.8", "--gamma", "0.2", "-o",
         path("pair")},
        {"train", "reference", "--pair", path("pair"), "-o", path("run")},
        {"sample", path("pair"), "--what", "x0", "-n", "20", "-o", path("rows.npy")}};
    for (const auto& arguments : made) expect_success(arguments);
    const std::vector<double> step(36, 1.0 / 6.0);
    save_npy(path("matrix.npy"), std::vector<std::size_t>{6, 6}, std::span<const double>(step));
  }

  std::string path(const std::string& name) const { return (dir_.path() / name).string(); }

  std::vector<std::string> arguments(const Unused& unused) const {
    std::vector<std::string> all = {unused.command};
    std::istringstream words(unused.arguments);
    for (std::string word; words >> word;) {
      if (word == "%PAIR") word = path("pair");
      if (word == "%RUN") word = path("run");
      if (word == "%MATRIX") word = path("matrix.npy");
      if (word == "%ROWS") word = path("rows.npy");
      if (word == "%NEW") word = path("new");
      all.push_back(word);
    }
    return all;
  }

  testing::TempDir dir_;
};

TEST_F(OptionUseTest, AnOptionThatWouldDoNothingIsRefused) {
  const std::set<std::string> before = testing::files_below(dir_.path());
  for (const Unused& unused : unused_options()) {
    const std::vector<std::string> all = arguments(unused);
    SCOPED_TRACE(fmt::format("{}", fmt::join(all, " ")));
    const ProgramRun run = run_program(all);
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1);
    EXPECT_THAT(run.err, HasSubstr(unused.says));
  }
  EXPECT_EQ(testing::files_below(dir_.path()), before);
}

// Each option of each command is in one of the two lists above, or in both.
TEST_F(OptionUseTest, EveryOptionIsUsedOrRefused) {
  const std::set<std::string> commands = commands_of("");
  ASSERT_EQ(commands.size(), used_options().size());
  for (const auto& [command, used] : used_options()) {
    ASSERT_TRUE(commands.contains(command)) << command;
    std::set<std::string> known = used;
    for (const Unused& unused : unused_options()) {
      if (unused.command == command) known.insert(unused.option);
    }
    for (const std::string& option : options_of(command)) {
      EXPECT_TRUE(known.contains(option)) << command << " " << option << " is in neither list";
    }
  }
}

TEST_F(OptionUseTest, AReversedFolderHoldsTheReversedPair) {
  for (const std::string& pair : {path("pair"), std::string("d2-gaussian-0.05")}) {
    std::filesystem::remove_all(path("back"));
    expect_success({"build", pair, "--reverse", "-o", path("back")});
    const BenchmarkPair forward = load_pair(pair), back = load_pair(path("back"));
    EXPECT_TRUE(back.reverse());
    EXPECT_EQ(back.identity().name, forward.identity().name + "-reverse");
    const PairedStates there = forward.test_set({}), returned = back.test_set({});
    EXPECT_EQ(returned.x0, there.x1);
    EXPECT_EQ(returned.x1, there.x0);
  }
}

TEST_F(OptionUseTest, ALeastDistanceThatCanBeMetIsMet) {
  expect_success(
      {"build", "custom", "--family", "spread", "--min-distance", "20", "-o", path("new")});
  EXPECT_EQ(load_pair(path("new")).identity().min_distance, 20.0);
}

}  // namespace
}  // namespace bridgemark
