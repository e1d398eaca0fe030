#include "bridgemark/solver/gamma/gamma_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <variant>

#include "bridgemark/core/error.h"
#include "bridgemark/metric/own_data/contestant_judge.h"
#include "bridgemark/metric/own_data/coupling_entropy.h"
#include "bridgemark/pair/custom_pair.h"
#include "bridgemark/pair/two_way_bridge.h"
#include "bridgemark/process/gamma_proposal.h"
#include "bridgemark/solver/core/holdout.h"
#include "bridgemark/solver/registry.h"

namespace bridgemark {

namespace {

constexpr std::size_t kMostToldRows = 2000;  // of x0, whose conditional marginals are summed

ReferenceKind kind_of(const DataParts& parts) {
  const auto* name = std::get_if<std::string>(&parts.reference);
  if (name == nullptr) {
    throw_invalid("gamma", "reference must be gaussian or uniform, got a matrix, which has none");
  }
  if (parts.gamma) {
    throw_invalid("gamma", "a scan takes several gammas, got the single gamma {}", *parts.gamma);
  }
  const ReferenceKind kind = named_reference(*name);
  if (kind == ReferenceKind::kGaussian || kind == ReferenceKind::kUniform) return kind;
  throw_invalid("gamma", "reference must be gaussian or uniform, got {}", *name);
}

// Takes the place of an earlier setting of the same key.
void add_setting(const std::string& assignment, std::vector<std::string>& settings) {
  const std::string key = assignment.substr(0, assignment.find('=')) + "=";
  std::erase_if(settings, [&](const std::string& earlier) { return earlier.starts_with(key); });
  settings.push_back(assignment);
}

SolverOptions solver_options(const Solver& solver, const GammaScanOptions& options,
                             std::vector<std::string>& settings) {
  if (options.solver == kScanSolver) {
    settings.assign(std::begin(kQuickSettings), std::end(kQuickSettings));
  }
  for (const std::string& assignment : options.settings) add_setting(assignment, settings);
  SolverOptions set(solver.options());
  for (const std::string& assignment : settings) set.set_assignment(assignment);
  solver.resolve(set);
  return set;
}

std::vector<double> gammas_of(const Context& context, const GammaScanOptions& options,
                              ReferenceKind kind, int num_categories, int total_steps) {
  std::vector<double> gammas = options.gammas;
  for (const double gamma : gammas) {
    if (!(gamma > 0.0)) throw_invalid("gamma", "gammas must be above 0, got {}", gamma);
  }
  if (gammas.empty()) {
    for (const double share : kScannedShares) {
      gammas.push_back(gamma_of_share(context, kind, num_categories, share, total_steps));
    }
  }
  std::ranges::sort(gammas);
  gammas.erase(std::unique(gammas.begin(), gammas.end()), gammas.end());
  if (gammas.size() < 2) {
    throw_invalid("gamma", "there must be two gammas or more, got {}", gammas.size());
  }
  return gammas;
}

// The rows of all ends at one gamma.
FitProblem problem_at(const Context& context, const DataParts& parts, double gamma) {
  DataParts copy = parts;
  copy.gamma = gamma;
  return make_data_problem(context, std::move(copy)).problem;
}

std::shared_ptr<const Coupling> answer_of(const Fitted& fitted) {
  const auto* both = dynamic_cast<const TwoWayBridge*>(fitted.coupling.get());
  return both ? both->forward() : fitted.coupling;
}

double relative_cost(const ContestantScores& scores) {
  const DataScore& moved = scores.score(kTransportMoved);
  const DataScore& cost = moved.missing.empty() ? moved : scores.score(kTransportChanged);
  return cost.value.mean / cost.beside->mean;
}

bool fits(const ContestantScores& scores) {
  const DataScore& shape = scores.score(kDataShape);
  return shape.beside && shape.value.mean + kFitSlack >= shape.beside->mean;
}

void judge_bridge(const Context& context, const Holdout& split, const Fitted& fitted,
                  std::uint64_t seed, GammaPoint& point, std::vector<std::string>& warnings) {
  const std::shared_ptr<const Coupling> coupling = answer_of(fitted);
  DataContestant contestant{.name = fmt::format("gamma {}", point.gamma),
                            .coupling = coupling,
                            .reference = split.training.reference(),
                            .training_x0 = split.training.data()->x0.states(),
                            .training_x1 = split.training.data()->x1.states(),
                            .no_reverse = "a scan asks one direction alone"};
  DataComparison found = compare_on(context, split.x0, split.x1, {&contestant, 1}, {.seed = seed});
  warnings.insert(warnings.end(), found.warnings.begin(), found.warnings.end());
  point.scores = std::move(found.contestants[0]);
  point.relative_cost = relative_cost(point.scores);
  point.fits = fits(point.scores);
  if (coupling->has_marginals()) {
    const StatesView rows = split.x0.view();
    point.told = told_share(context, *coupling, rows.slice(0, std::min(rows.rows, kMostToldRows)));
  }
  if (coupling->has_joint()) {
    point.conditional_entropy =
        conditional_entropy(context, *coupling, split.x0, point.scores.draws);
  }
}

std::optional<std::size_t> most_told(const std::vector<GammaPoint>& points) {
  std::optional<std::size_t> most;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!points[i].fits || std::isnan(points[i].told.mean)) continue;
    if (!most || points[i].told.mean > points[*most].told.mean) most = i;
  }
  return most;
}

