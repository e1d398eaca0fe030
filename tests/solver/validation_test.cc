#include "bridgemark/solver/core/validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/metric/truth_kl.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/solver/core/log_fields.h"
#include "bridgemark/solver/registry.h"
#include "bridgemark/solver/run/run.h"
#include "tests/io/io_testing.h"
#include "tests/support/model_file.h"
#include "tests/support/places.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"
#include "tests/support/thread_ranks.h"

namespace bridgemark {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::parameters_of;
using testing::TempDir;

const std::vector<std::string> kTrained = {"dlightsb", "dlightsb-m", "dlightsb-chain", "csbm",
                                           "alpha-csbm"};

// Some tens of updates of a solver on the small pair, a line every seven.
RunConfig short_run(const std::string& solver) {
  RunConfig config{solver, "small", 3, {{"log_every", "7"}, {"batch_size", "8"}}};
  if (solver.ends_with("csbm")) {
    config.options.merge(
        std::map<std::string, std::string, std::less<>>{{"num_steps", "4"},
                                                        {"imf_iterations", "2"},
                                                        {"updates_first", "12"},
                                                        {"updates_later", "6"},
                                                        {"hidden", "6"},
                                                        {"initial", "independent"}});
  } else {
    config.options["updates"] = "40";
    config.options["source"] = "none";
    if (solver != "dlightsb-chain") config.options["components"] = "5";
    if (solver == "dlightsb-m") config.options["num_steps"] = "4";
  }
  return config;
}

const Context kSerial{.num_threads = 1};

class Validated : public ::testing::Test {
 protected:
  std::filesystem::path folder(const std::string& name) const { return dir_.path() / name; }

  Fitted train(const std::string& name, RunConfig config, const std::string& every,
               const Context& context = kSerial, bool resume = false) {
    config.options["validate_every"] = every;
    return train_run(context, config, pair_, folder(name), resume);
  }

  std::vector<json> log_of(const std::string& name) const {
    std::vector<json> lines;
    for (const LogLine& line : load_run_history(folder(name))) {
      lines.push_back(json::parse(line.text));
    }
    return lines;
  }

  TempDir dir_;
  BenchmarkPair pair_ = testing::pair_with_test_set(testing::small_spec(), 60);
};

TEST_F(Validated, ATrainingEndsInTheSameParameters) {
  for (const std::string& solver : kTrained) {
    for (const std::uint64_t samples : {0u, 120u}) {
      SCOPED_TRACE(solver + ", rows " + std::to_string(samples));
      RunConfig config = short_run(solver);
      config.rows.samples = samples;
      const std::string name = solver + std::to_string(samples);
      train(name + "off", config, "0");
      train(name + "on", config, "5");
      EXPECT_EQ(parameters_of(folder(name + "on")), parameters_of(folder(name + "off")));
    }
  }
}

// An average of the last updates counts once it has begun: before, it is no model.
TEST_F(Validated, ScoresMoveFromTheFirstUpdateOn) {
  const Fitted reference =
      train_run(kSerial, {"reference", "small", 0, {}}, pair_, folder("reference"), false);
  const double untrained =
      TruthKl(kSerial, pair_, *reference.coupling).of(*reference.coupling).mean;
  for (const std::uint64_t samples : {0u, 120u}) {
    RunConfig config = short_run("dlightsb");
    config.rows.samples = samples;
    const std::string name = "rows" + std::to_string(samples);
    train(name, config, "5");
    std::set<double> scores;
    std::size_t lines = 0;
    for (const json& line : log_of(name)) {
      if (!line.contains("joint_kl")) continue;
      const double score = line["joint_kl"].get<double>();
      EXPECT_GT(std::abs(score - untrained), 1e-6) << line;
      scores.insert(score);
      ++lines;
    }
    EXPECT_GE(lines, 8u);
    EXPECT_GE(scores.size() + 1, lines);  // the first one of the refit is the search's last
  }
}

TEST_F(Validated, LinesHaveTheScoreWhereItIsDueAndAtTheEnd) {
  const Fitted fitted = train("run", short_run("dlightsb"), "15");
  std::vector<std::int64_t> scored, all;
  json last;
  for (const json& line : log_of("run")) {
    all.push_back(line["update"].get<std::int64_t>());
    if (line.contains("joint_kl")) scored.push_back(all.back());
    last = line;
  }
  EXPECT_THAT(all, ElementsAre(7, 14, 15, 21, 28, 30, 35, 40));
  EXPECT_THAT(scored, ElementsAre(15, 30, 40));
  const MeanEstimate found = TruthKl({}, pair_, *fitted.coupling).of(*fitted.coupling);
  EXPECT_NEAR(last["joint_kl"].get<double>(), found.mean, 1e-9);
  EXPECT_NEAR(last["joint_kl_error"].get<double>(), found.standard_error, 1e-9);
}

// The last line is of what comes out, also where rows held out choose it; those before are of the
// model in training, so they move.
TEST_F(Validated, OnATrainingSetScoresAreOfTheModelInTraining) {
  RunConfig config = short_run("dlightsb");
  config.options.erase("components");
  config.options["updates"] = "60";
  config.rows.samples = 120;
  const Fitted fitted = train("run", config, "20");
  std::set<double> before, refit;
  json last;
  for (const json& line : log_of("run")) {
    if (!line.contains("joint_kl")) continue;
    (line.contains("refit") ? refit : before).insert(line["joint_kl"].get<double>());
    last = line;
  }
  EXPECT_GT(before.size(), 3u);
  EXPECT_GT(refit.size(), 1u);
  EXPECT_NEAR(last["joint_kl"].get<double>(),
              TruthKl({}, pair_, *fitted.coupling).of(*fitted.coupling).mean, 1e-9);
}

TEST_F(Validated, AResumedTrainingScoresAsAnUndisturbedOne) {
  train("whole", short_run("csbm"), "5");
  Context stopping = kSerial;
  int asked = 0;
  stopping.stop = [&] { return ++asked == 17; };
  EXPECT_THROW(train("parts", short_run("csbm"), "5", stopping), Interrupted);
  train("parts", short_run("csbm"), "5", kSerial, true);
  const std::vector<json> whole = log_of("whole"), parts = log_of("parts");
  ASSERT_EQ(whole.size(), parts.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(whole[i].value("forward_trajectory_kl", -1.0),
              parts[i].value("forward_trajectory_kl", -1.0));
  }
}

// The training then stops at that line, with its state.
TEST_F(Validated, AnInterruptedScoreIsNullAndTheStateIsKept) {
  bool scoring = false, ended = false;
  Context context{.num_threads = 1};
  context.interrupt = [&] { return scoring; };
  context.stop = [&] {
    ended = ended || scoring;
    scoring = !ended;  // the first score comes at once
    return ended;
  };
  EXPECT_THROW(train("run", short_run("dlightsb"), "1", context), Interrupted);
  const std::vector<json> lines = log_of("run");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].at("joint_kl").is_null());
  train("run", short_run("dlightsb"), "1", kSerial, true);
  EXPECT_TRUE(log_of("run").back()["joint_kl"].is_number());
}

