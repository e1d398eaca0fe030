#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/submission/solver_file.h"

// The folder of a submission:
//   solver.toml              what it is, and the hash of each file below
//   results.jsonl, .csv      the scores that it claims
//   PAIR.seedN/pred_*.npy    the answers of the training with seed N to a pair, as `evaluate
//                            --predictions` reads them
//   README.md, LICENSE       where its authors want them
namespace bridgemark {

inline constexpr std::size_t kMaxSolverFileBytes = std::size_t{1} << 20;
inline constexpr int kMaxSubmittedSeeds = 100;  // repetitions: each is scored again by a board

// PAIR.seedN, or PAIR.nN.setI.seedN where it was trained on N rows of training set I.
std::string answers_folder(const SubmittedAnswers& answers);

// The names that a folder of answers may hold, and those that it must.
const std::vector<std::string>& answer_files();
const std::vector<std::string>& required_answer_files();

// Why a file cannot be one of the answers to a pair and is not worth reading, as a line about it;
// empty where it can: a sparse file may be of any size.
std::string why_no_answer_file(const BenchmarkPair& pair, const std::filesystem::path& path);

// Why a pair cannot be on a board, which has the presets in both directions; empty where it can.
std::string why_no_board_pair(const std::string& pair);

// The same for a submission, which also answers instances of presets: those of a challenge.
std::string why_no_submitted_pair(const std::string& pair);

// Each file or folder that a submission may not hold, as a line about it.
std::vector<std::string> unknown_entries(const std::filesystem::path& folder,
                                         const SolverFile& solver);

}  // namespace bridgemark
