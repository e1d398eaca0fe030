#include "bridgemark/solver/baseline/feature_wise.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/solver/baseline/baselines.h"
#include "bridgemark/solver/baseline/one_dimensional_bridge.h"
#include "bridgemark/solver/core/shared_options.h"
#include "bridgemark/solver/core/training_data.h"
#include "bridgemark/solver/core/training_memory.h"
#include "bridgemark/solver/cp/cp_model_file.h"

namespace bridgemark {

namespace {

// log pmf of one coordinate of a sample, `pseudo_count` added to each category so that none that
// may occur is ruled out.
std::vector<double> estimate_marginal(const States& states, std::size_t d, std::size_t S,
                                      double pseudo_count) {
  std::vector<double> pmf(S, pseudo_count);
  for (std::size_t i = 0; i < states.rows(); ++i) {
    pmf[static_cast<std::size_t>(states(i, d))] += 1.0;
  }
  const double total = static_cast<double>(states.rows()) + pseudo_count * static_cast<double>(S);
  for (double& p : pmf) p = std::log(p / total);
  return pmf;
}

constexpr double kPseudoCount = 0.01;

// Calls fit(d) for each dimension on the context's threads.
template <typename Fit>
void for_dimensions(const Context& context, std::size_t D, Fit&& fit) {
  constexpr std::size_t kReported = 8;  // dimensions between two reports of progress
  for (std::size_t first = 0; first < D; first += kReported) {
    const std::size_t count = std::min(kReported, D - first);
    parallel_blocks(context, count, 1, [&](std::size_t i, std::size_t) { fit(first + i); });
    context.report("dimensions", first + count, D);
  }
}

// A product of one-dimensional bridges is a CP bridge of one component: its cores are the
// one-dimensional potentials.
CpBridge product_of(const ReferenceProcess& process,
                    const std::vector<OneDimensionalBridge>& bridges) {
  const auto S = static_cast<std::size_t>(process.num_categories());
  Array3<double> log_cores(bridges.size(), S, 1);
  for (std::size_t d = 0; d < bridges.size(); ++d) {
    std::copy_n(bridges[d].log_potential.data(), S, log_cores.row(d, 0));
  }
  return {process, CpPotential({0.0}, std::move(log_cores))};
}

constexpr char kMarginalSamples[] = "marginal_samples";

struct FeatureWiseSettings {
  std::size_t marginal_samples;
  double pseudo_count;
  int imf_steps;
  double tolerance;
  int max_iterations;
};

FeatureWiseSettings read_feature_wise_settings(const FitProblem& problem,
                                               const SolverOptions& options) {
  options.refuse_unused_with(problem.data() ? RowKind::kThatEnd : RowKind::kEndless,
                             problem.name());
  FeatureWiseSettings settings{};
  settings.marginal_samples = static_cast<std::size_t>(options.integer(kMarginalSamples));
  settings.pseudo_count = options.real("pseudo_count");
  settings.imf_steps = options.integer("imf_steps");
  settings.tolerance = options.real("tolerance");
  settings.max_iterations = options.integer("max_iterations");
  const int total = problem.reference().total_steps();
  if (total % settings.imf_steps != 0) {
    throw_invalid("options", "imf_steps must divide the {} steps of the pair, got '{}'", total,
                  options.text("imf_steps"));
  }
  return settings;
}

class FeatureWiseSolver : public CpBridgeSolver {
 public:
  std::string name() const override { return "feature-wise"; }
  std::string description() const override {
    return "a bridge for each coordinate on its own, by D-IMF between estimated marginals";
  }
  std::vector<OptionSpec> options() const override {
    std::vector<OptionSpec> specs = {
        {.key = kMarginalSamples,
         .kind = IntegerRange{1, 1 << 28},
         .default_value = "100000",
         .help = "draws of p0 and of p1 that the marginals are estimated from; of a training set "
                 "or of data every row is taken once",
         .former_key = "samples",
         .rows = RowKind::kEndless},
        {.key = "pseudo_count",
         .kind = RealRange{1e-12, 1e6},
         .default_value = fmt::format("{}", kPseudoCount),
         .help = "added to each category's count"},
        {.key = "imf_steps",
         .kind = IntegerRange{2, kMaxTotalSteps},
         .default_value = "16",
         .help = "steps of the chain in D-IMF"},
        {.key = "tolerance",
         .kind = RealRange{1e-15, 1.0},
         .default_value = "1e-10",
         .help = "D-IMF stops when an iteration moves less, in total variation"},
        {.key = "max_iterations",
         .kind = IntegerRange{1, 1 << 30},
         .default_value = "5000",
         .help = "D-IMF iterations at the most"}};
    append(specs, data_options());
    return specs;
  }

