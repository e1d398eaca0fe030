#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/core/states.h"
#include "bridgemark/io/npy.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/metric/evaluation.h"
#include "bridgemark/pair/pair_spec.h"
#include "cli/command.h"
#include "cli/option_use.h"
#include "cli/output.h"
#include "cli/sample_run.h"

namespace bridgemark::cli {

namespace {

struct SampleOptions {
  CommonOptions common;
  std::string pair;
  std::string what;
  std::uint64_t count = 0;
  std::string given;
  std::string run;
  std::string condition;
  bool reverse = false;
  std::optional<int> num_steps;
  std::string through = "any";
  std::string output;
};

// Rows of a chunk, so that memory stays near 64 MiB whatever the size of the result.
std::size_t chunk_rows(std::size_t entries_per_row) {
  return std::clamp<std::size_t>((std::size_t{1} << 24) / std::max<std::size_t>(entries_per_row, 1),
                                 1, 1 << 16);
}

class Sampler {
 public:
  explicit Sampler(const SampleOptions& options)
      : options_(options),
        num_steps_(options.num_steps.value_or(kTrajectorySteps)),
        context_(options.common.context()),
        pair_(load_pair(options.pair)) {
    report_ = context_.progress;
    context_.progress = nullptr;  // chunks are reported here, not inside each of them
  }

  int run() {
    if (options_.what.empty()) {
      throw_invalid("sample",
                    "--what must be one of x0, x1, joint, conditional, trajectory, got none");
    }
    if (options_.what == "conditional" && options_.given.empty()) {
      throw_invalid("sample", "--what conditional needs --given X0.npy, got none");
    }
    const bool from_given = options_.what == "trajectory" && !options_.given.empty();
    if (!from_given && (options_.count < 1 || options_.count > kMaxRows)) {
      throw_invalid("sample", "-n must lie in 1..{}, got {}", kMaxRows, options_.count);
    }
    if (options_.what == "x0" || options_.what == "x1") {
      sample_ends();
    } else if (options_.what == "joint") {
      sample_joint();
    } else if (options_.what == "conditional") {
      sample_conditional();
    } else {
      sample_trajectories();
    }
    return 0;
  }

 private:
  void sample_ends() {
    NpyWriter writer = open({options_.count, pair_.dim()});
    in_chunks(options_.count, pair_.dim(), [&](std::size_t first, std::size_t rows) {
      append(writer, options_.what == "x0"
                         ? pair_.sample_x0(context_, rows, options_.common.seed, first)
                         : pair_.sample_x1(context_, rows, options_.common.seed, first));
    });
    finish(writer);
  }

  void sample_joint() {
    NpyWriter writer = open({options_.count, 2, pair_.dim()});
    in_chunks(options_.count, 2 * pair_.dim(), [&](std::size_t first, std::size_t rows) {
      const PairedStates drawn = pair_.sample_joint(context_, rows, options_.common.seed, first);
      for (std::size_t i = 0; i < rows; ++i) {
        writer.append(drawn.x0.row(i), pair_.dim() * sizeof(std::int32_t));
        writer.append(drawn.x1.row(i), pair_.dim() * sizeof(std::int32_t));
      }
    });
    finish(writer);
  }

  // Draw j of given row i has index i * n + j.
  void sample_conditional() {
    const States given = load_given();
    NpyWriter writer = open({given.rows(), options_.count, pair_.dim()});
    const std::size_t total = given.rows() * options_.count;
    in_chunks(total, pair_.dim(), [&](std::size_t first, std::size_t rows) {
      States x0(rows, pair_.dim());
      for (std::size_t i = 0; i < rows; ++i) {
        std::copy_n(given.row((first + i) / options_.count), pair_.dim(), x0.row(i));
      }
      append(writer, pair_.sample_conditional(context_, x0, options_.common.seed, first));
    });
    finish(writer);
  }

