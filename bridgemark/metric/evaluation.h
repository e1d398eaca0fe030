#pragma once

#include <cstdint>
#include <limits>
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
inline constexpr std::size_t kMaxParticles = std::size_t{1} << 16;

// The joint KL by particles: by default, and the test rows that it begins with.
inline constexpr std::size_t kParticles = 256;
inline constexpr double kParticleSeconds = 120.0;
inline constexpr std::size_t kParticleRows = 2000;
inline constexpr std::size_t kFewestParticleRows = 200;

// What is drawn for an evaluation.
struct EvaluationOptions {
  std::uint64_t seed = 0;
  int num_seeds = 1;                    // repetitions with seeds seed, seed + 1, ...
  std::optional<int> num_steps = {};    // grid of the trajectory KL, see trajectory_steps
  std::size_t num_trajectories = 1000;  // started at the first test rows
  std::size_t conditional_samples = kConditionalSamples;  // draws for each conditional input
  bool c2st = false;                                      // train a classifier on (x0, x1)
  // Of a test row, for the joint KL of a coupling that has steps but no joint; 0: then it has none.
  std::size_t particles = kParticles;
  // For these particles. Once they are over the rows done so far are enough, if they are
  // kFewestParticleRows; infinite: no bound, so that no result depends on the machine's speed.
  double max_seconds = kParticleSeconds;
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
  // Where the mean is an upper bound of the score, but for its error: by how much half the effort
  // would raise it, +inf where that is not known. None: no bound, but the score.
  std::optional<double> bound_change = {};
};

// How the joint KL came about.
struct JointKlDetail {
  std::size_t rows = 0;       // test rows behind it, the first ones; 0: there is no joint KL
  std::size_t particles = 0;  // for each of them; 0: a closed form
  // What half as many particles would add to it, which is at least 0: near 0 where the bound has
  // settled. NaN without particles or with one.
  double half_particles_change = std::numeric_limits<double>::quiet_NaN();
  // The share of the sum over rows that the worst hundredth of them carries; NaN for a sum of 0.
  double worst_share = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::size_t> worst_rows;  // of them, the worst first, at most kShownWorstRows
  std::vector<double> worst_values;     // log q*(x1|x0) - log q(x1|x0) of each of these
};

// How many of the worst rows an evaluation names.
inline constexpr std::size_t kShownWorstRows = 20;

// The scores of a coupling, in the order of the protocol.
struct Evaluation {
  int num_steps = 0;  // grid of the trajectory KL
  std::vector<Score> scores;
  JointKlDetail joint_kl = {};

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
//   joint_kl                        mean over the test set of log q*(x1|x0) - log q(x1|x0); where
//                                   the coupling has steps alone an upper bound by particles
//                                   (particle_kl.h), on the first kParticleRows rows or more
//   sb_perplexity                   exp of minus the mean of log q*(x1|x0) / D over the answers
//   mean_marginal_entropy           of the answers, in nats
//   c2st_auc, c2st_score            where asked for
// A repetition draws the answers, the truth's conditional draws, the trajectories and the
// classifier's split. Where the coupling's answers do not change (draws_anew), the scores made of
// them and the test set alone have no error over the repetitions, and that of the conditional
// scores is the truth's share of the noise; the truth's draws beside such answers depend on the
// answers (answers_digest.h), so that nobody can copy them.
// Throws InvalidArgument for a joint KL that no probabilities have (likelihood_ratios.h).
// The result does not depend on threads or batch sizes; a joint KL by particles that max_seconds
// ends does on the machine, and says how many rows it has.
Evaluation evaluate(const Context& context, const BenchmarkPair& pair, const Coupling& coupling,
                    const EvaluationOptions& options);

}  // namespace bridgemark
