#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "bridgemark/metric/evaluation.h"
#include "bridgemark/pair/training_set.h"

namespace bridgemark {

// Scores with all that says where they come from.
struct EvaluationRecord {
  Evaluation evaluation;
  // evaluation_json() and the pair and its record, seeds, sizes of the protocol, version, device,
  // machine, seconds and peak memory: what `evaluate --json` prints, Python returns and a grid
  // keeps.
  nlohmann::json json;
};

// evaluate() as every front end asks for it: a reversed pair gets its C2ST whether or not the
// options ask for one, as it has the fewest scores of its own.
// The record says what the coupling was trained on, where that is a training set.
EvaluationRecord evaluate_and_record(const Context& context, const BenchmarkPair& pair,
                                     const Coupling& coupling, const EvaluationOptions& options,
                                     const TrainingRows& rows = {});

// Adds a caller's own scores after those of the protocol. Throws InvalidArgument for a name that
// may_be_own_score() refuses or that the record has already.
void add_own_scores(std::vector<Score> scores, EvaluationRecord& record);

}  // namespace bridgemark
