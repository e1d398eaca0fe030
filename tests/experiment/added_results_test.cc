#include "bridgemark/experiment/added_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/experiment/figure_answers.h"
#include "bridgemark/experiment/figure_inputs.h"
#include "bridgemark/io/disk/folder_lock.h"
#include "bridgemark/io/npy.h"
#include "bridgemark/report/tables/tables.h"
#include "bridgemark/submission/score_destination.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Leaves every state as it is, and counts how often it was asked.
class StayPut : public Coupling {
 public:
  std::size_t dim() const override { return 2; }
  int num_categories() const override { return 6; }
  void sample(const Context&, StatesView x0, const DrawKey&, std::uint64_t,
              MutableStatesView x1) const override {
    ++calls;
    std::copy_n(x0.data, x0.size(), x1.data);
  }
  mutable int calls = 0;
};

class AddedResultsTest : public ::testing::Test {
 protected:
  AddedResultsTest() : pair_(testing::pair_with_test_set(testing::small_spec(), 300)) {
    RunResult own;
    own.experiment = "mine";
    own.run = "small.reference.seed0";
    own.method = "Reference";
    own.solver = "reference";
    own.pair = "my/small";  // a folder, as the experiment's file called it
    own.dim = 2;
    own.conditional_samples = 50;
    own.pair_identity = {
        {"name", "small"}, {"version", 1}, {"seed", 4}, {"reverse", false}, {"more", "x"}};
    own.scores = {{"conditional_shape_score", 0.25, 0.01, {0.25}}};
    write_results({own}, folder());
  }

  std::filesystem::path folder() const { return dir_.path(); }

  EvaluationRecord add(const std::string& label, EvaluationOptions options = {}) const {
    options.num_steps = 4;
    options.num_trajectories = 10;
    if (options.conditional_samples == kConditionalSamples) options.conditional_samples = 50;
    return evaluate_to({}, pair_, coupling_, options, to(label));
  }

  ScoreDestination to(const std::string& label, const TrainingRows& rows = {}) const {
    return {.add_to = folder(), .label = label, .pair_name = "small", .rows = rows};
  }

  // The message of a refusal, before the coupling was asked for anything.
  std::string refusal(const std::string& label, const EvaluationOptions& options = {}) const {
    const int before = coupling_.calls;
    try {
      add(label, options);
    } catch (const Error& error) {
      EXPECT_EQ(coupling_.calls, before);
      return error.what();
    }
    return "nothing was thrown";
  }

  std::vector<RunResult> results() const { return load_results(folder() / kResultsJsonl); }

  BenchmarkPair pair_;
  StayPut coupling_;
  testing::TempDir dir_;
};

TEST_F(AddedResultsTest, StandBesideTheExperimentsOwn) {
  const EvaluationRecord record = add("Stay put!");
  const std::vector<RunResult> all = results();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].run, "small.reference.seed0");
  const RunResult& added = all[1];
  EXPECT_EQ(added.run, "small.Stay-put-.seed0");
  EXPECT_EQ(added.method, "Stay put!");
  EXPECT_EQ(added.experiment, "mine");
  EXPECT_EQ(added.pair, "my/small");  // the column of the experiment
  EXPECT_EQ(added.find("conditional_shape_score")->mean,
            record.evaluation.mean("conditional_shape_score"));
  const auto joint = std::ranges::find(added.scores, "joint_kl", &Score::name);
  EXPECT_EQ(joint->missing, "the coupling gives no joint log-probability");
  const std::vector<Table> tables = make_tables(all, false);
  ASSERT_EQ(tables[0].rows.size(), 2u);
  EXPECT_EQ(tables[0].pairs, std::vector<std::string>{"my/small"});
  EXPECT_EQ(tables[0].rows[1].method, "Stay put!");
}

TEST_F(AddedResultsTest, TheSameSeedReplacesAndAnotherOneIsAnotherRun) {
  add("A");
  const EvaluationRecord again = add("A", {.num_seeds = 2});
  add("A", {.seed = 7});
  const std::vector<RunResult> all = results();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1].evaluation_seeds, 2);
  EXPECT_EQ(all[2].seed, 7u);
  const std::vector<Table> tables = make_tables(all, false);
  ASSERT_EQ(tables[0].rows.size(), 2u);
  EXPECT_EQ(tables[0].rows[1].cells[0].runs.size(), 2u);
}

TEST_F(AddedResultsTest, HaveTheirAnswersInTheFigures) {
  add("A");
  const RunResult added = results()[1];
  const FigureAnswers kept = load_figure_answers(pair_, added_folder(folder(), added));
  const PairedStates test = pair_.test_set({});
  EXPECT_EQ(kept.samples, test.x0);  // 300 rows; it stays put
  const FigureInputs inputs = figure_inputs(test, Projection(test.x1));
  ASSERT_EQ(kept.conditional.extent(0), inputs.conditional.rows());
  ASSERT_EQ(kept.conditional.extent(1), 50u);
  for (std::size_t i = 0; i < inputs.conditional.rows(); ++i) {
    EXPECT_TRUE(std::equal(inputs.conditional.row(i), inputs.conditional.row(i) + 2,
                           kept.conditional.row(i, 49)));
  }
  EXPECT_EQ(kept.trajectories.size(), 0u);  // it has no steps
}

TEST_F(AddedResultsTest, KeepTheirSeconds) {
  ScoreDestination destination = to("A");
  destination.training_seconds = 12.5;
  EvaluationOptions options;
  options.num_trajectories = 10;
  options.conditional_samples = 50;
  evaluate_to({}, pair_, coupling_, options, destination);
  EXPECT_EQ(results()[1].train_seconds, 12.5);
  destination.training_seconds = -1.0;
  EXPECT_THROW(evaluate_to({}, pair_, coupling_, options, destination), InvalidArgument);
}

