#include "bridgemark/io/csv.h"

#include <gtest/gtest.h>

#include <string>

#include "bridgemark/core/error.h"
#include "tests/io/io_testing.h"

namespace bridgemark {
namespace {

using testing::contains;
using testing::error_of;

std::string refusal(const std::string& text) {
  return error_of<FileError>([&] { parse_csv(text, "t.csv"); });
}

TEST(Csv, ReadsFieldsAndTheirLines) {
  const CsvTable table = parse_csv(
      "\xEF\xBB\xBF"
      "age,city\r\n41,\"Ulm, \"\"old\"\"\"\r\n,\"two\nlines\"\n7,Köln\n\n\n",
      "t.csv");
  EXPECT_EQ(table.names, (std::vector<std::string>{"age", "city"}));
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(table.rows[0][1], (CsvField{"Ulm, \"old\"", true}));
  EXPECT_TRUE(table.rows[1][0].is_missing());
  EXPECT_EQ(table.rows[1][1].text, "two\nlines");
  EXPECT_EQ(table.rows[2][1], (CsvField{"Köln", false}));
  EXPECT_EQ(table.lines, (std::vector<std::size_t>{2, 3, 5}));
  EXPECT_EQ(table.column("city"), 1u);
}

TEST(Csv, MissingIsNeverQuoted) {
  const CsvTable table = parse_csv("a\nNA\n\"NA\"\nnan\nnone\n\n", "t.csv");
  std::vector<bool> missing;
  for (const auto& row : table.rows) missing.push_back(row[0].is_missing());
  EXPECT_EQ(missing, (std::vector<bool>{true, false, true, false, true}));
}

TEST(Csv, WhatIsWrittenReadsBack) {
  for (const char* text :
       {"a,b\n1,2\n", "a\n1\n\n", "a,\"b,\"\"c\"\n\"NA\",NA\n\"x\ny\",\n", "a,b\n"}) {
    const CsvTable table = parse_csv(text, "t.csv");
    EXPECT_EQ(csv_text(table), text);
  }
}

TEST(Csv, RefusalsNameTheLine) {
  contains(refusal(""), "t.csv: it must begin with the names of its columns");
  contains(refusal("a,b\n1,2\n3\n"), "t.csv: line 3: a row must have 2 fields, got 1");
  contains(refusal("a,b\n\"x\ny\",2\n3,4,5\n"), "line 4: a row must have 2 fields, got 3");
  contains(refusal("a,b\n1,2\n\n3,4\n"), "line 3: a row must have 2 fields, got none");
  contains(refusal("a,a\n"), "line 1: names of columns must differ, got 'a' twice");
  contains(refusal("a,\n"), "got none for column 2");
  contains(refusal("a,b\n1,\"x\n2,3\n"), "line 2: the quote that opens here is never closed");
  contains(refusal("a,b\n1,\"x\"y\n"), "line 2: a field must end with a comma or the line");
  contains(refusal("a,b\n1,x\"y\n"), "line 2: a quote must open its field");
  contains(refusal("a,b\n1,\xFF\n"), "line 2: the text must be UTF-8");
  contains(error_of<FileError>([] { parse_csv("a,b\n", "t.csv").column("c"); }),
           "it must have a column 'c', its columns are a, b");
}

}  // namespace
}  // namespace bridgemark
