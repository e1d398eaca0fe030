#include "bridgemark/submission/challenge/check_challenge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/io/sha256.h"
#include "bridgemark/math/philox.h"
#include "bridgemark/metric/evaluation.h"
#include "bridgemark/metric/score_spec.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/submission/challenge/challenge.h"
#include "bridgemark/submission/challenge/commitment.h"
#include "bridgemark/submission/challenge/reveal.h"
#include "bridgemark/submission/check_submission.h"
#include "bridgemark/submission/submission_layout.h"

namespace bridgemark {

namespace {

// Of the truth's own score of draws, whose mean is the ceiling.
constexpr int kTruthRepetitions = 2;

double finite_or_zero(double error) { return std::isfinite(error) ? error : 0.0; }

// The score of draws that every solver has.
const ScoreSpec& score_of_draws() { return *scores_by(&ScoreSpec::deciding_place).back(); }

bool has_finite(const RunResult& result, std::string_view score) {
  const Score* found = result.find(score);
  return found && std::isfinite(found->mean);
}

class ChallengeChecker {
 public:
  ChallengeChecker(const Context& context, const ChallengeEntry& entry)
      : context_(context),
        entry_(entry),
        challenge_(load_challenge(entry.challenge)),
        reveal_(load_reveal(entry.challenge)),
        secret_(load_secret(entry.secret)) {
    check_.solver = load_solver_file(entry.submission, Blanks::kRefused);
  }

  // What costs little comes first, and the scores only of what is good so far.
  ChallengeCheck run() {
    check_commitment();
    check_files();
    check_instances();
    if (entry_.open) check_open();
    if (!check_.refusals.empty()) return std::move(check_);
    std::vector<RunResult> revealed = scored(entry_.submission), open;
    if (entry_.open) open = scored(*entry_.open);
    std::erase_if(open, [&](const RunResult& result) { return !is_of_challenge(result); });
    if (check_.refusals.empty()) judge(revealed, open);
    return std::move(check_);
  }

 private:
  template <typename... Args>
  void refuse(const std::filesystem::path& path, fmt::format_string<Args...> format,
              Args&&... args) {
    check_.refusals.push_back(message_text(
        fmt::format("{}: {}", path.string(), fmt::format(format, std::forward<Args>(args)...))));
  }

  void check_commitment() {
    if (secret_.challenge != file_sha256(entry_.challenge / kChallengeFile)) {
      refuse(entry_.secret, "is of another challenge than {}", entry_.challenge.string());
      return;
    }
    if (secret_.label != check_.solver.name) {
      refuse(entry_.submission / kSolverFile,
             "'name' must be '{}', which was committed to, got '{}'", printable(secret_.label),
             printable(check_.solver.name));
    }
    const std::vector<Commitment> all = load_commitments(entry_.challenge);
    const std::string digest = secret_.digest();
    if (std::ranges::none_of(all, [&](const Commitment& each) {
          return each.label == secret_.label && each.digest == digest;
        })) {
      refuse(entry_.secret, "{} has no commitment of '{}' with digest {}",
             (entry_.challenge / kCommitmentsFile).string(), printable(secret_.label), digest);
    }
  }

  void check_files() {
    for (const auto& [name, hash] : secret_.sha256) {
      const std::filesystem::path path = entry_.files / name;
      try {
        const std::string found = file_sha256(path);
        if (found != hash) {
          refuse(path, "changed since the commitment: its sha256 is {}, committed was {}", found,
                 hash);
        }
      } catch (const FileError& error) {
        check_.refusals.emplace_back(error.what());
      }
    }
  }

  void check_instances() {
    const std::filesystem::path file = entry_.submission / kSolverFile;
    if (check_.solver.evaluation_seed != reveal_.seed) {
      refuse(file, "'seed' of [evaluation] must be the revealed {}, got {}", reveal_.seed,
             check_.solver.evaluation_seed);
    }
    std::set<std::string> missing;
    for (const RevealedInstance& instance : reveal_.instances) {
      SubmittedAnswers wanted;
      wanted.pair = instance.pair;
      wanted.rows = instance.rows;
      wanted.training_seed = reveal_.seed;
      missing.insert(answers_folder(wanted));
    }
    for (const SubmittedAnswers& answers : check_.solver.predictions) {
      const std::string folder = answers_folder(answers);
      if (missing.erase(folder) == 0) refuse(file, "has {}, which was not revealed", folder);
      if (challenge_.max_seconds && answers.training_seconds > *challenge_.max_seconds) {
        refuse(file, "{} was trained for {} seconds, allowed are {}", folder,
               answers.training_seconds, *challenge_.max_seconds);
      }
    }
    for (const std::string& folder : missing) {
      refuse(file, "lacks {}, which was revealed", folder);
    }
  }

