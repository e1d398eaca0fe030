#include "bridgemark/solver/direction/direction_choice.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/core/rank_group.h"
#include "bridgemark/pair/two_way_bridge.h"
#include "bridgemark/solver/core/holdout.h"
#include "bridgemark/solver/core/reverse_coupling.h"
#include "bridgemark/solver/cp/cp_parameters.h"
#include "bridgemark/solver/direction/source_density.h"

namespace bridgemark {

namespace {

// Rows of endless draws that choose, from where no training draws.
constexpr std::size_t kRowsOfChoice = 2048;
constexpr std::uint64_t kFirstRowOfChoice = std::uint64_t{5} << 59;
constexpr double kErrorOfOtherEnd = 0.1;  // relative, of p0 at a row

constexpr std::int64_t kMostModels = 18;  // that a training on data may try, refits included
constexpr std::int64_t kMostStarts = 2;   // on endless draws

double log_stationary(const std::vector<double>& log_pi, const std::int32_t* x, std::size_t dim) {
  double sum = 0.0;
  for (std::size_t d = 0; d < dim; ++d) sum += log_pi[static_cast<std::size_t>(x[d])];
  return sum;
}

SolverOptions swapped(SolverOptions options) {
  const std::string x0 = options.text("x0_data");
  options.set("x0_data", options.text("x1_data"));
  options.set("x1_data", x0);
  options.set("direction", "forward");
  return options;
}

bool is_forward(const SolverOptions& options) {
  return !options.is_auto("direction") && options.is("direction", "forward");
}

// A question's answer, and by how many nats it is the better one.
struct Choice {
  bool turned = false;
  MeanEstimate gain = {0.0, 0.0};
  std::string refused;  // why the other could not answer
};

class DirectedTraining {
 public:
  DirectedTraining(const Context& context, const FitProblem& problem, const SolverOptions& options,
                   const BridgeTraining& training)
      : context_(context),
        host_(context.on_host()),
        problem_(problem),
        options_(options),
        training_(training) {
    if (problem.data()) holdout_ = split_holdout(problem, options.real("holdout"));
  }

  bool judges_first() const { return holdout_ && !holdout_->empty(); }

  std::unique_ptr<PotentialModel> model(bool against, bool judging) const {
    SolverOptions options = against ? swapped(options_) : options_;
    if (judging) options.set("refit", "no");
    const FitProblem& rows = judging ? holdout_->training : problem_;
    return training_.make(against ? bridgemark::swapped(rows) : rows, options);
  }

  StagedEnd end_of_reverse(EndedStages ended) const {
    TwoWayParts parts;
    parts.against = bridge(ended[0].potential, true, problem_);
    parts.turned_forward = true;
    return {std::make_shared<TwoWayBridge>(host_, std::move(parts)), 0, {}};
  }

  // On endless draws the last two chose themselves; on data the two before them.
  StagedEnd end_of_auto(EndedStages ended) const {
    const std::size_t last = ended.size() - 2;
    TwoWayParts parts{bridge(ended[last].potential, false, problem_),
                      bridge(ended[last + 1].potential, true, problem_)};
    Choice forward, backward;
    if (judges_first()) {
      const FitProblem& rows = holdout_->training;
      const TwoWayParts judged{bridge(ended[0].potential, false, rows),
                               bridge(ended[1].potential, true, rows)};
      forward = choose(judged.along, judged.against, rows, holdout_->x0, holdout_->x1);
      backward = choose(judged.against, judged.along, bridgemark::swapped(rows), holdout_->x1,
                        holdout_->x0);
    } else {
      const TrainingData data = data_of(problem_, options_);
      const States x0 = data.x0(host_, kRowsOfChoice, kFirstRowOfChoice),
                   x1 = data.x1(host_, kRowsOfChoice, kFirstRowOfChoice);
      forward = choose(parts.along, parts.against, problem_, x0, x1);
      backward = choose(parts.against, parts.along, bridgemark::swapped(problem_), x1, x0);
    }
    parts.turned_forward = forward.turned;
    parts.turned_backward = backward.turned;
    StagedEnd end{nullptr, forward.turned ? last + 1 : last, {}};
    say("forward", forward, end.diagnostics);
    say("backward", backward, end.diagnostics);
    if (!needs_along(parts)) parts.along = nullptr;
    if (!needs_against(parts)) parts.against = nullptr;
    end.coupling = std::make_shared<TwoWayBridge>(host_, std::move(parts));
    return end;
  }

 private:
  static bool needs_along(const TwoWayParts& parts) {
    return !parts.turned_forward || parts.turned_backward;
  }
  static bool needs_against(const TwoWayParts& parts) {
    return parts.turned_forward || !parts.turned_backward;
  }

  TrainingData data_of(const FitProblem& problem, const SolverOptions& options) const {
    return {problem, options.text("x0_data"), options.text("x1_data"), training_.seed};
  }

  // With the law of where it starts, by the rows it was trained on.
  std::shared_ptr<const Bridge> bridge(const backend::CpTensors<float>& potential, bool against,
                                       const FitProblem& rows) const {
    const FitProblem of = against ? bridgemark::swapped(rows) : rows;
    const auto own = bridge_of(of.reference(), potential, training_.own_num_steps);
    return own->with_source(fit_source_density(host_,
                                               data_of(of, against ? swapped(options_) : options_),
                                               of.reference(), of.dim(), source_form(options_)));
  }

