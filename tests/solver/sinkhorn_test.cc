#include "bridgemark/solver/sinkhorn/sinkhorn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/bridge/reference_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/math/log_rows.h"
#include "bridgemark/metric/held_out_objective.h"
#include "bridgemark/solver/core/holdout.h"
#include "bridgemark/solver/sinkhorn/row_bridge.h"
#include "bridgemark/solver/sinkhorn/row_transport.h"
#include "tests/support/chi_square.h"
#include "tests/support/device_test.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::all_near;
using ::testing::HasSubstr;

constexpr TransportSettings kTight{.tolerance = 1e-13, .max_iterations = 20000};

// Rows of a small pair as own data: n0 and n1 of them.
FitProblem small_rows(std::size_t n0, std::size_t n1, const PairSpec& spec) {
  const BenchmarkPair pair = build_pair(spec);
  return FitProblem(pair.sample_x0({}, n0, 1), pair.sample_x1({}, n1, 2), pair.reference());
}

// The kernel's logarithms, all of them.
Matrix<double> whole_kernel(const FitProblem& problem, int smoothing) {
  const States& x0 = problem.data()->x0.states();
  const States& x1 = problem.data()->x1.states();
  const Matrix<double> log_k = smoothed_kernel({}, problem.reference(), smoothing);
  Matrix<double> whole(x0.rows(), x1.rows());
  for (std::size_t i = 0; i < x0.rows(); ++i) {
    for (std::size_t j = 0; j < x1.rows(); ++j) {
      whole(i, j) = log_of_rows(log_k.data(), log_k.cols(), x0.row(i), x1.row(j), x0.cols());
    }
  }
  return whole;
}

RowTransport solve(const FitProblem& problem, int smoothing, const TransportSettings& settings,
                   const Context& context = {}) {
  const States& x0 = problem.data()->x0.states();
  const States& x1 = problem.data()->x1.states();
  const Matrix<double> log_k = smoothed_kernel({}, problem.reference(), smoothing);
  const auto kernel = backend::of(context).make_row_kernel(context, log_k, x0, x1);
  return solve_row_transport(context, *kernel, x0.rows(), x1.rows(), settings);
}

// Plain Sinkhorn over the whole kernel, many times: f and h with f[0] = 0.
RowTransport plain_sinkhorn(const Matrix<double>& whole, int iterations) {
  const std::size_t n0 = whole.rows(), n1 = whole.cols();
  RowTransport plan{std::vector<double>(n0, 0.0), std::vector<double>(n1, 0.0)};
  std::vector<double> terms;
  for (int k = 0; k < iterations; ++k) {
    for (std::size_t j = 0; j < n1; ++j) {
      terms.assign(n0, 0.0);
      for (std::size_t i = 0; i < n0; ++i) terms[i] = whole(i, j) + plan.f[i];
      plan.h[j] = -std::log(static_cast<double>(n1)) - log_sum(terms.data(), n0);
    }
    for (std::size_t i = 0; i < n0; ++i) {
      terms.assign(n1, 0.0);
      for (std::size_t j = 0; j < n1; ++j) terms[j] = whole(i, j) + plan.h[j];
      plan.f[i] = -std::log(static_cast<double>(n0)) - log_sum(terms.data(), n1);
    }
  }
  return plan;
}

void shift_to_first(RowTransport& plan) {
  const double constant = plan.f[0];
  for (double& f : plan.f) f -= constant;
  for (double& h : plan.h) h += constant;
}

TEST(RowTransport, BothMarginalsAreRight) {
  for (const PairSpec& spec : {testing::small_spec(), testing::nonsymmetric_spec()}) {
    const FitProblem problem = small_rows(40, 57, spec);
    for (const int smoothing : {0, 3}) {
      const Matrix<double> whole = whole_kernel(problem, smoothing);
      const RowTransport plan = solve(problem, smoothing, kTight);
      ASSERT_TRUE(plan.converged);
      std::vector<double> rows(40, 0.0), columns(57, 0.0);
      for (std::size_t i = 0; i < 40; ++i) {
        for (std::size_t j = 0; j < 57; ++j) {
          const double p = std::exp(whole(i, j) + plan.f[i] + plan.h[j]);
          rows[i] += p;
          columns[j] += p;
        }
      }
      EXPECT_TRUE(all_near(rows, std::vector<double>(40, 1.0 / 40.0), {.abs = 1e-14}));
      EXPECT_TRUE(all_near(columns, std::vector<double>(57, 1.0 / 57.0), {.abs = 1e-12}));
    }
  }
}

