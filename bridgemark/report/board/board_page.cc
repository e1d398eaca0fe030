#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bridgemark/core/version.h"
#include "bridgemark/experiment/shell_words.h"
#include "bridgemark/io/sha256.h"
#include "bridgemark/report/board/board.h"
#include "bridgemark/report/board/board_pictures.h"
#include "bridgemark/report/page_data.h"
#include "bridgemark/report/page_form.h"
#include "bridgemark/report/tables/table_writers.h"
#include "bridgemark/submission/submission_layout.h"

namespace bridgemark {

extern const char kBoardHtml[];  // page/board.html
extern const char kBoardCss[];   // page/report.css, page/board.css
extern const char kBoardJs[];    // page/*.js

namespace {

using nlohmann::json;

json source_json(const BoardSource& source) {
  json out = {{"name", source.name},
              {"record", source.record},
              {"revision", source.revision},
              {"date", source.date},
              {"submission", nullptr}};
  if (const auto& solver = source.solver) {
    out["submission"] = {{"name", solver->name},         {"authors", solver->authors},
                         {"url", solver->url},           {"object", solver->object},
                         {"command", solver->command},   {"description", solver->description},
                         {"hardware", solver->hardware}, {"updates", solver->updates}};
  }
  return out;
}

// What repeats a submission: its own command, then the score of the answers that it left.
json submission_commands(const BoardSource& source, const RunResult& result) {
  SubmittedAnswers answers;
  answers.pair = result.pair;
  answers.training_seed = result.seed;
  answers.rows = result.rows;
  return {source.solver->command,
          fmt::format("bridgemark {}",
                      shell_words({"evaluate", result.pair, "--predictions",
                                   source.name + "/" + answers_folder(answers), "--seed",
                                   std::to_string(result.evaluation_seed), "--seeds",
                                   std::to_string(result.evaluation_seeds)}))};
}

json board_run_json(const Board& board, std::size_t index) {
  const RunResult& result = board.results[index];
  const BoardSource& source = board.sources[board.source_of[index]];
  json run = run_json(result);
  run.erase("options");  // the commands name all of them
  run.erase("diagnostics");
  run["source"] = board.source_of[index];
  if (source.solver) run["commands"] = submission_commands(source, result);
  return run;
}

}  // namespace

json board_json(const Board& board) {
  json data = {{"version", kVersion},        {"spread", spread_note(board.tables)},
               {"sources", json::array()},   {"tables", json::array()},
               {"best", json::array()},      {"runs", json::array()},
               {"standings", json::array()}, {"pictures", board_pictures(board.results)}};
  for (const BoardSource& source : board.sources) data["sources"].push_back(source_json(source));
  for (const Table& table : board.tables) data["tables"].push_back(table_json(table));
  for (const Standing& one : standings(board.tables)) {
    data["standings"].push_back(standing_json(one));
  }
  for (const PairBest& best : best_of_pairs(board.tables)) data["best"].push_back(best_json(best));
  for (std::size_t i = 0; i < board.results.size(); ++i) {
    data["runs"].push_back(board_run_json(board, i));
  }
  return data;
}

std::string board_html(const Board& board) {
  // The script's hash rather than a number drawn anew: the same board is the same file.
  return fill_page(kBoardHtml, {{"css", kBoardCss},
                                {"hash", base64_sha256(kBoardJs)},
                                {"data", json_in_html(board_json(board))},
                                {"js", kBoardJs}});
}

}  // namespace bridgemark
