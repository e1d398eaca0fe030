#include "bridgemark/io/toml_text.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/io/io_testing.h"

namespace bridgemark {
namespace {

std::string repeat(const std::string& part, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += part;
  return text;
}

std::string refusal(const std::string& text) {
  return testing::error_of([&] { parse_toml(text, "x.toml"); });
}

TEST(Toml, DeepKeysAndValuesAreRefusedWithTheirLine) {
  constexpr int kMany = 100000;
  testing::contains(refusal("x = 1\na" + repeat(".a", kMany) + " = 1\n"), "x.toml: line 2: a key");
  testing::contains(refusal("\n\n[a" + repeat(".a", kMany) + "]\n"), "x.toml: line 3: a key");
  testing::contains(refusal("[a" + repeat(". \"b\"", kMany) + "]\n"), "line 1: a key");
  testing::contains(refusal("y = {a" + repeat(".a", kMany) + " = 1}\n"), "line 1: a key");
  testing::contains(refusal("x = " + repeat("[", kMany) + repeat("]", kMany)),
                    "line 1: is not TOML");
  testing::contains(refusal("x = " + repeat("{a=", kMany)), "line 1: is not TOML");
}

TEST(Toml, DotsElsewhereAreNoKeys) {
  const std::string dots = repeat(" a . b.", 100);
  const std::string text = "a = \"" + dots + "\\\"" + dots + "\"\nb = '" + dots + "'\nc = \"\"\"" +
                           dots + "\n" + dots + "\"\"\"\n# " + dots + "\nd = [" +
                           repeat("1.5, ", 100) + "]\ne.f.g = 1\n";
  const toml::table table = parse_toml(text, "x.toml");
  EXPECT_EQ(table["e"]["f"]["g"].value_or(0), 1);
  EXPECT_EQ(table["d"].as_array()->size(), 100u);
}

TEST(Toml, TextThatNeverEndsIsRefused) {
  for (const char* text :
       {"a = \"x", "a = 'x", "a = \"\"\"x", "a = \"x\\", "'", "a.", "=", "[[a"}) {
    testing::contains(refusal(text), "x.toml: line 1: is not TOML");
  }
}

// The parser's own words are those of its code.
TEST(Toml, SyntaxErrorsAreToldInWordsOfOurOwn) {
  EXPECT_EQ(refusal("a = 1\nb = = 2\n"), "x.toml: line 2: is not TOML at column 5: 'b = = 2'");
  EXPECT_EQ(refusal("a = 1\r\na = 2"),
            "x.toml: line 2: is not TOML at column 5: the key or table is there already: 'a = 2'");
  EXPECT_EQ(refusal("a = [1,\n  2"),
            "x.toml: line 2: is not TOML at column 4: the text ends too early: '  2'");
  testing::contains(refusal("a = \"\xff\""),
                    "line 1: is not TOML at column 5: the text is not UTF-8");
  testing::contains(refusal("x = " + repeat("[", 1000)), "nested too deep: 'x = [[");
  for (const char* text :
       {"a = \"\\q\"", "a = 1979-99-99", "a = 0x", "a = 1e", "[a]\n[a]", "a = tru"}) {
    const std::string message = refusal(text);
    EXPECT_EQ(message.find("rror"), message.npos) << message;
    EXPECT_EQ(message.find("parsing"), message.npos) << message;
  }
}

// Where the parser by itself would end the program.
TEST(Toml, TextThatTheParserDoesNotReckonWithIsRefused) {
  EXPECT_EQ(refusal("a = 1\n[[ = g"), "x.toml: line 2: is not TOML: '[[ = g'");
  EXPECT_EQ(refusal("[ =]\n" + repeat("a = 1\n", 1000)), "x.toml: line 1: is not TOML: '[ =]'");
  EXPECT_EQ(refusal(repeat("# a\n", 999) + "[.]"), "x.toml: line 1000: is not TOML: '[.]'");
}

// Undefined behaviour of the parser's, which the sanitizer sees.
TEST(Toml, CharactersOfAllScriptsAreTextAndNoSpaces) {
  for (const char* character : {"é", "α", "\u3001", "\ufef7", "日"}) {
    const std::string c = character;
    const toml::table table = parse_toml(
        "a = \"" + c + "\"\n\"" + c + "\" = 1\nc = \"\"\"\\\n" + c + "\"\"\"\n# " + c, "x.toml");
    EXPECT_EQ(table["a"].value_or(std::string()), c);
    EXPECT_EQ(table["c"].value_or(std::string()), c);
    EXPECT_EQ(table[c].value_or(0), 1);
    testing::contains(refusal("a = 1\nb" + c + " = 1"), "x.toml: line 2: is not TOML");
    testing::contains(refusal("a = 1 " + c), "x.toml: line 1: is not TOML");
  }
}

}  // namespace
}  // namespace bridgemark
