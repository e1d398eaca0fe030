#include "bridgemark/report/data_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/report/row_pictures.h"
#include "bridgemark/report/row_table.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Twenty rows of either end of {0..3}^dim, and a run that draws from the reference.
struct ShownData {
  States x0, x1;
  DataComparison comparison;
};

ShownData shown_data(std::size_t dim, const std::string& name = "run") {
  ShownData shown{States(20, dim), States(20, dim), {}};
  for (std::size_t i = 0; i < shown.x0.size(); ++i) {
    shown.x0.data()[i] = static_cast<std::int32_t>(i * i % 4);
    shown.x1.data()[i] = static_cast<std::int32_t>(i / 3 % 4);
  }
  const auto process = ReferenceProcess::gaussian(4, 0.3, 16);
  const std::vector<DataContestant> contestants = {
      {.name = name,
       .coupling =
           std::make_shared<CpBridge>(process, CpPotential({0.0}, Array3<double>(dim, 4, 1, 0.0))),
       .reference = process,
       .training_x0 = shown.x0,
       .training_x1 = shown.x1}};
  shown.comparison = compare_on({}, shown.x0, shown.x1, contestants);
  return shown;
}

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(DataPage, HasEveryScoreWithItsMeaning) {
  const ShownData shown = shown_data(2, "<b>run & more");
  const std::string page = data_page(shown.comparison, shown.x0, shown.x1);
  for (const DataScoreSpec& spec : data_score_specs()) {
    EXPECT_THAT(page, HasSubstr(std::string(spec.title.substr(0, 10))));
  }
  EXPECT_THAT(page, AllOf(HasSubstr("&lt;b&gt;run &amp; more"), Not(HasSubstr("<b>run"))));
  EXPECT_THAT(page, HasSubstr("Warning: "));  // its rows are those of the training
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<script")), Not(HasSubstr("{{"))));
}

TEST(DataPage, RowsAreImagesWordsOrHeatMaps) {
  const ShownData square = shown_data(9), line = shown_data(5);
  const auto page = [](const ShownData& shown, const DataPageOptions& options = {}) {
    return data_page(shown.comparison, shown.x0, shown.x1, options);
  };
  // Twelve rows before and after, and twelve of held-out x1; or three heat maps.
  EXPECT_EQ(times(page(square), "<svg "), 36u);
  EXPECT_EQ(times(page(line), "<svg "), 3u);
  const std::string words = page(line, {{"north", "<east>", "south", "west"}});
  EXPECT_EQ(times(words, "<svg "), 0u);
  EXPECT_THAT(words, AllOf(HasSubstr("<tr><td>north &lt;east&gt; north &lt;east&gt; north</td>"),
                           Not(HasSubstr("<east>"))));
  EXPECT_THAT(page(line, {{"a", "b", "c", "d"}}), HasSubstr("<tr><td>ababa</td>"));
  EXPECT_THAT(page(line, {{"ñ", "€", "c", "d"}}), HasSubstr("<tr><td>ñ€ñ€ñ</td>"));
  EXPECT_THROW(page(line, {{"a", "b"}}), InvalidArgument);
  const Labels labels0(20, 7), labels1(20, 8);
  const DataPageOptions images{.labels0 = labels0, .labels1 = labels1},
      letters{.vocabulary = {"a", "b", "c", "d"}, .labels0 = labels0, .labels1 = labels1};
  EXPECT_EQ(times(page(square, images), "x0, then x1; label 7</figcaption>"), 12u);
  EXPECT_EQ(times(page(square, images), "<figcaption>label 8</figcaption>"), 12u);
  EXPECT_EQ(times(page(line, letters), "</td><td>label 7</td></tr>"), 12u);
  EXPECT_EQ(times(page(line, letters), "</td><td>label 8</td></tr>"), 12u);
}

TEST(DataPage, RowsOfATableAreItsValues) {
  const ShownData shown = shown_data(2);
  TableColumn city, age;
  city.name = "<city>";
  city.values = {"Bonn", "Ulm & co", "Ähre", "Kiel"};
  age.name = "age";
  age.kind = ColumnKind::kOrdered;
  age.edges = {20, 40};
  age.levels = {15.5, 30, 52};
  age.has_missing = true;
  const DataPageOptions options{.table = TableSchema{{city, age}}};
  const std::string page = data_page(shown.comparison, shown.x0, shown.x1, options);
  EXPECT_EQ(times(page, "<svg "), 0u);
  // A table of x1 and one of both ends, each with a line of names and twelve rows.
  EXPECT_EQ(times(page, "<th>&lt;city&gt;</th><th>age</th>"), 2u);
  EXPECT_THAT(page, Not(HasSubstr("<city>")));
  EXPECT_EQ(times(page, "\n<tr><td>"), 24u);
  EXPECT_THAT(page, HasSubstr("A bin of numbers is its median."));

  const States x0(2, 2, {0, 0, 1, 3}), x1(2, 2, {0, 2, 2, 3});
  EXPECT_THAT(row_change_table_html(*options.table, x0, x1),
              HasSubstr("<tr><td>Bonn</td><td>15.5 <b>→ 52</b></td></tr>\n"
                        "<tr><td>Ulm &amp; co <b>→ Ähre</b></td><td>"
                        "<span class=\"absent\">missing</span></td></tr>\n"));
  EXPECT_THAT(row_table_html(*options.table, x1),
              HasSubstr("<tr><td>Ähre</td><td><span class=\"absent\">missing</span></td>"));
}

TEST(DataPage, APageIsAFileInAFolder) {
  const testing::TempDir temp;
  EXPECT_NO_THROW(check_page_file("page.html"));
  EXPECT_NO_THROW(check_page_file(temp.path() / "page.html"));
  EXPECT_THROW(check_page_file(temp.path() / "none" / "page.html"), FileError);
  EXPECT_THROW(check_page_file(temp.path()), FileError);
  EXPECT_THROW(check_page_file(""), InvalidArgument);
}

TEST(RowPictures, CellsAreDrawnOnceForEachRun) {
  const CategoryColours grey{4, true}, hues{4, false};
  EXPECT_EQ(grey.of(0), "#000000");
  EXPECT_EQ(grey.of(3), "#ffffff");
  EXPECT_EQ((std::set<std::string>{hues.of(0), hues.of(1), hues.of(2), hues.of(3)}).size(), 4u);
  const States cells(2, 3, std::vector<std::int32_t>{0, 3, 3, 0, 0, 1});
  EXPECT_EQ(cells_svg(cells, grey, 5),
            "<svg width=\"15\" height=\"10\" viewBox=\"0 0 3 2\" shape-rendering=\"crispEdges\" "
            "role=\"img\"><rect width=\"3\" height=\"2\" fill=\"#000000\"/>"
            "<rect x=\"1\" y=\"0\" width=\"2\" height=\"1\" fill=\"#ffffff\"/>"
            "<rect x=\"2\" y=\"1\" width=\"1\" height=\"1\" fill=\"#555555\"/></svg>");
  EXPECT_EQ(image_side(9), 3u);
  EXPECT_EQ(image_side(784), 28u);
  EXPECT_EQ(image_side(4), 0u);
  EXPECT_EQ(image_side(10), 0u);
}

TEST(DataPage, AVocabularyIsAWordALine) {
  const testing::TempDir temp;
  const std::filesystem::path path = temp.path() / "words.txt";
  write_file_atomically(path, "one\r\n\ntwo words\nlast");
  EXPECT_THAT(load_vocabulary(path), ::testing::ElementsAre("one", "", "two words", "last"));
  write_file_atomically(path, "");
  EXPECT_THROW(load_vocabulary(path), FileError);
  EXPECT_THROW(load_vocabulary(temp.path() / "none"), FileError);
}

}  // namespace
}  // namespace bridgemark
