#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bridgemark/experiment/results.h"
#include "bridgemark/report/standing.h"
#include "bridgemark/report/tables/tables.h"

// What the scripts of a page read of tables and runs.
namespace bridgemark {

nlohmann::json table_json(const Table& table);

// The score that decides first who is best: what charts of error draw.
nlohmann::json deciding_score_json();
// Name, title and unit of a score.
nlohmann::json score_json(const ScoreSpec& score);

// The one ranking, for the first screen of a page.
nlohmann::json standing_json(const Standing& standing);

// Who is best on a pair, and by which score.
nlohmann::json best_json(const PairBest& best);

// A run with its scores, its pair's family and the commands that repeat it.
nlohmann::json run_json(const RunResult& result);

}  // namespace bridgemark