// The acceleration changes the way, not the end; and it is shorter.
TEST(RowTransport, EndsWherePlainSinkhornDoes) {
  const FitProblem problem = small_rows(30, 30, testing::small_spec());
  RowTransport expected = plain_sinkhorn(whole_kernel(problem, 0), 20000);
  RowTransport plan = solve(problem, 0, kTight);
  EXPECT_LT(plan.iterations, 1000);
  shift_to_first(expected);
  shift_to_first(plan);
  EXPECT_TRUE(all_near(plan.f, expected.f, {.abs = 1e-10}));
  EXPECT_TRUE(all_near(plan.h, expected.h, {.abs = 1e-10}));
}

TEST(RowTransport, SaysWhenItHasNotConverged) {
  const FitProblem problem = small_rows(30, 30, testing::small_spec());
  const RowTransport plan = solve(problem, 0, {.tolerance = 1e-13, .max_iterations = 3});
  EXPECT_FALSE(plan.converged);
  EXPECT_GT(plan.error, 1e-13);
  EXPECT_LE(plan.iterations, 4);
}

TEST(RowTransport, ARowThatIsNotConnectedIsNamed) {
  Matrix<double> log_k(2, 2, 0.0);
  log_k(0, 1) = log_k(1, 0) = kLogZero;
  const States x0(3, 1, {0, 1, 0}), x1(2, 1, {0, 0});
  const auto kernel = backend::of({}).make_row_kernel({}, log_k, x0, x1);
  try {
    solve_row_transport({}, *kernel, 3, 2, {});
    FAIL() << "nothing was thrown";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("x0 must hold rows that the reference connects"));
    EXPECT_THAT(error.what(), HasSubstr("got row 1"));
  }
}

TEST(RowTransport, CanBeInterrupted) {
  const FitProblem problem = small_rows(30, 30, testing::small_spec());
  const Context context{.interrupt = [] { return true; }};
  EXPECT_THROW(solve(problem, 0, kTight, context), Interrupted);
}

class CudaRowTransport : public testing::CudaTest {};

TEST_F(CudaRowTransport, AgreesWithTheCpu) {
  const FitProblem problem = small_rows(300, 400, testing::small_spec());
  RowTransport on_cpu = solve(problem, 1, kTight);
  RowTransport on_cuda = solve(problem, 1, kTight, {.device = Device::kCuda});
  shift_to_first(on_cpu);
  shift_to_first(on_cuda);
  EXPECT_TRUE(all_near(on_cuda.f, on_cpu.f, {.abs = 1e-10}));
  EXPECT_TRUE(all_near(on_cuda.h, on_cpu.h, {.abs = 1e-10}));
}

Fitted fit(const FitProblem& problem, const std::vector<std::string>& assignments,
           std::uint64_t seed = 0) {
  const Solver& solver = find_solver("sinkhorn");
  SolverOptions options(solver.options());
  for (const std::string& assignment : assignments) options.set_assignment(assignment);
  solver.check({}, problem, options);
  return solver.fit({}, problem, options, seed);
}

template <typename T>
T diagnostic(const Fitted& fitted, const char* name) {
  return std::get<T>(fitted.diagnostics.at(name));
}

// v and c of the smoothed bridge by their definition; at the training rows c is the plan's own.
TEST(Sinkhorn, ASmoothedPlanIsACpBridge) {
  const FitProblem problem = small_rows(25, 30, testing::nonsymmetric_spec());
  const Fitted fitted = fit(problem, {"smoothing=2", "tolerance=1e-13"});
  const auto& bridge = dynamic_cast<const SmoothedRowBridge&>(*fitted.coupling);
  const RowTransport plan = solve(problem, 2, kTight);
  EXPECT_TRUE(all_near(bridge.target().h, plan.h, {.abs = 1e-12}));
  EXPECT_EQ(bridge.num_components(), 30u);

  const States& x0 = problem.data()->x0.states();
  const States& x1 = problem.data()->x1.states();
  std::vector<double> log_c(25);
  bridge.log_normalizer({}, x0, log_c);
  for (std::size_t i = 0; i < 25; ++i) {
    EXPECT_NEAR(log_c[i], -plan.f[i] - std::log(25.0), 1e-10);
  }
  const States states = testing::all_states(2, 5);
  std::vector<double> log_v(states.rows()), terms(30);
  bridge.log_potential({}, states, log_v);
  const SharedMatrix spread = problem.reference().log_power({}, 2);
  for (std::size_t y = 0; y < states.rows(); ++y) {
    for (std::size_t j = 0; j < 30; ++j) {
      terms[j] = plan.h[j] + log_of_rows(spread.data(), 5, x1.row(j), states.row(y), 2);
    }
    EXPECT_NEAR(log_v[y], log_sum(terms.data(), 30), 1e-10);
  }
}

