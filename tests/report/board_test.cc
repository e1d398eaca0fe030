#include "bridgemark/report/board/board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/io/sha256.h"
#include "bridgemark/pair/pair_record.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/report/board/write_board.h"
#include "tests/submission/submission_testing.h"

namespace bridgemark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::kBoardPair;
using ::testing::Not;

RunResult make_result(const std::string& method, double joint_kl, std::uint64_t seed = 0,
                      const std::string& pair = kBoardPair) {
  RunResult result;
  result.experiment = "test";
  result.method = method;
  result.solver = method == "Oracle" ? "oracle" : "dlightsb";
  result.pair = pair;
  result.dim = 2;
  result.seed = seed;
  result.run = run_id_text(pair, method + ".seed" + std::to_string(seed));
  result.version = "0.2.0";
  result.device = "cpu";
  result.machine = "two cores";
  result.train_seconds = 2.0;
  if (find_preset(pair)) result.pair_identity = pair_record(load_pair(pair));
  result.scores = {{"joint_kl", joint_kl, 0.001, {joint_kl}}};
  return result;
}

class BoardTest : public ::testing::Test {
 protected:
  std::filesystem::path folder(const std::string& name) const { return dir_.path() / name; }

  std::filesystem::path write(const std::string& name,
                              const std::vector<RunResult>& results) const {
    std::filesystem::create_directory(folder(name));
    write_results(results, folder(name));
    return folder(name);
  }

