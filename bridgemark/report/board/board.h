#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bridgemark/core/context.h"
#include "bridgemark/experiment/results.h"
#include "bridgemark/report/tables/tables.h"
#include "bridgemark/submission/solver_file.h"

// A board: the results of several folders and submissions on the presets, side by side, each cell
// with what it takes to make it again.
namespace bridgemark {

// Where results come from.
struct BoardSource {
  std::string name;    // of the folder; what a cell's raw record is found by
  std::string record;  // NAME/results.jsonl
  std::string revision;
  std::string date;
  std::optional<SolverFile> solver;  // of a submission
};

struct Board {
  std::vector<BoardSource> sources;
  std::vector<RunResult> results;
  std::vector<std::size_t> source_of;  // of each result
  std::vector<Table> tables;           // of these results, the headline scores first
  std::size_t left_out = 0;            // runs that are no part of the board

  Board() = default;
  Board(Board&&) = default;  // tables point into results
  Board& operator=(Board&&) = default;
};

struct BoardRequest {
  std::vector<std::filesystem::path> results;      // folders with results.jsonl
  std::vector<std::filesystem::path> submissions;  // submissions, or folders of them
  std::vector<std::string> leave_out;              // patterns of methods, with * and ?
};

// Gathers a board. A cell, a method on a pair, comes from the first folder that has it, so that
// it never mixes two experiments. Left out are pairs that are no presets and methods that a
// pattern names. Submissions are checked (require_submission), and what is shown is what the check
// found. Throws FileError for results on a pair that this version makes otherwise, for a
// submission that is refused or has the name of another row, and where nothing is left.
Board load_board(const Context& context, const BoardRequest& request);

// What the page's script reads, and board.json holds.
nlohmann::json board_json(const Board& board);

// One HTML file that needs nothing else and is the same for the same board.
std::string board_html(const Board& board);

// One line for each measured cell and score.
std::string board_csv(const Board& board);

}  // namespace bridgemark
