#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "bridgemark/solver/registry.h"
#include "cli/help/completions.h"

namespace bridgemark::cli {

namespace {

constexpr char kZshHead[] = R"(#compdef bridgemark
# Completions of bridgemark for zsh, made by `bridgemark completions zsh`.

# The keys of the solver that the line names.
_bridgemark_keys() {
  local word
  for word in $words; do
    case $word in
)";

constexpr char kZshAfterKeys[] = R"(    esac
  done
}

_bridgemark() {
  local curcontext=$curcontext state state_descr line
  local -a commands
  typeset -A opt_args
)";

constexpr char kZshBetween[] = R"(  case $state in
    command) _describe -t commands command commands ;;
    arguments)
      local command=$words[1]
)";

constexpr char kZshArguments[] = R"(      case $command in
)";

constexpr char kZshTail[] = R"(      esac
      ;;
  esac
}

if [[ $funcstack[1] == _bridgemark ]]; then
  _bridgemark "$@"
else
  compdef _bridgemark bridgemark
fi
)";

// Within a spec of _arguments.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == ':' || c == '[' || c == ']') out += '\\';
    out += c;
  }
  return out;
}

// What fills in a value: an action of _arguments.
std::string action_of(const OptionHelp& option) {
  if (option.names.back() == "--set") return "_bridgemark_keys";
  const ValueWords values = value_words(option);
  const std::string words = fmt::format("{}", fmt::join(values.words, " "));
  if (values.words.empty()) return values.files ? "_files" : " ";
  return values.files ? fmt::format("{{compadd - {}; _files}}", words) : "(" + words + ")";
}

// One spec for each name of an option, which exclude each other.
std::string option_specs(const OptionHelp& option) {
  std::string out;
  const bool several = option.names.back() == "--set" || option.names.back() == "--run" ||
                       option.names.back() == "--only";
  for (const std::string& name : option.names) {
    std::string spec = several ? "*" : fmt::format("({})", fmt::join(option.names, " "));
    spec += fmt::format("{}[{}]", name, escaped(option.text));
    if (!option.kind.empty()) spec += fmt::format(":{}:{}", option.kind, action_of(option));
    out += " \\\n            " + single_quoted(spec);
  }
  return out;
}

}  // namespace

std::string zsh_completions(const CLI::App& app) {
  std::string out = kZshHead;
  for (const auto& solver : all_solvers()) {
    const std::vector<std::string> keys = key_words(solver->name());
    if (keys.empty()) continue;
    out += fmt::format("      {}) compadd -S '' - {} ;;\n", solver->name(), fmt::join(keys, " "));
  }
  out += kZshAfterKeys;
  out += "  commands=(\n";
  for (const CLI::App* command : listed_commands(app)) {
    out += "    " + single_quoted(command->get_name() + ":" + command->get_description()) + "\n";
  }
  out += "  )\n  _arguments -C";
  for (const OptionHelp& option : options_of(app)) out += option_specs(option);
  out += " \\\n            '1: :->command' '*:: :->arguments'\n";
  out += kZshBetween;
  for (const CLI::App* command : listed_commands(app)) {
    const std::vector<std::string> within = command_names(listed_commands(*command));
    if (within.empty()) continue;
    out += fmt::format(
        "      if [[ $command == {0} ]] && (( CURRENT > 2 )); then\n"
        "        shift words\n        (( CURRENT-- ))\n        command=\"{0} $words[1]\"\n"
        "      fi\n",
        command->get_name());
  }
  out += kZshArguments;
  for (const CLI::App* command : all_commands(app)) {
    out += fmt::format("        '{}')\n          _arguments", full_name(*command));
    const std::vector<std::string> within = command_names(listed_commands(*command));
    if (!within.empty()) {
      out += fmt::format(" \\\n            '1:COMMAND:({})'", fmt::join(within, " "));
    }
    for (const OptionHelp& option : options_of(*command)) out += option_specs(option);
    std::size_t place = 0;
    for (const OptionHelp& positional : positionals_of(*command)) {
      out += " \\\n            " +
             single_quoted(
                 fmt::format("{}:{}:{}", ++place, positional.names.front(), action_of(positional)));
    }
    out += "\n          ;;\n";
  }
  return out + kZshTail;
}

}  // namespace bridgemark::cli
