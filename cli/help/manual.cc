#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/core/suggest.h"
#include "bridgemark/core/version.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "cli/command.h"
#include "cli/help/completions.h"
#include "cli/help/help.h"
#include "cli/output.h"

namespace bridgemark::cli {

namespace {

// Text of a manual page: a hyphen that is typed, and nothing that begins a request.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (out.empty() && (c == '.' || c == '\'')) {
      out += std::string("\\&") + c;
    } else {
      out += c;
    }
  }
  return out;
}

std::string entry(const std::string& names, const std::string& text) {
  return ".TP\n" + names + "\n" + roff(text) + "\n";
}

std::string entry_of(const OptionHelp& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back("\\fB" + roff(name) + "\\fR");
  std::string shown = fmt::format("{}", fmt::join(names, ", "));
  if (!option.positional && !option.kind.empty()) shown += " \\fI" + option.kind + "\\fR";
  std::string text = option.text;
  if (!option.default_value.empty()) text += "; default " + option.default_value;
  return entry(shown, text);
}

std::string upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

// "bridgemark-train", "bridgemark-challenge-new".
std::string page_name(const CLI::App* command) {
  if (!command) return "bridgemark";
  std::string name = "bridgemark-" + full_name(*command);
  std::ranges::replace(name, ' ', '-');
  return name;
}

// Of the program where there is no command.
std::string manual_page(const CLI::App& app, const CLI::App* command) {
  const CLI::App& described = command ? *command : app;
  std::string out = fmt::format(".TH {} 1 \"\" \"bridgemark {}\" Bridgemark\n",
                                upper(roff(page_name(command))), kVersion);
  out += fmt::format(".SH NAME\n{} \\- {}\n", roff(page_name(command)),
                     roff(described.get_description()));
  out += fmt::format(".SH SYNOPSIS\n\\fBbridgemark{}\\fR {}\n",
                     command ? " " + roff(full_name(*command)) : "", roff(usage_of(described)));
  const HelpFooter footer = footer_of(described);
  if (!footer.paragraphs.empty()) {
    out += ".SH DESCRIPTION\n";
    for (const std::string& paragraph : footer.paragraphs) {
      if (&paragraph != &footer.paragraphs.front()) out += ".PP\n";
      out += roff(paragraph) + "\n";
    }
  }
  const std::vector<const CLI::App*> within = listed_commands(described);
  if (!within.empty()) out += ".SH COMMANDS\n";
  for (const CLI::App* each : within) {
    out += entry("\\fB" + roff(each->get_name()) + "\\fR", each->get_description());
  }
  for (const OptionGroup& group : option_groups(described)) {
    out += ".SH " + upper(roff(group.title)) + "\n";
    for (const OptionHelp& option : group.options) out += entry_of(option);
  }
  for (const HelpSection& section : help_sections(described, HelpExtent::kManual)) {
    out +=
        ".SH \"" + upper(roff(section.title.substr(0, section.title.find_first_of(";,")))) + "\"\n";
    for (const auto& [name, text] : section.rows) out += entry("\\fB" + roff(name) + "\\fR", text);
  }
  if (!footer.examples.empty()) {
    out += ".SH EXAMPLES\n.nf\n";
    for (const std::string& example : footer.examples) out += roff(example) + "\n";
    out += ".fi\n";
  }
  out += ".SH EXIT STATUS\n0 is success, 1 a check that failed, 2 bad input.\n.SH SEE ALSO\n";
  std::vector<std::string> others;
  if (command) others.push_back("\\fBbridgemark\\fR(1)");
  for (const CLI::App* each : within) others.push_back("\\fB" + roff(page_name(each)) + "\\fR(1)");
  return out + fmt::format("{}\n", fmt::join(others, ",\n"));
}

const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  std::vector<std::string> names;
  for (const CLI::App* command : all_commands(app)) {
    names.push_back(full_name(*command));
    if (names.back() == name) return command;
  }
  throw_invalid("manual", "COMMAND must be one of {}, got '{}'{}", fmt::join(names, ", "), name,
                nearest_hint(name, names));
}

int run_manual(const CLI::App& app, const std::string& name, const std::string& folder) {
  if (folder.empty()) {
    write_output(manual_page(app, name.empty() ? nullptr : find_command(app, name)));
    return 0;
  }
  if (!name.empty()) {
    throw_invalid("manual", "--output has the pages of all commands, got COMMAND '{}'", name);
  }
  create_folder(folder);
  std::vector<const CLI::App*> pages = all_commands(app);
  pages.push_back(nullptr);
  for (const CLI::App* command : pages) {
    write_file_atomically(std::filesystem::path(folder) / (page_name(command) + ".1"),
                          manual_page(app, command));
  }
  return 0;
}

}  // namespace

void add_manual(CLI::App& app, Action& action) {
  auto name = std::make_shared<std::string>();
  auto folder = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "manual", "Print the manual page of a command, or write those of all commands");
  command->footer(
      "Examples:\n"
      "  bridgemark manual train | man -l -\n"
      "  bridgemark manual -o ~/.local/share/man/man1\n"
      "cmake --install puts the pages where man looks: man bridgemark-train.");
  command->add_option("COMMAND", *name, "A command; without one, the page of the program");
  command->add_option("-o,--output", *folder, "Folder to write a page for each command to");
  command->callback(
      [=, &app, &action] { action = [=, &app] { return run_manual(app, *name, *folder); }; });
}

}  // namespace bridgemark::cli
