#include "bridgemark/io/toml_text.h"

#include <algorithm>
#include <cstddef>

#include "bridgemark/core/error.h"
#include "bridgemark/io/printable.h"

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

}  // namespace

toml::table parse_toml(std::string_view text, const std::string& file) {
  KeyLengths(text, file).check();
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    throw_file(file, "line {}: is not TOML: {}", error.source().begin.line,
               printable(error.description()));
  }
}

}  // namespace bridgemark
