// One training step of DLightSB and DLightSB-M: gradient and AdamW, without drawing the data. What
// does it cost, and how does the cost grow with D, S, K and the batch?

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/support.h"
#include "bridgemark/backend/backend.h"
#include "bridgemark/backend/plan/cp_tensors.h"
#include "bridgemark/io/npy.h"
#include "bridgemark/math/philox.h"
#include "bridgemark/process/chain_tables.h"

namespace bridgemark::bench {
namespace {

struct Size {
  std::size_t D = 16, S = 50, K = 1000, B = 128;
  int num_steps = 64;
  std::string reference = "gaussian";
  double gamma = 0.02;  // at S = 50; a Gaussian reference keeps its width in categories
};

ReferenceProcess reference_of(const Size& size) {
  const int S = static_cast<int>(size.S);
  return size.reference == "uniform"
             ? ReferenceProcess::uniform(S, size.gamma)
             : ReferenceProcess::gaussian(S, size.gamma * 50.0 / static_cast<double>(size.S));
}

struct Problem {
  backend::ChainTables<float> chain, ends;
  backend::CpTensors<float> parameters;
  States x0, x1, x_n;
  std::vector<std::int32_t> n;
};

Problem make_problem(const Context& context, const Size& size) {
  const ReferenceProcess process = reference_of(size);
  Problem problem{make_chain_tables<float>(context, ReferenceChain(process, size.num_steps)),
                  make_chain_tables<float>(context, ReferenceChain(process, 1)),
                  backend::CpTensors<float>(size.D, size.S, size.K),
                  States(size.B, size.D),
                  States(size.B, size.D),
                  States(size.B, size.D),
                  {}};
  DrawSequence draws({7, DrawPurpose::kInitialise}, 0);
  for (float& value : problem.parameters.log_beta)
    value = static_cast<float>(draws.uniform() - 2.0);
  for (float& value : problem.parameters.log_cores) {
    value = static_cast<float>(4.0 * draws.uniform() - 5.0);
  }
  const auto category = [&] {
    return static_cast<std::int32_t>(draws.uniform() * static_cast<double>(size.S));
  };
  for (States* states : {&problem.x0, &problem.x1}) {
    for (std::size_t i = 0; i < states->size(); ++i) states->data()[i] = category();
  }
  // Near the end: an x_n that the pinned reference would really visit.
  for (std::size_t i = 0; i < problem.x_n.size(); ++i) problem.x_n.data()[i] = problem.x1.data()[i];
  for (std::size_t b = 0; b < size.B; ++b) {
    problem.n.push_back(static_cast<std::int32_t>(draws.uniform() * size.num_steps));
  }
  return problem;
}

// Runs steps of one solver; returns the median seconds and the loss of the first.
struct Timing {
  double seconds = 0.0;
  double loss = 0.0;
};

Timing time_steps(const Context& context, const Problem& problem, bool matching, int repeats) {
  backend::CpTensors<float> parameters = problem.parameters;
  backend::CpTensors<float> gradient(parameters.dim, parameters.num_categories,
                                     parameters.num_components);
  backend::CpTensors<float> first = gradient, second = gradient;
  backend::CpWorkspace<float> workspace;
  Timing timing;
  std::vector<double> times;
  for (int step = 1; step <= repeats + 1; ++step) {
    double loss = 0.0;
    const double time = seconds([&] {
      loss = matching
                 ? backend::of(context).matching_loss(context, parameters, problem.chain,
                                                      backend::MatchingLoss::kKl, problem.x_n,
                                                      problem.x1, problem.n, gradient, workspace)
                 : backend::of(context).static_loss(context, parameters, problem.ends, problem.x0,
                                                    problem.x1, gradient, workspace);
      const AdamWSettings settings;
      backend::of(context).adamw_update(context, settings, step, gradient.log_beta,
                                        parameters.log_beta, first.log_beta, second.log_beta);
      backend::of(context).adamw_update(context, settings, step, gradient.log_cores,
                                        parameters.log_cores, first.log_cores, second.log_cores);
    });
    if (step == 1) timing.loss = loss;
    if (step > 1) times.push_back(time);
  }
  timing.seconds = median(times);
  return timing;
}

// float32 against float64 before anything is timed.
void check_losses(const Context& context) {
  const Size size{.D = 4, .S = 20, .K = 70, .B = 16, .num_steps = 8};
  const Problem problem = make_problem(context, size);
  backend::CpTensors<double> parameters(size.D, size.S, size.K), exact = parameters;
  std::copy(problem.parameters.log_beta.begin(), problem.parameters.log_beta.end(),
            parameters.log_beta.begin());
  std::copy(problem.parameters.log_cores.begin(), problem.parameters.log_cores.end(),
            parameters.log_cores.begin());
  const ReferenceProcess process = ReferenceProcess::gaussian(20, 0.05);
  const auto chain = make_chain_tables<double>(context, ReferenceChain(process, size.num_steps));
  const auto single = make_chain_tables<float>(context, ReferenceChain(process, size.num_steps));
  backend::CpWorkspace<double> workspace;
  backend::CpWorkspace<float> workspace_single;
  backend::CpTensors<float> gradient(size.D, size.S, size.K);
  const double loss =
      backend::of(context).matching_loss(context, parameters, chain, backend::MatchingLoss::kKl,
                                         problem.x_n, problem.x1, problem.n, exact, workspace);
  const double loss_single = backend::of(context).matching_loss(
      context, problem.parameters, single, backend::MatchingLoss::kKl, problem.x_n, problem.x1,
      problem.n, gradient, workspace_single);
  check(std::abs(loss - loss_single) < 1e-4 * std::abs(loss), "losses differ: {} and {}", loss,
        loss_single);
}

// The problem as .npy files, for the same step elsewhere.
void dump(const Context& context, const Size& size, const std::filesystem::path& folder) {
  const Problem problem = make_problem(context, size);
  std::filesystem::create_directories(folder);
  const auto doubles = [](const auto& values) {
    return std::vector<double>(values.begin(), values.end());
  };
  const auto states = [&](const char* name, const States& values) {
    save_npy(folder / name, std::vector{values.rows(), values.cols()},
             std::span<const std::int32_t>(values.data(), values.size()));
  };
  const std::vector<double> beta = doubles(problem.parameters.log_beta),
                            cores = doubles(problem.parameters.log_cores),
                            powers = doubles(problem.chain.linear);
  save_npy(folder / "log_beta.npy", std::vector{size.K}, std::span<const double>(beta));
  save_npy(folder / "log_cores.npy", std::vector{size.D, size.S, size.K},
           std::span<const double>(cores));
  save_npy(folder / "powers.npy",
           std::vector{static_cast<std::size_t>(size.num_steps) + 1, size.S, size.S},
           std::span<const double>(powers));
  states("x0.npy", problem.x0);
  states("x1.npy", problem.x1);
  states("x_n.npy", problem.x_n);
  states("n.npy", States(size.B, 1, problem.n));
}

nlohmann::json print_row(const Context& context, const char* what, const Size& size,
                         const std::string& solver, int repeats) {
  const Problem problem = make_problem(context, size);
  fmt::print("{:<10} {:>4} {:>4} {:>5} {:>5} {:>6}", what, size.D, size.S, size.K, size.B,
             size.num_steps);
  // The milliseconds of a step, or null for a solver that is not asked for.
  const auto milliseconds = [&](const char* name, bool is_matching, int width) -> nlohmann::json {
    if (solver != "both" && solver != name) {
      fmt::print(" {:>{}}", "-", width);
      return nullptr;
    }
    const double time = 1e3 * time_steps(context, problem, is_matching, repeats).seconds;
    fmt::print(" {:>{}.2f}", time, width);
    return time;
  };
  const nlohmann::json fixed = milliseconds("dlightsb", false, 12),
                       matching = milliseconds("dlightsb-m", true, 14);
  fmt::print("\n");
  return {{"case", what},
          {"dim", size.D},
          {"categories", size.S},
          {"components", size.K},
          {"batch", size.B},
          {"num_steps", size.num_steps},
          {"reference", size.reference},
          {"gamma", size.gamma},
          {"dlightsb_ms", fixed},
          {"dlightsb_m_ms", matching}};
}

struct Settings {
  Options common;
  Size size;
  std::string solver = "both";
  std::string dump_folder;
  bool growth = false;
};

bool run(const Settings& settings) {
  const Size& size = settings.size;
  const Context context{.num_threads = settings.common.threads};
  check_losses(context);
  if (!settings.dump_folder.empty()) {
    dump(context, size, settings.dump_folder);
    const Problem problem = make_problem(context, size);
    fmt::print("{{\"dlightsb\": {}, \"dlightsb-m\": {}}}\n",
               time_steps(context, problem, false, 1).loss,
               time_steps(context, problem, true, 1).loss);
    return true;
  }
  const int repeats = settings.common.repeats;
  fmt::print("{:<10} {:>4} {:>4} {:>5} {:>5} {:>6} {:>12} {:>14}\n", "", "D", "S", "K", "batch",
             "steps", "DLightSB ms", "DLightSB-M ms");
  nlohmann::json rows = nlohmann::json::array();
  rows.push_back(print_row(context, "base", size, settings.solver, repeats));
  if (settings.growth) {
    const auto doubled = [&](const char* what, std::size_t Size::*side) {
      Size larger = size;
      larger.*side *= 2;
      rows.push_back(print_row(context, what, larger, settings.solver, repeats));
    };
    doubled("2 x D", &Size::D);
    doubled("2 x S", &Size::S);
    doubled("2 x K", &Size::K);
    doubled("2 x batch", &Size::B);
  }
  fmt::print("peak memory {:.0f} MiB\n", peak_memory_mib());
  write_json(settings.common, {{"rows", rows}, {"peak_memory_mib", peak_memory_mib()}});
  return true;
}

}  // namespace
}  // namespace bridgemark::bench

int main(int argc, char** argv) {
  using namespace bridgemark::bench;
  CLI::App app{"Times one training step of DLightSB and DLightSB-M"};
  Settings settings;
  add_options(app, settings.common);
  app.add_option("--dim", settings.size.D, "D")->capture_default_str();
  app.add_option("--components", settings.size.K, "K")->capture_default_str();
  app.add_option("--num-steps", settings.size.num_steps, "Steps of the chain")
      ->capture_default_str();
  app.add_option("--reference", settings.size.reference, "gaussian or uniform")
      ->capture_default_str()
      ->check(CLI::IsMember({"gaussian", "uniform"}));
  app.add_option("--gamma", settings.size.gamma, "Of the reference")
      ->capture_default_str()
      ->check(CLI::Range(1e-6, 0.999));
  app.add_option("--solver", settings.solver, "dlightsb, dlightsb-m or both")
      ->capture_default_str()
      ->check(CLI::IsMember({"dlightsb", "dlightsb-m", "both"}));
  app.add_option("--dump", settings.dump_folder,
                 "Write the problem as .npy files, print the losses and stop");
  app.add_flag("--growth", settings.growth, "Also double each of D, S, K and the batch");
  return run_main(app, argc, argv, [&] { return run(settings); });
}
