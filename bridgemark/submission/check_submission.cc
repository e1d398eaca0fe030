#include "bridgemark/submission/check_submission.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/io/json.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/io/sha256.h"
#include "bridgemark/metric/prediction_files.h"
#include "bridgemark/pair/pair_record.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/submission/rescoring.h"
#include "bridgemark/submission/submission_layout.h"

namespace bridgemark {

namespace {

constexpr std::size_t kMaxCsvBytes = std::size_t{1} << 28;

class Checker {
 public:
  Checker(const Context& context, const std::filesystem::path& folder)
      : context_(context), folder_(folder) {
    check_.solver = load_solver_file(folder, check_.refusals);
    try {
      claims_ = load_results(folder / kResultsJsonl);
    } catch (const FileError& error) {
      if (check_.refusals.empty()) throw;
      check_.refusals.push_back(error.what());
    }
  }

  SubmissionCheck run() {
    check_name();
    for (std::string& line : unknown_entries(folder_, solver())) {
      check_.refusals.push_back(std::move(line));
    }
    check_claimed_runs();
    check_csv();
    std::size_t done = 0;
    for (const SubmittedAnswers& answers : solver().predictions) {
      check_answers(answers);
      context_.report("answers scored", ++done, solver().predictions.size());
    }
    return std::move(check_);
  }

 private:
  const SolverFile& solver() const { return check_.solver; }

  template <typename... Args>
  void refuse(const std::filesystem::path& path, fmt::format_string<Args...> format,
              Args&&... args) {
    check_.refusals.push_back(message_text(
        fmt::format("{}: {}", path.string(), fmt::format(format, std::forward<Args>(args)...))));
  }

  // A row of the board is one solver's.
  void check_name() {
    const std::string why = why_name_is_taken(solver().name);
    if (!why.empty()) refuse(folder_ / kSolverFile, "'name' {}", why);
  }

  const RunResult* claim_of(const SubmittedAnswers& answers) const {
    const auto found = std::ranges::find_if(claims_, [&](const RunResult& claim) {
      return claim.pair == answers.pair && claim.seed == answers.training_seed &&
             claim.rows == answers.rows;
    });
    return found == claims_.end() ? nullptr : &*found;
  }

  void check_claimed_runs() {
    const std::filesystem::path file = folder_ / kResultsJsonl;
    if (claims_.size() > solver().predictions.size()) {
      refuse(file, "claims scores of {} runs, but solver.toml names {}", claims_.size(),
             solver().predictions.size());
    }
    std::set<std::string> claimed;
    for (const RunResult& claim : claims_) {
      SubmittedAnswers answers;
      answers.pair = claim.pair;
      answers.training_seed = claim.seed;
      answers.rows = claim.rows;
      const std::string of = answers_folder(answers);
      if (!claimed.insert(of).second) refuse(file, "claims scores of '{}' twice", printable(of));
      if (!solver().name.empty() && claim.method != solver().name) {
        refuse(file, "run '{}' is of '{}', but solver.toml is of '{}'", printable(claim.run),
               printable(claim.method), printable(solver().name));
      }
      if (claim.evaluation_seed != solver().evaluation_seed ||
          claim.evaluation_seeds != solver().evaluation_seeds) {
        refuse(file, "run '{}' has {} evaluation seeds from {}, but solver.toml {} from {}",
               printable(claim.run), claim.evaluation_seeds, claim.evaluation_seed,
               solver().evaluation_seeds, solver().evaluation_seed);
      }
    }
  }

  // Its lines may have another order than the scores of results.jsonl.
  void check_csv() {
    const std::filesystem::path path = folder_ / kResultsCsv;
    if (!path_exists(path)) return;
    const auto lines = [](const std::string& text) {
      std::istringstream in(text);
      std::multiset<std::string> all;
      for (std::string line; std::getline(in, line);) all.insert(line);
      return all;
    };
    if (lines(read_file(path, kMaxCsvBytes)) != lines(results_csv(claims_))) {
      refuse(path, "tampered: it does not say what {} says", kResultsJsonl);
    }
  }