  bool is_of_challenge(const RunResult& result) const {
    return result.rows.samples == challenge_.samples &&
           std::ranges::find(challenge_.pairs, result.pair) != challenge_.pairs.end();
  }

  void check_open() {
    const std::filesystem::path file = *entry_.open / kSolverFile;
    const SolverFile open = load_solver_file(*entry_.open, Blanks::kRefused);
    if (open.name != check_.solver.name) {
      refuse(file, "'name' must be '{}', whose open answers are asked for, got '{}'",
             printable(check_.solver.name), printable(open.name));
    }
    for (const std::string& pair : challenge_.pairs) {
      if (std::ranges::none_of(open.predictions, [&](const SubmittedAnswers& answers) {
            return answers.pair == pair && answers.rows.samples == challenge_.samples;
          })) {
        refuse(file, "lacks answers to {}{}", pair,
               challenge_.samples == 0 ? std::string(" trained on endless draws")
                                       : fmt::format(" trained on {} rows", challenge_.samples));
      }
    }
  }

  std::vector<RunResult> scored(const std::filesystem::path& folder) {
    SubmissionCheck found = check_submission(context_, folder);
    std::ranges::move(found.refusals, std::back_inserter(check_.refusals));
    return std::move(found.results);
  }

  void judge(const std::vector<RunResult>& revealed, const std::vector<RunResult>& open) {
    const auto all_have = [&](std::string_view score) {
      const auto has = [&](const RunResult& result) { return has_finite(result, score); };
      return std::ranges::all_of(revealed, has) && std::ranges::all_of(open, has);
    };
    check_.score = all_have(kJointKl) ? kJointKl : std::string(score_of_draws().name);
    if (!all_have(check_.score)) {
      refuse(entry_.submission, "there is no {} of each pair, which would decide", check_.score);
      return;
    }
    for (const RunResult& result : revealed) check_.revealed.push_back(score_of(result));
    for (const RunResult& result : open) check_.open.push_back(score_of(result));
    if (open.empty()) return;
    std::map<std::string, PresetDistances> presets;
    for (const ChallengeScore& score : check_.revealed) {
      presets[instance_of(score.pair).pair].revealed.push_back(score.distance);
    }
    for (const ChallengeScore& score : check_.open) {
      presets[score.pair].open.push_back(score.distance);
    }
    std::vector<PresetDistances> compared;
    for (const std::string& pair : challenge_.pairs) {
      compared.push_back(std::move(presets.at(pair)));
      compared.back().preset = pair;
    }
    check_.verdicts = compare_with_open(compared);
  }

  ChallengeScore score_of(const RunResult& result) {
    const Score& found = *result.find(check_.score);
    ChallengeScore score = {result.pair, result.train_seconds, found.mean, found.standard_error};
    double error = finite_or_zero(found.standard_error);
    if (check_.score != kJointKl) {
      const Evaluation& truth = truth_on(result.pair);
      score.of_truth = truth.mean(check_.score);
      error = std::hypot(error, finite_or_zero(truth.standard_error(check_.score)));
    }
    const double above = score.value - score.of_truth;  // by noise it may be the better one
    score.distance =
        std::max(find_score(check_.score)->lower_is_better() ? above : -above, 2.0 * error);
    return score;
  }

  const Evaluation& truth_on(const std::string& name) {
    const auto known = truths_.find(name);
    if (known != truths_.end()) return known->second;
    constexpr std::uint64_t kTruthOfChallenge = 3;  // other draws than those of submissions
    const BenchmarkPair pair = load_pair(name);
    const EvaluationOptions options = {.seed = derive_seed(reveal_.seed, kTruthOfChallenge),
                                       .num_seeds = kTruthRepetitions,
                                       .num_trajectories = 1,
                                       .particles = 0};
    return truths_.emplace(name, evaluate(context_, pair, *pair.require_truth(context_), options))
        .first->second;
  }

  const Context& context_;
  const ChallengeEntry& entry_;
  Challenge challenge_;
  Reveal reveal_;
  CommitmentSecret secret_;
  ChallengeCheck check_;
  std::map<std::string, Evaluation> truths_;
};

}  // namespace

bool ChallengeCheck::is_far() const { return std::ranges::any_of(verdicts, &PresetVerdict::far); }

ChallengeCheck check_challenge(const Context& context, const ChallengeEntry& entry) {
  return ChallengeChecker(context, entry).run();
}

}  // namespace bridgemark
