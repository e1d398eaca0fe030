#include <filesystem>
#include <memory>
#include <string>

#include "bridgemark/io/printable.h"
#include "bridgemark/pair/pair_folder.h"
#include "bridgemark/solver/core/diagnostics_json.h"
#include "bridgemark/solver/run/distill.h"
#include "bridgemark/solver/run/run_result.h"
#include "cli/command.h"
#include "cli/output.h"

namespace bridgemark::cli {

namespace {

struct DistillOptions {
  CommonOptions common;
  std::string run, output;
  DistillRequest request;
};

int run_distill(const DistillOptions& options) {
  const Context context = options.common.context();
  DistillRequest request = options.request;
  request.seed = options.common.seed;
  const LoadedRun run = load_whole_run(context, options.run);
  const BenchmarkPair pair =
      distill(run, read_diagnostics(load_run_result(options.run).at("diagnostics")), request);
  write_pair_folder(context, pair, options.output);
  say("{}: {} (D = {}, S = {}, K = {}, {} parts of p0), {} of {} as the truth\n",
      terminal_text(options.output), terminal_text(pair.identity().name), pair.dim(),
      pair.num_categories(), pair.bridge().num_components(),
      pair.bridge().source()->num_components(), run.config.solver, terminal_text(options.run));
  return 0;
}

}  // namespace

void add_distill(CLI::App& app, Action& action) {
  auto options = std::make_shared<DistillOptions>();
  CLI::App* command = app.add_subcommand(
      "distill", "Declare what a run was fitted to be the truth: a pair that looks like its data");
  command->footer(
      "Examples:\n"
      "  bridgemark train dlightsb --x0 a.npy --x1 b.npy --reference gaussian -o run\n"
      "  bridgemark distill --run run --name threes-to-eights -o pair\n"
      "  bridgemark train csbm --pair pair -o csbm-run");
  command
      ->add_option("--run", options->run,
                   "Run folder of dlightsb, dlightsb-m, dlightsb-chain or dlightsb-tree")
      ->required();
  command->add_option("-o,--output", options->output, "Folder to write the pair to")->required();
  command->add_option("--name", options->request.name, "Name of the pair")->capture_default_str();
  command->add_option("--data-name", options->request.data_name,
                      "What own data are called in the pair's origin, in config.json");
  command->add_flag("--accept-overfitted", options->request.accept_overfitted,
                    "Take a run that rows held out speak against, or that none have judged");
  add_seed_option(*command, options->common, "Seed of the pair's test set");
  add_common_options(*command, options->common);
  command->callback([=, &action] { action = [=] { return run_distill(*options); }; });
}

}  // namespace bridgemark::cli