TEST_F(AddedResultsTest, BadRequestsAreRefusedBeforeTheWork) {
  EXPECT_THAT(refusal("Reference"),
              AllOf(HasSubstr("label"), HasSubstr("got 'Reference', which looks like")));
  EXPECT_THAT(refusal("reference"), HasSubstr("which looks like 'Reference' of small.ref"));
  EXPECT_THAT(refusal("R\u0435ference"), HasSubstr("which looks like 'Reference' of small.ref"));
  EXPECT_THAT(refusal("A "), HasSubstr("without spaces at its ends"));
  EXPECT_THAT(refusal(""), HasSubstr("label must be 1 to 80 bytes of one line of UTF-8, got ''"));
  EXPECT_THAT(refusal("a\nb"), HasSubstr("one line"));
  EXPECT_THAT(refusal(std::string(81, 'x')), HasSubstr("1 to 80 bytes"));
  EXPECT_THAT(refusal("A", {.conditional_samples = 51}),
              HasSubstr("conditional_samples must be 50 like the experiment's, got 51"));
  add("a b");
  EXPECT_THAT(refusal("a-b"), HasSubstr("label must look unlike 'a b'"));
  std::filesystem::remove(folder() / kResultsJsonl);
  EXPECT_THAT(refusal("A"), HasSubstr("has no results.jsonl"));
}

TEST_F(AddedResultsTest, AnotherPairOfTheSameNameIsRefused) {
  PairSpec spec = testing::small_spec();
  spec.seed = 5;
  const BenchmarkPair other = testing::pair_with_test_set(spec, 300);
  const auto add_other = [&](const std::string& name) {
    return evaluate_to({}, other, coupling_, {.num_steps = 4, .conditional_samples = 50},
                       {.add_to = folder(), .label = "A", .pair_name = name});
  };
  EXPECT_THROW(add_other("my/small"), InvalidArgument);
  EXPECT_NO_THROW(add_other("other"));
  EXPECT_EQ(results()[1].pair, "other");
}

// Columns of two pairs that have one name could not be reported.
TEST_F(AddedResultsTest, APairThatChangedBetweenTwoAdditionsIsRefused) {
  PairSpec spec = testing::small_spec();
  spec.seed = 5;
  const BenchmarkPair first = testing::pair_with_test_set(spec, 300);
  spec.seed = 6;
  const BenchmarkPair changed = testing::pair_with_test_set(spec, 300);
  const auto add_on = [&](const BenchmarkPair& pair, const std::string& label) {
    return evaluate_to({}, pair, coupling_, {.num_steps = 4, .conditional_samples = 50},
                       {.add_to = folder(), .label = label, .pair_name = "theirs"});
  };
  add_on(first, "A");
  try {
    add_on(changed, "B");
    FAIL() << "was added";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("has another pair 'theirs'"),
                                    HasSubstr("theirs.A.seed0 was scored on")));
  }
  EXPECT_EQ(results().size(), 2u);
  EXPECT_NO_THROW(make_tables(results(), false));
  add_on(changed, "A");  // replaces the only result of the former pair
  add_on(changed, "B");
  EXPECT_EQ(results().size(), 3u);
  EXPECT_NO_THROW(make_tables(results(), false));
}

// Additions at once wait for each other, and none is lost.
TEST_F(AddedResultsTest, AdditionsQueue) {
  constexpr int kAdditions = 12;
  std::vector<std::thread> threads;
  std::atomic<int> refused = 0;
  for (int i = 0; i < kAdditions; ++i) {
    threads.emplace_back([&, i] {
      try {
        StayPut coupling;
        evaluate_to({.num_threads = 1}, pair_, coupling,
                    {.num_steps = 4, .num_trajectories = 10, .conditional_samples = 50},
                    to("solver " + std::to_string(i)));
      } catch (const Error&) {
        ++refused;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(results().size(), 1u + kAdditions);
}

// Whoever waits for longer than a killed process takes to end is told, and can be interrupted.
TEST_F(AddedResultsTest, AnAdditionThatWaitsSaysSo) {
  auto lock = std::make_unique<FolderLock>(folder());
  ScoreDestination destination = to("A");
  std::vector<std::string> notes;
  destination.note = [&](const std::string& text) {
    notes.push_back(text);
    lock.reset();
  };
  evaluate_to({}, pair_, coupling_, {.num_steps = 4, .conditional_samples = 50}, destination);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0], AllOf(HasSubstr("waiting for others at work in " + folder().string()),
                              HasSubstr("10 minutes at the most")));
  EXPECT_EQ(results().size(), 2u);
  lock = std::make_unique<FolderLock>(folder());
  EXPECT_THROW(evaluate_to({.interrupt = [] { return true; }}, pair_, coupling_,
                           {.num_steps = 4, .conditional_samples = 50}, to("B")),
               Interrupted);
}

// A solver that was trained on rows of a training set is in the cell of their number.
TEST_F(AddedResultsTest, TrainingRowsAreKept) {
  const EvaluationOptions options = {.conditional_samples = 50};
  const EvaluationRecord record = evaluate_to({}, pair_, coupling_, options, to("A", {100, 2}));
  EXPECT_EQ(record.json.at("samples"), 100);
  EXPECT_EQ(record.json.at("training_set"), 2);
  const RunResult added = results()[1];
  EXPECT_EQ(added.run, "small.A.n100.set2.seed0");
  EXPECT_EQ(added.rows, (TrainingRows{100, 2}));
  EXPECT_THROW(evaluate_to({}, pair_, coupling_, options, to("B", {0, 2})), InvalidArgument);
}

}  // namespace
}  // namespace bridgemark
