#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "bridgemark/core/clock.h"
#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/io/npy.h"
#include "bridgemark/report/gamma_figure.h"
#include "bridgemark/solver/gamma/gamma_scan.h"
#include "bridgemark/solver/gamma/gamma_scan_text.h"
#include "cli/command.h"
#include "cli/output.h"

namespace bridgemark::cli {

namespace {

struct GammaOptions {
  CommonOptions common;
  std::string x0, x1;
  std::string reference = "gaussian";
  std::optional<int> categories;
  int steps = kDefaultTotalSteps;
  GammaScanOptions scan;
  std::optional<std::string> output;
};

// Before the trainings whose results it takes.
void check_output(const std::string& folder) {
  if (folder.empty()) throw_invalid("gamma", "the folder to write must have a name, got none");
  if (path_exists(folder) && !is_folder(folder)) {
    throw_file(folder, "exists and is not a folder");
  }
}

int run_gamma(GammaOptions options) {
  if (options.output) check_output(*options.output);
  const Context context = options.common.context();
  options.scan.seed = options.common.seed;
  DataParts parts{.x0 = load_states(options.x0),
                  .x1 = load_states(options.x1),
                  .reference = read_reference(options.reference),
                  .num_categories = options.categories,
                  .total_steps = options.steps};
  const Clock::time_point started = Clock::now();
  const GammaScan scan = scan_gamma(context, std::move(parts), options.scan);
  const nlohmann::json record = gamma_scan_record(context, scan, seconds_since(started));
  if (options.output) {
    const std::filesystem::path folder = *options.output;
    create_folder(folder);
    write_file_atomically(folder / "gamma.json", record.dump(2) + "\n");
    write_file_atomically(folder / "gamma.svg", gamma_figure(scan));
  }
  for (const std::string& warning : scan.warnings) note("warning: {}\n", warning);
  if (options.common.json) {
    say("{}\n", record.dump(2));
  } else {
    say("{}\n", gamma_scan_text(scan));
  }
  return 0;
}

}  // namespace

void add_gamma(CLI::App& app, Action& action) {
  auto options = std::make_shared<GammaOptions>();
  CLI::App* command = app.add_subcommand(
      "gamma", "Show what gamma changes on own data: a bridge fitted at each of several");
  command->footer(
      "Examples:\n"
      "  bridgemark gamma --x0 a.npy --x1 b.npy -o scan\n"
      "  bridgemark gamma --x0 a.npy --x1 b.npy --reference uniform --gammas 0.001 0.01 0.1 "
      "--json\n"
      "Rows of two ends cannot choose gamma: every gamma has a bridge that fits both. The scan "
      "shows how much of x0 each keeps, so that the choice can be made and stated.");
  command->add_option("--x0", options->x0, "States to start from, integers .npy [n,D]")->required();
  command->add_option("--x1", options->x1, "States to lead to, integers .npy [m,D]; unpaired")
      ->required();
  command->add_option("--reference", options->reference, "gaussian or uniform")
      ->capture_default_str();
  command->add_option("--gammas", options->scan.gammas,
                      "Gammas to look at, two or more (default: eight, at which the reference "
                      "alone leads 0.02 to 0.95 of the way from staying to forgetting x0)");
  command->add_option("--categories", options->categories,
                      "S (default: one more than the largest category of the data)");
  command->add_option("--steps", options->steps, "Elementary steps from x0 to x1")
      ->capture_default_str();
  command->add_option("--solver", options->scan.solver, "What is fitted at each gamma")
      ->capture_default_str();
  command
      ->add_option("--set", options->scan.settings,
                   "Options of the solver, key=value each; dlightsb starts from quick ones: "
                   "components=32 updates=500 refit=no source=none")
      ->type_size(1)
      ->allow_extra_args(false);
  command
      ->add_option("--holdout", options->scan.holdout,
                   "Share of the rows of either end that nothing is fitted to; the numbers "
                   "are those of answers to them")
      ->check(number_in(0.01, 0.9))
      ->capture_default_str();
  command->add_option("-o,--output", options->output,
                      "Folder to write the scan to, gamma.json and the drawing gamma.svg");
  add_seed_option(*command, options->common, "Seed of the trainings and the draws");
  add_common_options(*command, options->common);
  add_json_option(*command, options->common);
  command->callback([=, &action] { action = [=] { return run_gamma(*options); }; });
}

}  // namespace bridgemark::cli
