// The sample-based scores of the whole protocol of a pair: 20,000 answers against the test set, and
// 1000 draws against 1000 for each of the 157 conditional inputs.

#include <cmath>
#include <map>

#include "bench/support.h"
#include "bridgemark/metric/sample_scores.h"
#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/pair/pair_spec.h"

namespace bridgemark::bench {
namespace {

constexpr double kMaxSeconds = 10.0;
constexpr double kMaxMemoryMib = 1024.0;
constexpr double kTolerance = 1e-12;  // between a score and its naive count

// 1 - TV of the joint of coordinates d and e, by counting in a map.
double naive_score(StatesView a, StatesView b, std::size_t d, std::size_t e) {
  std::map<std::pair<int, int>, double> difference;
  for (std::size_t i = 0; i < a.rows; ++i) {
    difference[{a(i, d), a(i, e)}] += 1.0 / static_cast<double>(a.rows);
  }
  for (std::size_t i = 0; i < b.rows; ++i) {
    difference[{b(i, d), b(i, e)}] -= 1.0 / static_cast<double>(b.rows);
  }
  double sum = 0.0;
  for (const auto& [values, cell] : difference) sum += std::abs(cell);
  return 1.0 - 0.5 * sum;
}

SampleScores naive_scores(StatesView a, StatesView b) {
  const std::size_t D = a.cols;
  double diagonal = 0.0, others = 0.0;
  for (std::size_t d = 0; d < D; ++d) {
    for (std::size_t e = 0; e < D; ++e) (d == e ? diagonal : others) += naive_score(a, b, d, e);
  }
  const double n = static_cast<double>(D);
  return {diagonal / n, (diagonal + others) / (n * n), others / (n * (n - 1.0))};
}

States first_columns(StatesView states, std::size_t rows, std::size_t cols) {
  States part(rows, cols);
  for (std::size_t i = 0; i < rows; ++i) std::copy_n(states.row(i), cols, part.row(i));
  return part;
}

void check_scores(const Context& context, StatesView truth, StatesView answers, int S) {
  const SampleScores same = score_samples(context, truth, truth, S);
  check(same.shape == 1.0 && same.trend == 1.0 && same.trend_offdiagonal == 1.0,
        "a set against itself scores {}, {}, {} instead of 1", same.shape, same.trend,
        same.trend_offdiagonal);
  // Sizes that share no factor, so that the counts need their weights.
  const States a = first_columns(truth, 997, 6), b = first_columns(answers, 640, 6);
  const SampleScores fast = score_samples(context, a, b, S), naive = naive_scores(a, b);
  const auto agree = [](const char* name, double x, double y) {
    check(std::abs(x - y) <= kTolerance, "{} is {} where a naive count gives {}", name, x, y);
  };
  agree("shape", fast.shape, naive.shape);
  agree("trend", fast.trend, naive.trend);
  agree("trend_offdiagonal", fast.trend_offdiagonal, naive.trend_offdiagonal);
}

// Draws of the truth for one conditional input, repeated.
States draw_group(const Context& context, const BenchmarkPair& pair, const States& inputs,
                  std::size_t i, std::uint64_t seed) {
  States x0(kConditionalSamples, pair.dim());
  for (std::size_t j = 0; j < x0.rows(); ++j) std::copy_n(inputs.row(i), pair.dim(), x0.row(j));
  return pair.sample_conditional(context, x0, seed, i * kConditionalSamples);
}

bool run(const Options& options, const std::string& name) {
  const Context context{.num_threads = options.threads};
  const BenchmarkPair pair = load_pair(name);
  const int S = pair.num_categories();
  const PairedStates test = pair.test_set(context);
  const States inputs = conditional_inputs(test.x0);
  const States answers = pair.sample_conditional(context, test.x0, 1);
  check_scores(context, test.x1, answers, S);
  fmt::print("checked: a set against itself scores 1; a small part agrees with a naive count\n");

  std::vector<double> unconditional, conditional, drawing, totals;
  SampleScores whole, mean;
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    unconditional.push_back(seconds([&] { whole = score_samples(context, test.x1, answers, S); }));
    mean = {};
    double scored = 0.0, drawn = 0.0;
    for (std::size_t i = 0; i < inputs.rows(); ++i) {  // one group in memory at a time
      States truth, prediction;
      drawn += seconds([&] {
        truth = draw_group(context, pair, inputs, i, 2);
        prediction = draw_group(context, pair, inputs, i, 3);
      });
      SampleScores scores;
      scored += seconds([&] { scores = score_samples(context, truth, prediction, S); });
      mean.shape += scores.shape / static_cast<double>(inputs.rows());
      mean.trend += scores.trend / static_cast<double>(inputs.rows());
    }
    conditional.push_back(scored);
    drawing.push_back(drawn);
    totals.push_back(unconditional.back() + scored);
  }
  const double memory = peak_memory_mib();
  fmt::print("{}, D = {}, S = {}, {} threads, median of {}:\n", name, pair.dim(), S,
             options.threads, options.repeats);
  fmt::print("  unconditional, {0} against {0}: {1:.3f} s (shape {2:.4f}, trend {3:.4f})\n",
             test.x1.rows(), median(unconditional), whole.shape, whole.trend);
  fmt::print("  conditional, {0} x {1} against {1}: {2:.3f} s (shape {3:.4f}, trend {4:.4f})\n",
             inputs.rows(), kConditionalSamples, median(conditional), mean.shape, mean.trend);
  fmt::print("  drawing both sides of the conditional part (not in the limit): {:.3f} s\n",
             median(drawing));
  write_json(options, {{"bench", "score"},
                       {"pair", name},
                       {"unconditional_seconds", unconditional},
                       {"conditional_seconds", conditional},
                       {"drawing_seconds", drawing},
                       {"median_seconds", median(totals)},
                       {"limit_seconds", kMaxSeconds},
                       {"peak_memory_mib", memory},
                       {"limit_memory_mib", kMaxMemoryMib}});
  const bool fast = judge("scores, median", median(totals), kMaxSeconds, " s");
  const bool small = judge("peak memory of the process", memory, kMaxMemoryMib, " MiB");
  return fast && small;
}

}  // namespace
}  // namespace bridgemark::bench

int main(int argc, char** argv) {
  using namespace bridgemark;
  CLI::App app("Checks and times the sample-based scores of the protocol");
  bench::Options options;
  options.repeats = 3;
  std::string pair = "d64-gaussian-0.02";
  app.add_option("--pair", pair, "Preset or pair folder")->capture_default_str();
  bench::add_options(app, options);
  return bench::run_main(app, argc, argv, [&] { return bench::run(options, pair); });
}