// Beyond its own steps as before them: q_ref of a process with more.
TEST(Sinkhorn, DensitiesBeyondTheReferencesSteps) {
  const Matrix<double> matrix = testing::random_stochastic(5, 0.9, 21);
  const ReferenceProcess process = ReferenceProcess::from_matrix(matrix, 4);
  const ReferenceProcess longer = ReferenceProcess::from_matrix(matrix, 64);
  for (const int steps : {0, 3, 4, 5, 11, 32}) {
    const Matrix<double> density = smoothing_density({}, process, steps);
    const SharedMatrix expected = longer.log_power({}, steps);
    EXPECT_TRUE(all_near({density.data(), density.size()}, {expected.data(), expected.size()},
                         {1e-12, 1e-12}))
        << steps;
  }
}

// The best of the ladder, by what the bridge itself has on the rows kept apart.
TEST(Sinkhorn, HeldOutRowsChooseTheSmoothing) {
  const FitProblem problem = small_rows(200, 240, testing::nonsymmetric_spec());
  const Fitted fitted = fit(problem, {"refit=no", "holdout=0.3", "tolerance=1e-9"});
  const auto chosen = static_cast<int>(diagnostic<std::int64_t>(fitted, "smoothing"));
  const Holdout split = split_holdout(problem, 0.3);
  const auto objective_of = [&](const Coupling& coupling) {
    return held_out_objective({}, dynamic_cast<const CpBridge&>(coupling), split.x0, split.x1);
  };
  const HeldOutObjective objective = objective_of(*fitted.coupling);
  EXPECT_NEAR(diagnostic<double>(fitted, "held_out_objective"), objective.value, 1e-10);
  EXPECT_NEAR(diagnostic<double>(fitted, "held_out_standard_error"), objective.standard_error,
              1e-10);
  EXPECT_EQ(diagnostic<std::int64_t>(fitted, "rows"), 168);
  for (int other = 1; other <= 128; other *= 2) {
    const Fitted at_other =
        fit(split.training, {fmt::format("smoothing={}", other), "tolerance=1e-9"});
    EXPECT_GE(objective.value, objective_of(*at_other.coupling).value - 1e-7) << other;
  }
  const Fitted refitted = fit(problem, {"holdout=0.3", "tolerance=1e-9"});
  EXPECT_EQ(diagnostic<std::int64_t>(refitted, "smoothing"), chosen);
  EXPECT_EQ(diagnostic<std::int64_t>(refitted, "rows"), 240);
}

// With many rows the plug-in estimate comes close to the truth; the reference does not.
TEST(Sinkhorn, ComesCloseToTheTruth) {
  const BenchmarkPair pair = build_pair(testing::small_spec());
  const Fitted fitted = testing::fit_solver("sinkhorn", pair, {"rows=1000"});
  EXPECT_TRUE(diagnostic<bool>(fitted, "converged"));
  EXPECT_LT(testing::joint_kl(pair, *fitted.coupling), 0.05);
  EXPECT_GT(testing::joint_kl(pair, reference_bridge(pair.reference(), 2)), 0.2);
}

// Without smoothing: draws and marginals by q(x1_j|x0) ~ v_j Q(x1_j|x0), and no joint.
TEST(Sinkhorn, WithoutSmoothingItDrawsRows) {
  const FitProblem problem = small_rows(20, 25, testing::small_spec());
  const Fitted fitted = fit(problem, {"smoothing=0"});
  const auto& coupling = dynamic_cast<const RowCoupling&>(*fitted.coupling);
  const States& rows = problem.data()->x1.states();
  const States x0(1, 2, {1, 4});
  const SharedMatrix log_q = problem.reference().log_power({}, 16);
  std::vector<double> weights(36, 0.0);
  double total = 0.0;
  for (std::size_t j = 0; j < rows.rows(); ++j) {
    const double weight =
        std::exp(coupling.target().h[j] + log_of_rows(log_q.data(), 6, x0.row(0), rows.row(j), 2));
    weights[static_cast<std::size_t>(rows(j, 0) * 6 + rows(j, 1))] += weight;
    total += weight;
  }
  for (double& weight : weights) weight /= total;
  constexpr std::size_t kDraws = 40000;
  const States many = testing::repeat_row(x0, 0, kDraws);
  States drawn(kDraws, 2);
  coupling.sample({}, many, {5, DrawPurpose::kConditional}, 0, drawn);
  std::vector<std::size_t> counts(36, 0);
  for (std::size_t b = 0; b < kDraws; ++b) {
    ++counts[static_cast<std::size_t>(drawn(b, 0) * 6 + drawn(b, 1))];
  }
  EXPECT_TRUE(testing::fits(counts, weights));

  Array3<double> marginals;
  coupling.log_marginals({}, x0, marginals);
  for (std::size_t s = 0; s < 6; ++s) {
    double expected = 0.0;
    for (std::size_t t = 0; t < 6; ++t) expected += weights[s * 6 + t];
    EXPECT_NEAR(std::exp(marginals(0, 0, s)), expected, 1e-12);
  }
  EXPECT_FALSE(coupling.has_joint());
  EXPECT_THAT(coupling.why_missing(Ability::kJoint, 0), HasSubstr("all its mass on the 25 rows"));
  EXPECT_THROW(coupling.log_conditional({}, x0, x0, std::span(weights).first(1)), InvalidArgument);
}

