#include "cli/option_use.h"

#include <map>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"

namespace bridgemark::cli {

namespace {

struct OptionUse {
  std::string for_what;
  std::function<std::optional<std::string>()> given_instead;
};

// Of all commands of the program; an option may have several.
std::multimap<const CLI::Option*, OptionUse>& option_uses() {
  static std::multimap<const CLI::Option*, OptionUse> uses;
  return uses;
}

}  // namespace

void only_for(CLI::Option* option, std::string for_what,
              std::function<std::optional<std::string>()> given_instead) {
  option_uses().emplace(option, OptionUse{std::move(for_what), std::move(given_instead)});
}

void refuse_unused_options(const CLI::App& command) {
  for (const CLI::App* part : command.get_subcommands()) refuse_unused_options(*part);
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0) continue;
    const auto [first, last] = option_uses().equal_range(option);
    for (auto use = first; use != last; ++use) {
      if (const std::optional<std::string> given = use->second.given_instead()) {
        throw_invalid(command.get_name(), "{} goes with {}, got {}", option->get_name(),
                      use->second.for_what, *given);
      }
    }
  }
}

}  // namespace bridgemark::cli
