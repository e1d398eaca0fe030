#include "bridgemark/io/toml_text.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/core/terminal_text.h"

namespace bridgemark {

namespace {

constexpr int kMaxKeyParts = 32;

// Walks through the text as far as it takes to tell keys from strings and comments.
class KeyLengths {
 public:
  KeyLengths(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  void check() {
    int parts = 1;
    for (at_ = 0; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        skip_string(c);
      } else if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
      } else if (c == '.') {
        if (++parts > kMaxKeyParts) {
          throw_file(file_, "line {}: a key must have at most {} parts", line_, kMaxKeyParts);
        }
      } else if (c == '\n' || c == '=' || c == ',' || c == '{' || c == '[') {
        parts = 1;
        line_ += c == '\n';
      }
    }
  }

 private:
  // Leaves at_ on the last quote of the string that starts here, or at the end of the text.
  void skip_string(char quote) {
    const std::string three(3, quote);
    if (text_.substr(at_).starts_with(three)) {
      const std::size_t end = text_.find(three, at_ + 3);
      const std::size_t last = end == text_.npos ? text_.size() : end + 2;
      for (; at_ < last; ++at_) line_ += text_[at_] == '\n';
      return;
    }
    for (++at_; at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n'; ++at_) {
      if (quote == '"' && text_[at_] == '\\') ++at_;
    }
    if (at_ < text_.size() && text_[at_] == '\n') --at_;  // never ended: the parser says so
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  int line_ = 1;
};

constexpr std::size_t kShownBytes = 60;

// Why the parser stopped, as far as its words tell, in words of our own; else empty.
std::string_view reason(std::string_view description) {
  struct Reason {
    std::string_view said, meant;
  };
  constexpr Reason kReasons[] = {
      {"redefine", ": the key or table is there already"},
      {"end-of-file", ": the text ends too early"},
      {"nested", ": nested too deep"},
      {"utf-8", ": the text is not UTF-8"},
      {"UTF-8", ": the text is not UTF-8"},
  };
  for (const Reason& known : kReasons) {
    if (description.find(known.said) != description.npos) return known.meant;
  }
  return {};
}

// A line of the text, counted from 1.
std::string_view line_of(std::string_view text, std::size_t line) {
  for (; line > 1; --line) text.remove_prefix(std::min(text.size(), text.find('\n') + 1));
  return text.substr(0, text.find_first_of("\r\n"));
}

bool breaks_assumption(std::string_view text) {
  try {
    (void)toml::parse(text);
  } catch (const TomlAssumption&) {
    return true;
  } catch (const toml::parse_error&) {
  }
  return false;
}

// The first line with which a text breaks an assumption; the whole text does.
std::size_t breaking_line(std::string_view text) {
  std::vector<std::size_t> ends;
  for (std::size_t end = 0; end != text.size();) {
    end = std::min(text.find('\n', end), text.size() - 1) + 1;
    ends.push_back(end);
  }
  const auto found = std::ranges::partition_point(
      ends, [&](std::size_t end) { return !breaks_assumption(text.substr(0, end)); });
  return static_cast<std::size_t>(found - ends.begin()) + 1;
}

}  // namespace

toml::table parse_toml(std::string_view text, const std::string& file) {
  KeyLengths(text, file).check();
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    throw_file(file, "line {}: is not TOML at column {}{}: '{}'", at.line, at.column,
               reason(error.description()), terminal_text(line_of(text, at.line), kShownBytes));
  } catch (const TomlAssumption&) {
    const std::size_t line = breaking_line(text);
    throw_file(file, "line {}: is not TOML: '{}'", line,
               terminal_text(line_of(text, line), kShownBytes));
  }
}

}  // namespace bridgemark
