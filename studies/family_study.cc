// Which construction of pairs the published tables were measured on. Independent, Reference and
// Feature-wise SB depend on nothing but the pair, so their published scores tell one instance of a
// pair from another.
//   family_study instances -o FILE   fresh instances of each construction, to see its range
//   family_study search -o FILE      many seeds of each spread preset, to find the closest one
// A line of FILE is one instance; what is there already is not measured again.

#include <fmt/format.h>
#include <fnmatch.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/metric/sample_scores.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/report/published.h"
#include "bridgemark/solver/baseline/baselines.h"
#include "bridgemark/solver/baseline/one_dimensional_bridge.h"

namespace bridgemark {
namespace {

const Context kOneThread{.num_threads = 1};  // instances run side by side, each on one thread
constexpr std::uint64_t kSeed = 0;           // of the evaluation: that of `bridgemark evaluate`

constexpr std::size_t kNumBaselines = 3;
constexpr std::array<const char*, kNumBaselines> kBaselines{"independent", "reference",
                                                            "feature-wise"};
constexpr std::size_t kNumScores = 4;
constexpr std::array<const char*, kNumScores> kScores{
    "conditional_shape_score", "conditional_trend_score", "shape_score", "trend_score"};

using Scores = std::array<std::array<double, kNumScores>, kNumBaselines>;

// One instance: how to make it and how many of the 157 conditional inputs to score.
struct Task {
  std::string construction;
  PairSpec spec;  // its name is that of the spread preset with the same dimension and reference
  std::size_t inputs;

  std::string key() const {
    return fmt::format("{} {} {} {} {}", construction, spec.sigma, spec.name, spec.seed, inputs);
  }
};

struct Outcome {
  Scores scores{};
  double distance = 0.0;  // mean |ours - published| over the 12 scores
};

std::vector<double> estimate_marginal(const States& states, std::size_t d, std::size_t S) {
  constexpr double kPseudoCount = 0.01;  // the default of the feature-wise solver
  std::vector<double> pmf(S, kPseudoCount);
  for (std::size_t i = 0; i < states.rows(); ++i) pmf[static_cast<std::size_t>(states(i, d))] += 1;
  const double total = static_cast<double>(states.rows()) + kPseudoCount * static_cast<double>(S);
  for (double& p : pmf) p = std::log(p / total);
  return pmf;
}

// The feature-wise solver from the same draws, solved by scaling instead of D-IMF: it has the same
// solution and is found in a fraction of the time.
std::shared_ptr<const Coupling> fit_feature_wise(const BenchmarkPair& pair) {
  constexpr std::size_t kDraws = 100000;
  constexpr double kTolerance = 1e-7;
  const States x0 = pair.sample_x0(kOneThread, kDraws, kSeed);
  const States x1 = pair.sample_x1(kOneThread, kDraws, kSeed);
  const std::size_t D = pair.dim(), S = static_cast<std::size_t>(pair.num_categories());
  Array3<double> log_cores(D, S, 1);
  for (std::size_t d = 0; d < D; ++d) {
    const OneDimensionalBridge bridge =
        solve_exact(kOneThread, pair.reference(), estimate_marginal(x0, d, S),
                    estimate_marginal(x1, d, S), kTolerance);
    std::copy_n(bridge.log_potential.data(), S, log_cores.row(d, 0));
  }
  return std::make_shared<CpBridge>(pair.reference(), CpPotential({0.0}, std::move(log_cores)));
}

std::shared_ptr<const Coupling> fit(const Solver& solver, const BenchmarkPair& pair) {
  return solver.fit(kOneThread, pair, SolverOptions(solver.options()), kSeed).coupling;
}

// The scores of the evaluation protocol with its draws; the truth's are shared by the baselines.
Scores score_baselines(const Task& task) {
  const BenchmarkPair pair = build_pair(task.spec);
  const PairedStates test = pair.test_set(kOneThread);
  const std::size_t D = pair.dim();
  const int S = pair.num_categories();
  const std::array<std::shared_ptr<const Coupling>, kNumBaselines> baselines{
      fit(*make_independent(), pair), fit(*make_reference(), pair), fit_feature_wise(pair)};

  Scores scores{};
  States answers(test.x0.rows(), D);
  for (std::size_t b = 0; b < kNumBaselines; ++b) {
    baselines[b]->sample(kOneThread, test.x0, {kSeed, DrawPurpose::kPrediction}, 0, answers);
    const SampleScores found = score_samples(kOneThread, test.x1, answers, S);
    scores[b][2] = found.shape;
    scores[b][3] = found.trend;
  }

  const std::shared_ptr<const Coupling> truth = pair.truth(kOneThread);
  const States all_inputs = conditional_inputs(test.x0);
  const std::size_t inputs = std::min(task.inputs, all_inputs.rows());
  States x0(kConditionalSamples, D), drawn(kConditionalSamples, D),
      answered(kConditionalSamples, D);
  for (std::size_t i = 0; i < inputs; ++i) {
    const std::size_t row = i * all_inputs.rows() / inputs;
    for (std::size_t j = 0; j < kConditionalSamples; ++j) {
      std::copy_n(all_inputs.row(row), D, x0.row(j));
    }
    const std::uint64_t first = row * kConditionalSamples;
    truth->sample(kOneThread, x0, {kSeed, DrawPurpose::kTruthSample}, first, drawn);
    for (std::size_t b = 0; b < kNumBaselines; ++b) {
      baselines[b]->sample(kOneThread, x0, {kSeed, DrawPurpose::kConditionalPrediction}, first,
                           answered);
      const SampleScores found = score_samples(kOneThread, drawn, answered, S);
      scores[b][0] += found.shape / static_cast<double>(inputs);
      scores[b][1] += found.trend / static_cast<double>(inputs);
    }
  }
  return scores;
}

double distance_to_published(const Scores& scores, const std::string& pair) {
  double sum = 0.0;
  for (std::size_t b = 0; b < kNumBaselines; ++b) {
    for (std::size_t s = 0; s < kNumScores; ++s) {
      sum +=
          std::abs(scores[b][s] - published_value(kScores[s], kBaselines[b], "", "", pair).value());
    }
  }
  return sum / static_cast<double>(kNumBaselines * kNumScores);
}

// The outcomes of a file, by key, and the file open for more.
class Results {
 public:
  explicit Results(const std::string& path) {
    std::ifstream in(path);
    bool whole = true;
    for (std::string line; std::getline(in, line);) {
      whole = !in.eof();
      const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
      if (json.is_discarded()) continue;  // cut off when a run was killed
      Task task;
      task.construction = json.at("construction");
      task.spec.sigma = json.at("sigma");
      task.spec.name = json.at("pair");
      task.spec.seed = json.at("seed");
      task.inputs = json.at("inputs");
      Outcome outcome;
      outcome.distance = json.at("distance");
      for (std::size_t b = 0; b < kNumBaselines; ++b) {
        json.at(kBaselines[b]).get_to(outcome.scores[b]);
      }
      found_[task.key()] = outcome;
    }
    out_.open(path, std::ios::app);
    if (!out_) throw_file(path, "cannot be written");
    if (!whole) out_ << '\n';
  }

