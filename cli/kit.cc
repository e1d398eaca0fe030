#include <memory>
#include <string>
#include <vector>

#include "bridgemark/io/printable.h"
#include "bridgemark/metric/prediction_files.h"
#include "bridgemark/pair/pair_spec.h"
#include "cli/command.h"
#include "cli/output.h"

namespace bridgemark::cli {

namespace {

struct KitOptions {
  CommonOptions common;
  std::string pair;
  std::string output;
  TrainingRows rows;
};

int run_kit(const KitOptions& options) {
  const Context context = options.common.context();
  const BenchmarkPair pair = load_pair(options.pair);
  const KitRows rows = write_kit(context, pair, options.output, options.rows);
  say("{0}: test_x0.npy and test_x1.npy [{1}, {2}], conditional_x0.npy [{3}, {2}]\n"
      "Answer with answers/pred_x1.npy [{1}, {2}] and answers/pred_conditional_x1.npy [{3}, {4}, "
      "{2}], int32.\n",
      terminal_text(options.output), rows.test, pair.dim(), rows.conditional, kConditionalSamples);
  std::vector<std::string> evaluate = {"evaluate", options.pair, "--predictions", "answers"};
  if (options.rows.samples > 0) {
    say("Train on train_x0.npy and train_x1.npy [{}, {}], {}, unpaired.\n", options.rows.samples,
        pair.dim(), training_rows_text(options.rows));
    evaluate.insert(evaluate.end(), {"--samples", std::to_string(options.rows.samples),
                                     "--training-set", std::to_string(options.rows.training_set)});
  }
  say_next(options.common, evaluate);
  return 0;
}

}  // namespace

void add_kit(CLI::App& app, Action& action) {
  auto options = std::make_shared<KitOptions>();
  CLI::App* command = app.add_subcommand(
      "kit", "Write a pair's test inputs as .npy files for a solver outside of Bridgemark");
  command->footer(
      "Examples:\n"
      "  bridgemark kit d2-gaussian-0.02 -o kit\n"
      "  bridgemark kit d2-gaussian-0.02 --samples 1000 --training-set 1 -o kit");
  command->add_option("PAIR", options->pair, "A preset or a pair folder")->required();
  command->add_option("-o,--output", options->output, "Folder to write")->required();
  add_training_rows_options(*command, options->rows,
                            "Also write train_x0.npy and train_x1.npy: that many rows of either "
                            "end, unpaired, of a training set");
  add_common_options(*command, options->common);
  command->callback([=, &action] { action = [=] { return run_kit(*options); }; });
}

}  // namespace bridgemark::cli