  // Bridges whose laws were fitted to the given rows; x0 and x1 are others. One that is turned
  // round must be better by more than the error: it has fewer exact scores.
  Choice choose(const std::shared_ptr<const Bridge>& along,
                const std::shared_ptr<const Bridge>& against, const FitProblem& rows,
                const States& x0, const States& x1) const {
    Choice choice;
    try {
      choice.gain = gain_of_turning(host_, rows, *along, against, x0, x1);
      choice.turned = choice.gain.mean > choice.gain.standard_error;
    } catch (const InvalidArgument& error) {
      choice.refused = error.what();
    }
    return choice;
  }

  static void say(const std::string& question, const Choice& choice, Diagnostics& said) {
    said[question + "_answer"] = std::string(choice.turned ? "turned round" : "trained that way");
    if (!choice.refused.empty()) {
      said[question + "_refused"] = choice.refused;
      return;
    }
    said[question + "_gain_of_turning"] = choice.gain.mean;
    said[question + "_gain_error"] = choice.gain.standard_error;
  }

  Context context_, host_;
  FitProblem problem_;
  SolverOptions options_;
  BridgeTraining training_;
  std::optional<Holdout> holdout_;  // of data: rows that neither of two trainings sees
};

}  // namespace

OptionSpec direction_option() {
  return {.key = "direction",
          .kind = Choices{{"forward", "reverse"}},
          .default_value = "forward",
          .help =
              "which way the bridge is trained, from x0 or from x1; auto: both, and for x1 "
              "given x0 and x0 given x1 the one that is nearer by rows not trained on answers, "
              "turned round by Bayes' rule where it was trained the other way",
          .or_auto = true};
}

FitProblem swapped(const FitProblem& problem) {
  if (const BenchmarkPair* pair = problem.pair()) return pair->reversed();
  const DataEnds& ends = *problem.data();
  return {ends.x1.states(), ends.x0.states(), ends.reference.time_reversed(), ends.name};
}

MeanEstimate gain_of_turning(const Context& context, const FitProblem& problem, const Bridge& along,
                             const std::shared_ptr<const Bridge>& against, StatesView x0,
                             StatesView x1) {
  const ReverseTruth turned = turn_round(context, swapped(problem), against);
  const std::vector<double> log_pi = problem.reference().log_stationary();
  std::vector<double> of_x0(x0.rows), of_x1(x1.rows), other(std::max(x0.rows, x1.rows));
  const auto add = [&](std::vector<double>& sum, double sign) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += sign * other[i];
  };
  const LogEstimates log_p0 = [&] {
    // The law of x0 that the bridge against has: its own other end.
    if (turned.envelope()) return turned.envelope()->log_p1(context, x0, 0, kErrorOfOtherEnd);
    return turned.log_p1(context, x0, 0);
  }();
  along.log_normalizer(context, x0, std::span(other).first(x0.rows));
  add(of_x0, 1.0);
  against->log_potential(context, x0, std::span(other).first(x0.rows));
  add(of_x0, 1.0);
  for (std::size_t i = 0; i < x0.rows; ++i) {
    const double error = log_p0.standard_error[i];
    of_x0[i] +=
        log_stationary(log_pi, x0.row(i), x0.cols) - (log_p0.value[i] + 0.5 * error * error);
  }
  std::vector<double> log_source(x1.rows);
  against->source()->log_probability(context, x1, log_source);
  std::copy(log_source.begin(), log_source.end(), other.begin());
  add(of_x1, 1.0);
  against->log_normalizer(context, x1, std::span(other).first(x1.rows));
  add(of_x1, -1.0);
  along.log_potential(context, x1, std::span(other).first(x1.rows));
  add(of_x1, -1.0);
  for (std::size_t i = 0; i < x1.rows; ++i) {
    of_x1[i] -= log_stationary(log_pi, x1.row(i), x1.cols);
  }
  const MeanEstimate first = estimate_mean(of_x0), second = estimate_mean(of_x1);
  return {first.mean + second.mean, std::hypot(first.standard_error, second.standard_error)};
}

std::unique_ptr<PotentialModel> make_directed_model(const Context& context,
                                                    const FitProblem& problem,
                                                    const SolverOptions& options,
                                                    const BridgeTraining& training) {
  if (is_forward(options)) return training.make(problem, options);
  const auto directed =
      std::make_shared<const DirectedTraining>(context, problem, options, training);
  const auto stage = [&](const char* name, bool against, bool judging) {
    return ModelStage{name, training.updates,
                      training.updates * (problem.data() ? kMostModels : kMostStarts),
                      [=](EndedStages) { return directed->model(against, judging); }};
  };
  if (!options.is_auto("direction")) {
    return make_staged_model("way", {stage("x1 to x0", true, false)},
                             [=](EndedStages ended) { return directed->end_of_reverse(ended); });
  }
  std::vector<ModelStage> stages;
  if (directed->judges_first()) {
    stages = {stage("x0 to x1, less rows", false, true), stage("x1 to x0, less rows", true, true)};
  }
  stages.push_back(stage("x0 to x1", false, false));
  stages.push_back(stage("x1 to x0", true, false));
  return make_staged_model("way", std::move(stages),
                           [=](EndedStages ended) { return directed->end_of_auto(ended); });
}

void check_direction(const Context& context, const SolverOptions& options) {
  const bool has_law = wants_source(options);  // reads the value in any case
  if (is_forward(options)) return;
  if (!has_law) {
    throw_invalid("options",
                  "source must be auto, mixture, product or chain with direction={}, got 'none'",
                  options.text("direction"));
  }
  if (options.integer("validate_every") > 0) {
    throw_invalid("options", "validate_every must be 0 with direction={}, got {}",
                  options.text("direction"), options.text("validate_every"));
  }
  if (context.rank_count() > 1) {
    throw_invalid("options", "direction must be forward where ranks share a model, got '{}'",
                  options.text("direction"));
  }
}

}  // namespace bridgemark