  void sample_trajectories() {
    const std::uint64_t seed = options_.common.seed;
    const States given =
        options_.given.empty() ? pair_.sample_x0(context_, options_.count, seed) : load_given();
    const ReferenceChain chain(pair_.reference(), num_steps_);  // before a file is opened
    const auto through = options_.through == "markov"   ? BenchmarkPair::Through::kMarkov
                         : options_.through == "pinned" ? BenchmarkPair::Through::kPinned
                                                        : BenchmarkPair::Through::kAny;
    const std::size_t times = static_cast<std::size_t>(num_steps_) + 1;
    NpyWriter writer = open({given.rows(), times, pair_.dim()});
    in_chunks(given.rows(), times * pair_.dim(), [&](std::size_t first, std::size_t rows) {
      const StatesView x0 = given.view().slice(first, rows);
      const Array3<std::int32_t> drawn =
          pair_.sample_trajectory(context_, num_steps_, x0, seed, first, through);
      writer.append(drawn.data(), drawn.size() * sizeof(std::int32_t));
    });
    finish(writer);
  }

  States load_given() const {
    States given = load_states(options_.given);
    check_states(options_.given, given, pair_.dim(), pair_.num_categories());
    return given;
  }

  NpyWriter open(std::vector<std::size_t> shape) {
    shape_ = std::move(shape);
    return {options_.output, DType::kI32, shape_};
  }

  template <typename Draw>
  void in_chunks(std::size_t total, std::size_t entries_per_row, Draw&& draw) {
    const std::size_t chunk = chunk_rows(entries_per_row);
    for (std::size_t first = 0; first < total; first += chunk) {
      draw(first, std::min(chunk, total - first));
      if (report_) report_("rows", std::min(total, first + chunk), total, {});
    }
  }

  static void append(NpyWriter& writer, const States& states) {
    writer.append(states.data(), states.size() * sizeof(std::int32_t));
  }

  void finish(NpyWriter& writer) {
    writer.commit();
    say("{}: {} of {}, int32 [{}]\n", terminal_text(options_.output), options_.what,
        terminal_text(pair_.identity().name), fmt::join(shape_, ", "));
  }

