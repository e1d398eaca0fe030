#include "bridgemark/metric/own_data/contestant_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/math/philox.h"
#include "bridgemark/metric/c2st.h"
#include "bridgemark/metric/own_data/reference_kl.h"
#include "bridgemark/process/same_process.h"

namespace bridgemark {

namespace {

// Seeds inside that of a comparison, one for each use of draws.
enum Salt : std::uint64_t {
  kDraws,
  kComparedRows,
  kTrainingX1,
  kTrainingX0,
  kHeldOutRows,
  kClassifier,
  kPaths,
  kBack
};

constexpr std::size_t kMostCycleRows = 1000;    // turning a bridge round may take many proposals
constexpr std::size_t kMostNearestRows = 5000;  // of draws and held-out rows, each against all
constexpr std::size_t kFewestClassified = 20;   // rows of a set: fewer leave no test part

DataScore missing_score(std::string_view name, std::string reason) {
  return {std::string(name), no_estimate(), {}, std::move(reason)};
}

DataScore mean_score(std::string_view name, const std::vector<double>& values) {
  DataScore score{std::string(name), estimate_mean(values)};
  if (std::isinf(score.value.mean)) score.value.standard_error = 0.0;
  return score;
}

DataScore estimate_score(std::string_view name, const MeanEstimate& value) {
  DataScore score{std::string(name), value};
  if (std::isnan(value.mean)) score.missing = "one coordinate has no pairs of different ones";
  return score;
}

std::vector<double> are_zero(const std::vector<double>& distances) {
  std::vector<double> zero(distances.size());
  std::ranges::transform(distances, zero.begin(), [](double d) { return d == 0.0 ? 1.0 : 0.0; });
  return zero;
}

// Whether the coupling is a chain of steps that are its own, not a bridge's.
bool is_chain(const Coupling& coupling) {
  return dynamic_cast<const Bridge*>(&coupling) == nullptr && coupling.own_num_steps() > 0;
}

std::string why_no_paths(const Coupling& coupling, const ReferenceProcess& process) {
  const int steps = coupling.own_num_steps();
  if (process.total_steps() % steps != 0) {
    return fmt::format("its {} steps are no grid of the {} steps of the reference", steps,
                       process.total_steps());
  }
  return "it draws steps of its own whose probability is not known";
}

}  // namespace

MeanEstimate no_estimate() {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  return {kNaN, kNaN};
}

States drawn_rows(StatesView rows, std::size_t count, std::uint64_t seed) {
  count = std::min(count, rows.rows);
  std::vector<double> drawn(rows.rows);
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    drawn[i] = draw_uniform({seed, DrawPurpose::kShuffle}, i, 0);
  }
  std::vector<std::size_t> order(rows.rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(drawn[i], i); });
  States chosen(count, rows.cols);
  for (std::size_t i = 0; i < count; ++i) {
    std::copy_n(rows.row(order[i]), rows.cols, chosen.row(i));
  }
  return chosen;
}

ContestantJudge::ContestantJudge(const Context& context, StatesView x0, StatesView x1,
                                 std::size_t compared_rows, std::uint64_t seed)
    : context_(context), x0_(x0), x1_(x1), compared_rows_(compared_rows), seed_(seed) {}

std::size_t ContestantJudge::cycle_rows() const { return std::min(compared_rows_, kMostCycleRows); }

// Categories have an order where the reference says so.
bool ContestantJudge::ordered(const DataContestant& contestant) const {
  return contestant.reference && contestant.reference->kind() == ReferenceKind::kGaussian;
}

namespace {

// Why distances of categories are missing.
const char* no_order(const DataContestant& contestant) {
  return dynamic_cast<const ColumnBridge*>(contestant.coupling.get())
             ? "its columns differ in what a step between categories is"
             : "its reference gives categories no order";
}

}  // namespace

