#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/context.h"
#include "bridgemark/pair/benchmark_pair.h"

namespace bridgemark {

struct EvaluationOptions {
  std::uint64_t seed = 0;
  int num_seeds = 1;   // repetitions with seeds seed, seed + 1, ...
  int num_steps = 16;  // grid of the trajectory KL, unless the coupling has its own
  std::size_t num_trajectories = 1000;  // started at the first test rows
  bool c2st = false;                    // train a classifier on (x0, x1)
};

// One score over all repetitions. NaN stands for a score that the coupling or the pair cannot give.
struct Score {
  std::string name;
  double mean = 0.0;
  double standard_error = 0.0;  // over the repetitions; of a single one where it is known
  std::vector<double> values;   // one for each repetition
};

struct Evaluation {
  int num_steps = 0;  // grid of the trajectory KL
  std::vector<Score> scores;

  // NaN for a name that is not there.
  double mean(std::string_view name) const;
  double standard_error(std::string_view name) const;
};

// Scores a coupling against the truth of a pair: the protocol of the benchmark.
//   shape_score, trend_score, trend_offdiagonal      test x1 against an answer to each test x0
//   conditional_{shape,trend}_score, ..._offdiagonal 1000 draws of each for each conditional input
//   exact_conditional_shape_score   against the truth's closed-form marginals: by the coupling's
//                                   own marginals where it gives them, else by its 1000 draws
//   forward_, reverse_trajectory_kl KL(truth || coupling), KL(coupling || truth), num_steps steps
//   joint_kl                        mean over the test set of log q*(x1|x0) - log q(x1|x0)
//   sb_perplexity                   exp of minus the mean of log q*(x1|x0) / D over the answers
//   mean_marginal_entropy           of the answers, in nats
//   c2st_auc, c2st_score            where asked for
// The result does not depend on threads or batch sizes.
Evaluation evaluate(const Context& context, const BenchmarkPair& pair, const Coupling& coupling,
                    const EvaluationOptions& options);

}  // namespace bridgemark
