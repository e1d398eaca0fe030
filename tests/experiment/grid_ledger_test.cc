#include "bridgemark/experiment/grid/grid_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "bridgemark/core/error.h"
#include "bridgemark/experiment/make_run.h"
#include "bridgemark/experiment/results.h"
#include "bridgemark/io/disk/folder_lock.h"
#include "bridgemark/pair/pair_folder.h"
#include "bridgemark/pair/pair_spec.h"
#include "tests/io/io_testing.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Runs are made within this process, or not at all.
class GridLedgerTest : public ::testing::Test {
 protected:
  GridLedgerTest() {
    write_pair_folder({}, testing::pair_with_test_set(testing::small_spec(), 50), dir_ / "pair");
    std::ofstream(dir_ / "x.toml") << "name = 'small'\n[evaluation]\ntrajectories = 2\n"
                                   << "[[grid]]\npairs = ['" << (dir_ / "pair").string()
                                   << "']\nsolvers = ['oracle', 'independent', 'reference']\n";
    experiment_ = load_experiment(dir_ / "x.toml");
  }

  GridLedger open(const GridAccess& access = {}, const std::vector<std::string>& only = {}) const {
    return {experiment_, dir_ / "out", only, access};
  }

  GridLedger open_worker(int number, int count, bool resume = false) const {
    return open({GridRole::kWorker, resume, {number, count}});
  }

  void make(GridLedger& ledger, const ExperimentRun& run) const {
    make_run({.num_threads = 1}, run, load_pair(run.config.pair), ledger.folder().run_folder(run));
    ledger.record_end(run, std::nullopt);
  }

  static std::string id_of(const ExperimentRun* run) { return run == nullptr ? "none" : run->id; }

  // A worker looks at runs of others only now and then.
  static const ExperimentRun* wait_for_next(GridLedger& ledger) {
    const ExperimentRun* run = nullptr;
    while ((run = ledger.take_next()) == nullptr) usleep(1000);
    return run;
  }

  std::size_t num_results() const { return load_results(dir_ / "out" / kResultsJsonl).size(); }

  testing::TempDir temp_;
  std::filesystem::path dir_ = temp_.path();
  Experiment experiment_;
};

TEST_F(GridLedgerTest, AProcessAloneTakesRunsInOrder) {
  GridLedger ledger = open();
  EXPECT_EQ(ledger.left().size(), 3u);
  const ExperimentRun* run = ledger.take_next();
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(run->id, "pair.oracle.seed0");
  Overview overview = ledger.overview(1);
  ASSERT_EQ(overview.active.size(), 1u);
  EXPECT_EQ(overview.active[0].stage, "train");
  EXPECT_FALSE(overview.seconds_left);  // nothing is known of its kind
  make(ledger, *run);
  EXPECT_EQ(ledger.done(), 1u);

  run = ledger.take_next();
  ledger.record_end(*run, "out of luck");
  run = ledger.take_next();
  EXPECT_EQ(run->id, "pair.reference.seed0");
  EXPECT_FALSE(ledger.is_settled());
  ledger.record_end(*run, std::nullopt);  // although it has left nothing
  EXPECT_TRUE(ledger.is_settled());
  overview = ledger.overview(1);
  EXPECT_EQ(overview.done, 1u);
  EXPECT_EQ(overview.failed, 2u);
  EXPECT_TRUE(overview.seconds_left);

  const GridSummary summary = ledger.close();
  EXPECT_EQ(summary.total, 3u);
  EXPECT_EQ(summary.skipped, 0u);
  ASSERT_EQ(summary.failed.size(), 2u);
  EXPECT_EQ(summary.failed[0].reason, "out of luck");
  EXPECT_THAT(summary.failed[1].reason, HasSubstr("pair.reference.seed0"));
  EXPECT_EQ(num_results(), 1u);
}