  void check(const Context&, const FitProblem& problem,
             const SolverOptions& options) const override {
    require_tables(name(), problem);
    read_feature_wise_settings(problem, options);
    TrainingData(problem, options.text("x0_data"), options.text("x1_data"), 0);
  }

  Fitted fit(const Context& context, const FitProblem& problem, const SolverOptions& options,
             std::uint64_t seed, const TrainingFiles&) const override {
    require_tables(name(), problem);
    const FeatureWiseSettings settings = read_feature_wise_settings(problem, options);
    const ReferenceChain chain(problem.reference(), settings.imf_steps);
    const TrainingData data(problem, options.text("x0_data"), options.text("x1_data"), seed);
    const States* rows = data.x0_set();
    const States x0 = rows ? *rows : problem.sample_x0(context, settings.marginal_samples, seed);
    rows = data.x1_set();
    const States x1 = rows ? *rows : problem.sample_x1(context, settings.marginal_samples, seed);
    const std::size_t D = problem.dim(), S = static_cast<std::size_t>(problem.num_categories());
    // Once, for all threads.
    for (int n = 0; n <= settings.imf_steps; ++n) chain.log_cumulative(context, n);

    std::vector<OneDimensionalBridge> fitted(D);
    std::vector<double> errors(D);
    const Context one_thread = context.on_one_thread();
    for_dimensions(context, D, [&](std::size_t d) {
      const std::vector<double> log_p0 = estimate_marginal(x0, d, S, settings.pseudo_count);
      const std::vector<double> log_p1 = estimate_marginal(x1, d, S, settings.pseudo_count);
      fitted[d] = solve_d_imf(one_thread, chain, log_p0, log_p1, settings.tolerance,
                              settings.max_iterations);
      const OneDimensionalBridge exact = solve_exact(one_thread, chain.process(), log_p0, log_p1);
      errors[d] = total_variation(fitted[d].log_joint, exact.log_joint);
    });

    int iterations = 0;
    double change = 0.0;
    bool converged = true;
    for (std::size_t d = 0; d < D; ++d) {
      iterations = std::max(iterations, fitted[d].iterations);
      change = std::max(change, fitted[d].change);
      converged = converged && fitted[d].converged;
    }
    Fitted result;
    result.coupling = std::make_shared<CpBridge>(product_of(problem.reference(), fitted));
    result.diagnostics = {
        {"converged", converged},
        {"iterations", iterations},
        {"largest_change", change},
        {"largest_error_against_exact", *std::max_element(errors.begin(), errors.end())}};
    return result;
  }
};

}  // namespace

CpBridge feature_wise_bridge(const Context& context, const ReferenceProcess& process,
                             const States& x0, const States& x1) {
  constexpr double kTolerance = 1e-10;
  const std::size_t D = x0.cols();
  const auto S = static_cast<std::size_t>(process.num_categories());
  process.log_power(context, process.total_steps());  // once, for all threads
  std::vector<OneDimensionalBridge> bridges(D);
  const Context one_thread = context.on_one_thread();
  for_dimensions(context, D, [&](std::size_t d) {
    bridges[d] = solve_exact(one_thread, process, estimate_marginal(x0, d, S, kPseudoCount),
                             estimate_marginal(x1, d, S, kPseudoCount), kTolerance);
  });
  return product_of(process, bridges);
}

std::unique_ptr<Solver> make_feature_wise() { return std::make_unique<FeatureWiseSolver>(); }

}  // namespace bridgemark
