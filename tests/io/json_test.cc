#include "bridgemark/io/json.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "tests/io/io_testing.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

using nlohmann::json;
using testing::contains;
using testing::error_of;
using testing::loads;
using testing::put;
using testing::slurp;
using testing::TempDir;

class JsonFile : public ::testing::Test {
 protected:
  json load(std::string_view text) {
    put(path_, text);
    return load_json(path_);
  }
  std::string refusal(std::string_view text) {
    const std::string message = error_of([&] { load(text); });
    EXPECT_TRUE(message.starts_with(path_.string() + ": ")) << message;
    return message;
  }

  TempDir dir_;
  std::filesystem::path path_ = dir_.path() / "config.json";
};

TEST_F(JsonFile, RoundTrips) {
  const json value = {{"b", {1, 2.5, nullptr, true}}, {"a", "\xc3\xa9\n"}, {"c", json::object()}};
  save_json(path_, value);
  EXPECT_EQ(load_json(path_), value);
}

TEST_F(JsonFile, WritesIndentedWithFinalNewline) {
  save_json(path_, {{"b", 1}, {"a", {2}}});
  EXPECT_EQ(slurp(path_), "{\n  \"a\": [\n    2\n  ],\n  \"b\": 1\n}\n");
}

TEST_F(JsonFile, RefusesToWriteNonUtf8AndKeepsTheOldFile) {
  put(path_, "old");
  EXPECT_TRUE(contains(error_of([&] { save_json(path_, {{"a", "\xff"}}); }), "UTF-8"));
  EXPECT_EQ(slurp(path_), "old");
}

TEST_F(JsonFile, SyntaxErrorsGiveThePosition) {
  EXPECT_TRUE(contains(refusal("{\n  \"a\": 1,\n  \"b\" 2\n}"), "line 3, column"));
  EXPECT_TRUE(contains(refusal(""), "not JSON"));
  for (const char* text : {"NaN", "{\"a\": NaN}", "[Infinity]", "[1,]", "{} x", "[1e999]", "'a'",
                           "{\"a\": 01}", "\"\n\"", "[\"\\ud800\"]"}) {
    refusal(text);
  }
}

TEST_F(JsonFile, RefusesBadBytes) {
  refusal("{\"a\": \"\xff\xfe\"}");
  refusal("\xff\xff\xff");
  EXPECT_TRUE(contains(refusal(std::string("{}\0{", 4)), "NUL byte at offset 2"));
}

TEST_F(JsonFile, RefusesDuplicateKeysInOneObjectOnly) {
  EXPECT_TRUE(contains(refusal(R"({"a": 1, "b": {"a": 2}, "a": 3})"), "key 'a' appears twice"));
  EXPECT_TRUE(contains(refusal(R"([{"x": {"k": 1, "k": 1}}])"), "key 'k' appears twice"));
  EXPECT_EQ(load(R"([{"a": 1}, {"a": {"a": 2}}, {"b": [{"a": 3}, {"a": 4}]}])").size(), 3u);
}

TEST_F(JsonFile, NestingBombsAreRefused) {
  const std::size_t depth = 100'000;
  EXPECT_TRUE(contains(refusal(std::string(depth, '[')), "nested deeper than"));
  refusal(std::string(depth, '[') + std::string(depth, ']'));
  std::string objects;
  for (std::size_t i = 0; i < depth; ++i) objects += "{\"a\":";
  refusal(objects);
  EXPECT_TRUE(load(std::string(60, '[') + std::string(60, ']')).is_array());
}

TEST_F(JsonFile, RefusesHugeFilesAndTokens) {
  EXPECT_TRUE(contains(refusal(std::string((16u << 20) + 1, ' ')), "at most"));
  EXPECT_LT(refusal("[" + std::string(1u << 20, 'x')).size(), 1000u);
  EXPECT_TRUE(contains(error_of([&] { load_json(dir_.path() / "no.json"); }), "no such file"));
}

TEST_F(JsonFile, EveryCorruptionLoadsOrThrows) {
  const std::string text = "{\"a\": [1, -2.5e3], \"b\": {\"c\": \"\\u00e9\", \"d\": null}}";
  for (std::size_t i = 0; i < text.size(); ++i) {
    loads([&] { load(text.substr(0, i)); });
    for (const int byte : {0, 10, 34, 44, 57, 91, 93, 123, 125, 128, 255}) {
      std::string damaged = text;
      damaged[i] = static_cast<char>(byte);
      loads([&] { load(damaged); });
    }
  }
}

