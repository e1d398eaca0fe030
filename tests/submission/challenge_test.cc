#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "bridgemark/core/error.h"
#include "bridgemark/io/npy.h"
#include "tests/submission/challenge_testing.h"

namespace bridgemark {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kBoardPair;
using testing::replace_in_file;
using ::testing::ThrowsMessage;

class ChallengeTest : public ::testing::Test {
 protected:
  void expect_refused(const std::function<void()>& act, const std::string& says) const {
    EXPECT_THAT(act, ThrowsMessage<Error>(HasSubstr(says)));
  }

  std::vector<std::string> refusals() const {
    return check_challenge({}, folder_.entry()).refusals;
  }

  // The answers of `coupling_of(pair, rows)` to each revealed instance.
  template <typename CouplingOf>
  Reveal submit(CouplingOf&& coupling_of) const {
    const Reveal reveal = reveal_challenge(folder_.challenge(), "4-8-15-16-23-42");
    for (const RevealedInstance& instance : reveal.instances) {
      folder_.answer("mine", instance, reveal.seed,
                     *coupling_of(load_pair(instance.pair), instance.rows));
    }
    return reveal;
  }

  testing::ChallengeFolder folder_;
};

// Answers as the truth of the preset does, whatever it is asked.
std::shared_ptr<const Coupling> memorised() { return load_pair(kBoardPair).truth({}); }

TEST_F(ChallengeTest, IsWhatWasWritten) {
  Challenge asked = folder_.asked();
  asked.pairs.push_back("d16-uniform-0.01-chain-reverse");
  asked.samples = 1000;
  asked.max_seconds = 60.5;
  write_challenge(asked, folder_.challenge());
  const Challenge found = load_challenge(folder_.challenge());
  EXPECT_EQ(found.pairs, asked.pairs);
  EXPECT_EQ(found.instances, 2);
  EXPECT_EQ(found.samples, 1000u);
  EXPECT_EQ(found.max_seconds, 60.5);
  EXPECT_EQ(found.closes, asked.closes);
  EXPECT_EQ(found.value_from, asked.value_from);
  expect_refused([&] { write_challenge(asked, folder_.challenge()); }, "is written once");
}

TEST_F(ChallengeTest, AsksForWhatThereIs) {
  const auto refused = [&](const std::function<void(Challenge&)>& change, const std::string& says) {
    Challenge asked = folder_.asked();
    change(asked);
    expect_refused([&] { write_challenge(asked, folder_.challenge()); }, says);
  };
  refused([](Challenge& c) { c.pairs = {}; }, "1..96 pairs, got 0");
  refused([](Challenge& c) { c.pairs = {"d2-gaussian-0.02-spraed"}; }, "nearest is");
  refused([](Challenge& c) { c.pairs = {"d2-gaussian-0.02-i7"}; }, "must be a preset");
  refused([](Challenge& c) { c.pairs.push_back(kBoardPair); }, "given twice");
  refused([](Challenge& c) { c.instances = 1; }, "instances must be in 2..100, got 1");
  refused([](Challenge& c) { c.samples = std::size_t{1} << 40; }, "samples");
  refused([](Challenge& c) { c.max_seconds = 0.0; }, "max_seconds must be a positive number");
  refused([](Challenge& c) { c.closes = ""; }, "closes must be a line");
  refused([](Challenge& c) { c.value_from = "two\nlines"; }, "value_from must be a line");
  EXPECT_FALSE(std::filesystem::exists(folder_.challenge()));
}

// The digest of what sha256sum prints, under the lines that say whose it is.
TEST_F(ChallengeTest, ACommitmentIsAHashThatAnybodyCanRepeat) {
  folder_.begin();
  const CommitmentSecret secret = load_secret(folder_.path("secret.json"));
  const std::string text = fmt::format(
      "bridgemark commitment 1\nchallenge {}\nlabel Mine\nsalt {}\n{}  config.toml\n{}  "
      "solver.py\n",
      file_sha256(folder_.challenge() / "challenge.json"), secret.salt,
      text_sha256("updates = 150\n"), text_sha256("print('learn')\n"));
  const std::vector<Commitment> all = load_commitments(folder_.challenge());
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].label, "Mine");
  EXPECT_EQ(all[0].digest, text_sha256(text));
  const Commitment other = folder_.commit("Other", "other.json");
  EXPECT_NE(load_secret(folder_.path("other.json")).salt, secret.salt);
  EXPECT_EQ(load_commitments(folder_.challenge()).at(1).digest, other.digest);
}

