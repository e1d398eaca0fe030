#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bridgemark/pair/training_set.h"

namespace bridgemark {

// The answers of one training of a solver to one pair.
struct SubmittedAnswers {
  std::string pair;         // a preset
  std::string fingerprint;  // of the pair they answer, as pair_record() has it
  std::uint64_t training_seed = 0;
  double training_seconds = 0.0;
  std::map<std::string, std::string> sha256;  // of each file, by its name
  TrainingRows rows = {};                     // what it was trained on
};

// What a submission says of itself: DIR/solver.toml.
//
//   format = 1
//   name = "Mine"                    # what the board calls it
//   authors = ["A. Author"]
//   url = "https://example.org/mine" # may be empty
//   revision = "4f2c1d0"             # of the solver's source
//   object = "mine.solver:Mine"      # may be empty: a Python object of that revision
//   description = "what it does, in a sentence"
//   date = 2026-11-16                # of the training
//
//   [recipe]
//   command = "python -m mine PAIR"
//   updates = 20000                  # of one training
//   hardware = "2 Arm Neoverse-V1 cores"
//
//   [evaluation]
//   seed = 0
//   seeds = 3
//
//   [[predictions]]                  # from here on written by the program
//   pair = "d2-gaussian-0.02-spread"
//   ...
struct SolverFile {
  std::string name;
  std::vector<std::string> authors;
  std::string url;
  std::string revision;
  std::string object;
  std::string description;
  std::string date;  // YYYY-MM-DD
  std::string command;
  std::int64_t updates = 0;
  std::string hardware;
  std::uint64_t evaluation_seed = 0;
  int evaluation_seeds = 1;
  std::vector<SubmittedAnswers> predictions;
};

inline constexpr std::size_t kMaxSolverName = 80;  // bytes: a row of a table begins with it
inline constexpr char kSolverFile[] = "solver.toml";

// A file that is being put together may have blanks: texts that are empty, no date, no predictions.
enum class Blanks { kAllowed, kRefused };

// Reads and checks folder/solver.toml. Throws FileError that names the line, the key, what is
// allowed and what is there.
SolverFile load_solver_file(const std::filesystem::path& folder, Blanks blanks);

// The same without blanks: a line for each part of it that is wrong goes to `faults`, and the other
// parts are read.
SolverFile load_solver_file(const std::filesystem::path& folder, std::vector<std::string>& faults);

// Why a name is none for a solver of others: it looks like one of the library's own, as in "must
// look like none of Bridgemark's own solvers, got '0racle', which looks like 'Oracle'". Empty where
// it is.
std::string why_name_is_taken(std::string_view name);

// What is known of a solver without its authors; empty where it is not.
struct KnownOfSolver {
  std::string revision, description, date, command, hardware;
  std::int64_t updates = 0;
};

// The text of a new file, with blanks for what only its authors know.
std::string new_solver_file(std::string_view name, std::uint64_t evaluation_seed,
                            int evaluation_seeds, const KnownOfSolver& known = {});

// The text with these predictions in place of those it has; all before the first [[predictions]]
// stays as its authors wrote it.
std::string with_predictions(std::string_view text,
                             const std::vector<SubmittedAnswers>& predictions);

}  // namespace bridgemark