TEST_F(GridLedgerTest, WorkersTakeEachRunOnce) {
  GridLedger first = open_worker(1, 2), second = open_worker(2, 2);
  EXPECT_EQ(id_of(second.take_next()), "pair.independent.seed0");  // begins further on
  const ExperimentRun* run = second.take_next();
  ASSERT_EQ(id_of(run), "pair.reference.seed0");
  EXPECT_EQ(id_of(first.take_next()), "pair.oracle.seed0");
  EXPECT_EQ(id_of(first.take_next()), "none");
  EXPECT_EQ(first.left().size(), 2u);

  second.put_back(*run);
  EXPECT_EQ(wait_for_next(first)->id, run->id);
  EXPECT_TRUE(first.holds(*run));
  EXPECT_FALSE(second.holds(*run));
}

TEST_F(GridLedgerTest, WorkersLearnOfEachOthersEnds) {
  GridLedger first = open_worker(1, 1), second = open_worker(1, 1);
  make(first, *first.take_next());
  first.record_end(*first.take_next(), "out of luck");
  EXPECT_EQ(id_of(second.take_next()), "pair.reference.seed0");
  const Overview seen = second.counts();
  EXPECT_EQ(seen.done, 1u);
  EXPECT_EQ(seen.skipped, 1u);
  EXPECT_EQ(seen.failed, 1u);

  GridLedger third = open_worker(1, 1, true);  // tries failed runs again
  EXPECT_EQ(id_of(third.take_next()), "pair.independent.seed0");
}

TEST_F(GridLedgerTest, ASubmitterHearsOfItsTasks) {
  GridLedger submitter = open({GridRole::kSubmitter});
  {
    GridLedger task = open({GridRole::kTask}, {"oracle", "independent"});
    make(task, *task.take_next());
    task.record_end(*task.take_next(), "out of luck");
    task.close();
    EXPECT_FALSE(std::filesystem::exists(dir_ / "out" / kResultsJsonl));  // the submitter's
  }
  submitter.drop_left([&](const ExperimentRun& run) { return submitter.notice_end(run); });
  EXPECT_EQ(submitter.left().size(), 1u);
  EXPECT_EQ(submitter.done(), 1u);
  const GridSummary summary = submitter.close();
  EXPECT_EQ(summary.skipped, 0u);
  ASSERT_EQ(summary.failed.size(), 1u);
  EXPECT_EQ(summary.failed[0].reason, "out of luck");
  EXPECT_EQ(num_results(), 1u);
}

TEST_F(GridLedgerTest, EachRoleRefusesWhatItCannotShare) {
  const auto refusal = [&](const GridAccess& access) -> std::string {
    try {
      open(access);
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  {
    const GridLedger submitter = open({GridRole::kSubmitter});
    EXPECT_THAT(refusal({GridRole::kSubmitter}), HasSubstr("already holds an experiment"));
    EXPECT_THAT(refusal({GridRole::kSubmitter, true}), HasSubstr("another bridgemark run"));
    EXPECT_THAT(refusal({GridRole::kAlone, true}), HasSubstr("another bridgemark run"));
    EXPECT_EQ(refusal({GridRole::kWorker}), "nothing was thrown");
  }
  experiment_.text += "# changed";
  EXPECT_THAT(refusal({GridRole::kAlone}), HasSubstr("already holds an experiment"));
  EXPECT_THAT(refusal({GridRole::kWorker}), HasSubstr("holds another experiment"));
  EXPECT_EQ(refusal({GridRole::kTask}), "nothing was thrown");
  EXPECT_EQ(refusal({GridRole::kWorker, true}), "nothing was thrown");
  EXPECT_THAT(testing::slurp(dir_ / "out" / "experiment.toml"), HasSubstr("# changed"));
}

TEST(Shard, IsReadStrictly) {
  const Shard shard = parse_shard("--shard", "2/4");
  EXPECT_EQ(shard.number, 2);
  EXPECT_EQ(shard.count, 4);
  for (const char* text : {"", "2", "0/4", "5/4", "-1/4", "2/4/8", "a/b", "1/ 4", "+1/4", "1/0"}) {
    try {
      parse_shard("--shard", text);
      ADD_FAILURE() << "took " << text;
    } catch (const InvalidArgument& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("--shard must be I/N"), HasSubstr(text)));
    }
  }
}

}  // namespace
}  // namespace bridgemark
