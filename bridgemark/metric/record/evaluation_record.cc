#include "bridgemark/metric/record/evaluation_record.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/clock.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/resources.h"
#include "bridgemark/core/version.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/metric/record/evaluation_json.h"
#include "bridgemark/metric/score_spec.h"
#include "bridgemark/pair/pair_record.h"

namespace bridgemark {

EvaluationRecord evaluate_and_record(const Context& context, const BenchmarkPair& pair,
                                     const Coupling& coupling, const EvaluationOptions& given,
                                     const TrainingRows& rows) {
  EvaluationOptions options = given;
  options.c2st = options.c2st || pair.reverse();
  const Clock::time_point started = Clock::now();
  EvaluationRecord record{evaluate(context, pair, coupling, options), {}};
  const double seconds = seconds_since(started);
  record.json = evaluation_json(record.evaluation);
  record.json["pair"] = pair.identity().name;
  record.json["pair_identity"] = scored_pair_record(context, pair);
  add_training_rows(record.json, rows);
  record.json["seed"] = options.seed;
  record.json["num_seeds"] = options.num_seeds;
  record.json["num_steps"] = record.evaluation.num_steps;
  record.json["num_trajectories"] = options.num_trajectories;
  record.json["conditional_samples"] = options.conditional_samples;
  record.json["particles"] = options.particles;
  record.json["version"] = kVersion;
  record.json["device"] = std::string(device_name(context.device));
  record.json["machine"] = backend::of(context).machine();
  record.json["wall_seconds"] = seconds;
  record.json["peak_memory_bytes"] = peak_memory_bytes();
  return record;
}

void add_own_scores(std::vector<Score> scores, EvaluationRecord& record) {
  for (Score& score : scores) {
    if (record.json.contains(score.name) || find_score(score.name) != nullptr) {
      throw_invalid("evaluate", "the name of a metric must be a new one, got '{}'",
                    printable(score.name));
    }
    if (!may_be_own_score(score.name)) {
      throw_invalid("evaluate",
                    "the name of a metric must be a word of at most {} letters of ASCII, digits "
                    "and underscores, got '{}'",
                    kMaxOwnScoreName, printable(score.name));
    }
    record.evaluation.scores.push_back(std::move(score));
    record.json.update(evaluation_json(record.evaluation));
  }
}

}  // namespace bridgemark
