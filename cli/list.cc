
#include <memory>
#include <nlohmann/json.hpp>

#include "bridgemark/pair/family_numbers.h"
#include "bridgemark/pair/pair_spec.h"
#include "cli/command.h"
#include "cli/option_use.h"
#include "cli/output.h"

namespace bridgemark::cli {

namespace {

int run_list(const CommonOptions& options) {
  if (options.json) {
    nlohmann::json pairs = nlohmann::json::array();
    for (const PairSpec& spec : preset_specs()) {
      pairs.push_back({{"name", spec.name},
                       {"version", spec.version},
                       {"seed", spec.seed},
                       {"family", pair_family_name(spec.family)},
                       {"dim", spec.dim},
                       {"num_categories", spec.num_categories},
                       {"num_components", spec.num_components},
                       {"reference", reference_kind_name(spec.reference)},
                       {"gamma", spec.gamma},
                       {"total_steps", spec.total_steps},
                       {"sigma", spec.sigma}});
      for (const FamilyNumber& number : family_numbers()) {
        if (number.belongs_to(spec.family)) pairs.back()[number.name] = spec.*number.value;
      }
    }
    say("{}\n", nlohmann::json{{"pairs", pairs}}.dump(2));
    return 0;
  }
  static constexpr char kLine[] = "{:<26} {:<8} {:>3} {:>3} {:>3}  {:<9} {:>6} {:>6} {:>8} {:>6}\n";
  say(kLine, "pair", "family", "D", "S", "K", "reference", "gamma", "sigma", "version", "seed");
  for (const PairSpec& spec : preset_specs()) {
    say(kLine, spec.name, pair_family_name(spec.family), spec.dim, spec.num_categories,
        spec.num_components, reference_kind_name(spec.reference), spec.gamma, spec.sigma,
        spec.version, spec.seed);
  }
  say("\nsphere: as the paper's text describes them; spread: as its tables suggest;\n"
      "chain: components that change along the coordinates, which no CP potential fits;\n"
      "twosided: a potential at either end, closed forms in both directions.\n");
  say("NAME-reverse asks for the same pair from p1 to p0.\n");
  return 0;
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
  auto options = std::make_shared<CommonOptions>();
  CLI::App* command = app.add_subcommand("list", "List the benchmark pairs that come built in");
  command->footer("Example: bridgemark list --json");
  add_common_options(*command, *options);
  only_for(command->get_option("--device"), "commands that compute",
           [=]() -> std::optional<std::string> {
             if (options->device == "cpu") return std::nullopt;
             return "list --device " + options->device;
           });
  add_json_option(*command, *options);
  command->callback([=, &action] { action = [=] { return run_list(*options); }; });
}

}  // namespace bridgemark::cli
