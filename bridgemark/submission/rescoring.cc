#include "bridgemark/submission/rescoring.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "bridgemark/experiment/added_results.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/math/philox.h"
#include "bridgemark/metric/prediction_files.h"
#include "bridgemark/metric/score_spec.h"
#include "bridgemark/submission/score_ceilings.h"
#include "bridgemark/submission/stated_probabilities.h"

namespace bridgemark {

namespace {

bool is_compared(const Score& score) {
  const ScoreSpec* spec = find_score(score.name);
  return !spec || !spec->of_classifier;
}

bool agree(double claimed, double found) {
  if (std::isnan(claimed) || std::isnan(found)) return std::isnan(claimed) && std::isnan(found);
  if (std::isinf(claimed) || std::isinf(found)) return claimed == found;
  return std::abs(claimed - found) <= kClaimTolerance * std::max(1.0, std::abs(found));
}

std::string text(double value) {
  return std::isnan(value) ? std::string("nothing") : fmt::format("{}", value);
}

const Score* find(const std::vector<Score>& scores, const std::string& name) {
  const auto found = std::ranges::find(scores, name, &Score::name);
  return found == scores.end() ? nullptr : &*found;
}

}  // namespace

ScoredAnswers score_answers(const Context& context, const BenchmarkPair& pair,
                            const std::filesystem::path& kept, const SolverFile& solver,
                            const SubmittedAnswers& answers) {
  const auto coupling = load_predictions(context, pair, kept);
  ScoredAnswers scored;
  scored.record = evaluate_and_record(
      context, pair, *coupling,
      {.seed = solver.evaluation_seed, .num_seeds = solver.evaluation_seeds}, answers.rows);
  RunResult& result = scored.result;
  result.experiment = solver.name;
  result.method = solver.name;
  result.solver = kOutsideSolver;
  result.pair = answers.pair;
  result.pair_identity = scored.record.json.at("pair_identity");
  result.dim = static_cast<int>(pair.dim());
  result.seed = answers.training_seed;
  result.rows = answers.rows;
  result.run = run_id_text(
      answers.pair,
      fmt::format("{}{}.seed{}", solver.name, training_rows_suffix(answers.rows), result.seed));
  take_record(scored.record, "evaluation", result);
  result.threads = context.threads();
  result.train_seconds = answers.training_seconds;
  return scored;
}

void judge_answers(const Context& context, const BenchmarkPair& pair,
                   const std::filesystem::path& kept, const SolverFile& solver,
                   ScoredAnswers& scored) {
  const auto coupling = load_predictions(context, pair, kept);
  scored.impossible = impossible_statements(context, pair, *coupling);
  constexpr std::uint64_t kCeilings = 1;  // draws of the truth that no evaluation makes
  for (std::string& line : scores_above_truth(context, pair, scored.record.evaluation,
                                              derive_seed(solver.evaluation_seed, kCeilings))) {
    scored.impossible.push_back(std::move(line));
  }
}

std::vector<std::string> false_claims(const std::vector<Score>& claimed,
                                      const std::vector<Score>& found) {
  std::vector<std::string> lines;
  for (const Score& score : found) {
    if (!is_compared(score)) continue;
    const Score* claim = find(claimed, score.name);
    if (!claim) {
      lines.push_back(fmt::format("{} is not claimed, found {}", score.name, text(score.mean)));
    } else if (!agree(claim->mean, score.mean)) {
      lines.push_back(fmt::format("{} is claimed to be {}, found {}", score.name, text(claim->mean),
                                  text(score.mean)));
    } else if (!agree(claim->standard_error, score.standard_error)) {
      lines.push_back(fmt::format("the standard error of {} is claimed to be {}, found {}",
                                  score.name, text(claim->standard_error),
                                  text(score.standard_error)));
    }
  }
  for (const Score& claim : claimed) {
    if (is_compared(claim) && !find(found, claim.name)) {
      lines.push_back(fmt::format("{} is claimed to be {}, but is no score of the protocol",
                                  printable(claim.name), text(claim.mean)));
    }
  }
  return lines;
}

}  // namespace bridgemark