  static std::string refusal(const BoardRequest& request) {
    try {
      load_board({}, request);
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

  static nlohmann::json data_of(const std::string& html) {
    const std::string open = "<script id=\"data\" type=\"application/json\">";
    const std::size_t start = html.find(open) + open.size();
    return nlohmann::json::parse(html.substr(start, html.find("</script>", start) - start));
  }

  testing::TempDir dir_;
};

// Of pairs that look like data the page shows what the truth does; of others nothing.
TEST_F(BoardTest, ShowsRowsOfPairsThatLookLikeData) {
  const std::string digits = "data-digits-3-8";
  std::vector<RunResult> results = {make_result("Oracle", 0.0), make_result("DLightSB", 0.2)};
  EXPECT_EQ(data_of(board_html(load_board({}, {{write("plain", results)}, {}, {}})))["pictures"],
            nlohmann::json::array());
  results.push_back(make_result("DLightSB", 0.3, 0, digits));
  results.back().dim = 64;
  results.push_back(make_result("DLightSB", 0.3, 0, digits + "-reverse"));
  results.back().dim = 64;
  const std::string html = board_html(load_board({}, {{write("data", results)}, {}, {}}));
  EXPECT_THAT(html, HasSubstr("function answerPictures"));
  const nlohmann::json pictures = data_of(html)["pictures"];
  ASSERT_EQ(pictures.size(), 1u);
  EXPECT_EQ(pictures[0]["pair"], digits);
  const nlohmann::json& shown = pictures[0]["pictures"];
  EXPECT_EQ(shown["side"], 8);
  EXPECT_EQ(shown["x0"].size(), 3u);
  EXPECT_EQ(shown["x0"][0][0].size(), 64u);
  EXPECT_EQ(shown["truth"][2].size(), 4u);
  EXPECT_EQ(shown["mean"].size(), 3u);
}

// An upper bound wins where it is below the others, and is never told worse by a distance that more
// effort may close: such a cell has a question mark, and the page says what it means.
TEST_F(BoardTest, UpperBoundsProveNothingWorse) {
  const auto marks = [&](const std::string& name, double bound, double change) {
    std::vector<RunResult> results = {make_result("Oracle", 0.0), make_result("DLightSB", 0.2),
                                      make_result("Steps", bound)};
    results[2].scores[0].bound_change = change;
    results[2].solver = "csbm";
    const Board board = load_board({}, {{write(name, results)}, {}, {}});
    const std::string html = board_html(board);
    EXPECT_THAT(html, HasSubstr("Else it has a question mark, for a tie left open."));
    const nlohmann::json data = data_of(html);
    std::string text;
    for (const nlohmann::json& row : data["tables"][0]["rows"]) {
      const nlohmann::json& cell = row["cells"][0];
      if (row["oracle"] == true) continue;
      text += row["method"].get<std::string>() + " " + cell["group"].get<std::string>() +
              (cell.contains("undecided") ? " undecided; " : "; ");
    }
    return text;
  };
  EXPECT_EQ(marks("better", 0.1, 0.5), "DLightSB b; Steps a; ");
  EXPECT_EQ(marks("settled", 0.5, 0.01), "DLightSB a; Steps b; ");
  EXPECT_EQ(marks("open", 0.5, 0.1), "DLightSB a; Steps ? undecided; ");
}

TEST_F(BoardTest, TakesACellFromTheFirstFolderThatHasIt) {
  const auto a = write("a", {make_result("DLightSB", 0.5), make_result("DLightSB", 0.7, 1)});
  const auto b = write("b", {make_result("DLightSB", 0.1), make_result("Other", 0.2)});
  const Board board = load_board({}, {{a, b}, {}, {}});
  EXPECT_EQ(board.results.size(), 3u);
  EXPECT_EQ(board.left_out, 1u);
  ASSERT_EQ(board.tables.size(), 1u);
  const TableCell& cell = board.tables[0].rows[0].cells[0];
  EXPECT_EQ(cell.runs.size(), 2u);  // both seeds of the first, none of the second
  EXPECT_DOUBLE_EQ(cell.mean, 0.6);
  EXPECT_EQ(board.sources[board.source_of[2]].record, "b/results.jsonl");
}

TEST_F(BoardTest, LeavesOutWhatIsNoPresetOrNamedByAPattern) {
  const auto a = write("a", {make_result("DLightSB", 0.5), make_result("DLightSB, tuned", 0.4),
                             make_result("DLightSB", 0.3, 0, "my/pair"),
                             make_result("DLightSB", 0.3, 0, "d2-gaussian-0.02-chain-0.3")});
  const Board board = load_board({}, {{a}, {}, {"DLightSB, *"}});
  EXPECT_EQ(board.results.size(), 1u);
  EXPECT_EQ(board.left_out, 3u);
  EXPECT_THAT(refusal({{a}, {}, {"*"}}), HasSubstr("must be results on presets, got 4 runs"));
  EXPECT_THAT(refusal({{a}, {}, {"DLightSB, *", "DLightSb"}}),
              HasSubstr("leave_out must match a method of the results, got 'DLightSb'"));
}

TEST_F(BoardTest, RefusesResultsOnAnotherTruth) {
  RunResult stale = make_result("DLightSB", 0.5);
  stale.pair_identity["fingerprint"] = "0123456789abcdef";
  EXPECT_THAT(refusal({{write("a", {stale})}, {}, {}}),
              AllOf(HasSubstr("a/results.jsonl: stale: run"), HasSubstr("0123456789abcdef"),
                    HasSubstr("in this version")));
}

TEST_F(BoardTest, SaysWhereAFoldersRunsComeFrom) {
  const auto a = write("a", {make_result("DLightSB", 0.5)});
  std::ofstream(a / "provenance.toml") << "revision = \"abc\"\ndate = 2026-11-16\n";
  const Board board = load_board({}, {{a / ""}, {}, {}});  // a slash at the end names the same
  EXPECT_EQ(board.sources[0].name, "a");
  EXPECT_EQ(board.sources[0].revision, "abc");
  EXPECT_EQ(board.sources[0].date, "2026-11-16");
  std::ofstream(a / "provenance.toml") << "revision = \"abc\"\ndate = \"today\"\n";
  EXPECT_THAT(refusal({{a}, {}, {}}), HasSubstr("provenance.toml: line 2: 'date' must be a date"));
}

TEST_F(BoardTest, ShowsWhatTheCheckOfASubmissionFound) {
  const auto a = write("a", {make_result("Oracle", 0.0), make_result("DLightSB", 0.5)});
  testing::make_whole_submission(folder("subs") / "mine", "Mine <b>",
                                 *load_pair(testing::kBoardPair).truth({}));
  const Board board = load_board({}, {{a}, {folder("subs")}, {}});
  const nlohmann::json data = board_json(board);
  ASSERT_EQ(data["sources"].size(), 2u);
  const nlohmann::json& submission = data["sources"][1]["submission"];
  EXPECT_EQ(submission["name"], "Mine <b>");
  EXPECT_EQ(submission["object"], "mine.solver:Mine");
  EXPECT_EQ(data["sources"][1]["revision"], "4f2c1d0");
  const nlohmann::json& run = data["runs"][2];
  EXPECT_EQ(run["source"], 1);
  EXPECT_EQ(run["commands"][0], "python -m mine PAIR");
  EXPECT_EQ(run["commands"][1],
            "bridgemark evaluate d2-gaussian-0.02-spread --predictions "
            "mine/d2-gaussian-0.02-spread.seed0 --seed 0 --seeds 1");
  EXPECT_EQ(run["train_seconds"], 1.5);
}

TEST_F(BoardTest, RefusesSubmissionsThatAreNotGood) {
  const auto a = write("a", {make_result("Mine", 0.5)});
  testing::make_whole_submission(folder("mine"));
  EXPECT_THAT(refusal({{a}, {folder("mine")}, {}}),
              HasSubstr("'name' must look like that of no other row of the board, got 'Mine'"));
  std::ofstream(folder("mine") / "more.txt") << "x";
  EXPECT_THAT(refusal({{}, {folder("mine")}, {}}), HasSubstr("holds 'more.txt'"));
}

TEST_F(BoardTest, PageIsOneFileThatRunsItsOwnScriptAlone) {
  const std::string hostile = "</script><script>window.hacked=1</script>{{js}}";
  const auto a = write("a", {make_result("Oracle", 0.0), make_result(hostile, 0.5)});
  const Board board = load_board({}, {{a}, {}, {}});
  const std::string html = board_html(board);
  EXPECT_EQ(html, board_html(board));  // made again it is the same
  EXPECT_THAT(html, AllOf(Not(HasSubstr("<script>window.hacked")), Not(HasSubstr("<link")),
                          Not(HasSubstr("src=")), Not(HasSubstr("@import"))));
  EXPECT_EQ(data_of(html)["runs"][1]["method"], hostile);
  // The policy names the hash of the one script there is.
  const std::size_t start = html.rfind("<script>") + 8;
  const std::string script = html.substr(start, html.find("</script>", start) - start);
  EXPECT_THAT(html, HasSubstr("script-src 'sha256-" + base64_sha256(script) + "'"));
}

TEST_F(BoardTest, FilesHoldEachMeasuredCell) {
  const auto a = write("a", {make_result("Oracle", 0.0), make_result("=Mine", 0.5)});
  const WrittenBoard written = write_board({}, {{a}, {}, {}}, folder("out"));
  EXPECT_EQ(written.files.size(), 3u);
  const std::string csv = testing::slurp(folder("out") / "board.csv");
  const std::string head = csv.substr(0, csv.find('\n'));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), ','), 3 * std::count(head.begin(), head.end(), ','));
  EXPECT_THAT(csv, HasSubstr("\nspread,2,d2-gaussian-0.02-spread,'=Mine,"));
  const auto file = nlohmann::json::parse(testing::slurp(folder("out") / "board.json"));
  EXPECT_EQ(file["runs"].size(), 2u);
  EXPECT_EQ(file, board_json(written.board));
}

