#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bridgemark/experiment/results.h"

namespace bridgemark {

// What results.jsonl and the report both say of a run: all but its scores and their evaluation.
nlohmann::json run_fields(const RunResult& result);

// A line of results.jsonl: all fields of a run, and its scores under "scores" as evaluation_json()
// has them.
nlohmann::json result_json(const RunResult& result);

// Reads it back. Throws FileError that names `where`.
RunResult result_from_json(const nlohmann::json& line, const std::string& where);

// The same without the scores, which the line need not have.
RunResult run_from_json(const nlohmann::json& line, const std::string& where);

// What result.json and results.jsonl say alike of where a run was made.
void read_origin(const nlohmann::json& object, const std::string& where, RunResult& result);

inline constexpr char kScoresKey[] = "scores";  // of result_json()

}  // namespace bridgemark
