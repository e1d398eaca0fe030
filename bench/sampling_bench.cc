// Drawing joint pairs (x0, x1) of a benchmark pair: is the draw right, and what does it cost?

#include <cmath>
#include <cstdint>

#include "bench/support.h"
#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/pair/pair_spec.h"

namespace bridgemark::bench {
namespace {

constexpr double kMaxDimRatio = 5.0;  // time at D = 64 over time at D = 16, of kJudgedCount pairs
constexpr std::size_t kJudgedCount = 20000;
constexpr std::size_t kCheckedCount = 20000;
constexpr double kFalseAlarm = 1e-6;  // of one run of the checks on one pair, by Bernstein's bound

struct Case {
  std::size_t pair = 0;  // index into the loaded pairs
  std::size_t count = 0;
  std::vector<double> times;  // seconds

  double median_time() const { return median(times); }
};

// A count is a sum of independent indicators with the given mean and variance; Bernstein's
// inequality bounds the chance of a deviation this large by `alarm`.
bool plausible_count(double count, double mean, double variance, double alarm) {
  const double t = std::abs(count - mean);
  return 2.0 * std::exp(-t * t / (2.0 * (variance + t / 3.0))) >= alarm;
}

// Compares counts [D,S] with their closed-form means and variances.
void check_counts(const BenchmarkPair& pair, const char* name, const States& states,
                  const Matrix<double>& mean, const Matrix<double>& variance) {
  const std::size_t D = pair.dim(), S = mean.cols();
  Matrix<double> counts(D, S);
  for (std::size_t i = 0; i < states.rows(); ++i) {
    for (std::size_t d = 0; d < D; ++d) counts(d, static_cast<std::size_t>(states(i, d))) += 1.0;
  }
  const double alarm = kFalseAlarm / static_cast<double>(2 * D * S);
  for (std::size_t d = 0; d < D; ++d) {
    for (std::size_t s = 0; s < S; ++s) {
      check(plausible_count(counts(d, s), mean(d, s), variance(d, s), alarm),
            "{}: {} has category {} in coordinate {} {} times where {:.1f} +- {:.1f} are expected",
            pair.identity().name, name, s, d, counts(d, s), mean(d, s), std::sqrt(variance(d, s)));
    }
  }
}

// The marginals of x0 against p0, and those of x1 against the mean of q(x1^d | x0) over the drawn
// x0: both closed forms. Then the same states from 1 and 2 threads.
void check_draws(const BenchmarkPair& pair) {
  const Context two{.num_threads = 2};
  const PairedStates drawn = pair.sample_joint(two, kCheckedCount, 1);
  const PairedStates alone = pair.sample_joint({.num_threads = 1}, kCheckedCount, 1);
  check(drawn.x0 == alone.x0 && drawn.x1 == alone.x1, "{}: 1 and 2 threads draw different states",
        pair.identity().name);

  const std::size_t D = pair.dim(), S = static_cast<std::size_t>(pair.num_categories());
  const Matrix<double> log_p0 = pair.source().log_marginals();
  Matrix<double> mean(D, S), variance(D, S);
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const double p = std::exp(log_p0.data()[i]);
    mean.data()[i] = static_cast<double>(kCheckedCount) * p;
    variance.data()[i] = mean.data()[i] * (1.0 - p);
  }
  check_counts(pair, "x0", pair.reverse() ? drawn.x1 : drawn.x0, mean, variance);