TEST_F(ChallengeTest, ACommitmentIsForOneSolverAndInTime) {
  folder_.begin();
  expect_refused([&] { folder_.commit("MINE", "more.json"); }, "label must look like that of no");
  expect_refused([&] { folder_.commit("oracle", "more.json"); },
                 "label must look like none of Bridgemark's own solvers, got 'oracle'");
  expect_refused([&] { folder_.commit("two\nlines", "more.json"); }, "got 'two\\x0alines'");
  expect_refused([&] { folder_.commit("Other", "secret.json"); }, "must be a new file");
  expect_refused([&] { commit_solver(folder_.challenge(), "Other", {}, folder_.path("s")); },
                 "files must be those of the solver, got none");
  expect_refused(
      [&] {
        commit_solver(
            folder_.challenge(), "Other",
            {folder_.path("solver/solver.py"), folder_.path("solver/../solver/solver.py")},
            folder_.path("s"));
      },
      "'solver.py' twice");
  expect_refused(
      [&] {
        commit_solver(folder_.challenge(), "Other", {folder_.path("no.py")}, folder_.path("s"));
      },
      "no.py");
  reveal_challenge(folder_.challenge(), "value");
  expect_refused([&] { folder_.commit("Late", "more.json"); }, "commitments are closed");
  EXPECT_FALSE(std::filesystem::exists(folder_.path("s")));
  EXPECT_FALSE(std::filesystem::exists(folder_.path("more.json")));
  EXPECT_EQ(load_commitments(folder_.challenge()).size(), 1u);
}

// Files and commitments that commit_solver() does not write, each a way to choose later.
TEST_F(ChallengeTest, WhatWasWrittenByHandLeavesNoChoice) {
  folder_.begin();
  const std::string secret = testing::slurp(folder_.path("secret.json"));
  const std::string empty(64, '0');
  // Read as one file or as two, such lists have one digest.
  for (const std::string& name : {"config.toml\\n" + empty + "  solver.py", std::string("../x")}) {
    folder_.write("secret.json", secret);
    replace_in_file(folder_.path("secret.json"), "\"config.toml\"", "\"" + name + "\"");
    expect_refused([&] { load_secret(folder_.path("secret.json")); },
                   "'sha256' must have names of files");
  }
  folder_.write("secret.json", secret.substr(0, secret.find("\"sha256\"")) + "\"sha256\": {}}\n");
  expect_refused([&] { load_secret(folder_.path("secret.json")); },
                 "'sha256' must have the solver's files, got none");
  folder_.write("secret.json", secret);
  replace_in_file(folder_.path("secret.json"), "\"Mine\"", "\"Mine\\nsalt 0\"");
  expect_refused([&] { load_secret(folder_.path("secret.json")); }, "'label'");
  std::ofstream(folder_.challenge() / "commitments.jsonl", std::ios::app)
      << R"({"label":"mine","digest":")" << empty << R"(","time":""})"
      << "\n";
  expect_refused([&] { load_commitments(folder_.challenge()); },
                 "'label' must look like that of no other line, got 'mine'");
}

TEST_F(ChallengeTest, TheRevealFollowsFromValueAndCommitments) {
  Challenge asked = folder_.asked();
  asked.instances = 100;
  asked.samples = 10;
  asked.pairs.emplace_back("d2-uniform-0.01-reverse");
  write_challenge(asked, folder_.challenge());
  expect_refused([&] { reveal_challenge(folder_.challenge(), "value"); }, "must be commitments");
  EXPECT_FALSE(std::filesystem::exists(folder_.challenge() / "revealed.json"));
  folder_.write("solver.py", "1");
  commit_solver(folder_.challenge(), "A", {folder_.path("solver.py")}, folder_.path("a.json"));
  const auto pairs_of = [](const Reveal& reveal) {
    std::set<std::string> pairs;
    for (const RevealedInstance& instance : reveal.instances) pairs.insert(instance.pair);
    return pairs;
  };
  const Reveal first = derive_reveal(folder_.challenge(), "value");
  EXPECT_EQ(pairs_of(first).size(), 200u);  // no instance twice
  std::set<std::uint64_t> sets;
  for (const RevealedInstance& instance : first.instances) {
    const PairInstance of = instance_of(instance.pair);
    EXPECT_EQ(std::ranges::count(asked.pairs, of.pair), 1);
    EXPECT_GE(of.number, 100);
    EXPECT_EQ(instance.rows.samples, 10u);
    sets.insert(instance.rows.training_set);
  }
  EXPECT_EQ(sets.size(), 200u);
  // The numbers as the header says that they are made.
  const std::string root =
      text_sha256(fmt::format("bridgemark reveal 1\nchallenge {}\ncommitments {}\nvalue value\n",
                              file_sha256(folder_.challenge() / "challenge.json"),
                              file_sha256(folder_.challenge() / "commitments.jsonl")));
  const auto number = [&](const std::string& purpose) {
    return std::stoull(text_sha256(root + " " + purpose + "\n").substr(0, 16), nullptr, 16);
  };
  EXPECT_EQ(first.seed, number("seed") % 1000000000);
  EXPECT_EQ(first.instances[1].pair,
            fmt::format("{}-i{}", kBoardPair,
                        number(fmt::format("instance 2 of {}", kBoardPair)) % 999900 + 100));

  EXPECT_NE(pairs_of(derive_reveal(folder_.challenge(), "valve")), pairs_of(first));
  commit_solver(folder_.challenge(), "B", {folder_.path("solver.py")}, folder_.path("b.json"));
  EXPECT_NE(pairs_of(derive_reveal(folder_.challenge(), "value")), pairs_of(first));
}

