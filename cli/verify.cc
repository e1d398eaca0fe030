
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bridgemark/io/printable.h"
#include "bridgemark/verify/verification.h"
#include "cli/command.h"
#include "cli/output.h"

namespace bridgemark::cli {

namespace {

struct VerifyOptions {
  CommonOptions common;
  std::vector<std::string> files;
};

int run_verify(const VerifyOptions& options) {
  const Context context = options.common.context();
  bool passed = true;
  std::size_t done = 0;
  nlohmann::json report = nlohmann::json::array();
  for (const std::string& file : options.files) {
    const Verification verification = verify_file(context, file);
    context.report("files", ++done, options.files.size());
    passed = passed && verification.passed();
    nlohmann::json checks = nlohmann::json::array();
    if (!options.common.json)
      say("{} ({})\n", terminal_text(file), terminal_text(verification.kind));
    for (const TensorCheck& check : verification.checks) {
      checks.push_back({{"tensor", check.tensor},
                        {"max_error", check.max_error},
                        {"tolerance", check.tolerance},
                        {"passed", check.passed()}});
      if (!options.common.json) {
        say("  {:<28} largest error {:>9.2e}  allowed {:.0e}  {}\n", terminal_text(check.tensor),
            check.max_error, check.tolerance, check.passed() ? "ok" : "FAILED");
      }
    }
    report.push_back({{"file", file},
                      {"kind", verification.kind},
                      {"passed", verification.passed()},
                      {"checks", checks}});
  }
  if (options.common.json) {
    say("{}\n", nlohmann::json{{"passed", passed}, {"files", report}}.dump(2));
  }
  return passed ? 0 : 1;
}

}  // namespace

void add_verify(CLI::App& app, Action& action) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command = app.add_subcommand(
      "verify", "Recompute reference values and print the largest error of each tensor");
  command->footer(
      "Example: bridgemark verify tests/golden/*.safetensors\n"
      "Exits 1 where an error is larger than allowed.");
  command->add_option("FILE", options->files, "Safetensors files of reference values")->required();
  add_common_options(*command, options->common);
  add_json_option(*command, options->common);
  command->callback([=, &action] { action = [=] { return run_verify(*options); }; });
}

}  // namespace bridgemark::cli
