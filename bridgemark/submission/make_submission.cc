#include "bridgemark/submission/make_submission.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/io/look_alikes.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/io/sha256.h"
#include "bridgemark/pair/pair_record.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/submission/answer_files.h"
#include "bridgemark/submission/submission_layout.h"

namespace bridgemark {

namespace {

void check_request(const Context& context, const BenchmarkPair& pair,
                   const EvaluationOptions& options, const SubmissionTarget& target) {
  const std::string name = pair.identity().name;
  if (const std::string why = why_no_submitted_pair(name); !why.empty()) {
    throw_invalid("submission", "{}", why);
  }
  const nlohmann::json own = scored_pair_record(context, load_pair(name)),
                       given = scored_pair_record(context, pair);
  if (own.at("fingerprint") != given.at("fingerprint") || !same_scored_pair(own, given)) {
    throw_invalid("submission", "pair must be the preset {}, got {}{}", pair_text(own),
                  pair_text(given), pair.reverse() && !own.at("reverse") ? ", reversed" : "");
  }
  if (options.conditional_samples != kConditionalSamples) {
    throw_invalid("submission", "conditional_samples must be the protocol's {}, got {}",
                  kConditionalSamples, options.conditional_samples);
  }
  if (options.num_seeds < 1 || options.num_seeds > kMaxSubmittedSeeds) {
    throw_invalid("submission", "num_seeds must be in 1..{}, got {}", kMaxSubmittedSeeds,
                  options.num_seeds);
  }
  if (!(target.training_seconds >= 0.0) || std::isinf(target.training_seconds)) {
    throw_invalid("submission", "training_seconds must be a number of at least 0, got {}",
                  target.training_seconds);
  }
  constexpr std::uint64_t kMaxSeed = std::numeric_limits<std::int64_t>::max();  // of a TOML file
  check_training_rows(target.rows);
  for (const auto& [key, seed] :
       {std::pair("seed", options.seed), std::pair("training_seed", target.training_seed),
        std::pair("training_set", target.rows.training_set)}) {
    if (seed > kMaxSeed)
      throw_invalid("submission", "{} must be in 0..{}, got {}", key, kMaxSeed, seed);
  }
}

// solver.toml of the folder, or a new one, of a request that fits it.
std::string solver_text(const Context& context, const BenchmarkPair& pair,
                        const EvaluationOptions& options, const SubmissionTarget& target) {
  check_request(context, pair, options, target);
  const std::filesystem::path path = target.folder / kSolverFile;
  if (!path_exists(path)) {
    if (const std::string why = why_no_name(target.name, kMaxSolverName); !why.empty()) {
      throw_invalid("submission", "label must name the solver of a new submission: it {}, got '{}'",
                    why, printable(target.name));
    }
    if (const std::string why = why_name_is_taken(target.name); !why.empty()) {
      throw_invalid("submission", "label {}", why);
    }
    return new_solver_file(target.name, options.seed, options.num_seeds, target.known);
  }
  const SolverFile solver = load_solver_file(target.folder, Blanks::kAllowed);
  if (!target.name.empty() && target.name != solver.name) {
    throw_invalid("submission", "label must be '{}' like that of {}, got '{}'",
                  printable(solver.name), path.string(), printable(target.name));
  }
  if (solver.evaluation_seed != options.seed || solver.evaluation_seeds != options.num_seeds) {
    throw_invalid("submission",
                  "seed and num_seeds must be {} and {} like those of {}, got {} and {}",
                  solver.evaluation_seed, solver.evaluation_seeds, path.string(), options.seed,
                  options.num_seeds);
  }
  return read_file(path, kMaxSolverFileBytes);
}

// Replaces what has the same key, or comes last.
template <typename T, typename Same>
void put(std::vector<T>& all, T entry, Same&& same) {
  const auto found = std::ranges::find_if(all, same);
  if (found == all.end()) {
    all.push_back(std::move(entry));
  } else {
    *found = std::move(entry);
  }
}

// The folder, where it was not there yet as well.
const std::filesystem::path& made_folder(const std::filesystem::path& folder) {
  create_folder(folder);
  return folder;
}

}  // namespace

SubmissionEntry::PartFolder::~PartFolder() {
  std::error_code ignored;
  if (!path.empty()) std::filesystem::remove_all(path, ignored);
}

SubmissionEntry::SubmissionEntry(const Context& context, const BenchmarkPair& pair,
                                 const Coupling& coupling, const EvaluationOptions& options,
                                 const SubmissionTarget& target)
    : folder_(target.folder),
      text_(solver_text(context, pair, options, target)),
      lock_(made_folder(folder_)) {
  if (!path_exists(folder_ / kSolverFile)) write_file_atomically(folder_ / kSolverFile, text_);
  solver_ = load_solver_file(folder_, Blanks::kAllowed);
  answers_.pair = pair.identity().name;
  answers_.fingerprint = pair_record(pair).at("fingerprint").get<std::string>();
  answers_.training_seed = target.training_seed;
  answers_.training_seconds = target.training_seconds;
  answers_.rows = target.rows;
  part_.path = folder_ / (answers_folder(answers_) + ".part");
  const std::filesystem::path& kept = part_.path;
  std::filesystem::remove_all(kept);
  create_folder(kept);
  write_answers(context, pair, coupling, options.seed, kept);
  for (const std::string& name : answer_files()) {
    if (path_exists(kept / name)) answers_.sha256[name] = file_sha256(kept / name);
  }
}

void SubmissionEntry::claim(RunResult scores) {
  std::vector<RunResult> claims;
  if (path_exists(folder_ / kResultsJsonl)) claims = load_results(folder_ / kResultsJsonl);
  put(claims, std::move(scores), [&](const RunResult& claim) {
    return claim.pair == answers_.pair && claim.seed == answers_.training_seed &&
           claim.rows == answers_.rows;
  });
  put(solver_.predictions, answers_, [&](const SubmittedAnswers& other) {
    return answers_folder(other) == answers_folder(answers_);
  });
  const std::filesystem::path answers = folder_ / answers_folder(answers_);
  std::filesystem::remove_all(answers);
  std::filesystem::rename(part_.path, answers);
  write_results(claims, folder_);
  write_file_atomically(folder_ / kSolverFile, with_predictions(text_, solver_.predictions));
}

}  // namespace bridgemark
