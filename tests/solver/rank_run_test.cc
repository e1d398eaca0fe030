#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/core/rank_group.h"
#include "bridgemark/io/json.h"
#include "bridgemark/solver/core/checkpoint_shards.h"
#include "bridgemark/solver/core/rank_agreement.h"
#include "bridgemark/solver/run/run.h"
#include "bridgemark/solver/run/run_result.h"
#include "tests/io/io_testing.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"
#include "tests/support/thread_ranks.h"

// Runs that ranks make together: what they end in, and what they leave when they are stopped.
namespace bridgemark {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::on_ranks;
using testing::TempDir;
namespace fs = std::filesystem;

RunConfig small_config(const std::string& solver = "dlightsb") {
  RunConfig config{solver, "", 7, {}};
  for (const auto& [key, value] : {std::pair{"updates", "20"},
                                   {"batch_size", "16"},
                                   {"components", "700"},
                                   {"entropy", "0.01"},
                                   {"log_every", "5"},
                                   {"source", "none"},
                                   {"checkpoint_every", "0"}}) {
    config.options[key] = value;
  }
  return config;
}

const FitProblem& small_problem() {
  static const FitProblem problem = testing::pair_with_test_set(testing::small_spec(), 50);
  return problem;
}

// Trains on so many ranks; the last of them is told to stop after `updates` of its updates.
void train(int ranks, const fs::path& folder, bool resume = false, int updates = 1 << 30,
           const RunConfig& config = small_config()) {
  on_ranks(ranks, [&](std::shared_ptr<RankGroup> group) {
    int asked = 0;
    Context context{.num_threads = 1};
    if (group->rank() == ranks - 1) context.stop = [&] { return ++asked >= updates; };
    if (ranks > 1) context.ranks = group;
    train_run(context, config, small_problem(), folder, resume);
  });
}

// The message of the stop that all ranks agree on.
std::string stop(int ranks, const fs::path& folder, bool resume, int updates) {
  return error_of<Interrupted>([&] { train(ranks, folder, resume, updates); });
}

std::string bytes_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string model_of(const fs::path& folder) { return bytes_of(folder / "model.safetensors"); }

std::vector<std::pair<std::int64_t, double>> losses_of(const fs::path& folder) {
  std::vector<std::pair<std::int64_t, double>> losses;
  for (const LogLine& line : load_run_history(folder)) losses.emplace_back(line.update, line.loss);
  return losses;
}

std::set<std::string> checkpoint_files(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.find("checkpoint") != std::string::npos) names.insert(name);
  }
  return names;
}

// The run of one process, which all others are compared with.
class RankRun : public ::testing::Test {
 protected:
  RankRun() { train(1, one()); }
  fs::path one() const { return dir_ / "one"; }
  fs::path several() const { return dir_ / "several"; }
  void expect_same_run() const {
    EXPECT_EQ(model_of(several()), model_of(one()));
    EXPECT_EQ(losses_of(several()), losses_of(one()));
  }

  const TempDir temporary_;
  const fs::path dir_ = temporary_.path();
};

TEST_F(RankRun, EndsInTheModelOfOneProcess) {
  for (const int ranks : {2, 3, 5}) {
    SCOPED_TRACE(ranks);
    fs::remove_all(several());
    train(ranks, several());
    expect_same_run();
    const nlohmann::json diagnostics = load_run_result(several()).at("diagnostics");
    EXPECT_EQ(diagnostics.at("ranks"), ranks);
    // 48 bytes a row, 40 of the entropy, 24 of the votes, and the updates' and checkpoints' share.
    EXPECT_NEAR(diagnostics.at("bytes_an_update").get<double>(), 48 * 16 + 40 + 24, 10.0);
  }
}

TEST_F(RankRun, DrawsAreThoseOfOneProcess) {
  train(4, several());
  const BenchmarkPair& pair = *small_problem().pair();
  const States x0 = pair.test_set({}).x0;
  const auto draws = [&](const fs::path& folder) {
    States x1(x0.rows(), x0.cols());
    load_run({}, pair, folder)->sample({}, x0, {3, DrawPurpose::kConditional}, 0, x1);
    return x1;
  };
  const States a = draws(one()), b = draws(several());
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(a.data()[i], b.data()[i]);
}

TEST_F(RankRun, StopsAtOneUpdateAndResumesOnAnyNumberOfRanks) {
  EXPECT_EQ(stop(3, several(), false, 4), "stopped at update 4 of 20; go on with --resume");
  EXPECT_EQ(
      checkpoint_files(several()),
      (std::set<std::string>{"checkpoint.safetensors", "checkpoint-4-1of3.safetensors",
                             "checkpoint-4-2of3.safetensors", "checkpoint-4-3of3.safetensors"}));
  EXPECT_EQ(stop(2, several(), true, 3), "stopped at update 7 of 20; go on with --resume");
  EXPECT_EQ(stop(1, several(), true, 2), "stopped at update 9 of 20; go on with --resume");
  EXPECT_EQ(checkpoint_files(several()), std::set<std::string>{"checkpoint.safetensors"});
  EXPECT_EQ(stop(5, several(), true, 6), "stopped at update 15 of 20; go on with --resume");
  train(2, several(), true);
  expect_same_run();
  EXPECT_EQ(load_run_result(several()).at("diagnostics").at("resumed_from"), 15);
}

