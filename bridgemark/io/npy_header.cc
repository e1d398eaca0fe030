#include "bridgemark/io/npy_header.h"

#include <fmt/ranges.h>

#include <charconv>
#include <optional>
#include <system_error>

#include "bridgemark/core/error.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/io/shape.h"

namespace bridgemark {

namespace {

// A cursor over the few forms that numpy writes; nothing nests, so nothing recurses.
class Parser {
 public:
  Parser(std::string_view text, std::string_view file) : rest_(text), file_(file) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      parse_item();
      if (accept(',')) continue;
      expect('}');
      break;
    }
    skip_spaces();
    if (!rest_.empty()) fail("the end of the header");
    if (!dtype_) throw_file(file_, "header has no 'descr'");
    if (!fortran_order_) throw_file(file_, "header has no 'fortran_order'");
    if (!shape_) throw_file(file_, "header has no 'shape'");
    if (*fortran_order_) {
      throw_file(file_, "array is in Fortran order, expected C order (numpy.ascontiguousarray)");
    }
    return {*dtype_, *std::move(shape_)};
  }

 private:
  void parse_item() {
    const std::string_view key = parse_string();
    expect(':');
    if (key == "descr" && !dtype_) {
      dtype_ = parse_descr();
    } else if (key == "fortran_order" && !fortran_order_) {
      fortran_order_ = parse_bool();
    } else if (key == "shape" && !shape_) {
      shape_ = parse_tuple();
    } else {
      throw_file(file_, "header has '{}', expected 'descr', 'fortran_order' and 'shape' once each",
                 printable(key));
    }
  }

  std::string_view parse_string() {
    const char quote = accept('\'') ? '\'' : '"';
    if (quote == '"') expect('"');
    const std::size_t end = rest_.find(quote);
    if (end == std::string_view::npos) fail("a closing quote");
    const std::string_view value = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return value;
  }

  DType parse_descr() {
    skip_spaces();
    if (rest_.starts_with('[')) {
      throw_file(file_, "array has a structured dtype, expected numbers");
    }
    const std::string_view descr = parse_string();
    if (const std::optional<DType> dtype = parse_npy_descr(descr)) return *dtype;
    const std::string shown = printable(descr);
    if (descr.starts_with('>')) {
      throw_file(file_, "array has big-endian dtype '{}', expected little-endian", shown);
    }
    if (descr.find('O') != std::string_view::npos) {
      throw_file(file_, "array has object dtype '{}', expected numbers", shown);
    }
    throw_file(file_,
               "array has dtype '{}', expected booleans, integers or floats of at most 8 "
               "bytes",
               shown);
  }

  bool parse_bool() {
    skip_spaces();
    for (const std::string_view word : {"True", "False"}) {
      if (rest_.starts_with(word)) {
        rest_.remove_prefix(word.size());
        return word == "True";
      }
    }
    fail("True or False");
  }

  // "()", "(3,)", "(3, 4)": one extent needs its comma, as in Python.
  std::vector<std::size_t> parse_tuple() {
    std::vector<std::size_t> shape;
    bool comma = true;
    expect('(');
    while (!accept(')')) {
      if (!comma) fail("',' or ')'");
      if (shape.size() == kMaxRank) {
        throw_file(file_, "array has more than {} axes", kMaxRank);
      }
      shape.push_back(parse_extent());
      comma = accept(',');
    }
    if (shape.size() == 1 && !comma) fail("',' after the only extent");
    return shape;
  }

  std::size_t parse_extent() {
    skip_spaces();
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) fail("a non-negative integer below 2^64");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  void skip_spaces() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) {
      rest_.remove_prefix(1);
    }
  }

  bool accept(char c) {
    skip_spaces();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!accept(c)) fail(fmt::format("'{}'", c));
  }

  [[noreturn]] void fail(std::string_view expected) const {
    throw_file(file_, "malformed .npy header: expected {}, found '{}'", expected,
               printable(rest_, 20));
  }

  std::string_view rest_;
  std::string_view file_;
  std::optional<DType> dtype_;
  std::optional<bool> fortran_order_;
  std::optional<std::vector<std::size_t>> shape_;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text, std::string_view file) {
  return Parser(text, file).parse();
}

std::string format_npy_header(DType dtype, std::span<const std::size_t> shape) {
  constexpr std::size_t kAlign = 64;
  // numpy leaves room for the first extent to grow to this many digits in place.
  constexpr std::size_t kGrowthDigits = 21;
  std::string dict =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", npy_descr(dtype),
                  fmt::join(shape.begin(), shape.end(), ", "), shape.size() == 1 ? "," : "");
  if (!shape.empty()) dict.append(kGrowthDigits - fmt::formatted_size("{}", shape[0]), ' ');
  const std::size_t unpadded = 10 + dict.size() + 1;
  dict.append(kAlign - unpadded % kAlign, ' ');
  dict.push_back('\n');
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes.push_back(static_cast<char>(dict.size() & 0xff));
  bytes.push_back(static_cast<char>(dict.size() >> 8));
  return bytes + dict;
}

}  // namespace bridgemark
