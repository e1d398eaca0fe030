#include "bridgemark/solver/sinkhorn/sinkhorn.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/free_memory.h"
#include "bridgemark/metric/held_out_objective.h"
#include "bridgemark/solver/core/holdout.h"
#include "bridgemark/solver/core/training_memory.h"
#include "bridgemark/solver/sinkhorn/row_bridge.h"
#include "bridgemark/solver/sinkhorn/row_transport.h"

namespace bridgemark {

namespace {

struct SinkhornSettings {
  std::size_t rows;
  std::optional<int> smoothing;  // none: chosen by held-out rows
  double holdout;
  bool refit;
  TransportSettings transport;
};

int read_smoothing(const FitProblem& problem, const SolverOptions& options) {
  const int most = kMostSmoothing * problem.reference().total_steps();
  try {
    return options.integer("smoothing", most);
  } catch (const InvalidArgument&) {
    throw_invalid("options", "smoothing must be {} or a whole number of steps in 0..{}, got '{}'",
                  kAuto, most, options.text("smoothing"));
  }
}

SinkhornSettings read_sinkhorn_settings(const FitProblem& problem, const SolverOptions& options) {
  SinkhornSettings settings;
  settings.rows = static_cast<std::size_t>(options.integer("rows"));
  if (!options.is_auto("smoothing")) settings.smoothing = read_smoothing(problem, options);
  settings.holdout = options.real("holdout");
  settings.refit = options.is("refit", "yes");
  settings.transport.tolerance = options.real("tolerance");
  settings.transport.max_iterations = options.integer("max_iterations");
  if (!settings.smoothing && settings.holdout == 0.0) {
    throw_invalid("options",
                  "holdout must be above 0 where smoothing is {}, which it chooses, got '{}'",
                  kAuto, options.text("holdout"));
  }
  return settings;
}

// The rows to fit: own data as it is, else so many draws of the pair.
FitProblem rows_of(const Context& context, const FitProblem& problem, std::size_t rows,
                   std::uint64_t seed) {
  if (problem.data()) return problem;
  return FitProblem(problem.sample_x0(context, rows, seed), problem.sample_x1(context, rows, seed),
                    problem.reference());
}

// Transport between all rows of a problem whose x1 are spread by `smoothing` steps.
RowTransport solve(const Context& context, const FitProblem& problem, int smoothing,
                   const TransportSettings& settings, std::span<const double> start) {
  const States& x0 = problem.data()->x0.states();
  const States& x1 = problem.data()->x1.states();
  const Matrix<double> log_k = smoothed_kernel(context, problem.reference(), smoothing);
  const auto kernel = backend::of(context).make_row_kernel(context, log_k, x0, x1);
  return solve_row_transport(context, *kernel, x0.rows(), x1.rows(), settings, start);
}

// D(v) of the smoothed bridge on the rows kept apart, by sums over rows instead of its cores.
HeldOutObjective judge(const Context& context, const Holdout& split, int smoothing,
                       std::span<const double> h) {
  const ReferenceProcess reference = split.training.reference();
  const States& rows = split.training.data()->x1.states();
  const Matrix<double> density = smoothing_density(context, reference, smoothing);
  std::vector<double> log_v(split.x1.rows()), log_c(split.x0.rows());
  // v sums over the rows b that are spread to y, so the rows of x1 take the side of x0 here.
  backend::of(context)
      .make_row_kernel(context, density, rows, split.x1)
      ->log_sums_over_x0(context, h, log_v);
  const Matrix<double> log_k = smoothed_kernel(context, reference, smoothing);
  backend::of(context)
      .make_row_kernel(context, log_k, split.x0, rows)
      ->log_sums_over_x1(context, h, log_c);
  return held_out_objective(std::move(log_v), std::move(log_c));
}

struct Choice {
  int smoothing = 0;
  RowTransport transport;
  HeldOutObjective objective;
  int iterations = 0;  // of all that were tried
};

// Halves the smoothing from the most on, each time from the solution before, and
// stops once less was worse twice: the least are the slowest to solve. Then it looks once between
// the best and its neighbours.
Choice choose_smoothing(const Context& context, const Holdout& split,
                        const TransportSettings& settings) {
  const int most = kMostSmoothing * split.training.reference().total_steps();
  Choice best;
  std::vector<double> start;
  int iterations = 0;
  // Whether it is the best so far.
  const auto attempt = [&](int smoothing) {
    RowTransport transport = solve(context, split.training, smoothing, settings, start);
    start = transport.h;
    iterations += transport.iterations;
    HeldOutObjective objective = judge(context, split, smoothing, transport.h);
    if (best.smoothing > 0 && !(objective.value > best.objective.value)) return false;
    best = {smoothing, std::move(transport), std::move(objective), 0};
    return true;
  };
  int worse = 0;
  for (int smoothing = most; smoothing >= 1 && worse < 2; smoothing /= 2) {
    worse = attempt(smoothing) ? 0 : worse + 1;
  }
  const int coarse = best.smoothing;
  for (const int between : {coarse + coarse / 2, coarse - coarse / 4}) {
    if (between <= most && between != coarse) attempt(between);
  }
  best.iterations = iterations;
  return best;
}

class SinkhornSolver : public Solver {
 public:
  std::string name() const override { return "sinkhorn"; }
  std::string description() const override {
    return "entropic transport between the rows themselves, each spread by steps of the reference";
  }
  std::vector<OptionSpec> options() const override {
    OptionSpec holdout = holdout_option(), refit = refit_option();
    holdout.help = "share of the rows that choose the smoothing, above 0";
    refit.help = "solve again with all rows once the smoothing is chosen";
    holdout.use = refit.use = used_with_auto("smoothing");
    holdout.rows = refit.rows = RowKind::kAny;  // the rows that are drawn of a pair end, too
    return {
        {.key = "rows",
         .kind = IntegerRange{1, 1 << 28},
         .default_value = "10000",
         .help = "draws of p0 and of p1",
         .rows = RowKind::kEndless},
        {.key = "smoothing",
         .kind = IntegerRange{0, kMostSmoothing * kMaxTotalSteps},
         .default_value = kAuto,
         .help = fmt::format("elementary steps that spread each row of x1, up to {} times those "
                             "of the reference; 0: none; auto: chosen by rows kept apart",
                             kMostSmoothing),
         .or_auto = true},
        holdout,
        refit,
        {.key = "tolerance",
         .kind = RealRange{1e-14, 0.5},
         .default_value = "1e-4",
         .help = "stops where the marginal of x1 is off by less, in total variation"},
        {.key = "max_iterations",
         .kind = IntegerRange{1, 1 << 30},
         .default_value = "10000",
         .help = "iterations at the most, of each smoothing that is tried"}};
  }

