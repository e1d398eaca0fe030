#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bridgemark/io/npy.h"
#include "bridgemark/pair/pair_folder.h"
#include "bridgemark/pair/pair_record.h"
#include "tests/cli/run_program.h"
#include "tests/support/small_pair.h"

// Nothing goes on, is scored or is tabled with another pair or other data than it began with.
namespace bridgemark {
namespace {

using ::testing::AllOf;
using testing::expect_success;
using ::testing::HasSubstr;
using testing::put;
using testing::slurp;

class Identity : public ::testing::Test {
 protected:
  Identity() { write_pair(testing::small_spec()); }

  std::string path(const std::string& name) const { return (temp_.path() / name).string(); }

  void write_pair(const PairSpec& spec) const {
    write_pair_folder({}, testing::pair_with_test_set(spec, 200), path("pair"));
  }

  // The same name, seed and potential; only p0 is another.
  void change_p0() const {
    PairSpec spec = testing::small_spec();
    spec.source = SourceDistribution::uniform(2, 6, -3.0, 3.0);
    write_pair(spec);
  }

  std::string fingerprint() const {
    return pair_record(load_pair(path("pair"))).at("fingerprint").get<std::string>();
  }

  std::vector<std::string> train(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"train", "dlightsb",     "--pair", path("pair"),
                                          "-o",    path("run"),    "--set",  "updates=20",
                                          "--set", "components=3", "--set",  "batch_size=4"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  static std::string refusal(const std::vector<std::string>& arguments) {
    const testing::ProgramRun run = testing::run_program(arguments);
    EXPECT_EQ(run.status, 2) << run.out;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    return run.err;
  }

  testing::TempDir temp_;
};

TEST_F(Identity, ARunKeepsToItsPair) {
  expect_success(train());
  const std::string before = fingerprint();
  change_p0();
  const auto names_both = AllOf(HasSubstr(before), HasSubstr(fingerprint()));
  EXPECT_THAT(refusal({"evaluate", path("pair"), "--run", path("run")}), names_both);
  EXPECT_THAT(refusal(train({"--resume"})), names_both);
  // The checkpoint alone knows it too.
  std::filesystem::remove(path("run/result.json"));
  EXPECT_THAT(refusal(train({"--resume"})), AllOf(names_both, HasSubstr("checkpoint.safetensors")));
  write_pair(testing::small_spec());
  expect_success(train({"--resume"}));
}

TEST_F(Identity, ARunKeepsToItsData) {
  const std::vector<std::int32_t> rows{1, 2, 3, 4}, others{1, 2, 3, 5};
  const std::vector<std::size_t> shape{2, 2};
  save_npy(path("x1.npy"), shape, std::span(rows));
  const std::vector<std::string> data = {"--set", "x1_data=" + path("x1.npy")};
  const auto resume = [&] {
    std::vector<std::string> arguments = train(data);
    arguments.push_back("--resume");
    return arguments;
  };
  expect_success(train(data));
  const std::string recorded = nlohmann::json::parse(slurp(path("run/result.json")))
                                   .at("data")
                                   .at("x1_data")
                                   .get<std::string>();
  save_npy(path("x1.npy"), shape, std::span(others));
  EXPECT_THAT(refusal(resume()), AllOf(HasSubstr("x1_data"), HasSubstr(recorded)));
  std::filesystem::remove(path("run/result.json"));
  EXPECT_THAT(refusal(resume()), AllOf(HasSubstr("x1_data"), HasSubstr(recorded)));
  save_npy(path("x1.npy"), shape, std::span(rows));
  expect_success(resume());
}

class GridIdentity : public Identity {
 protected:
  GridIdentity() {
    put(path("x.toml"), "name = 'x'\n[evaluation]\ntrajectories = 20\n[[grid]]\npairs = ['" +
                            path("pair") + "']\nsolvers = ['oracle', 'reference']\n");
    expect_success({"run", path("x.toml"), "-o", path("out")});
  }
};

TEST_F(GridIdentity, AGridKeepsToItsPairs) {
  const std::string before = fingerprint();
  change_p0();
  EXPECT_THAT(refusal({"run", path("x.toml"), "-o", path("out"), "--resume"}),
              AllOf(HasSubstr("pair.oracle.seed0"), HasSubstr(before), HasSubstr(fingerprint())));
  // Scores of the other pair beside a run of this one.
  const std::string scores = path("out/runs/pair.oracle.seed0/scores.json");
  nlohmann::json other = nlohmann::json::parse(slurp(scores));
  other["pair_identity"]["fingerprint"] = fingerprint();
  put(scores, other.dump());
  write_pair(testing::small_spec());
  EXPECT_THAT(refusal({"run", path("x.toml"), "-o", path("out"), "--resume"}),
              AllOf(HasSubstr("scores.json"), HasSubstr(before)));
}

TEST_F(GridIdentity, AReportIsOfOnePairAColumn) {
  const std::string before = fingerprint(), first = slurp(path("out/results.jsonl"));
  change_p0();
  expect_success({"run", path("x.toml"), "-o", path("other")});
  put(path("out/results.jsonl"), first + slurp(path("other/results.jsonl")));
  EXPECT_THAT(refusal({"report", path("out"), "-o", path("report.html"), "--tables-only"}),
              AllOf(HasSubstr("results.jsonl"), HasSubstr(before), HasSubstr(fingerprint())));
}

TEST_F(GridIdentity, AReportIsOfOneSetOfDataAFile) {
  std::string lines;
  const std::string text = slurp(path("out/results.jsonl"));
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    nlohmann::json line = nlohmann::json::parse(text.substr(at, text.find('\n', at) - at));
    line["options"]["x0_data"] = "x0.npy";
    line["data"]["x0_data"] = line["solver"] == "oracle" ? "0a" : "0b";
    lines += line.dump() + "\n";
  }
  put(path("out/results.jsonl"), lines);
  EXPECT_THAT(refusal({"report", path("out"), "-o", path("report.html"), "--tables-only"}),
              AllOf(HasSubstr("x0.npy"), HasSubstr("0a"), HasSubstr("0b")));
}

}  // namespace
}  // namespace bridgemark
