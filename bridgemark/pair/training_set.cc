#include "bridgemark/pair/training_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bridgemark/core/error.h"

namespace bridgemark {

namespace {

void check_samples(std::size_t samples) {
  if (samples >= 1 && samples <= kMaxTrainingRows) return;
  throw_invalid("training set", "samples must be a whole number in 1..{}, got {}", kMaxTrainingRows,
                samples);
}

// x1 of joint draws (x0, x1) along the bridge, chunk by chunk: their x0 is dropped.
void draw_targets(const Context& context, const BenchmarkPair& pair, std::uint64_t index,
                  MutableStatesView x1) {
  constexpr std::size_t kChunk = 1 << 16;
  const DrawKey source_key{index, DrawPurpose::kTrainingTargetSource};
  const DrawKey target_key{index, DrawPurpose::kTrainingTarget};
  for (std::size_t done = 0; done < x1.rows;) {
    const std::size_t rows = std::min(kChunk, x1.rows - done);
    States x0(rows, pair.dim());
    pair.source().sample(context, source_key, done, x0);
    pair.bridge().sample(context, x0, target_key, done, x1.slice(done, rows));
    done += rows;
    context.report("training rows", done, x1.rows);
  }
}

}  // namespace

TrainingSet training_set(const Context& given, const BenchmarkPair& pair, std::size_t samples,
                         std::uint64_t index) {
  check_samples(samples);
  Context context = given;
  context.device = Device::kCpu;  // every device is given these rows
  TrainingSet set{States(samples, pair.dim()), States(samples, pair.dim())};
  pair.source().sample(context, {index, DrawPurpose::kTrainingSource}, 0, set.x0);
  draw_targets(context, pair, index, set.x1);
  if (pair.reverse()) std::swap(set.x0, set.x1);
  return set;
}

FitProblem training_problem(const Context& context, const BenchmarkPair& pair,
                            const TrainingRows& rows) {
  check_training_rows(rows);
  if (rows.samples == 0) return pair;
  TrainingSet set = training_set(context, pair, rows.samples, rows.training_set);
  return {std::move(set.x0), std::move(set.x1), pair.reference(),
          fmt::format("{} of {}", training_rows_text(rows), pair.identity().name)};
}

void check_training_rows(const TrainingRows& rows) {
  if (rows.samples > 0) check_samples(rows.samples);
  if (rows.samples == 0 && rows.training_set > 0) {
    throw_invalid("training set",
                  "training_set {} needs samples, the number of its rows to train on, got 0",
                  rows.training_set);
  }
}

std::string training_rows_text(const TrainingRows& rows) {
  return fmt::format("{} {} of training set {}", rows.samples, rows.samples == 1 ? "row" : "rows",
                     rows.training_set);
}

std::string training_rows_suffix(const TrainingRows& rows) {
  if (rows.samples == 0) return {};
  return fmt::format(".n{}.set{}", rows.samples, rows.training_set);
}

}  // namespace bridgemark