TEST_F(ChallengeTest, ARevealIsMadeOnce) {
  folder_.begin();
  expect_refused([&] { reveal_challenge(folder_.challenge(), ""); }, "value must be a line");
  reveal_challenge(folder_.challenge(), "value");
  const std::filesystem::path file = folder_.challenge() / "revealed.json";
  const std::string bytes = testing::slurp(file);
  reveal_challenge(folder_.challenge(), "value");
  EXPECT_EQ(testing::slurp(file), bytes);
  expect_refused([&] { reveal_challenge(folder_.challenge(), "other"); },
                 "value must be 'value', which");
  EXPECT_EQ(testing::slurp(file), bytes);
  // A line more in the commitments, by hand.
  std::ofstream(folder_.challenge() / "commitments.jsonl", std::ios::app)
      << R"({"label":"Late","digest":")" << std::string(64, '0') << R"(","time":""})"
      << "\n";
  expect_refused([&] { load_reveal(folder_.challenge()); }, "is not what follows from");
}

TEST_F(ChallengeTest, KitsDoNotNameThePair) {
  Challenge asked = folder_.asked();
  asked.samples = 30;
  folder_.begin(asked);
  const Reveal reveal = reveal_challenge(folder_.challenge(), "value");
  const auto kits = write_challenge_kits({}, reveal, folder_.path("kits"));
  ASSERT_EQ(kits.size(), 2u);
  const std::string text = testing::slurp(kits[0] / "kit.json");
  EXPECT_THAT(text, AllOf(HasSubstr("\"num_categories\": 50"), HasSubstr("\"gamma\": 0.02"),
                          HasSubstr("gaussian"), Not(HasSubstr("spread"))));
  const States rows = load_states(kits[1] / "train_x0.npy");
  const RevealedInstance& second = reveal.instances[1];
  EXPECT_EQ(rows, training_set({}, load_pair(second.pair), 30, second.rows.training_set).x0);
}

// Both pass the check of a submission on the preset.
TEST_F(ChallengeTest, AMemoriserIsFoundFarAndAnHonestSolverTies) {
  Challenge asked = folder_.asked();
  asked.instances = 3;  // two of one preset tell little of how much instances differ
  folder_.begin(asked);
  ChallengeEntry entry = folder_.entry();
  entry.open = folder_.path("open");
  const auto check = [&] {
    EXPECT_THAT(check_submission({}, folder_.path("open")).refusals, IsEmpty());
    const ChallengeCheck found = check_challenge({}, entry);
    EXPECT_THAT(found.refusals, IsEmpty());
    EXPECT_EQ(found.score, "joint_kl");
    EXPECT_EQ(found.revealed.size(), 3u);
    EXPECT_EQ(found.verdicts.size(), 1u);
    return found;
  };
  folder_.answer("open", {"", kBoardPair}, 0, *memorised());
  submit([](const BenchmarkPair&, const TrainingRows&) { return memorised(); });
  const ChallengeCheck caught = check();
  EXPECT_TRUE(caught.is_far());
  EXPECT_LT(caught.open[0].value, 1e-9);
  EXPECT_GT(caught.verdicts[0].revealed, 1.0);

  for (const char* made : {"open", "mine"}) std::filesystem::remove_all(folder_.path(made));
  folder_.answer("open", {"", kBoardPair}, 0, *testing::fit_quickly(load_pair(kBoardPair), {}));
  submit(testing::fit_quickly);
  const ChallengeCheck honest = check();
  EXPECT_FALSE(honest.is_far());
  EXPECT_GT(honest.verdicts[0].revealed, 1e-3);  // far from perfect
}

// Draws alone are compared by the trend score, beside that of draws of the truth.
TEST_F(ChallengeTest, DrawsAloneAreComparedToo) {
  folder_.begin();
  ChallengeEntry entry = folder_.entry();
  entry.open = folder_.path("open");
  const testing::DrawsOf draws(memorised());
  folder_.answer("open", {"", kBoardPair}, 0, draws);
  submit([&](const BenchmarkPair&, const TrainingRows&) { return &draws; });
  const ChallengeCheck found = check_challenge({}, entry);
  EXPECT_THAT(found.refusals, IsEmpty());
  EXPECT_EQ(found.score, "conditional_trend_score");
  EXPECT_NEAR(found.open[0].of_truth, found.open[0].value, 0.02);
  EXPECT_TRUE(found.is_far());
}