// Killed after some shards of a checkpoint were written, and after all of them but its file.
TEST_F(RankRun, ShardsWithoutTheirCheckpointAreNotThere) {
  stop(2, several(), false, 6);
  const fs::path checkpoint = several() / "checkpoint.safetensors";
  const std::string shard = bytes_of(shard_path(checkpoint, {6, 2}, 0));
  for (int rank = 0; rank < 2; ++rank) {
    std::ofstream(shard_path(checkpoint, {9, 2}, rank), std::ios::binary) << shard.substr(0, 100);
  }
  std::ofstream(several() / ".checkpoint-9-2of2.safetensors.tmp-ab12cd") << "half";
  std::ofstream(several() / "checkpoint-notes-1of2.txt") << "of the user";
  train(2, several(), true);
  expect_same_run();
  EXPECT_EQ(checkpoint_files(several()),
            (std::set<std::string>{"checkpoint.safetensors", "checkpoint-20-1of2.safetensors",
                                   "checkpoint-20-2of2.safetensors", "checkpoint-notes-1of2.txt"}));
}

TEST_F(RankRun, ABrokenSetOfShardsIsRefused) {
  stop(2, several(), false, 6);
  const fs::path checkpoint = several() / "checkpoint.safetensors";
  const fs::path second = shard_path(checkpoint, {6, 2}, 1), kept = dir_ / "kept";
  fs::rename(second, kept);
  const auto refusal = [&] { return error_of<FileError>([&] { train(3, several(), true); }); };
  EXPECT_THAT(refusal(), HasSubstr("checkpoint-6-2of2.safetensors"));
  fs::copy(shard_path(checkpoint, {6, 2}, 0), second);  // 384 components, where 316 are left
  EXPECT_THAT(refusal(), HasSubstr("tensor 'log_beta' has shape [384], expected [1..316]"));
  fs::remove(second);
  fs::rename(kept, second);
  train(3, several(), true);
  expect_same_run();
}

TEST_F(RankRun, OtherSolversAreRefusedByName) {
  for (const char* solver : {"dlightsb-m", "csbm", "oracle"}) {
    const RunConfig config{solver, "", 0, {}};
    EXPECT_EQ(error_of<InvalidArgument>([&] { train(2, several(), false, 1 << 30, config); }),
              "[ranks] solver must be dlightsb on 2 ranks, got " + std::string(solver));
    EXPECT_FALSE(fs::exists(several()));
  }
}

TEST_F(RankRun, MoreRanksThanBlocksLeaveNothingBehind) {
  RunConfig config = small_config();
  config.options["components"] = "200";
  EXPECT_EQ(error_of<InvalidArgument>([&] { train(3, several(), false, 1 << 30, config); }),
            "[ranks] ranks must be at most 2 for 200 components, one for each 128, got 3");
  EXPECT_FALSE(fs::exists(several()));
}

TEST_F(RankRun, RanksWithRunsOfTheirOwnAreRefused) {
  const std::string refusal = error_of<InvalidArgument>([&] {
    on_ranks(2, [&](std::shared_ptr<RankGroup> group) {
      RunConfig config = small_config();
      config.seed = static_cast<std::uint64_t>(group->rank());
      train_run({.ranks = group}, config, small_problem(), several(), false);
    });
  });
  EXPECT_THAT(refusal, HasSubstr("must be given the same run"));
  EXPECT_FALSE(fs::exists(several()));
}

// Parameters that leave float's range, and such that are finite and no law: all ranks see it at the
// same update, and the folder is free again.
TEST_F(RankRun, DivergesAsOneProcessDoes) {
  for (const char* updates : {"400", "4"}) {
    RunConfig config = small_config();
    for (const auto& [key, value] : {std::pair{"learning_rate", "10"},
                                     {"weight_decay", "100"},
                                     {"schedule", "constant"},
                                     {"checkpoint_every", "1000"},
                                     {"updates", updates}}) {
      config.options[key] = value;
    }
    const auto diverge = [&](int ranks, const fs::path& folder) {
      return error_of<Error>([&] { train(ranks, folder, false, 1 << 30, config); });
    };
    const std::string alone = diverge(1, dir_ / "alone"), together = diverge(2, several());
    EXPECT_THAT(alone, HasSubstr("dlightsb diverged"));
    EXPECT_EQ(together, alone);
    EXPECT_FALSE(fs::exists(several() / "config.toml"));
  }
}

TEST(RankAgreement, TheFirstRefusalIsEverybodys) {
  std::atomic<int> heard = 0;
  on_ranks(3, [&](std::shared_ptr<RankGroup> group) {
    const Context context{.ranks = group};
    const std::string message = error_of<InvalidArgument>([&] {
      refuse_together(context, [&] {
        if (group->rank() > 0) throw InvalidArgument("rank " + std::to_string(group->rank()));
      });
    });
    heard += message == "rank 1";
    refuse_together(context, [] {});
    EXPECT_TRUE(same_on_all_ranks(context, 5.0));
    EXPECT_FALSE(same_on_all_ranks(context, static_cast<double>(group->rank())));
    EXPECT_TRUE(any_rank(context, group->rank() == 2));
    EXPECT_FALSE(any_rank(context, false));
  });
  EXPECT_EQ(heard, 3);
}

}  // namespace
}  // namespace bridgemark