  mean = Matrix<double>(D, S);
  variance = Matrix<double>(D, S);
  Array3<double> log_q;
  const StatesView x0 = (pair.reverse() ? drawn.x1 : drawn.x0).view();
  constexpr std::size_t kChunk = 1000;
  for (std::size_t first = 0; first < x0.rows; first += kChunk) {
    pair.bridge().log_marginals(two, x0.slice(first, std::min(kChunk, x0.rows - first)), log_q);
    for (std::size_t i = 0; i < log_q.size(); ++i) {
      const double p = std::exp(log_q.data()[i]);
      mean.data()[i % mean.size()] += p;
      variance.data()[i % mean.size()] += p * (1.0 - p);
    }
  }
  check_counts(pair, "x1", pair.reverse() ? drawn.x0 : drawn.x1, mean, variance);
}

// One draw of each case in turn, so that what else runs on the machine hits all alike.
void time_cases(const Context& context, const std::vector<BenchmarkPair>& pairs, int repeats,
                std::vector<Case>& cases) {
  for (int repeat = -1; repeat < repeats; ++repeat) {  // -1 warms up
    for (Case& c : cases) {
      const double time = seconds([&] {
        const PairedStates drawn =
            pairs[c.pair].sample_joint(context, c.count, static_cast<std::uint64_t>(repeat + 2));
        check(drawn.x1.rows() == c.count, "drew {} rows of {}", drawn.x1.rows(), c.count);
      });
      if (repeat >= 0) c.times.push_back(time);
    }
  }
}

double per_pair(const Case& c) { return 1e9 * c.median_time() / static_cast<double>(c.count); }

void print_cases(const std::vector<BenchmarkPair>& pairs, const std::vector<Case>& cases) {
  fmt::print("{:<20} {:>4} {:>8} {:>11} {:>11} {:>9} {:>14}\n", "pair", "D", "n", "median ms",
             "fastest ms", "ns/pair", "ns/pair/coord");
  for (const Case& c : cases) {
    const BenchmarkPair& pair = pairs[c.pair];
    fmt::print("{:<20} {:>4} {:>8} {:>11.3f} {:>11.3f} {:>9.1f} {:>14.2f}\n", pair.identity().name,
               pair.dim(), c.count, 1e3 * c.median_time(), 1e3 * minimum(c.times), per_pair(c),
               per_pair(c) / static_cast<double>(pair.dim()));
  }
}

// How the cost of one coordinate of one pair moves from case to case: 1 is exactly linear, below 1
// is a fixed cost spread over more work. The median over repetitions of the ratio within each.
double unit_cost_ratio(const std::vector<BenchmarkPair>& pairs, const Case& more,
                       const Case& fewer) {
  const auto work = [&](const Case& c) {
    return static_cast<double>(c.count) * static_cast<double>(pairs[c.pair].dim());
  };
  std::vector<double> ratios;
  for (std::size_t i = 0; i < more.times.size(); ++i) {
    ratios.push_back(more.times[i] / fewer.times[i] * work(fewer) / work(more));
  }
  return median(ratios);
}

nlohmann::json print_linearity(const std::vector<BenchmarkPair>& pairs,
                               const std::vector<Case>& cases) {
  nlohmann::json result = nlohmann::json::array();
  fmt::print("\ncost of a coordinate of a pair, relative (1 is linear):\n");
  for (const Case& fewer : cases) {
    for (const Case& more : cases) {
      const std::size_t small = pairs[fewer.pair].dim(), large = pairs[more.pair].dim();
      const bool next_dim = more.pair == fewer.pair + 1 && more.count == fewer.count;
      const bool next_count = more.pair == fewer.pair && &more == &fewer + 1;
      if (!next_dim && !next_count) continue;
      const double ratio = unit_cost_ratio(pairs, more, fewer);
      fmt::print("  D {:>2} n {:>6}  ->  D {:>2} n {:>6}: {:.2f}\n", small, fewer.count, large,
                 more.count, ratio);
      result.push_back({{"from", {{"dim", small}, {"count", fewer.count}}},
                        {"to", {{"dim", large}, {"count", more.count}}},
                        {"ratio", ratio}});
    }
  }
  return result;
}

// Time at D = 64 over that at D = 16 for each count that both were timed with.
bool judge_dim_ratio(const std::vector<BenchmarkPair>& pairs, const std::vector<Case>& cases,
                     nlohmann::json& result) {
  bool holds = true;
  for (const Case& small : cases) {
    for (const Case& large : cases) {
      if (pairs[small.pair].dim() != 16 || pairs[large.pair].dim() != 64) continue;
      if (small.count != large.count) continue;
      const double ratio = 4.0 * unit_cost_ratio(pairs, large, small);
      const std::string name = fmt::format("time D = 64 / D = 16, n = {}", small.count);
      if (small.count == kJudgedCount) {
        holds &= judge(name, ratio, kMaxDimRatio, "");
      } else {
        fmt::print("{}: {:.3g}\n", name, ratio);
      }
      result.push_back({{"count", small.count}, {"ratio", ratio}});
    }
  }
  return holds;
}

// Draws once for each line "PAIR COUNT" of standard input, PAIR counted from 0, and prints the
// seconds: lets another program take turns with this one.
void serve_requests(const Context& context, const std::vector<BenchmarkPair>& pairs) {
  std::size_t pair = 0, count = 0;
  while (std::scanf("%zu %zu", &pair, &count) == 2) {
    check(pair < pairs.size(), "asked for pair {} of {}", pair, pairs.size());
    const double time = seconds([&] { pairs[pair].sample_joint(context, count, 2); });
    fmt::print("{:.9f}\n", time);
    std::fflush(stdout);
  }
}

bool run(const Options& options, const std::vector<std::string>& names,
         const std::vector<std::size_t>& counts, bool on_request) {
  std::vector<BenchmarkPair> pairs;
  std::vector<Case> cases;
  for (const std::string& name : names) {
    pairs.push_back(load_pair(name));
    check_draws(pairs.back());
    for (const std::size_t count : counts) cases.push_back({pairs.size() - 1, count, {}});
  }
  const Context context{.num_threads = options.threads};
  if (on_request) {
    serve_requests(context, pairs);
    return true;
  }
  fmt::print("checked: marginals of {} draws of each pair (false alarm {:g}); 1 and 2 threads\n\n",
             kCheckedCount, kFalseAlarm);
  time_cases(context, pairs, options.repeats, cases);
  print_cases(pairs, cases);

  nlohmann::json json = {{"bench", "sampling"}, {"cases", nlohmann::json::array()}};
  for (const Case& c : cases) {
    json["cases"].push_back({{"pair", pairs[c.pair].identity().name},
                             {"dim", pairs[c.pair].dim()},
                             {"count", c.count},
                             {"seconds", c.times},
                             {"median_seconds", c.median_time()},
                             {"ns_per_pair", per_pair(c)}});
  }
  json["unit_cost"] = print_linearity(pairs, cases);
  fmt::print("\n");
  json["dim_ratio"] = nlohmann::json::array();
  const bool holds = judge_dim_ratio(pairs, cases, json["dim_ratio"]);
  write_json(options, json);
  return holds;
}

}  // namespace
}  // namespace bridgemark::bench

int main(int argc, char** argv) {
  using namespace bridgemark;
  CLI::App app("Checks and times drawing joint pairs");
  bench::Options options;
  std::vector<std::string> pairs = {"d2-gaussian-0.02", "d16-gaussian-0.02", "d64-gaussian-0.02"};
  std::vector<std::size_t> counts = {2000, 20000, 200000};
  app.add_option("--pair", pairs, "Presets or pair folders")->capture_default_str();
  app.add_option("--count", counts, "Pairs to draw")->check(CLI::PositiveNumber);
  bool on_request = false;
  app.add_flag("--on-request", on_request,
               "Draw once for each line 'PAIR COUNT' of standard input and print the seconds");
  bench::add_options(app, options);
  return bench::run_main(app, argc, argv,
                         [&] { return bench::run(options, pairs, counts, on_request); });
}