TEST_F(ChallengeTest, WhatIsNotAsCommittedToOrRevealedIsRefused) {
  Challenge asked = folder_.asked();
  asked.samples = 40;
  asked.max_seconds = 2.0;
  folder_.begin(asked);
  const testing::StayPut still;
  const Reveal reveal = submit([&](const BenchmarkPair&, const TrainingRows&) { return &still; });
  EXPECT_THAT(refusals(), IsEmpty());

  folder_.write("solver/config.toml", "updates = 151\n");
  EXPECT_THAT(refusals(), ElementsAre(HasSubstr("config.toml: changed since the commitment")));
  folder_.write("solver/config.toml", "updates = 150\n");
  folder_.write("solver/solver.py", "print('remember')\n");
  EXPECT_THAT(refusals(), ElementsAre(HasSubstr("solver.py: changed since the commitment")));
  std::filesystem::remove(folder_.path("solver/solver.py"));
  EXPECT_THAT(refusals(), ElementsAre(HasSubstr("solver.py")));
  folder_.write("solver/solver.py", "print('learn')\n");

  // A secret with the hash of what the file is by now has another digest.
  const std::string secret = testing::slurp(folder_.path("secret.json"));
  folder_.write("solver/config.toml", "updates = 151\n");
  replace_in_file(folder_.path("secret.json"), text_sha256("updates = 150\n"),
                  text_sha256("updates = 151\n"));
  EXPECT_THAT(refusals(), ElementsAre(HasSubstr("has no commitment of 'Mine' with digest")));
  folder_.write("solver/config.toml", "updates = 150\n");
  folder_.write("secret.json", secret);
  replace_in_file(folder_.path("secret.json"), "\"challenge\": \"", "\"challenge\": \"0");
  expect_refused([&] { refusals(); }, "must be 64 hexadecimal digits");
  folder_.write("secret.json", secret);

  const std::string whole = testing::slurp(folder_.path("mine/solver.toml"));
  const std::size_t second = whole.rfind("[[predictions]]");
  folder_.write("mine/solver.toml", whole.substr(0, second));
  EXPECT_THAT(refusals(), ElementsAre(AllOf(HasSubstr("lacks " + reveal.instances[1].pair),
                                            HasSubstr("which was revealed"))));
  folder_.write("mine/solver.toml", whole);
  replace_in_file(folder_.path("mine/solver.toml"), "training_seconds = 1.5",
                  "training_seconds = 2.5");
  EXPECT_THAT(refusals(), ElementsAre(HasSubstr("was trained for 2.5 seconds, allowed are 2")));
  folder_.write("mine/solver.toml", whole);
  replace_in_file(folder_.path("mine/solver.toml"), fmt::format("\nseed = {}", reveal.seed),
                  "\nseed = 0");
  EXPECT_THAT(refusals(), ElementsAre(HasSubstr("'seed' of [evaluation] must be the revealed")));
  folder_.write("mine/solver.toml", whole);
  replace_in_file(folder_.path("mine/solver.toml"), "name = \"Mine\"", "name = \"Other\"");
  EXPECT_THAT(refusals(), ElementsAre(HasSubstr("'name' must be 'Mine', which was committed to")));
  folder_.write("mine/solver.toml", whole);
  folder_.answer("mine", {"", "d2-gaussian-0.02-spread-i7", reveal.instances[0].rows}, reveal.seed,
                 still);
  EXPECT_THAT(refusals(), ElementsAre(AllOf(HasSubstr("d2-gaussian-0.02-spread-i7.n40.set"),
                                            HasSubstr("which was not revealed"))));
}

TEST_F(ChallengeTest, OpenAnswersAreOfTheSameSolverAndTrack) {
  folder_.begin();
  const testing::StayPut still;
  submit([&](const BenchmarkPair&, const TrainingRows&) { return &still; });
  ChallengeEntry entry = folder_.entry();
  entry.open = folder_.path("open");
  folder_.answer("open", {"", kBoardPair, {40, 0}}, 0, still);
  EXPECT_THAT(
      check_challenge({}, entry).refusals,
      ElementsAre(HasSubstr("lacks answers to d2-gaussian-0.02-spread trained on endless")));
  replace_in_file(folder_.path("open/solver.toml"), "name = \"Mine\"", "name = \"Other\"");
  EXPECT_THAT(check_challenge({}, entry).refusals,
              ElementsAre(HasSubstr("'name' must be 'Mine'"), HasSubstr("lacks answers")));
}

}  // namespace
}  // namespace bridgemark