// A cell is of one number of training rows, and none of another takes its place.
TEST_F(BoardTest, NumbersOfTrainingRowsAreCellsOfTheirOwn) {
  const auto with_rows = [](RunResult result, TrainingRows rows) {
    result.rows = rows;
    result.run += training_rows_suffix(rows);
    return result;
  };
  const auto endless = write("endless", {make_result("Oracle", 0.0), make_result("A", 0.1)});
  const auto few = write("few", {with_rows(make_result("A", 0.9), {100, 0}),
                                 with_rows(make_result("A", 0.7), {100, 1})});
  const Board board = load_board({}, {{endless, few}, {}, {}});
  EXPECT_EQ(board.left_out, 0u);
  ASSERT_EQ(board.tables.size(), 2u);
  EXPECT_EQ(board.tables[1].samples, 100u);
  EXPECT_NEAR(board.tables[1].rows[1].cells[0].mean, 0.8, 1e-12);
  EXPECT_THAT(board_csv(board), AllOf(HasSubstr(",run,samples,training_sets\n"),
                                      HasSubstr(",100,0; 1\n"), HasSubstr(",0,\n")));
  const nlohmann::json data = board_json(board);
  EXPECT_EQ(data.at("tables")[1].at("samples"), 100);
  EXPECT_EQ(data.at("runs")[2].at("samples"), 100);
  EXPECT_EQ(data.at("runs")[0].at("of_every_number"), true);
}

}  // namespace
}  // namespace bridgemark
