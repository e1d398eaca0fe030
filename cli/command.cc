#include "cli/command.h"

#include "bridgemark/backend/ops.h"
#include "cli/interrupt.h"
#include "cli/progress.h"

namespace bridgemark::cli {

Context CommonOptions::context() const {
  Context context{parse_device(device), threads, make_progress_printer(), stop_requested};
  backend::require_device(context);
  return context;
}

void add_common_options(CLI::App& command, CommonOptions& options, const std::string& seed_help) {
  command.add_option("--seed", options.seed, seed_help)->capture_default_str();
  command.add_option("--threads", options.threads, "CPU threads; 0 takes all of the machine")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command.add_option("--device", options.device, "cpu or cuda")->capture_default_str();
}

void add_json_option(CLI::App& command, CommonOptions& options) {
  command.add_flag("--json", options.json, "Print one JSON object instead of a table");
}

}  // namespace bridgemark::cli