TEST(JsonGet, ReturnsEachType) {
  const json object = {{"i", 7},   {"neg", -7},   {"u", 7u},    {"whole", 1e5},
                       {"x", 0.5}, {"s", "text"}, {"b", false}, {"n", nullptr}};
  EXPECT_EQ(json_get<int>(object, "i", "f"), 7);
  EXPECT_EQ(json_get<int>(object, "u", "f"), 7);
  EXPECT_EQ(json_get<int>(object, "whole", "f"), 100000);
  EXPECT_EQ(json_get<std::int64_t>(object, "neg", "f"), -7);
  EXPECT_EQ(json_get<double>(object, "x", "f"), 0.5);
  EXPECT_EQ(json_get<double>(object, "neg", "f"), -7.0);
  EXPECT_EQ(json_get<std::string>(object, "s", "f"), "text");
  EXPECT_FALSE(json_get<bool>(object, "b", "f"));
}

TEST(JsonGet, NamesFileKeyTypeAndValue) {
  const json object = {{"s", "te\nxt"}, {"i", 1}, {"a", {1}}, {"n", nullptr}};
  EXPECT_EQ(error_of([&] { json_get<int>(object, "dim", "f.json"); }),
            "f.json: key 'dim' is missing");
  EXPECT_EQ(error_of([&] { json_get<double>(object, "s", "f.json"); }),
            "f.json: key 's' must be a number, got \"te\\nxt\"");
  EXPECT_EQ(error_of([&] { json_get<std::string>(object, "i", "f"); }),
            "f: key 'i' must be a string, got 1");
  EXPECT_EQ(error_of([&] { json_get<bool>(object, "i", "f"); }),
            "f: key 'i' must be true or false, got 1");
  EXPECT_EQ(error_of([&] { json_get<double>(object, "a", "f"); }),
            "f: key 'a' must be a number, got an array");
  EXPECT_EQ(error_of([&] { json_get<double>(object, "n", "f"); }),
            "f: key 'n' must be a number, got null");
  EXPECT_EQ(error_of([&] { json_get<int>(json::array(), "i", "f"); }),
            "f: expected an object, got an array");
  error_of([&] { json_get<bool>({{"k", "\xff"}}, "k", "f"); });
}

TEST(JsonGet, IntegersOutOfRangeOrFractionalAreErrors) {
  const json object = {{"big", std::int64_t{1} << 31},
                       {"huge", std::numeric_limits<std::uint64_t>::max()},
                       {"fraction", 1.5},
                       {"float", 1e300},
                       {"nan", std::numeric_limits<double>::quiet_NaN()},
                       {"bool", true},
                       {"min", std::numeric_limits<std::int64_t>::min()}};
  EXPECT_EQ(error_of([&] { json_get<int>(object, "big", "f"); }),
            "f: key 'big' must be an integer in -2147483648..2147483647, got 2147483648");
  EXPECT_EQ(json_get<std::int64_t>(object, "big", "f"), std::int64_t{1} << 31);
  EXPECT_EQ(json_get<std::int64_t>(object, "min", "f"), std::numeric_limits<std::int64_t>::min());
  for (const char* key : {"huge", "fraction", "float", "nan", "bool"}) {
    EXPECT_TRUE(
        contains(error_of([&] { json_get<std::int64_t>(object, key, "f"); }), "an integer"));
  }
}

TEST(JsonGetOr, FallsBackOnlyWhereThereIsNothing) {
  const json object = {{"i", 7}, {"n", nullptr}, {"s", "x"}};
  EXPECT_EQ(json_get_or<int>(object, "i", 1, "f"), 7);
  EXPECT_EQ(json_get_or<int>(object, "missing", 1, "f"), 1);
  EXPECT_EQ(json_get_or<int>(object, "n", 1, "f"), 1);
  EXPECT_EQ(json_get_or<std::int64_t>(object, "no", 2, "f"), 2);
  EXPECT_EQ(json_get_or<double>(object, "no", 0.5, "f"), 0.5);
  EXPECT_TRUE(json_get_or<bool>(object, "no", true, "f"));
  EXPECT_EQ(json_get_or<std::string>(object, "no", "default", "f"), "default");
  EXPECT_TRUE(contains(error_of([&] { json_get_or<int>(object, "s", 1, "f"); }), "key 's'"));
}

}  // namespace
}  // namespace bridgemark