// Between the first two neighbours above `most` that have half of what it tells between them.
std::optional<double> half_told(const std::vector<GammaPoint>& points, std::size_t most) {
  const double half = 0.5 * points[most].told.mean;
  for (std::size_t i = most + 1; i < points.size(); ++i) {
    const GammaPoint &below = points[i - 1], &above = points[i];
    if (!below.fits || !above.fits) continue;
    if (!(below.told.mean >= half && above.told.mean < half)) continue;
    const double way = (below.told.mean - half) / (below.told.mean - above.told.mean);
    return std::exp(std::log(below.gamma) + way * (std::log(above.gamma) - std::log(below.gamma)));
  }
  return std::nullopt;
}

}  // namespace

GammaScan scan_gamma(const Context& context, DataParts parts, const GammaScanOptions& options) {
  const ReferenceKind kind = kind_of(parts);
  const Solver& solver = find_solver(options.solver);
  GammaScan scan;
  const SolverOptions set = solver_options(solver, options, scan.settings);
  {  // What is wrong with the rows is said before any gamma is.
    const FitProblem rows = make_data_problem(context, parts).problem;
    parts.num_categories = rows.num_categories();
    scan.dim = rows.dim();
  }
  const int S = *parts.num_categories;
  const std::vector<double> gammas = gammas_of(context, options, kind, S, parts.total_steps);
  scan.reference = reference_kind_name(kind);
  scan.solver = options.solver;
  scan.seed = options.seed;
  scan.num_categories = S;
  scan.total_steps = parts.total_steps;
  scan.proposed = propose_gamma(context, kind, S, parts.total_steps);
  for (const double gamma : gammas) {  // all are looked at before the first training
    const FitProblem problem = problem_at(context, parts, gamma);
    solver.check(context, problem, set);
    scan.points.push_back(
        {.gamma = gamma,
         .movement_share = movement_share(context, kind, S, gamma, parts.total_steps),
         .told = no_estimate(),
         .conditional_entropy = no_estimate()});
  }
  for (GammaPoint& point : scan.points) {
    const Holdout split = split_holdout(problem_at(context, parts, point.gamma), options.holdout);
    if (split.empty()) {
      throw_invalid("gamma", "holdout must leave rows that judge, got {} of {} and {} rows",
                    options.holdout, parts.x0.rows(), parts.x1.rows());
    }
    scan.training_x0_rows = split.training.data()->x0.states().rows();
    scan.training_x1_rows = split.training.data()->x1.states().rows();
    scan.x0_rows = split.x0.rows();
    scan.x1_rows = split.x1.rows();
    try {
      judge_bridge(context, split, solver.fit(context, split.training, set, options.seed),
                   options.seed, point, scan.warnings);
    } catch (const Interrupted&) {
      throw;
    } catch (const InvalidArgument&) {
      throw;
    } catch (const Error& error) {  // a training that diverged
      point.failure = error.what();
    }
    context.report("gammas", static_cast<std::size_t>(&point - scan.points.data()) + 1,
                   scan.points.size());
  }
  scan.most_told = most_told(scan.points);
  if (scan.most_told) scan.half_told = half_told(scan.points, *scan.most_told);
  return scan;
}

}  // namespace bridgemark
