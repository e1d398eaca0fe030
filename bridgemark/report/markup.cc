#include "bridgemark/report/markup.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "bridgemark/core/terminal_text.h"

namespace bridgemark {

namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool ends_with_www(std::string_view text) {
  return text.size() >= 3 && std::ranges::all_of(text.substr(text.size() - 3),
                                                 [](char c) { return c == 'w' || c == 'W'; });
}

}  // namespace

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string escape_html(std::string text) {
  text = replace_all(std::move(text), "&", "&amp;");
  text = replace_all(std::move(text), "<", "&lt;");
  return replace_all(std::move(text), ">", "&gt;");
}

std::string escape_markdown(std::string_view given) {
  std::string line(given);
  std::ranges::replace_if(line, is_control, ' ');
  line = terminal_text(line);
  const std::string_view text = line;
  const auto word = [&](std::size_t i) {  // an underscore inside of a word is one
    return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) != 0);
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      // GitHub takes ://, www. and a@b for links, and $ for mathematics.
      const bool links = text.substr(i).starts_with("://") ||
                         (c == '.' && ends_with_www(text.substr(0, i))) || c == '@';
      const bool special = std::string_view("\\|`*[]~#$").find(c) != std::string_view::npos ||
                           links || (c == '_' && !(i > 0 && word(i - 1) && word(i + 1)));
      if (special) out += '\\';
      out += c;
    }
  }
  return out;
}

std::string escape_latex(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("α")) {
      out += "$\\alpha$";
      ++i;
    } else if (std::string_view("&%$#_{}").find(text[i]) != std::string_view::npos) {
      out += '\\';
      out += text[i];
    } else if (text[i] == '|') {
      out += "$|$";
    } else if (text[i] == '[' || text[i] == ']' || text[i] == '*') {  // may follow a line's end
      out += '{';
      out += text[i];
      out += '}';
    } else if (text[i] == '~' || text[i] == '^' || text[i] == '\\' || is_control(text[i])) {
      out += ' ';
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string latex_number(std::string text) {
  return replace_all(std::move(text), "inf", "$\\infty$");
}

}  // namespace bridgemark
