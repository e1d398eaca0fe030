#include "bridgemark/verify/doctor.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "bridgemark/backend/ranks/launched_ranks.h"
#include "cli/command.h"
#include "cli/output.h"

namespace bridgemark::cli {

namespace {

int run_doctor(bool json) {
  MachineReport report = examine_machine();
  report.groups[0].facts.emplace_back("ranks", backend::ranks_library());
  if (json) {
    say("{}\n", machine_report_json(report).dump(2));
  } else {
    say("{}", machine_report_text(report));
  }
  return report.passed() ? 0 : 1;
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  auto options = std::make_shared<CommonOptions>();
  CLI::App* command =
      app.add_subcommand("doctor", "Say what this build and this machine can do, for bug reports");
  command->footer(
      "Example: bridgemark doctor --json\n"
      "Versions, processor, instruction sets, threads, memory and devices, and a short computation "
      "on each device beside plain sums. Says what to set where threads, other programs or "
      "OpenBLAS make the machine slow. No path and no name of a user is in it. Exits 1 where a "
      "device computes something else.");
  add_json_option(*command, *options);
  command->callback([=, &action] { action = [=] { return run_doctor(options->json); }; });
}

}  // namespace bridgemark::cli
