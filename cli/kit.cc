#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bridgemark/io/atomic_file.h"
#include "bridgemark/io/npy.h"
#include "bridgemark/pair/pair_spec.h"
#include "cli/command.h"

namespace bridgemark::cli {

namespace {

struct Options {
  CommonOptions common;
  std::string pair;
  std::string output;
};

void save_states(const std::filesystem::path& path, const States& states) {
  save_npy(path, std::vector{states.rows(), states.cols()},
           std::span<const std::int32_t>(states.data(), states.size()));
}

int run(const Options& options) {
  const Context context = options.common.context();
  const BenchmarkPair pair = load_pair(options.pair);
  const PairedStates test = pair.test_set(context);
  const States conditional = conditional_inputs(test.x0);
  const std::filesystem::path folder = options.output;
  create_folder(folder);
  save_states(folder / "test_x0.npy", test.x0);
  save_states(folder / "test_x1.npy", test.x1);
  save_states(folder / "conditional_x0.npy", conditional);
  fmt::print(
      "{0}: test_x0.npy and test_x1.npy [{1}, {2}], conditional_x0.npy [{3}, {2}]\n"
      "Answer with pred_x1.npy [{1}, {2}] and pred_conditional_x1.npy [{3}, {4}, {2}], int32.\n",
      options.output, test.x0.rows(), pair.dim(), conditional.rows(), kConditionalSamples);
  return 0;
}

}  // namespace

void add_kit(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "kit", "Write a pair's test inputs as .npy files for a solver outside of Bridgemark");
  command->footer("Example: bridgemark kit d2-gaussian-0.02 -o kit");
  command->add_option("PAIR", options->pair, "A preset or a pair folder")->required();
  command->add_option("-o,--output", options->output, "Folder to write")->required();
  add_common_options(*command, options->common, "Not used: the test set belongs to the pair");
  command->callback([=, &action] { action = [=] { return run(*options); }; });
}

}  // namespace bridgemark::cli