ContestantJudge::Fit ContestantJudge::fit_of_x1(const States& rows) const {
  Fit fit{marginal_fit(context_.on_host(), x1_, rows, num_categories_), {}};
  // As many of either set.
  const std::size_t count = std::min(rows.rows(), x1_.rows);
  if (count < kFewestClassified) {
    fit.auc = missing_score(kDataC2stAuc, fmt::format("a classifier needs {} rows of a set, got {}",
                                                      kFewestClassified, count));
    return fit;
  }
  C2stOptions options;
  options.seed = derive_seed(seed_, kClassifier);
  try {
    const C2stResult found =
        c2st(context_, drawn_rows(x1_, count, derive_seed(seed_, kHeldOutRows)),
             rows.view().slice(0, count), num_categories_, options);
    fit.auc = {kDataC2stAuc, {found.auc, found.auc_standard_error}};
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {  // a training that diverged is no reason to lose all else
    fit.auc = missing_score(kDataC2stAuc, error.what());
  }
  return fit;
}

const ContestantJudge::Ceiling* ContestantJudge::ceiling_of(const DataContestant& contestant) {
  if (contestant.training_x0.rows() == 0 || contestant.training_x1.rows() == 0) return nullptr;
  for (const Ceiling& known : ceilings_) {
    if (known.training_x0 == contestant.training_x0 &&
        known.training_x1 == contestant.training_x1 &&
        (!known.nearest_moved.empty() || !ordered(contestant))) {
      return &known;
    }
  }
  const Context host = context_.on_host();
  Ceiling ceiling{contestant.training_x0, contestant.training_x1, {}, {}, {}, {}};
  ceiling.x1 = fit_of_x1(
      drawn_rows(contestant.training_x1, compared_rows_, derive_seed(seed_, kTrainingX1)));
  ceiling.x0 = marginal_fit(
      host, x0_, drawn_rows(contestant.training_x0, cycle_rows(), derive_seed(seed_, kTrainingX0)),
      num_categories_);
  const States held_out = drawn_rows(x1_, kMostNearestRows, derive_seed(seed_, kHeldOutRows));
  const auto nearest = [&](RowMetric metric) {
    return nearest_distances(host, held_out, contestant.training_x1, metric);
  };
  ceiling.nearest_changed = nearest(RowMetric::kChanged);
  if (ordered(contestant)) ceiling.nearest_moved = nearest(RowMetric::kMoved);
  return &ceilings_.emplace_back(std::move(ceiling));
}

void ContestantJudge::add_objective(const HeldOutObjective& objective,
                                    ContestantScores& scores) const {
  if (objective.log_v.empty()) {
    scores.scores.push_back(
        missing_score(kHeldOutObjective, "it is no bridge: it has no potential v"));
    return;
  }
  scores.scores.push_back({kHeldOutObjective, {objective.value, objective.standard_error}});
}

void ContestantJudge::add_fit(const Fit& own, const Ceiling* ceiling,
                              ContestantScores& scores) const {
  const auto add = [&](const char* name, MeanEstimate MarginalFit::*part) {
    DataScore score = estimate_score(name, own.marginals.*part);
    if (ceiling && score.missing.empty()) score.beside = ceiling->x1.marginals.*part;
    scores.scores.push_back(std::move(score));
  };
  add(kDataShape, &MarginalFit::shape);
  add(kDataTrend, &MarginalFit::trend);
  add(kDataTrendOffdiagonal, &MarginalFit::trend_offdiagonal);
  DataScore auc = own.auc;
  if (ceiling && ceiling->x1.auc.missing.empty()) auc.beside = ceiling->x1.auc.value;
  scores.scores.push_back(std::move(auc));
}

void ContestantJudge::add_memory(const DataContestant& contestant, const Ceiling* ceiling,
                                 ContestantScores& scores) const {
  if (!ceiling || contestant.trained_on_endless_draws) {
    const std::string reason =
        ceiling ? "it was trained on endless draws, no row of which is known" : contestant.no_rows;
    for (const char* name : {kCopies, kNearestChanged, kNearestMoved}) {
      scores.scores.push_back(missing_score(name, reason));
    }
    return;
  }
  const States draws =
      drawn_rows(scores.draws, kMostNearestRows, derive_seed(seed_, kComparedRows));
  const auto nearest = [&](RowMetric metric) {
    return nearest_distances(context_.on_host(), draws, contestant.training_x1, metric);
  };
  const auto add = [&](const char* name, const std::vector<double>& own,
                       const std::vector<double>& held_out) {
    DataScore score = mean_score(name, own);
    score.beside = estimate_mean(held_out);
    scores.scores.push_back(std::move(score));
  };
  const std::vector<double> changed = nearest(RowMetric::kChanged);
  add(kCopies, are_zero(changed), are_zero(ceiling->nearest_changed));
  add(kNearestChanged, changed, ceiling->nearest_changed);
  if (ordered(contestant)) {
    add(kNearestMoved, nearest(RowMetric::kMoved), ceiling->nearest_moved);
  } else {
    scores.scores.push_back(missing_score(kNearestMoved, no_order(contestant)));
  }
}

void ContestantJudge::add_cost(const DataContestant& contestant, ContestantScores& scores) const {
  const auto add = [&](const char* name, RowMetric metric) {
    DataScore score = mean_score(name, row_distances(x0_, scores.draws, metric));
    score.beside = {unpaired_distance(x0_, x1_, num_categories_, metric),
                    std::numeric_limits<double>::quiet_NaN()};
    scores.scores.push_back(std::move(score));
  };
  add(kTransportChanged, RowMetric::kChanged);
  if (ordered(contestant)) {
    add(kTransportMoved, RowMetric::kMoved);
  } else {
    scores.scores.push_back(missing_score(kTransportMoved, no_order(contestant)));
  }
}

// log q(x1 | x0) - log q_ref(x1 | x0) of each row's draw: log v(x1) - log c(x0).
std::vector<double> ContestantJudge::log_ratios(const ColumnBridge& bridge,
                                                StatesView draws) const {
  const HeldOutObjective parts = held_out_objective(context_, bridge, x0_, draws);
  std::vector<double> ratios(draws.rows);
  std::ranges::transform(parts.log_v, parts.log_c, ratios.begin(), std::minus<>());
  return ratios;
}

void ContestantJudge::add_paths(const DataContestant& contestant, const DataContestant* bridge,
                                ContestantScores& scores) const {
  const Coupling& coupling = *contestant.coupling;
  const bool chain = is_chain(coupling);
  // A chain whose reference is not known is held against that of the bridge.
  const std::optional<ReferenceProcess> process =
      contestant.reference ? contestant.reference
                           : (chain && bridge ? bridge->reference : std::nullopt);
  const bool walks = chain && process && has_chain_paths(coupling, *process);
  const ChainPaths paths =
      walks ? chain_paths(context_, coupling, *process, x0_, derive_seed(seed_, kPaths))
            : ChainPaths{};
  if (walks) {
    scores.scores.push_back(mean_score(kReferenceKl, paths.reference_kl));
    if (!contestant.reference) {
      scores.scores.back().note = fmt::format("over the reference of {}", bridge->name);
    }
  } else if (const auto* columns = dynamic_cast<const ColumnBridge*>(&coupling)) {
    scores.scores.push_back(mean_score(kReferenceKl, log_ratios(*columns, scores.draws)));
  } else if (!process) {
    scores.scores.push_back(missing_score(kReferenceKl, "its reference is not known"));
  } else if (coupling.has_joint()) {
    scores.scores.push_back(mean_score(
        kReferenceKl, joint_reference_kl(context_, coupling, *process, x0_, scores.draws)));
  } else {
    scores.scores.push_back(missing_score(
        kReferenceKl, chain ? why_no_paths(coupling, *process)
                            : coupling.why_missing(Ability::kJoint, coupling.own_num_steps())));
  }
  if (!chain) {
    scores.scores.push_back(missing_score(
        kBridgeDistance, "it is no chain of steps; objectives compare bridges with each other"));
  } else if (!bridge) {
    scores.scores.push_back(
        missing_score(kBridgeDistance, "no bridge over its reference is given"));
  } else if (!walks) {
    scores.scores.push_back(missing_score(kBridgeDistance, why_no_paths(coupling, *process)));
  } else {
    const auto& best = dynamic_cast<const Bridge&>(*bridge->coupling);
    scores.scores.push_back(
        mean_score(kBridgeDistance, bridge_distances(context_, paths, best, x0_)));
    scores.scores.back().note = fmt::format("from {}", bridge->name);
  }
}

void ContestantJudge::add_cycle(const DataContestant& contestant, const Ceiling* ceiling,
                                ContestantScores& scores) const {
  const std::size_t rows = cycle_rows();
  // Row i of both belongs to the same x0, drawn in one order.
  const States x0 = drawn_rows(x0_, rows, derive_seed(seed_, kComparedRows));
  const States x1 = drawn_rows(scores.draws, rows, derive_seed(seed_, kComparedRows));
  States back(x0.rows(), x0.cols());
  std::string reason = contestant.reverse ? "" : contestant.no_reverse;
  if (contestant.reverse) {
    try {
      contestant.reverse->sample(context_, x1,
                                 {derive_seed(seed_, kBack), DrawPurpose::kPrediction}, 0, back);
    } catch (const InvalidArgument& error) {
      reason = error.what();  // of a row that no proposal was kept for
    }
  }
  if (!reason.empty()) {
    for (const char* name : {kCycleShape, kCycleTrend, kCycleChanged}) {
      scores.scores.push_back(missing_score(name, reason));
    }
    return;
  }
  const MarginalFit fit = marginal_fit(context_.on_host(), x0_, back, num_categories_);
  const auto add = [&](const char* name, MeanEstimate MarginalFit::*part) {
    DataScore score = estimate_score(name, fit.*part);
    if (ceiling) score.beside = ceiling->x0.*part;
    scores.scores.push_back(std::move(score));
  };
  add(kCycleShape, &MarginalFit::shape);
  add(kCycleTrend, &MarginalFit::trend);
  DataScore changed = mean_score(kCycleChanged, row_distances(x0, back, RowMetric::kChanged));
  changed.beside = {unpaired_distance(x0_, x0_, num_categories_, RowMetric::kChanged),
                    std::numeric_limits<double>::quiet_NaN()};
  scores.scores.push_back(std::move(changed));
}

ContestantScores ContestantJudge::judge(const DataContestant& contestant,
                                        const HeldOutObjective& objective,
                                        const DataContestant* bridge) {
  num_categories_ = contestant.coupling->num_categories();
  ContestantScores scores;
  scores.name = contestant.name;
  if (contestant.reference) {
    scores.reference = reference_text(*contestant.reference);
  } else if (const auto* columns = dynamic_cast<const ColumnBridge*>(contestant.coupling.get())) {
    scores.reference = reference_text(columns->reference());
  }
  scores.trained_on_endless_draws = contestant.trained_on_endless_draws;
  scores.rows_have_all_labels = contestant.rows_have_all_labels;
  const bool known = !contestant.trained_on_endless_draws && contestant.training_x0.rows() > 0 &&
                     contestant.training_x1.rows() > 0;
  if (known) {
    scores.training_x0_rows = contestant.training_x0.rows();
    scores.training_x1_rows = contestant.training_x1.rows();
    scores.x0_overlap = row_overlap(x0_, contestant.training_x0);
    scores.x1_overlap = row_overlap(x1_, contestant.training_x1);
  }
  scores.draws = States(x0_.rows, x0_.cols);
  contestant.coupling->sample(context_, x0_, {derive_seed(seed_, kDraws), DrawPurpose::kPrediction},
                              0, scores.draws);
  const Ceiling* ceiling = ceiling_of(contestant);
  const Ceiling* of_law = contestant.rows_have_all_labels ? nullptr : ceiling;
  const States compared =
      drawn_rows(scores.draws, compared_rows_, derive_seed(seed_, kComparedRows));
  add_objective(objective, scores);
  add_fit(fit_of_x1(compared), of_law, scores);
  add_memory(contestant, ceiling, scores);
  add_cost(contestant, scores);
  add_paths(contestant, bridge, scores);
  add_cycle(contestant, of_law, scores);
  return scores;
}

}  // namespace bridgemark