TEST_F(Validated, DataAndRanksAreRefusedInALine) {
  const States x0 = pair_.sample_x0({}, 100, 1), x1 = pair_.sample_x1({}, 100, 1);
  const FitProblem data(x0, x1, pair_.reference());
  RunConfig config = short_run("dlightsb");
  config.pair = "";
  config.options["validate_every"] = "5";
  EXPECT_THAT(
      error_of<InvalidArgument>([&] { train_run({}, config, data, folder("data"), false); }),
      HasSubstr("validate_every scores against the truth of a pair and must be 0 for data"));
  EXPECT_FALSE(std::filesystem::exists(folder("data")));
  testing::on_ranks(2, [&](std::shared_ptr<RankGroup> ranks) {
    Context context{.num_threads = 1};
    context.ranks = std::move(ranks);
    EXPECT_THAT(
        error_of<InvalidArgument>([&] { train("ranks", short_run("dlightsb"), "5", context); }),
        HasSubstr("validate_every must be 0 where ranks share a model"));
  });
}

TEST_F(Validated, EveryKeyOfALogIsDocumented) {
  std::set<std::string> found;
  for (const std::string& solver : kTrained) {
    for (const std::uint64_t samples : {0u, 120u}) {
      RunConfig config = short_run(solver);
      config.rows.samples = samples;
      config.options.erase("components");
      config.options.erase("hidden");
      config.options["updates"] = "60";
      if (solver.ends_with("csbm")) config.options.erase("updates");
      const std::string name = solver + std::to_string(samples);
      train(name, config, "20");
      for (const json& line : log_of(name)) {
        for (const auto& [key, value] : line.items()) found.insert(key);
      }
    }
  }
  RunConfig reverse = short_run("dlightsb");
  reverse.options["direction"] = "reverse";
  reverse.options["source"] = "product";
  train("reverse", reverse, "0");
  for (const auto& [key, value] : log_of("reverse").back().items()) found.insert(key);
  train_run({}, {"feature-wise", "small", 0, {}}, pair_, folder("untrained"), false);
  const json event = json::parse(testing::slurp(folder("untrained") / "log.jsonl"));
  for (const auto& [key, value] : event.items()) found.insert(key);
  std::set<std::string> documented;
  for (const LogField& field : log_fields()) documented.emplace(field.key);
  EXPECT_EQ(found, documented);
}

// The rows of its table are those of the list, in its order.
TEST(LogFields, AreThoseOfThePageOfFormats) {
  const std::string page = testing::slurp(testing::source_tree() / "docs/formats.md");
  std::string rows = "| key | unit | meaning |\n| --- | --- | --- |\n";
  for (const LogField& field : log_fields()) {
    rows += fmt::format("| `{}` | {} | {} |\n", field.key, field.unit, field.meaning);
  }
  EXPECT_THAT(page, HasSubstr(rows));
}

}  // namespace
}  // namespace bridgemark