  const Outcome* find(const Task& task) const {
    const auto found = found_.find(task.key());
    return found == found_.end() ? nullptr : &found->second;
  }

  void add(const Task& task, const Outcome& outcome) {
    const auto& s = outcome.scores;
    const auto row = [](const std::array<double, kNumScores>& values) {
      return fmt::format("[{:.4f}, {:.4f}, {:.4f}, {:.4f}]", values[0], values[1], values[2],
                         values[3]);
    };
    out_ << fmt::format(
                "{{\"construction\": \"{}\", \"sigma\": {}, \"pair\": \"{}\", \"seed\": {}, "
                "\"inputs\": {}, \"distance\": {:.5f}, \"{}\": {}, \"{}\": {}, \"{}\": {}}}",
                task.construction, task.spec.sigma, task.spec.name, task.spec.seed, task.inputs,
                outcome.distance, kBaselines[0], row(s[0]), kBaselines[1], row(s[1]), kBaselines[2],
                row(s[2]))
         << std::endl;
    found_[task.key()] = outcome;
  }

 private:
  std::map<std::string, Outcome> found_;
  std::ofstream out_;
};

// Measures what the file does not have yet, a few instances a thread at a time, and writes them in
// the order of the tasks: the file does not depend on the threads.
void measure(const std::vector<Task>& tasks, int threads, Results& results) {
  std::vector<const Task*> open;
  for (const Task& task : tasks) {
    if (!results.find(task)) open.push_back(&task);
  }
  const Context side_by_side{.num_threads = threads};
  const std::size_t batch = 4 * static_cast<std::size_t>(side_by_side.threads());
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t first = 0; first < open.size(); first += batch) {
    const std::size_t count = std::min(batch, open.size() - first);
    std::vector<Outcome> outcomes(count);
    parallel_blocks(side_by_side, count, 1, [&](std::size_t i, std::size_t) {
      const Task& task = *open[first + i];
      outcomes[i].scores = score_baselines(task);
      outcomes[i].distance = distance_to_published(outcomes[i].scores, task.spec.name);
    });
    for (std::size_t i = 0; i < count; ++i) results.add(*open[first + i], outcomes[i]);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    fmt::print(stderr, "{} of {} instances, {:.2f} s each\n", first + count, open.size(),
               elapsed.count() / static_cast<double>(first + count));
  }
}

struct Options {
  std::string output;
  std::string pairs = "*";
  std::string seeds = "0:20";
  std::size_t inputs = 157;
  std::size_t best = 30;
  int threads = 0;
};

std::vector<PairSpec> chosen_presets(const std::string& glob) {
  std::vector<PairSpec> chosen;
  for (const PairSpec& spec : preset_specs()) {
    if (spec.family == PairFamily::kSpread && fnmatch(glob.c_str(), spec.name.c_str(), 0) == 0) {
      chosen.push_back(spec);
    }
  }
  if (chosen.empty()) throw_invalid("study", "--pairs must match a spread preset, got '{}'", glob);
  return chosen;
}

std::pair<std::uint64_t, std::uint64_t> seed_range(const std::string& text) {
  std::uint64_t first = 0, last = 0;
  if (std::sscanf(text.c_str(), "%lu:%lu", &first, &last) != 2 || first >= last) {
    throw_invalid("study", "--seeds must be FIRST:END with FIRST below END, got '{}'", text);
  }
  return {first, last};
}

void run_instances(const Options& options) {
  struct Construction {
    const char* name;
    PairFamily family;
    double min_distance;
  };
  constexpr Construction kConstructions[] = {{"sphere", PairFamily::kSphere, 0.0},
                                             {"spread-10", PairFamily::kSpread, 10.0},
                                             {"spread-5", PairFamily::kSpread, 5.0}};
  constexpr double kSigmaOfTheCode = 2.0;
  const auto [first, end] = seed_range(options.seeds);
  std::vector<Task> tasks;
  for (const PairSpec& preset : chosen_presets(options.pairs)) {
    for (const Construction& construction : kConstructions) {
      for (const double sigma : {preset.sigma, kSigmaOfTheCode}) {
        for (std::uint64_t seed = first; seed < end; ++seed) {
          Task task{construction.name, preset, options.inputs};
          task.spec.family = construction.family;
          task.spec.min_distance = construction.min_distance;
          task.spec.sigma = sigma;
          task.spec.seed = seed;
          tasks.push_back(std::move(task));
        }
      }
    }
  }
  Results results(options.output);
  measure(tasks, options.threads, results);
}

void run_search(const Options& options) {
  const auto [first, end] = seed_range(options.seeds);
  const auto tasks_of = [&](const PairSpec& preset, std::size_t inputs) {
    std::vector<Task> tasks;
    for (std::uint64_t seed = first; seed < end; ++seed) {
      tasks.push_back({"spread-10", preset, inputs});
      tasks.back().spec.seed = seed;
    }
    return tasks;
  };
  const std::size_t all_inputs = (kTestSetSize + kConditionalStride - 1) / kConditionalStride;
  Results results(options.output);
  for (const PairSpec& preset : chosen_presets(options.pairs)) {
    const auto closest = [&](std::vector<Task> tasks) {
      std::stable_sort(tasks.begin(), tasks.end(), [&](const Task& a, const Task& b) {
        return results.find(a)->distance < results.find(b)->distance;
      });
      return tasks;
    };
    std::vector<Task> tasks = tasks_of(preset, options.inputs);
    measure(tasks, options.threads, results);
    tasks = closest(std::move(tasks));
    if (options.inputs < all_inputs) {  // the best again, with the whole protocol
      tasks.resize(std::min(options.best, tasks.size()));
      for (Task& task : tasks) task.inputs = all_inputs;
      measure(tasks, options.threads, results);
      tasks = closest(std::move(tasks));
    }
    fmt::print("{}: seed {}, distance {:.5f}, the closest of {}\n", preset.name,
               tasks.front().spec.seed, results.find(tasks.front())->distance, end - first);
    std::fflush(stdout);
  }
}

int run(int argc, char** argv) {
  CLI::App app("Baselines on fresh instances of pairs, beside the published ones");
  app.require_subcommand(1);
  Options options;
  CLI::App* instances = app.add_subcommand("instances", "The range of each construction");
  CLI::App* search = app.add_subcommand("search", "The closest seed of each spread preset");
  for (CLI::App* command : {instances, search}) {
    command->add_option("-o,--output", options.output, "JSON lines, added to")->required();
    command->add_option("--pairs", options.pairs, "Spread presets, a glob")->capture_default_str();
    command->add_option("--seeds", options.seeds, "FIRST:END of the seeds")->capture_default_str();
    command->add_option("--inputs", options.inputs, "Conditional inputs that are scored")
        ->check(CLI::Range(1, 157))
        ->capture_default_str();
    command->add_option("--threads", options.threads, "Instances side by side; 0: all cores");
  }
  search->add_option("--best", options.best, "Seeds scored again on all inputs")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (instances->parsed()) {
    run_instances(options);
  } else {
    run_search(options);
  }
  return 0;
}

}  // namespace
}  // namespace bridgemark

int main(int argc, char** argv) {
  try {
    return bridgemark::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  }
}