  const SampleOptions& options_;
  int num_steps_;
  Context context_;
  BenchmarkPair pair_;
  ProgressFn report_;
  std::vector<std::size_t> shape_;
};

int run_sample(const SampleOptions& options) {
  if (options.run.empty() == options.pair.empty()) {
    throw_invalid("sample", "give one of PAIR and --run, got {}",
                  options.run.empty() ? "none" : "both");
  }
  if (options.run.empty()) {
    if (options.output.ends_with(".csv")) {
      throw_invalid("sample", "-o must be an .npy file where a PAIR is drawn from, got {}",
                    options.output);
    }
    if (options.reverse) {
      throw_invalid("sample", "--reverse belongs to --run, got PAIR {}: take {}{}", options.pair,
                    options.pair, kReverseSuffix);
    }
    return Sampler(options).run();
  }
  const bool trajectory = options.what == "trajectory";
  if (options.given.empty()) throw_invalid("sample", "--run needs --given X0.npy, got none");
  if (options.count != 0) {
    throw_invalid("sample", "-n belongs to a PAIR: --run draws once for each given row, got {}",
                  options.count);
  }
  if (!trajectory && !options.what.empty() && options.what != "conditional") {
    throw_invalid("sample", "--what of a --run must be conditional or trajectory, got {}",
                  options.what);
  }
  sample_run(options.common.context(),
             {options.run, options.given, options.condition, trajectory, options.num_steps,
              options.reverse, options.common.seed, options.output});
  return 0;
}

}  // namespace

void add_sample(CLI::App& app, Action& action) {
  auto options = std::make_shared<SampleOptions>();
  CLI::App* command =
      app.add_subcommand("sample", "Draw states from a pair or a run into a .npy file");
  command->footer(
      "Examples:\n"
      "  bridgemark sample d16-gaussian-0.02 --what joint -n 20000 -o joint.npy\n"
      "  bridgemark sample d2-uniform-0.01 --what conditional --given x0.npy -n 1000 -o x1.npy\n"
      "  bridgemark sample d2-uniform-0.01 --what trajectory --given x0.npy --num-steps 64 -o "
      "t.npy\n"
      "  bridgemark sample --run run --given x0.npy -o x1.npy\n"
      "  bridgemark sample --run run --given before.csv -o after.csv\n"
      "  bridgemark sample --run run --given x0.npy --condition labels.npy -o x1.npy");
  command->add_option("PAIR", options->pair, "A preset or a pair folder: draws from its truth");
  command->add_option("--run", options->run,
                      "Run folder of bridgemark train: draws from what it learned, x1 [rows of "
                      "given,D], or with --what trajectory [rows of given,M+1,D]");
  command->add_flag(
      "--reverse", options->reverse,
      "With --run: x0 for each given x1. A bridge is turned round by Bayes' rule, with "
      "the law of x0 that it has or among its own x0");
  command
      ->add_option("--what", options->what,
                   "x0, x1: [N,D]; joint: [N,2,D]; conditional: [rows of given,N,D]; trajectory: "
                   "[rows of given,M+1,D]")
      ->check(CLI::IsMember({"x0", "x1", "joint", "conditional", "trajectory"}));
  command->add_option("-n", options->count, "Number of draws, for each given row if conditional")
      ->check(whole_number());
  CLI::Option* given =
      command->add_option("--given", options->given,
                          "States x0 to start from, int .npy [rows,D]; a table (.csv) for a "
                          "--run of train --columns");
  CLI::Option* condition = command->add_option(
      "--condition", options->condition,
      "Labels of the given rows, integers .npy [rows]: with a --run that was trained with labels, "
      "x1 given x0 and its label");
  only_for(condition, "--run", [=]() -> std::optional<std::string> {
    if (!options->run.empty()) return std::nullopt;
    return options->pair.empty() ? "none" : "PAIR " + options->pair;
  });
  CLI::Option* num_steps = command->add_option(
      "--num-steps", options->num_steps,
      fmt::format("M, steps of a trajectory (default: {}, or those that the run was "
                  "trained with)",
                  kTrajectorySteps));
  CLI::Option* through = command->add_option(
      "--through", options->through,
      "How a trajectory is drawn: step by step (markov), or its end first and its "
      "inside from the pinned reference (pinned); the law is the same, any takes "
      "markov where the truth has transitions");
  through->check(CLI::IsMember({"any", "markov", "pinned"}))->capture_default_str();
  const auto what = [=] { return "--what " + (options->what.empty() ? "none" : options->what); };
  only_for(given, "--run, --what conditional or --what trajectory",
           [=]() -> std::optional<std::string> {
             const bool starts = options->what == "conditional" || options->what == "trajectory";
             if (!options->run.empty() || options->what.empty() || starts) return std::nullopt;
             return what();
           });
  only_for(command->get_option("-n"), "trajectories from draws of p0",
           [=]() -> std::optional<std::string> {
             const bool from_given = options->what == "trajectory" && !options->given.empty();
             if (!from_given || !options->run.empty()) return std::nullopt;
             return "--given " + options->given;
           });
  const auto unless_trajectory = [=]() -> std::optional<std::string> {
    if (options->what == "trajectory") return std::nullopt;
    return what();
  };
  only_for(num_steps, "--what trajectory", unless_trajectory);
  only_for(through, "--what trajectory", unless_trajectory);
  only_for(through, "a PAIR", [=]() -> std::optional<std::string> {
    if (options->run.empty()) return std::nullopt;
    return "--run " + options->run;
  });
  command->add_option("-o,--output", options->output, "File to write")->required();
  add_seed_option(*command, options->common, "Seed of the draws");
  add_common_options(*command, options->common);
  command->callback([=, &action] { action = [=] { return run_sample(*options); }; });
}

}  // namespace bridgemark::cli
