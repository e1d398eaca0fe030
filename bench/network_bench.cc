// An update of CSBM and alpha-CSBM after the first D-IMF iteration, where a whole chain is drawn
// for each batch: what does it cost, and where does the time go?

#include <fmt/format.h>

#include <cmath>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include "bench/support.h"
#include "bridgemark/backend/backend.h"
#include "bridgemark/backend/cpu/network/dense_layer.h"
#include "bridgemark/backend/cpu/network/network_math.h"
#include "bridgemark/backend/plan/network_steps.h"
#include "bridgemark/backend/plan/row_source.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/process/chain_tables.h"
#include "bridgemark/process/pinned_reference.h"
#include "bridgemark/process/pinned_steps.h"
#include "bridgemark/solver/csbm/csbm_recipe.h"
#include "bridgemark/solver/registry.h"

namespace bridgemark::bench {
namespace {

struct Problem {
  backend::PinnedSteps pinned;
  backend::NetworkTensors<float> network;
  States x0, x1;
};

Problem make_problem(const Context& context, const BenchmarkPair& pair, std::size_t rows,
                     int num_steps) {
  backend::NetworkShape shape;
  shape.dim = pair.dim();
  shape.num_categories = static_cast<std::size_t>(pair.num_categories());
  shape.num_steps = num_steps;
  shape.hidden = {128, 128, 128};
  return {make_pinned_steps(context, ReferenceChain(pair.reference(), num_steps)),
          initial_network(shape, Direction::kForward, 1), pair.sample_x0(context, rows, 1),
          pair.sample_x1(context, rows, 1)};
}

// The loss in float32 against float64, and a step's draws against the transition's probabilities.
void check_kernels(const Context& context) {
  const BenchmarkPair pair = load_pair("d2-gaussian-0.02");
  constexpr std::size_t kRows = 20000;
  const Problem problem = make_problem(context, pair, kRows, 16);
  const std::vector<std::int32_t> steps_left(64, 5);
  const StatesView x = problem.x0.view().slice(0, 64), clean = problem.x1.view().slice(0, 64);
  backend::NetworkTensors<float> gradient(problem.network.shape);
  backend::NetworkTensors<double> wide(problem.network.shape), wide_gradient = wide;
  std::copy(problem.network.values.begin(), problem.network.values.end(), wide.values.begin());
  backend::NetworkWorkspace<float> workspace;
  backend::NetworkWorkspace<double> wide_workspace;
  const auto chain = make_chain_tables<double>(
      context, ReferenceChain(pair.reference(), problem.network.shape.num_steps));
  const double loss = backend::of(context).network_loss(
      context, problem.network, problem.pinned.chain, backend::MatchingLoss::kKl, x, clean,
      steps_left, gradient, workspace);
  const double exact =
      backend::of(context).network_loss(context, wide, chain, backend::MatchingLoss::kKl, x, clean,
                                        steps_left, wide_gradient, wide_workspace);
  check(std::abs(loss - exact) < 1e-4 * std::abs(exact), "losses differ: {} and {}", loss, exact);

  const States from(kRows, 2, 20);
  States to(kRows, 2);
  backend::of(context).sample_network_chain(context, problem.network, problem.pinned, 5, 1, from,
                                            {3}, 0, to, workspace);
  Array3<double> log_p(1, 2, problem.network.shape.num_categories);
  backend::of(context).network_log_transition(context, problem.network, problem.pinned.chain, 5,
                                              from.view().slice(0, 1), log_p.as_matrix());
  for (std::size_t s = 0; s < log_p.extent(2); ++s) {
    double count = 0.0;
    for (std::size_t i = 0; i < kRows; ++i) count += to(i, 0) == static_cast<std::int32_t>(s);
    const double p = std::exp(log_p(0, 0, s)), mean = p * kRows;
    // Bernstein's bound at a false alarm of 1e-7 for each category.
    const double bound = std::sqrt(2.0 * mean * 17.0) + 17.0;
    check(std::abs(count - mean) <= bound, "category {} drawn {} times, expected {:.1f}", s, count,
          mean);
  }
}

struct UpdateTime {
  double wall_ms;
  double cpu_ms;  // of all threads: what other work on the machine does not change much
};

// An update as `train` runs it, in the second D-IMF iteration.
UpdateTime time_update(const Context& context, const BenchmarkPair& pair, const std::string& solver,
                       int num_steps, int updates) {
  const auto run = [&](int count) {
    SolverOptions options(find_solver(solver).options());
    options.set("recipe", "paper");
    options.set("num_steps", std::to_string(num_steps));
    options.set("imf_iterations", "2");
    options.set("updates_first", "1");
    options.set("updates_later", std::to_string(count));
    const std::clock_t before = std::clock();
    const Fitted fitted = find_solver(solver).fit(context, pair, options, 1);
    return std::pair{std::get<double>(fitted.diagnostics.at("training_seconds")),
                     static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC};
  };
  const double setup_cpu = run(1).second;
  const auto [wall, cpu] = run(updates + 1);
  const int passes = solver == "csbm" ? 2 : 1;  // CSBM's networks take turns, each with so many
  return {1e3 * wall / (passes * (updates + 2)), 1e3 * (cpu - setup_cpu) / (passes * updates)};
}

// Processor time of all threads.
template <typename Body>
double processor_ms(int repeats, Body&& body) {
  std::vector<double> times;
  body();
  for (int i = 0; i < repeats; ++i) {
    const std::clock_t before = std::clock();
    body();
    times.push_back(1e3 * static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC);
  }
  return median(times);
}

// The stages of one CSBM update one by one, then what a step of the chain is made of.
nlohmann::json profile(const Context& context, const BenchmarkPair& pair, std::size_t rows,
                       int num_steps, int repeats) {
  Problem problem = make_problem(context, pair, rows, num_steps);
  backend::NetworkTensors<float> gradient(problem.network.shape),
      first = gradient, second = gradient, average = problem.network;
  backend::NetworkWorkspace<float> workspace;
  const backend::PinnedRows points =
      pinned_rows(context, ReferenceChain(pair.reference(), num_steps), 1);
  const std::vector<std::int32_t> done = backend::draw_steps(points, rows, 0);
  std::vector<std::int32_t> left(rows);
  for (std::size_t b = 0; b < rows; ++b) left[b] = num_steps - done[b];
  States x(rows, pair.dim()), drawn(rows, pair.dim());
  const auto draw_points = [&] {
    backend::of(context).draw_points(context, points, problem.x0, problem.x1, done, 0, x);
  };
  draw_points();
  nlohmann::json ms;
  ms["data"] = processor_ms(repeats, [&] { problem.x0 = pair.sample_x0(context, rows, 1); });
  ms["chain"] = processor_ms(repeats, [&] {
    backend::of(context).sample_network_chain(context, average, problem.pinned, num_steps,
                                              num_steps, problem.x0, {1}, 0, drawn, workspace);
  });
  ms["pinned points"] = processor_ms(repeats, draw_points);
  ms["loss and gradient"] = processor_ms(repeats, [&] {
    backend::of(context).network_loss(context, problem.network, problem.pinned.chain,
                                      backend::MatchingLoss::kKl, x, problem.x1, left, gradient,
                                      workspace);
  });
  ms["AdamW and average"] = processor_ms(repeats, [&] {
    backend::of(context).adamw_update(context, {1e-4}, 1, gradient.values, problem.network.values,
                                      first.values, second.values);
    backend::of(context).average_update(context, 0.001, problem.network.values, average.values);
  });

  // Inside the chain.
  const backend::NetworkShape& shape = problem.network.shape;
  std::vector<std::vector<float>> packed(shape.num_layers());
  std::vector<float> in(rows * 4096, 0.5f), out(rows * shape.output_width() + 4096);
  for (std::size_t l = 0; l < shape.num_layers(); ++l) {
    backend::cpu::pack_layer(average.weight(l), average.bias(l), shape.layer_inputs(l),
                             shape.layer_outputs(l), packed[l]);
    const double time = processor_ms(repeats, [&] {
      backend::cpu::apply_layer(packed[l], in.data(), rows, shape.layer_inputs(l),
                                shape.layer_outputs(l), true, out.data());
    });
    const double flops =
        2.0 * static_cast<double>(rows * shape.layer_inputs(l) * shape.layer_outputs(l));
    ms[fmt::format("in a step: layer {}", l)] = time;
    ms[fmt::format("in a step: layer {} GFLOP/s", l)] = 1e-6 * flops / time;
  }
  const std::size_t S = shape.num_categories;
  std::vector<float> scratch(S);
  std::size_t sum = 0;
  ms["in a step: clean ends"] = processor_ms(repeats, [&] {
    for (std::size_t i = 0; i < rows * shape.dim; ++i) {
      sum += backend::cpu::draw_softmax(
          out.data() + i * S, problem.pinned.log_powers.data() + S * S, S,
          static_cast<double>(i) / static_cast<double>(rows * shape.dim), scratch.data());
    }
  });
  ms["in a step: pinned steps"] = processor_ms(repeats, [&] {
    for (std::size_t i = 0; i < rows * shape.dim; ++i) {
      const std::size_t row = (i * 7919) % (S * S);
      sum += backend::cpu::draw_weighted(
          problem.pinned.probabilities.data() + row * S + S * S * S, S,
          static_cast<double>(i) / static_cast<double>(rows * shape.dim));
    }
  });
  ms["in a step: random numbers"] = processor_ms(repeats, [&] {
    for (std::size_t b = 0; b < rows; ++b) {
      DrawSequence draws({1}, b);
      for (std::size_t d = 0; d < 2 * shape.dim; ++d) sum += draws.uniform() < 0.5;
    }
  });
  check(sum > 0, "no category was ever drawn");
  return ms;
}

struct Settings {
  Options common;
  std::string pair = "d16-gaussian-0.02";
  int updates = 20;
};

bool run(const Settings& settings) {
  const Context context{.num_threads = settings.common.threads};
  check_kernels(context);
  const BenchmarkPair pair = load_pair(settings.pair);
  // The published implementation on 2 cores Arm Neoverse V1, D = 16, and the ratio to reach.
  const std::map<std::pair<std::string, int>, double> peer_ms = {{{"csbm", 16}, 573.0},
                                                                 {{"csbm", 64}, 1892.0},
                                                                 {{"alpha-csbm", 16}, 606.0},
                                                                 {{"alpha-csbm", 64}, 1957.0}};
  constexpr double kRatio = 20.0;
  nlohmann::json json;
  bool good = true;
  for (const auto& [which, peer] : peer_ms) {
    const auto& [solver, num_steps] = which;
    std::vector<double> wall, cpu;
    for (int i = 0; i < settings.common.repeats; ++i) {
      const UpdateTime time = time_update(context, pair, solver, num_steps, settings.updates);
      wall.push_back(time.wall_ms);
      cpu.push_back(time.cpu_ms);
    }
    const std::string name = fmt::format("{}, {} steps", solver, num_steps);
    json["updates_ms"][name] = {
        {"median", median(wall)}, {"lowest", minimum(wall)}, {"cpu", median(cpu)}};
    if (pair.dim() == 16) good &= judge(name, median(wall), peer / kRatio, " ms");
    fmt::print("  {}: median {:.3g} ms, lowest {:.3g} ms, {:.3g} ms of processor time\n", name,
               median(wall), minimum(wall), median(cpu));
    if (pair.dim() == 16) {
      fmt::print("  {:.1f} times the published implementation\n", peer / median(wall));
    }
  }
  for (const int num_steps : {16, 64}) {
    const nlohmann::json ms = profile(context, pair, 128, num_steps, settings.common.repeats);
    fmt::print("csbm, {} steps, stages in ms of processor time\n", num_steps);
    for (const auto& [stage, time] : ms.items()) {
      fmt::print("  {:<40} {:>9.4f}\n", stage, time.get<double>());
    }
    json["stages_ms"][std::to_string(num_steps)] = ms;
  }
  write_json(settings.common, json);
  return good;
}

}  // namespace
}  // namespace bridgemark::bench

int main(int argc, char** argv) {
  using namespace bridgemark::bench;
  CLI::App app{"Times an update of CSBM and alpha-CSBM"};
  Settings settings;
  add_options(app, settings.common);
  app.add_option("--pair", settings.pair, "Pair to train on")->capture_default_str();
  app.add_option("--updates", settings.updates, "Updates of a timing")->capture_default_str();
  return run_main(app, argc, argv, [&] { return run(settings); });
}
