#include <fmt/format.h>

#include <string>
#include <string_view>

#include "bridgemark/solver/registry.h"
#include "cli/help/completions.h"

namespace bridgemark::cli {

namespace {

constexpr char kFishHead[] =
    R"(# Completions of bridgemark for fish, made by `bridgemark completions fish`.

# Whether the line has this command, of one word or of two.
function __bridgemark_command
    set -l words (commandline -opc)
    set -l last (math (count $argv) + 1)
    test (count $words) -ge $last; and test "$words[2..$last]" = "$argv"
end

# Whether a word of a command is next, behind those that are given.
function __bridgemark_next
    set -l words (commandline -opc)
    test (count $words) -eq (math (count $argv) + 1); and test "$words[2..-1]" = "$argv"
end

# The keys of the solver that the line names.
function __bridgemark_keys
    for word in (commandline -opc)
        switch $word
)";

constexpr char kFishAfterKeys[] = R"(        end
    end
end

)";

// In single quotes of fish, where a backslash goes before quotes and backslashes.
std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string names_of(const OptionHelp& option) {
  std::string out;
  for (const std::string& name : option.names) {
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  return out;
}

std::string values_of(const OptionHelp& option) {
  if (option.names.back() == "--set") return " -x -a '(__bridgemark_keys)'";
  const ValueWords values = value_words(option);
  std::string out = values.files ? " -r -F" : " -x";
  if (!values.words.empty())
    out += " -a " + fish_quoted(fmt::format("{}", fmt::join(values.words, " ")));
  return out;
}

// The commands of a command, or of the program.
std::string next_words(const std::string& condition, const CLI::App& app) {
  std::string out;
  for (const CLI::App* command : listed_commands(app)) {
    out += fmt::format("complete -c bridgemark -n '{}' -f -a {} -d {}\n", condition,
                       command->get_name(), fish_quoted(command->get_description()));
  }
  return out;
}

}  // namespace

std::string fish_completions(const CLI::App& app) {
  std::string out = kFishHead;
  for (const auto& solver : all_solvers()) {
    out += fmt::format("            case {}\n", solver->name());
    out += fmt::format("                printf '%s\\n' {}\n",
                       fmt::join(key_words(solver->name()), " "));
  }
  out += kFishAfterKeys;
  for (const OptionHelp& option : options_of(app)) {
    out += fmt::format("complete -c bridgemark -n __bridgemark_next -f{} -d {}\n", names_of(option),
                       fish_quoted(option.text));
  }
  out += next_words("__bridgemark_next", app);
  for (const CLI::App* command : all_commands(app)) {
    const std::string name = full_name(*command);
    out += next_words("__bridgemark_next " + name, *command);
    const std::string start =
        fmt::format("complete -c bridgemark -n '__bridgemark_command {}'", name);
    for (const OptionHelp& positional : positionals_of(*command)) {
      const ValueWords values = value_words(positional);
      if (values.words.empty()) continue;
      out += fmt::format("{} {} -a {} -d {}\n", start, values.files ? "-F" : "-f",
                         fish_quoted(fmt::format("{}", fmt::join(values.words, " "))),
                         fish_quoted(positional.names.front()));
    }
    for (const OptionHelp& option : options_of(*command)) {
      out += fmt::format("{}{}{} -d {}\n", start, names_of(option),
                         option.kind.empty() ? "" : values_of(option), fish_quoted(option.text));
    }
  }
  return out;
}

}  // namespace bridgemark::cli
