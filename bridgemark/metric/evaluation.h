#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/context.h"
#include "bridgemark/metric/block_means.h"
#include "bridgemark/pair/benchmark_pair.h"

namespace bridgemark {

// The most that a request may ask for.
inline constexpr int kMaxEvaluationSeeds = 100000;
inline constexpr std::size_t kMaxTrajectories = kTestSetSize;  // one for each row
inline constexpr std::size_t kMaxConditionalSamples = 1000000;

// What is drawn for an evaluation.
struct EvaluationOptions {
  std::uint64_t seed = 0;
  int num_seeds = 1;                    // repetitions with seeds seed, seed + 1, ...
  std::optional<int> num_steps = {};    // grid of the trajectory KL, see trajectory_steps
  std::size_t num_trajectories = 1000;  // started at the first test rows
  std::size_t conditional_samples = kConditionalSamples;  // draws for each conditional input
  bool c2st = false;                                      // train a classifier on (x0, x1)
};

inline constexpr int kTrajectorySteps = 16;  // for a coupling that has no number of its own

// The grid of the trajectory KL: the number asked for where the coupling has transitions for it,
// else the coupling's own, else kTrajectorySteps.
int trajectory_steps(const Coupling& coupling, std::optional<int> asked);

// One score over all repetitions.
struct Score {
  std::string name;
  double mean = 0.0;  // NaN: cannot be given; infinite: the coupling rules out what the truth does
  // Over the repetitions where they drew something anew; else that within one, NaN where it is not
  // known.
  double standard_error = 0.0;
  std::vector<double> values;  // one for each repetition
  std::string missing = {};    // why the mean is NaN; empty where it is given
  // Over the test inputs, for scores that are means over them, each the mean of all repetitions.
  BlockMeans blocks = {};
};

// The scores of a coupling, in the order of the protocol.
struct Evaluation {
  int num_steps = 0;  // grid of the trajectory KL
  std::vector<Score> scores;

  // NaN for a name that is not there.
  double mean(std::string_view name) const;
  double standard_error(std::string_view name) const;
};

// Scores a coupling against the truth of a pair: the protocol of the benchmark.
//   shape_score, trend_score, trend_offdiagonal      test x1 against an answer to each test x0
//   conditional_{shape,trend}_score, ..._offdiagonal conditional_samples draws of each for each
//                                   conditional input
//   sampled_conditional_shape_score the same draws of the coupling against the truth's closed-form
//                                   marginals
//   exact_conditional_shape_score   the coupling's closed-form marginals against the truth's
//   forward_, reverse_trajectory_kl KL(truth || coupling), KL(coupling || truth), num_steps steps
//   joint_kl                        mean over the test set of log q*(x1|x0) - log q(x1|x0)
//   sb_perplexity                   exp of minus the mean of log q*(x1|x0) / D over the answers
//   mean_marginal_entropy           of the answers, in nats
//   c2st_auc, c2st_score            where asked for
// A repetition draws the answers, the truth's conditional draws, the trajectories and the
// classifier's split. Where the coupling's answers do not change (draws_anew), the scores made of
// them and the test set alone have no error over the repetitions, and that of the conditional
// scores is the truth's share of the noise.
// The result does not depend on threads or batch sizes.
Evaluation evaluate(const Context& context, const BenchmarkPair& pair, const Coupling& coupling,
                    const EvaluationOptions& options);

}  // namespace bridgemark
