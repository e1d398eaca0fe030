#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What a command says of itself. Its help, its manual page and the completions of shells are made
// from these, so that they cannot differ.
namespace bridgemark::cli {

inline constexpr std::size_t kHelpColumns = 80;

// An option or a positional argument.
struct OptionHelp {
  std::vector<std::string> names;    // "-o", "--output"; of a positional one its name
  std::string kind;                  // "TEXT"; empty for a flag
  std::string default_value;         // empty where there is none
  std::string text;                  // what it does, and what it may be
  std::vector<std::string> choices;  // its values, where they can be listed
  bool required = false;
  bool positional = false;
};

// What CLI11 knows of the values of an option.
struct OptionValues {
  std::string kind;  // "TEXT", "INT", "UINT", "FLOAT"; empty for a flag
  std::optional<std::pair<std::string, std::string>> range = {};  // the least and the most
  std::vector<std::string> choices = {};
};
OptionValues option_values(const CLI::Option& option);

// Options with the same heading.
struct OptionGroup {
  std::string title;
  std::vector<OptionHelp> options;
};

// Names with what they are, which belong to no option.
struct HelpSection {
  std::string title;
  std::vector<std::pair<std::string, std::string>> rows;
};

// The positional arguments are the first group, if there are any.
std::vector<OptionGroup> option_groups(const CLI::App& command);

// "[OPTIONS] SOLVER", or "[OPTIONS] COMMAND" where it has commands.
std::string usage_of(const CLI::App& command);

// The footer of a command: examples in lines that begin with blanks or with "Example: ", and
// paragraphs, a line each.
struct HelpFooter {
  std::vector<std::string> examples;
  std::vector<std::string> paragraphs;
};
HelpFooter footer_of(const CLI::App& command);

// Sections between the options and the footer: those of the help, or those of the whole manual.
enum class HelpExtent { kHelp, kManual };
using MakeSections = std::function<std::vector<HelpSection>(HelpExtent)>;
void set_help_sections(const CLI::App& command, MakeSections make);
std::vector<HelpSection> help_sections(const CLI::App& command, HelpExtent extent);

// The command that was given, the innermost one, or null.
const CLI::App* given_command(const CLI::App& app);

// "train"; "challenge new" of a command within another.
std::string full_name(const CLI::App& command);

// The commands that the help of `app` lists.
std::vector<const CLI::App*> listed_commands(const CLI::App& app);

// A title and the rows in two columns below it.
std::string section_text(const HelpSection& section);

// Columns that a terminal takes for UTF-8.
std::size_t columns_of(std::string_view text);

// The words in lines of kHelpColumns, the first of which begins at column `indent`, as all others
// do after that many blanks.
std::string filled(std::string_view text, std::size_t indent);

// `command` in lines that end in a backslash where it is longer than `width`.
std::string broken_command(std::string_view command, std::size_t indent, std::size_t width);

// Writes help in lines of kHelpColumns.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
};

}  // namespace bridgemark::cli