  void check(const Context&, const FitProblem& problem,
             const SolverOptions& options) const override {
    require_tables(name(), problem);
    const SinkhornSettings settings = read_sinkhorn_settings(problem, options);
    const auto rows =
        static_cast<double>(problem.data() ? problem.data()->x1.states().rows() : settings.rows);
    const double D = static_cast<double>(problem.dim()), S = problem.num_categories();
    // Cores of the bridge, as given and as seen from x0, and what a step keeps of them.
    constexpr double kArrays = 3.0;
    const bool points = settings.smoothing == 0;
    const double cores = points ? 0.0 : kArrays * sizeof(double) * rows * D * S;
    constexpr double kStates = 6.0;  // both ends, in four bytes and in two
    require_memory(cores + kStates * sizeof(std::int32_t) * rows * D,
                   fmt::format("sinkhorn on {} rows, D = {}, S = {}", rows, problem.dim(),
                               problem.num_categories()),
                   problem.data() ? "the number of rows" : "rows");
  }

  Fitted fit(const Context& context, const FitProblem& problem, const SolverOptions& options,
             std::uint64_t seed, const TrainingFiles&) const override {
    require_tables(name(), problem);
    const SinkhornSettings settings = read_sinkhorn_settings(problem, options);
    const FitProblem all = rows_of(context, problem, settings.rows, seed);
    FitProblem fitted = all;
    Fitted result;
    RowTransport transport;
    int smoothing = settings.smoothing.value_or(0);
    if (settings.smoothing) {
      transport = solve(context, all, smoothing, settings.transport, {});
    } else {
      const Holdout split = split_holdout(all, settings.holdout);
      if (split.empty()) {
        throw_invalid("options", "smoothing must be a number where an end has a single row, got {}",
                      kAuto);
      }
      Choice choice = choose_smoothing(context, split, settings.transport);
      smoothing = choice.smoothing;
      result.diagnostics = {{"held_out_objective", choice.objective.value},
                            {"held_out_standard_error", choice.objective.standard_error},
                            {"iterations_of_choice", std::int64_t{choice.iterations}}};
      // The rows kept apart chose among a few numbers only: they can be trained on as well.
      transport = settings.refit ? solve(context, all, smoothing, settings.transport, {})
                                 : std::move(choice.transport);
      if (!settings.refit) fitted = split.training;
    }
    const States& rows = fitted.data()->x1.states();
    result.diagnostics.insert({{"converged", transport.converged},
                               {"iterations", std::int64_t{transport.iterations}},
                               {"marginal_error", transport.error},
                               {"rows", static_cast<std::int64_t>(rows.rows())},
                               {"smoothing", std::int64_t{smoothing}}});
    result.coupling =
        make_row_coupling(context, problem.reference(), {rows, std::move(transport.h), smoothing});
    return result;
  }

  void save(const Coupling& coupling, const std::filesystem::path& path) const override {
    save_row_coupling(coupling, path);
  }
  std::shared_ptr<const Coupling> load(const Context& context, const FitProblem& problem,
                                       const std::filesystem::path& path) const override {
    return load_row_coupling(context, problem.reference(), problem.dim(), path);
  }
};

}  // namespace

std::unique_ptr<Solver> make_sinkhorn() { return std::make_unique<SinkhornSolver>(); }

}  // namespace bridgemark
