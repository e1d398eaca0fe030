#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "bridgemark/core/clock.h"
#include "bridgemark/core/error.h"
#include "bridgemark/io/json.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/solver/core/training_loop.h"
#include "bridgemark/solver/run/run.h"
#include "tests/io/io_testing.h"
#include "tests/support/event_reader.h"
#include "tests/support/temp_dir.h"

// Who follows a training beside its log.
namespace bridgemark {
namespace {

using ::testing::ElementsAre;
using testing::ReadEvent;
using testing::TempDir;

RunConfig watched_run() {
  return {"dlightsb",
          "d2-gaussian-0.05",
          3,
          {{"updates", "60"},
           {"components", "8"},
           {"source", "none"},
           {"batch_size", "16"},
           {"log_every", "10"},
           {"checkpoint_every", "0"}}};
}

const Context kSingleThread{.num_threads = 1};

class WatchedTraining : public ::testing::Test {
 protected:
  std::filesystem::path path(const char* name) const { return dir_.path() / name; }

  void train(const Context& context, const TrainingWatch& watch, bool resume = false) {
    train_run(context, watched_run(), load_pair("d2-gaussian-0.05"), path("run"), resume, watch);
  }

  TempDir dir_;
};

TEST_F(WatchedTraining, IsToldOfEachLineAsItIsWritten) {
  std::string told;
  TrainingWatch watch;
  watch.on_line = [&](const LogLine& line) {
    told += line.text + "\n";
    EXPECT_EQ(testing::slurp(path("run") / "log.jsonl"), told);
  };
  train(kSingleThread, watch);
  EXPECT_EQ(testing::slurp(path("run") / "log.jsonl"), told);
  EXPECT_EQ(std::ranges::count(told, '\n'), 6);
}

// Whoever is told can make the context say stop: the state after that line is kept.
TEST_F(WatchedTraining, IsStoppedAtTheLineThatAskedForIt) {
  bool asked = false;
  Context context = kSingleThread;
  context.stop = [&] { return asked; };
  TrainingWatch watch;
  watch.on_line = [&](const LogLine& line) { asked = line.update == 30; };
  EXPECT_THROW(train(context, watch), Interrupted);
  std::vector<std::int64_t> updates;
  watch.on_line = [&](const LogLine& line) { updates.push_back(line.update); };
  train(kSingleThread, watch, true);
  EXPECT_THAT(updates, ElementsAre(40, 50, 60));
  EXPECT_EQ(load_json(path("run") / "result.json")["diagnostics"]["resumed_from"], 30);
}

TEST_F(WatchedTraining, EventsHaveTheNumbersOfTheLog) {
  train(kSingleThread, {.event_folder = path("events")});
  const std::vector<ReadEvent> events = testing::read_events(path("events"));
  const std::vector<LogLine> lines = read_training_log(path("run") / "log.jsonl");
  ASSERT_EQ(events.size(), lines.size() + 2);
  EXPECT_EQ(events[1].step, 1);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const ReadEvent& event = events[i + 2];
    EXPECT_EQ(event.step, lines[i].update);
    EXPECT_EQ(event.scalars,
              (std::map<std::string, float>{{"loss", static_cast<float>(lines[i].loss)},
                                            {"seconds", static_cast<float>(lines[i].seconds)}}));
  }
}

// A resume is a file of its own, which says from which step on it counts.
TEST_F(WatchedTraining, AResumedTrainingHasAnEventFileOfItsOwn) {
  Context stopping = kSingleThread;
  int asked = 0;
  stopping.stop = [&] { return ++asked == 25; };
  const TrainingWatch watch{.event_folder = path("events")};
  EXPECT_THROW(train(stopping, watch), Interrupted);
  train(kSingleThread, watch, true);
  std::vector<std::int64_t> starts, steps;
  for (const ReadEvent& event : testing::read_events(path("events"))) {
    if (event.starts) starts.push_back(event.step);
    if (!event.scalars.empty()) steps.push_back(event.step);
  }
  EXPECT_THAT(starts, ElementsAre(1, 26));
  EXPECT_THAT(steps, ElementsAre(10, 20, 30, 40, 50, 60));
}

TEST_F(WatchedTraining, AnEventFolderThatCannotBeLeavesNoRun) {
  testing::put(path("file"), "");
  testing::contains(
      testing::error_of([&] { train(kSingleThread, {.event_folder = path("file")}); }), "file");
  EXPECT_FALSE(std::filesystem::exists(path("run")));
}

// A model whose updates take no time to speak of.
class QuickModel : public Trainable {
 public:
  void updates(std::int64_t first, std::span<double> losses) override {
    for (double& loss : losses) loss = static_cast<double>(first++);
  }
  void save_state(SafetensorsWriter&) const override {}
  void load_state(const SafetensorsFile&) override {}
};

TEST(TrainingSeconds, AreWithoutThoseOfWhoFollows) {
  double watching = 0.0;
  TrainingFiles files;
  const auto take_a_while = [&] {
    const Clock::time_point start = Clock::now();
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    watching += seconds_since(start);
  };
  files.watch.on_line = [&](const LogLine&) { take_a_while(); };
  TrainingPlan plan{"test", 40, 1e9, 10};
  plan.validate_every = 20;
  plan.validate = [&] {
    take_a_while();
    return nlohmann::json{{"score", 1.0}};
  };
  QuickModel model;
  const Clock::time_point start = Clock::now();
  const TrainingSummary summary = run_training({}, plan, files, model);
  EXPECT_LE(summary.seconds, seconds_since(start) - watching);
  EXPECT_EQ(summary.history.size(), 4u);
  EXPECT_TRUE(nlohmann::json::parse(summary.history[1].text).contains("score"));
  EXPECT_FALSE(nlohmann::json::parse(summary.history[2].text).contains("score"));
}

// Losses 1, 2, ...: before the first line the mean of those so far, then that of the last line.
TEST(TrainingProgress, HasALossFromTheFirstReportOn) {
  Context context;
  std::map<std::uint64_t, std::string> shown;
  context.progress = [&](std::string_view, std::uint64_t done, std::uint64_t,
                         std::string_view detail) { shown[done] = detail; };
  QuickModel model;
  run_training(context, {"test", 64, 1e9, 20}, {}, model);
  EXPECT_TRUE(shown.at(16).starts_with("loss 8.5000,")) << shown[16];
  EXPECT_TRUE(shown.at(32).starts_with("loss 10.5000,")) << shown[32];
}

}  // namespace
}  // namespace bridgemark
