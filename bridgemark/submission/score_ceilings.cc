#include "bridgemark/submission/score_ceilings.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "bridgemark/metric/score_spec.h"

namespace bridgemark {

namespace {

// Of the truth's own score, whose mean is the ceiling.
constexpr int kRepetitions = 2;

// The truth is scored only for answers that could be above it. It falls short by no more than two
// samples of n draws differ in the mean over S categories, sqrt(S / 2 n), or a sample and what it
// was drawn from, sqrt(S / 4 n). Whoever arranges pairs of coordinates arranges single ones.
bool could_be_above(const BenchmarkPair& pair, const Evaluation& evaluation, std::size_t rows) {
  const auto is_near = [&](const char* name, double draws_per_category) {
    const double most = std::sqrt(1.0 / draws_per_category);
    return 1.0 - evaluation.mean(name) < kLeastShareOfNoise * most;
  };
  const double S = pair.num_categories(), N = kConditionalSamples;
  return is_near(kShapeScore, 2.0 * static_cast<double>(rows) / S) ||
         is_near(kConditionalShape, 2.0 * N / S) || is_near(kSampledConditionalShape, 4.0 * N / S);
}

constexpr const char* kOfDraws[] = {kShapeScore, kTrendScore, kConditionalShape, kConditionalTrend,
                                    kSampledConditionalShape};

}  // namespace

std::vector<std::string> scores_above_truth(const Context& context, const BenchmarkPair& pair,
                                            const Evaluation& evaluation, std::uint64_t seed) {
  std::vector<std::string> lines;
  const std::shared_ptr<const Coupling> truth = pair.truth(context);
  if (!truth || !could_be_above(pair, evaluation, pair.test_set(context).x0.rows())) return lines;
  const Evaluation ceiling =
      evaluate(context, pair, *truth,
               {.seed = seed, .num_seeds = kRepetitions, .num_trajectories = 1, .particles = 0});
  for (const char* name : kOfDraws) {
    const double found = evaluation.mean(name), of_truth = ceiling.mean(name);
    if (!(1.0 - found < kLeastShareOfNoise * (1.0 - of_truth))) continue;  // NaN is none, too
    lines.push_back(fmt::format("{} is {:.4f}, where draws of the truth itself have {:.4f}", name,
                                found, of_truth));
  }
  return lines;
}

}  // namespace bridgemark
