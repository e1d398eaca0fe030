#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bridgemark/experiment/results.h"

// Older files results.jsonl have a line for each run and score, with all fields of the run in each.
// They are read, and no longer written.
namespace bridgemark {

// What only one such line may have: run, device and score. Throws FileError that names `where`.
std::vector<std::string> score_line_key(const nlohmann::json& line, const std::string& where);

// Adds the score of such a line to the run of the line before, or the run with it. Throws FileError
// that names `where`.
void add_score_line(const nlohmann::json& line, const std::string& where,
                    std::vector<RunResult>& results);

}  // namespace bridgemark