  void check_answers(const SubmittedAnswers& answers) {
    const BenchmarkPair pair = load_pair(answers.pair);
    const auto own = pair_record(pair).at("fingerprint").get<std::string>();
    if (own != answers.fingerprint) {
      refuse(folder_ / kSolverFile,
             "stale: the answers are to {} with fingerprint {}, which is {} in this version",
             answers.pair, answers.fingerprint, own);
      return;
    }
    if (answers.sha256.contains(kLogConditionalFile) && !answers.sha256.contains(kLogAnswersFile)) {
      refuse(folder_ / answers_folder(answers), "{} needs {} beside it, log q(x1|x0) of {}",
             kLogConditionalFile, kLogAnswersFile, kAnswersFile);
      return;
    }
    if (!hashes_hold(pair, answers)) return;
    try {
      const std::filesystem::path kept = folder_ / answers_folder(answers);
      ScoredAnswers scored = score_answers(context_, pair, kept, solver(), answers);
      judge_answers(context_, pair, kept, solver(), scored);
      compare(answers, scored.result);
      for (const std::string& line : scored.impossible) {
        refuse(folder_ / answers_folder(answers), "impossible: {}", line);
      }
    } catch (const FileError& error) {
      check_.refusals.push_back(error.what());  // misshapen: the line names the file
    } catch (const InvalidArgument& error) {
      refuse(folder_ / answers_folder(answers), "impossible: {}", error.what());
    }
  }

  bool hashes_hold(const BenchmarkPair& pair, const SubmittedAnswers& answers) {
    const std::size_t before = check_.refusals.size();
    for (const auto& [name, hash] : answers.sha256) {
      const std::filesystem::path path = folder_ / answers_folder(answers) / name;
      if (std::string why = why_no_answer_file(pair, path); !why.empty()) {
        check_.refusals.push_back(std::move(why));
        continue;
      }
      try {
        const std::string found = file_sha256(path);
        if (found != hash) {
          refuse(path, "tampered: its sha256 is {}, but solver.toml says {}", found, hash);
        }
      } catch (const FileError& error) {
        check_.refusals.push_back(error.what());
      }
    }
    return check_.refusals.size() == before;
  }

  void compare(const SubmittedAnswers& answers, RunResult found) {
    const std::filesystem::path file = folder_ / kResultsJsonl;
    if (const RunResult* claim = claim_of(answers)) {
      for (const std::string& line : false_claims(claim->scores, found.scores)) {
        refuse(file, "tampered: {}: {}", answers_folder(answers), line);
      }
    } else {
      refuse(file, "claims no scores of {}, which solver.toml names", answers_folder(answers));
    }
    found.machine = solver().hardware;
    check_.results.push_back(std::move(found));
  }

  const Context& context_;
  const std::filesystem::path& folder_;
  std::vector<RunResult> claims_;
  SubmissionCheck check_;
};

}  // namespace

SubmissionCheck check_submission(const Context& context, const std::filesystem::path& folder) {
  return Checker(context, folder).run();
}

SubmissionCheck require_submission(const Context& context, const std::filesystem::path& folder) {
  SubmissionCheck check = check_submission(context, folder);
  if (!check.refusals.empty()) throw FileError(check.refusals[0]);
  return check;
}

std::vector<std::filesystem::path> find_submissions(const std::filesystem::path& folder) {
  if (path_exists(folder / kSolverFile)) return {folder};
  std::vector<std::filesystem::path> found;
  if (is_folder(folder)) {
    for (const std::filesystem::path& path : list_folder(folder)) {
      if (path_exists(path / kSolverFile)) found.push_back(path);
    }
  }
  if (found.empty()) {
    throw_file(folder.string(), "expected a submission, a folder with {}, or a folder of them",
               kSolverFile);
  }
  return found;
}

}  // namespace bridgemark
