#include "bridgemark/report/markup.h"

#include <utility>

namespace bridgemark {

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

std::string escape_markdown(std::string text) { return replace_all(std::move(text), "|", "\\|"); }

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
    } else if (text[i] == '~' || text[i] == '^' || text[i] == '\\') {
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
