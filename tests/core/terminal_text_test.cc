#include "bridgemark/core/terminal_text.h"

#include <gtest/gtest.h>

#include <string>

#include "bridgemark/core/error.h"

namespace bridgemark {
namespace {

TEST(TerminalText, KeepsTextAndShowsControls) {
  EXPECT_EQ(terminal_text("α-CSBM ± 0.1 日本 😀"), "α-CSBM ± 0.1 日本 😀");
  EXPECT_EQ(terminal_text("a\x1b[31mb\x07\n\x7f"), "a\\x1b[31mb\\x07\\x0a\\x7f");
  EXPECT_EQ(terminal_text("\u009b2J"), "\\xc2\\x9b2J");  // a control sequence in one
  EXPECT_EQ(terminal_text("a\u202eb\u2066"), "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6");
  EXPECT_EQ(terminal_text("\u2028"), "\\xe2\\x80\\xa8");
}

TEST(TerminalText, ShowsBytesThatAreNoUtf8) {
  EXPECT_EQ(terminal_text("\xff"
                          "a\xc3"),
            "\\xffa\\xc3");
  EXPECT_EQ(terminal_text("\xc0\xaf"), "\\xc0\\xaf");  // written too long
  EXPECT_EQ(terminal_text("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");
  EXPECT_EQ(terminal_text("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half of a pair
  EXPECT_EQ(terminal_text("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(TerminalText, IsCut) {
  EXPECT_EQ(terminal_text(std::string(50, 'a'), 10), std::string(10, 'a') + "...");
  EXPECT_EQ(terminal_text(std::string(10, 'a'), 10), std::string(10, 'a'));
}

// A message quotes names and values of others.
TEST(TerminalText, IsWhatErrorsSay) {
  const auto said = [](const auto& fail) -> std::string {
    try {
      fail();
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(said([] { throw_invalid("x", "got '{}'", "a\nb\x1b"); }), "[x] got 'a\\x0ab\\x1b'");
  EXPECT_EQ(said([] { throw_file("a\nb", "got {}", "\xff"); }), "a\\x0ab: got \\xff");
  EXPECT_LT(said([] { throw_file("a", "{}", std::string(1 << 20, 'b')); }).size(), 5000u);
}

}  // namespace
}  // namespace bridgemark
