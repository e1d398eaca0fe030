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

}  // namespace
}  // namespace bridgemark
