#pragma once

#include <string>
#include <string_view>

// Text as it is written inside of HTML, LaTeX or a cell of a Markdown table.
namespace bridgemark {

std::string replace_all(std::string text, std::string_view from, std::string_view to);

std::string escape_html(std::string text);

// Text that stays text in a cell, a heading or a paragraph: neither a link nor a formula. What a
// terminal would act on becomes \xNN, line ends spaces.
std::string escape_markdown(std::string_view text);

// What LaTeX cannot say outside of mathematics (~, ^ and backslashes) becomes a space, and so do
// line ends and other control characters.
std::string escape_latex(std::string_view text);

// A number as Table::format or score_text writes it: an infinite one is a symbol.
std::string latex_number(std::string text);

}  // namespace bridgemark
