#include "bridgemark/report/tables/value_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "bridgemark/report/tables/text_grid.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::kInfinity;

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ValueTable small_table() {
  return {{"name", "n", "score"},
          {{"α|b", std::int64_t{7}, 0.123456789}, {"a_long, name <i>", {}, kInfinity}}};
}

TEST(TextGrid, AlignsCharactersAndLeavesNoSpaces) {
  EXPECT_THAT(grid_lines({{{"α"}, {"b"}}, {{"long"}, {""}}, {{""}, {"12"}}}, {false, true}),
              ElementsAre("α      b", "long", "      12"));
  EXPECT_THAT(grid_lines({{{"a", "\x1b[1m"}, {"b"}}, {{"bbb"}, {"c"}}}),
              ElementsAre("\x1b[1ma  \x1b[0m  b", "bbb  c"));
  EXPECT_TRUE(grid_lines({}).empty());
}

TEST(ValueTable, TextAlignsNumbersToTheRight) {
  EXPECT_EQ(text_form(small_table()),
            "name              n    score\n"
            "α|b               7  0.12346\n"
            "a_long, name <i>  -      inf");
  EXPECT_EQ(text_form({{"a", "b"}, {}}), "a  b");
}

TEST(ValueTable, MarkdownEscapesBars) {
  EXPECT_EQ(markdown_form(small_table()),
            "| name | n | score |\n"
            "| --- | ---: | ---: |\n"
            "| α\\|b | 7 | 0.12346 |\n"
            "| a_long, name &lt;i&gt; | - | inf |\n");
}

TEST(ValueTable, LatexEscapesAndHasASymbolForInfinity) {
  EXPECT_EQ(latex_form(small_table()),
            "\\begin{tabular}{lrr}\n"
            "  \\toprule\n"
            "  name & n & score \\\\\n"
            "  \\midrule\n"
            "  $\\alpha$$|$b & 7 & 0.12346 \\\\\n"
            "  a\\_long, name <i> & - & $\\infty$ \\\\\n"
            "  \\bottomrule\n"
            "\\end{tabular}\n");
}

TEST(ValueTable, CsvKeepsNumbersInFull) {
  EXPECT_EQ(csv_form(small_table()),
            "name,n,score\n"
            "α|b,7,0.123456789\n"
            "\"a_long, name <i>\",,inf\n");
}

TEST(ValueTable, HtmlEscapesText) {
  EXPECT_EQ(html_form(small_table()),
            "<table><tr><th>name</th><th>n</th><th>score</th></tr>"
            "<tr><td>α|b</td><td>7</td><td>0.12346</td></tr>"
            "<tr><td>a_long, name &lt;i&gt;</td><td>-</td><td>inf</td></tr></table>");
}

TEST(ValueTable, LongOnesShowTheirEnds) {
  ValueTable table{{"n"}, {}};
  for (std::int64_t i = 0; i < 40; ++i) table.rows.push_back({i});
  EXPECT_THAT(text_form(table), HasSubstr("\n19\n20\n"));
  table.rows.push_back({std::int64_t{40}});
  EXPECT_THAT(text_form(table), HasSubstr("\n 19\n...\n 21\n"));
  EXPECT_THAT(text_form(table), ::testing::EndsWith("\n 40\n[41 rows]"));
  EXPECT_THAT(html_form(table), HasSubstr("<td>19</td></tr><tr><td>...</td></tr><tr><td>21</td>"));
  EXPECT_THAT(csv_form(table), HasSubstr("\n19\n20\n21\n")) << "a program gets all of them";
  EXPECT_THAT(markdown_form(table), HasSubstr("| 19 |\n| 20 |\n"));
}

}  // namespace
}  // namespace bridgemark