TEST(Sinkhorn, IsReadBackAsItWas) {
  const testing::TempDir dir;
  const Solver& solver = find_solver("sinkhorn");
  const FitProblem problem = small_rows(20, 25, testing::small_spec());
  const std::filesystem::path path = dir.path() / "model.safetensors";
  const States x0 = problem.sample_x0({}, 50, 3);
  for (const char* smoothing : {"smoothing=0", "smoothing=3"}) {
    const Fitted fitted = fit(problem, {smoothing});
    solver.save(*fitted.coupling, path);
    const auto loaded = solver.load({}, problem, path);
    States drawn(50, 2), again(50, 2);
    fitted.coupling->sample({}, x0, {1, DrawPurpose::kConditional}, 0, drawn);
    loaded->sample({}, x0, {1, DrawPurpose::kConditional}, 0, again);
    EXPECT_EQ(drawn, again) << smoothing;
    EXPECT_EQ(loaded->has_joint(), fitted.coupling->has_joint());
  }
  const FitProblem narrower(States(2, 2, {0, 0, 1, 1}), States(2, 2, {0, 0, 1, 1}),
                            ReferenceProcess::uniform(2, 0.1, 4));
  EXPECT_THROW(solver.load({}, narrower, path), FileError);
}

std::string refusal(const FitProblem& problem, const std::vector<std::string>& assignments) {
  try {
    fit(problem, assignments);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Sinkhorn, RefusesWhatItCannotUse) {
  const FitProblem problem = small_rows(20, 25, testing::small_spec());
  EXPECT_THAT(refusal(problem, {"smoothing=some"}),
              HasSubstr("smoothing must be auto or a whole number of steps in 0..128, got 'some'"));
  EXPECT_THAT(refusal(problem, {"smoothing=-1"}), HasSubstr("got '-1'"));
  EXPECT_THAT(refusal(problem, {"smoothing=129"}), HasSubstr("got '129'"));
  EXPECT_THAT(refusal(problem, {"holdout=0"}), HasSubstr("holdout must be above 0"));
  EXPECT_THAT(refusal(problem, {"holdout=0.95"}), HasSubstr("holdout"));
  EXPECT_THAT(refusal(problem, {"tolerance=0"}), HasSubstr("tolerance"));
  EXPECT_THAT(refusal(problem, {"max_iterations=0"}), HasSubstr("max_iterations"));
  EXPECT_THAT(refusal(problem, {"refit=maybe"}), HasSubstr("refit must be one of yes, no"));
  EXPECT_THAT(refusal(small_rows(1, 25, testing::small_spec()), {}),
              HasSubstr("smoothing must be a number where an end has a single row"));
  EXPECT_THAT(refusal(build_pair(testing::small_spec()), {"rows=200000000"}),
              HasSubstr("lower rows"));
}

// Rows of a pair are drawn by the seed; own rows are taken as they are.
TEST(Sinkhorn, OwnRowsAreTakenAsTheyAre) {
  const FitProblem problem = small_rows(20, 25, testing::small_spec());
  const auto rows_of = [](const Fitted& fitted) {
    return dynamic_cast<const RowCoupling&>(*fitted.coupling).target().rows;
  };
  EXPECT_EQ(rows_of(fit(problem, {"smoothing=0", "rows=7"}, 3)), problem.data()->x1.states());
  const BenchmarkPair pair = build_pair(testing::small_spec());
  EXPECT_EQ(rows_of(fit(pair, {"smoothing=0", "rows=7"}, 3)), pair.sample_x1({}, 7, 3));
}

}  // namespace
}  // namespace bridgemark
