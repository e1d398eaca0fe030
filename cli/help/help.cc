#include "cli/help/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

namespace bridgemark::cli {

namespace {

constexpr std::size_t kTextColumn = 26;  // where the help's second column begins

std::map<const CLI::App*, MakeSections>& made_sections() {
  static std::map<const CLI::App*, MakeSections> sections;
  return sections;
}

// What the help says of the values of an option behind its text.
void tell_values(const OptionValues& values, OptionHelp& help) {
  help.kind = values.kind;
  help.choices = values.choices;
  if (values.range) help.text += "; " + values.range->first + " to " + values.range->second;
  if (!values.choices.empty())
    help.text += fmt::format("; one of {}", fmt::join(help.choices, ", "));
}

OptionHelp help_of(const CLI::Option& option) {
  OptionHelp help;
  help.positional = option.get_positional();
  help.required = option.get_required();
  help.text = option.get_description();
  std::stringstream names(help.positional ? option.get_name(true, false)
                                          : option.get_name(false, true));
  for (std::string name; std::getline(names, name, ',');) help.names.push_back(name);
  if (option.get_type_size() != 0) {
    help.default_value = option.get_default_str();
    tell_values(option_values(option), help);
    if (option.get_expected_min() > 1) help.kind += " " + help.kind;
    if (option.get_expected_max() == CLI::detail::expected_max_vector_size) {
      help.text += "; may be given several times";
    }
  }
  if (help.required && !help.positional) help.text += "; required";
  for (const CLI::Option* needed : option.get_needs()) help.text += "; with " + needed->get_name();
  for (const CLI::Option* other : option.get_excludes()) {
    help.text += "; not with " + other->get_name();
  }
  return help;
}

// An entry of two columns; a long name has its text below.
std::string two_columns(const std::string& name, std::string_view text) {
  std::string out = "  " + name;
  if (text.empty()) return out + "\n";
  const std::size_t used = columns_of(out);
  out += used + 2 > kTextColumn ? "\n" + std::string(kTextColumn, ' ')
                                : std::string(kTextColumn - used, ' ');
  return out + filled(text, kTextColumn) + "\n";
}

std::string shown(const OptionGroup& group) {
  std::string out = "\n" + group.title + ":\n";
  for (const OptionHelp& option : group.options) {
    std::string name = fmt::format("{}", fmt::join(option.names, ","));
    if (!option.positional && !option.kind.empty()) name += " " + option.kind;
    if (!option.default_value.empty()) name += "=" + option.default_value;
    out += two_columns(name, option.text);
  }
  return out;
}

std::string shown(const HelpFooter& footer) {
  std::string out;
  if (!footer.examples.empty()) {
    out += footer.examples.size() == 1 ? "\nExample:\n" : "\nExamples:\n";
  }
  for (const std::string& example : footer.examples) {
    out += "  " + broken_command(example, 6, kHelpColumns - 2) + "\n";
  }
  for (const std::string& paragraph : footer.paragraphs) out += "\n" + filled(paragraph, 0) + "\n";
  return out;
}

}  // namespace

// Its type is "INT:INT in [0 - 4096]" with a range and "TEXT:{a,b}" with a choice.
OptionValues option_values(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t colon = type.find(':');
  OptionValues values{.kind = type.substr(0, colon)};
  if (colon == type.npos) return values;
  const std::string_view what = std::string_view(type).substr(colon + 1);
  const std::size_t open = what.find_first_of("[{");
  if (open == what.npos || (what.back() != ']' && what.back() != '}')) return values;
  const std::string inside(what.substr(open + 1, what.size() - open - 2));
  if (what[open] == '[') {
    const std::size_t dash = inside.find(" - ");
    values.range = {inside.substr(0, dash), inside.substr(dash + 3)};
    return values;
  }
  std::stringstream each(inside);
  for (std::string value; std::getline(each, value, ',');) values.choices.push_back(value);
  return values;
}

std::vector<OptionGroup> option_groups(const CLI::App& command) {
  std::vector<OptionGroup> groups;
  const auto add = [&](const std::string& title, const CLI::Option& option) {
    auto found = std::ranges::find(groups, title, &OptionGroup::title);
    if (found == groups.end()) found = groups.insert(groups.end(), OptionGroup{title, {}});
    found->options.push_back(help_of(option));
  };
  for (const bool positional : {true, false}) {
    for (const CLI::Option* option : command.get_options()) {
      if (option->get_group().empty() || option->get_positional() != positional) continue;
      add(positional ? "Arguments" : option->get_group(), *option);
    }
  }
  return groups;
}

std::string usage_of(const CLI::App& command) {
  std::string usage = "[OPTIONS]";
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    const std::string name = option->get_name(true, false);
    usage += option->get_required() ? " " + name : " [" + name + "]";
  }
  if (!listed_commands(command).empty()) {
    usage += command.get_require_subcommand_min() > 0 ? " COMMAND" : " [COMMAND]";
  }
  return usage;
}

