#include <fmt/format.h>

#include <string>
#include <vector>

#include "bridgemark/solver/registry.h"
#include "cli/help/completions.h"

namespace bridgemark::cli {

namespace {

constexpr char kBashHead[] =
    R"(# Completions of bridgemark for bash, made by `bridgemark completions bash`.

# The keys of the solver that the line names.
_bridgemark_keys() {
  local word
  for word in "${COMP_WORDS[@]}"; do
    case $word in
)";

constexpr char kBashAfterKeys[] = R"(    esac
  done
}

_bridgemark() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local command= words= options= key=
  ((COMP_CWORD > 1)) && command=${COMP_WORDS[1]}
)";

constexpr char kBashValues[] = R"(  case "$command $previous" in
)";

constexpr char kBashBetween[] = R"(    *) key=none ;;
  esac
  if [[ $key == none ]]; then
    case $command in
)";

constexpr char kBashTail[] = R"(    esac
    [[ $current == -* ]] && words=$options
  fi
  [[ $words == *= ]] && compopt -o nospace 2>/dev/null
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}

# Files are offered where no word of ours begins like that.
complete -o bashdefault -o default -F _bridgemark bridgemark
)";

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

// "train --output|train -o".
std::string patterns(const std::string& command, const OptionHelp& option) {
  std::vector<std::string> each;
  for (const std::string& name : option.names) {
    each.push_back(single_quoted(command.empty() ? name : command + " " + name));
  }
  return fmt::format("{}", fmt::join(each, "|"));
}

}  // namespace

std::string bash_completions(const CLI::App& app) {
  std::string out = kBashHead;
  for (const auto& solver : all_solvers()) {
    out += fmt::format("      {}) words=\"{}\" ;;\n", solver->name(),
                       joined(key_words(solver->name())));
  }
  out += kBashAfterKeys;
  for (const CLI::App* command : listed_commands(app)) {
    if (listed_commands(*command).empty()) continue;
    out += fmt::format(
        "  [[ $command == {} ]] && ((COMP_CWORD > 2)) && command+=\" ${{COMP_WORDS[2]}}\"\n",
        command->get_name());
  }
  out += kBashValues;
  std::string by_command;
  for (const CLI::App* command : all_commands(app)) {
    const std::string name = full_name(*command);
    std::vector<std::string> options, positionals = command_names(listed_commands(*command));
    for (const OptionHelp& option : options_of(*command)) {
      options.insert(options.end(), option.names.begin(), option.names.end());
      if (option.kind.empty()) continue;
      out += fmt::format("    {}) words=\"{}\"{} ;;\n", patterns(name, option),
                         joined(value_words(option).words),
                         option.names.back() == "--set" ? "; _bridgemark_keys" : "");
    }
    for (const OptionHelp& positional : positionals_of(*command)) {
      for (const std::string& word : value_words(positional).words) positionals.push_back(word);
    }
    by_command += fmt::format("      '{}') words=\"{}\" options=\"{}\" ;;\n", name,
                              joined(positionals), joined(options));
  }
  std::vector<std::string> options;
  for (const OptionHelp& option : options_of(app)) {
    options.insert(options.end(), option.names.begin(), option.names.end());
  }
  return out + kBashBetween + by_command +
         fmt::format("      '') words=\"{}\" options=\"{}\" ;;\n",
                     joined(command_names(listed_commands(app))), joined(options)) +
         kBashTail;
}

}  // namespace bridgemark::cli
