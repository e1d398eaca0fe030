#include "bridgemark/metric/score_spec.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "tests/metric/evaluation_testing.h"
#include "tests/support/places.h"

namespace bridgemark {
namespace {

namespace fs = std::filesystem;

const fs::path kTree = testing::source_tree();

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(ScoreSpec, IsOfEveryScoreOfAnEvaluation) {
  const BenchmarkPair pair = testing::pair_with_test_set(testing::small_spec(), testing::kRows);
  EvaluationOptions options = testing::quick_options();
  options.c2st = true;
  const Evaluation evaluation = evaluate({}, pair, *testing::fit("oracle", pair), options);
  std::set<std::string_view> made, declared;
  for (const Score& score : evaluation.scores) made.insert(score.name);
  for (const ScoreSpec& spec : score_specs()) declared.insert(spec.name);
  EXPECT_EQ(made, declared);
  EXPECT_EQ(evaluation.scores.size(), score_specs().size());
}

TEST(ScoreSpec, IsFoundByItsName) {
  for (const ScoreSpec& spec : score_specs()) EXPECT_EQ(find_score(spec.name), &spec) << spec.name;
  EXPECT_EQ(find_score("joint"), nullptr);
  EXPECT_EQ(find_score(""), nullptr);
}

TEST(ScoreSpec, SaysAllThatATableShows) {
  std::set<std::string_view> titles;
  for (const ScoreSpec& spec : score_specs()) {
    EXPECT_FALSE(spec.note.empty()) << spec.name;
    EXPECT_TRUE(titles.insert(spec.title).second) << spec.title;
    EXPECT_TRUE(std::ranges::is_sorted(spec.bounds)) << spec.name;
    const bool shown = spec.table != TablePairs::kNone;
    EXPECT_FALSE(shown && spec.better == Better::kNeither) << spec.name;
    EXPECT_TRUE(shown || !spec.in_paper) << spec.name;
    EXPECT_EQ(shown, !spec.group.empty()) << spec.name;
    EXPECT_TRUE(spec.reversed_place == 0 || spec.table == TablePairs::kForward) << spec.name;
    EXPECT_TRUE(shown || spec.headline_place + spec.deciding_place == 0) << spec.name;
    EXPECT_TRUE(spec.headline_place > 0 || !spec.of_submission_list) << spec.name;
  }
}

TEST(ScoreSpec, PlacesAreWholeNumbersFromOneOn) {
  for (const auto place :
       {&ScoreSpec::reversed_place, &ScoreSpec::headline_place, &ScoreSpec::deciding_place}) {
    const std::vector<const ScoreSpec*> scores = scores_by(place);
    ASSERT_FALSE(scores.empty());
    for (std::size_t i = 0; i < scores.size(); ++i) {
      EXPECT_EQ(scores[i]->*place, static_cast<int>(i) + 1) << scores[i]->name;
    }
  }
  EXPECT_EQ(scores_by(&ScoreSpec::deciding_place).size(), 2u);
}

// Code uses the constants, and scripts of pages what the data says of a score. Files of reference
// values, which verify/ reads, have names of their own.
TEST(ScoreSpec, NamesAreWrittenInOnePlace) {
  const std::set<std::string> kRead = {".h", ".cc", ".js", ".html"};
  std::size_t files = 0;
  for (const char* folder : {"bridgemark", "cli"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kTree / folder)) {
      const std::string file = fs::relative(entry.path(), kTree).generic_string();
      const std::string extension = entry.path().extension();
      if (!kRead.contains(extension) || file == "bridgemark/metric/score_spec.h" ||
          file.starts_with("bridgemark/verify/")) {
        continue;
      }
      ++files;
      const bool script = extension == ".js" || extension == ".html";
      const std::string text = text_of(entry.path());
      for (const ScoreSpec& spec : score_specs()) {
        const std::string name = script ? std::string(spec.name) : fmt::format("\"{}\"", spec.name);
        EXPECT_EQ(text.find(name), text.npos) << file << " names " << spec.name;
      }
    }
  }
  EXPECT_GT(files, 300u);
}

TEST(ScoreSpec, AreExplainedByThePageOfTheBenchmark) {
  const std::string page = text_of(kTree / "docs/benchmark.md");
  for (const ScoreSpec& spec : score_specs()) {
    EXPECT_NE(page.find(fmt::format("`{}`", spec.name)), page.npos) << spec.name;
  }
}

TEST(ScoreSpec, OwnScoresAreNewWords) {
  EXPECT_TRUE(may_be_own_score("my_distance2"));
  EXPECT_TRUE(may_be_own_score(std::string(kMaxOwnScoreName, 'a')));
  for (const std::string& name :
       {std::string(), std::string("joint_kl"), std::string("2nd"), std::string("a b"),
        std::string("größe"), std::string("<b>"), std::string(kMaxOwnScoreName + 1, 'a')}) {
    EXPECT_FALSE(may_be_own_score(name)) << name;
  }
}

}  // namespace
}  // namespace bridgemark