HelpFooter footer_of(const CLI::App& command) {
  HelpFooter footer;
  std::stringstream lines(command.get_footer());
  constexpr std::string_view kOne = "Example: ";
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kOne)) {
      footer.examples.push_back(line.substr(kOne.size()));
    } else if (line.starts_with("  ")) {
      footer.examples.push_back(line.substr(2));
    } else if (!line.empty() && line != "Examples:") {
      footer.paragraphs.push_back(line);
    }
  }
  return footer;
}

void set_help_sections(const CLI::App& command, MakeSections make) {
  made_sections()[&command] = std::move(make);
}

std::vector<HelpSection> help_sections(const CLI::App& command, HelpExtent extent) {
  const auto found = made_sections().find(&command);
  return found == made_sections().end() ? std::vector<HelpSection>() : found->second(extent);
}

const CLI::App* given_command(const CLI::App& app) {
  const CLI::App* command = nullptr;
  for (auto given = app.get_subcommands(); !given.empty(); given = command->get_subcommands()) {
    command = given.front();
  }
  return command;
}

std::string full_name(const CLI::App& command) {
  const CLI::App* within = command.get_parent();
  const bool is_outermost = !within || !within->get_parent();
  return is_outermost ? command.get_name() : full_name(*within) + " " + command.get_name();
}

std::vector<const CLI::App*> listed_commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::string section_text(const HelpSection& section) {
  std::string out = filled(section.title + ":", 0) + "\n";
  for (const auto& [name, text] : section.rows) out += two_columns(name, text);
  return out;
}

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) >> 6) != 2; }));
}

std::string filled(std::string_view text, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  std::stringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const std::size_t width = columns_of(word);
    if (!out.empty() && column + 1 + width > kHelpColumns) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!out.empty()) {
      out += ' ';
      ++column;
    }
    out += word;
    column += width;
  }
  return out;
}

std::string broken_command(std::string_view command, std::size_t indent, std::size_t width) {
  std::string out(command);
  std::size_t begin = 0;  // of the last line
  while (columns_of(std::string_view(out).substr(begin)) + 2 > width) {
    // Options stay with their values: a line ends before an option where one begins in it.
    std::size_t end = out.rfind(" -", begin + width - 4);
    if (end == out.npos || end <= begin + indent) end = out.rfind(' ', begin + width - 4);
    if (end == out.npos || end <= begin + indent) break;
    out.replace(end, 1, " \\\n" + std::string(indent, ' '));
    begin = end + 3;
  }
  return out;
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name,
                                     CLI::AppFormatMode) const {
  std::string out =
      filled(app->get_description(), 0) + "\nUsage: " + name + " " + usage_of(*app) + "\n";
  const std::vector<const CLI::App*> commands = listed_commands(*app);
  for (const OptionGroup& group : option_groups(*app)) out += shown(group);
  if (!commands.empty()) {
    HelpSection section{"Commands", {}};
    for (const CLI::App* command : commands) {
      section.rows.emplace_back(command->get_name(), command->get_description());
    }
    out += "\n" + section_text(section);
  }
  for (const HelpSection& section : help_sections(*app, HelpExtent::kHelp)) {
    out += "\n" + section_text(section);
  }
  return out + shown(footer_of(*app));
}

}  // namespace bridgemark::cli
