#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/npy.h"
#include "bridgemark/math/philox.h"
#include "tests/cli/run_program.h"

// What gamma changes on data: bridgemark gamma.
namespace bridgemark {
namespace {

using testing::expect_success;
using testing::files_below;
using ::testing::HasSubstr;
using testing::ProgramRun;
using testing::run_program;
using testing::TempDir;

class GammaCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    save("x0.npy", 0, 1);
    save("x1.npy", 8, 2);
  }
  std::string path(const std::string& name) const { return (temp_.path() / name).string(); }

  void save(const std::string& name, std::int32_t low, std::uint64_t seed) const {
    std::vector<std::int32_t> values(120 * 2);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] =
          low + static_cast<std::int32_t>(8.0 * draw_uniform({seed, DrawPurpose::kSource}, i, 0));
    }
    save_npy(path(name), {120, 2}, std::span<const std::int32_t>(values));
  }

  std::vector<std::string> scan(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {
        "gamma", "--x0", path("x0.npy"), "--x1", path("x1.npy"), "--categories", "16"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  TempDir temp_;
};

TEST_F(GammaCommand, PrintsATableAndWritesTheScan) {
  const std::string text =
      expect_success(scan({"--gammas", "0.05", "0.5", "--set", "components=4", "--set",
                           "updates=100", "-o", path("out"), "--seed", "3"}));
  EXPECT_THAT(text, HasSubstr("x0 tells"));
  EXPECT_THAT(text, HasSubstr("do not compare"));
  EXPECT_EQ(files_below(path("out")).size(), 2u);
  const auto kept = nlohmann::json::parse(read_file(path("out/gamma.json"), 1 << 20));
  EXPECT_EQ(kept["points"].size(), 2u);
  EXPECT_EQ(kept["seed"], 3);
  EXPECT_EQ(kept["settings"],
            (nlohmann::json{"refit=no", "source=none", "components=4", "updates=100"}));
  EXPECT_THAT(read_file(path("out/gamma.svg"), 1 << 20), HasSubstr("</svg>"));
}

TEST_F(GammaCommand, JsonIsOneObject) {
  const auto printed = nlohmann::json::parse(
      expect_success(scan({"--gammas", "0.01", "0.1", "--solver", "feature-wise", "--reference",
                           "uniform", "--steps", "16", "--holdout", "0.5", "--json"})));
  EXPECT_EQ(printed["reference"], "uniform");
  EXPECT_EQ(printed["total_steps"], 16);
  EXPECT_EQ(printed["x0_rows"], 60);
  EXPECT_GT(printed["points"][0]["told"], printed["points"][1]["told"]);
  EXPECT_TRUE(printed.contains("machine") && printed.contains("version"));
}

TEST_F(GammaCommand, WrongRequestsAreOneLine) {
  const auto refused = [&](std::vector<std::string> more, const std::string& says) {
    more.insert(more.end(), {"-o", path("none")});
    const ProgramRun run = run_program(scan(std::move(more)));
    EXPECT_EQ(run.status, 2);
    EXPECT_THAT(run.err, HasSubstr(says));
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
    EXPECT_FALSE(std::filesystem::exists(path("none")));
  };
  refused({"--gammas", "0.1"}, "two gammas or more, got 1");
  refused({"--gammas", "0.1", "0"}, "above 0, got 0");
  refused({"--reference", "nothing"}, "nothing");
  refused({"--solver", "nobody"}, "nobody");
  refused({"--set", "updatez=3"}, "updates");
  refused({"--holdout", "0"}, "--holdout");
  std::vector<std::int32_t> wide(30 * 3, 1);
  save_npy(path("x1.npy"), {30, 3}, std::span<const std::int32_t>(wide));
  refused({"--gammas", "0.1", "0.2"}, "3");
  const auto refused_output = [&](const std::string& folder, const std::string& says) {
    const ProgramRun run = run_program(scan({"-o", folder}));
    EXPECT_EQ(run.status, 2);
    EXPECT_THAT(run.err, HasSubstr(says));
  };
  refused_output("", "the folder to write must have a name, got none");
  refused_output(path("x0.npy"), "exists and is not a folder");
}

}  // namespace
}  // namespace bridgemark
