#include "bridgemark/pair/table/table_schema.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/pair/table/schema_file.h"
#include "bridgemark/process/gamma_proposal.h"
#include "tests/io/io_testing.h"
#include "tests/support/context.h"
#include "tests/support/temp_dir.h"

namespace bridgemark::table_schema_testing {

using testing::contains;
using testing::error_of;
using testing::kContext;

CsvTable table(const std::string& text) { return parse_csv(text, "t.csv"); }

TableSchema fit(const std::string& columns, const CsvTable& x0, const CsvTable& x1) {
  const ColumnsAsked asked =
      columns.empty() ? ColumnsAsked{requests_for_all(x0)} : parse_columns(columns, "c.toml");
  return fit_schema(kContext, asked.columns, x0, x1, asked.total_steps.value_or(16));
}

const std::string kBefore = "age,city,sex,rank\n30,Ulm,f,low\n41.5,,m,high\n30,Bonn,f,mid\n";
const std::string kAfter = "sex,rank,city,age\nm,high,Ulm,50\nf,low,Kiel,NA\n";

TEST(TableSchema, FindsKindsValuesAndMissingFields) {
  const TableSchema schema = fit("", table(kBefore), table(kAfter));
  ASSERT_EQ(schema.columns.size(), 4u);
  const TableColumn &age = schema.columns[0], &city = schema.columns[1], &sex = schema.columns[2];
  EXPECT_EQ(age.kind, ColumnKind::kOrdered);
  EXPECT_EQ(age.levels, (std::vector<double>{30, 41.5, 50}));
  EXPECT_EQ(age.edges, (std::vector<double>{35.75, 45.75}));
  EXPECT_TRUE(age.has_missing);
  EXPECT_EQ(age.num_categories(), 4);
  EXPECT_EQ(city.kind, ColumnKind::kUnordered);
  EXPECT_EQ(city.values, (std::vector<std::string>{"Bonn", "Kiel", "Ulm"}));
  EXPECT_EQ(city.num_categories(), 4);
  EXPECT_EQ(sex.kind, ColumnKind::kBinary);
  EXPECT_FALSE(sex.has_missing);
  const States states = schema.encode(table(kBefore));
  EXPECT_EQ(states, States(3, 4, {0, 2, 0, 1, 1, 3, 1, 0, 0, 0, 0, 2}));
  EXPECT_EQ(csv_text(schema.decode(states, "out.csv")), kBefore);
  // The columns of the second table lie in another order.
  EXPECT_EQ(csv_text(schema.decode(schema.encode(table(kAfter)), "out.csv")),
            "age,city,sex,rank\n50,Ulm,m,high\n,Kiel,f,low\n");
}

TEST(TableSchema, TakesWhatAColumnsFileFixes) {
  const TableSchema schema =
      fit("steps = 8\n"
          "[[column]]\nname = \"rank\"\nkind = \"ordered\"\nvalues = [\"low\", \"mid\", \"high\"]\n"
          "gamma = 0.25\n"
          "[[column]]\nname = \"city\"\nmissing = true\n",
          table(kBefore), table(kAfter));
  EXPECT_EQ(schema.total_steps, 8);
  EXPECT_EQ(schema.columns[0].gamma, 0.25);
  EXPECT_EQ(schema.encode(table(kBefore)), States(3, 2, {0, 2, 2, 3, 1, 0}));
  const ColumnReference reference = schema.reference();
  EXPECT_EQ(reference.column(0).kind(), ReferenceKind::kGaussian);
  EXPECT_EQ(reference.column(1).kind(), ReferenceKind::kUniform);
  EXPECT_EQ(reference.total_categories(), 7u);
}

TEST(TableSchema, BinsHaveEquallyManyRowsAndTheirMedians) {
  std::string text = "x\n";
  for (int i = 0; i < 1000; ++i) text += fmt::format("{}\n", i);
  const TableSchema schema =
      fit("[[column]]\nname = \"x\"\nbins = 4\n", table(text), table("x\n0\n"));
  EXPECT_EQ(schema.columns[0].edges, (std::vector<double>{249, 499, 749}));
  ASSERT_EQ(schema.columns[0].levels.size(), 4u);
  // Numbers beyond the data fall into the outer bins.
  EXPECT_EQ(schema.encode(table("x\n-1e9\n249\n1e9\n")), States(3, 1, {0, 1, 3}));
}

TEST(TableSchema, EdgesMayBeGivenAlone) {
  const CsvTable ages = table("age\n3\n17\n18\n40\n41\n90\n");
  const std::string edges = "[[column]]\nname = \"age\"\nedges = ";
  const TableSchema schema = fit(edges + "[18, 65]\n", ages, ages);
  EXPECT_EQ(schema.columns[0].levels, (std::vector<double>{17, 40, 90}));
  EXPECT_EQ(schema.encode(ages), States(6, 1, {0, 0, 1, 1, 1, 2}));
  const auto refused = [&](const std::string& list) {
    return error_of<InvalidArgument>([&] { fit(edges + list, ages, ages); });
  };
  contains(refused("[1, 18]\n"),
           "column 'age' must hold numbers in each of its bins, got none in "
           "the one below the edge 1");
  contains(refused("[18, 95]\n"), "got none from the edge 95");
  contains(refused("[18]\nbins = 4\n"), "bins go with ordered columns and counts without values");
  contains(error_of<InvalidArgument>([&] {
             fit("[[column]]\nname = \"sex\"\nbins = 4\n", table(kBefore), table(kAfter));
           }),
           "got 4 for column 'sex'");
}

TEST(TableSchema, CountsHaveACategoryForEachNumber) {
  const std::string counts = "[[column]]\nname = \"n\"\nkind = \"count\"\nbins = 5\n";
  const CsvTable few = table("n\n0\n3\n1\n"), many = table("n\n0\n3\n9\n7\n8\n");
  EXPECT_EQ(fit(counts, few, few).columns[0].levels, (std::vector<double>{0, 1, 2, 3}));
  const TableSchema capped = fit(counts, many, few);
  EXPECT_EQ(capped.columns[0].levels, (std::vector<double>{0, 1, 2, 3, 8}));
  EXPECT_EQ(capped.encode(table("n\n2\n4\n100\n")), States(3, 1, {2, 4, 4}));
  contains(error_of<InvalidArgument>([&] { fit(counts, table("n\n1.5\n"), few); }),
           "column 'n' must hold whole numbers from 0 to count, got 1.5");
}

// Missing fields of an ordered column come and go; its values stay neighbours.
TEST(TableSchema, OrderedColumnsWithMissingFieldsKeepTheirOrder) {
  TableColumn column{"x", ColumnKind::kOrdered, {}, {}, {}, true, 0.03};
  for (int i = 0; i < 40; ++i) column.levels.push_back(i);
  for (int i = 0; i < 39; ++i) column.edges.push_back(i + 0.5);
  column.check();
  const ReferenceProcess process = column.reference(128);
  const SharedMatrix log_q = process.log_power(kContext, 128);
  const ReferenceProcess gaussian = ReferenceProcess::gaussian(40, 0.03, 128);
  const SharedMatrix log_g = gaussian.log_power(kContext, 128);
  for (const std::size_t x : {std::size_t{0}, std::size_t{20}}) {
    // A row that was never missing moves as the Gaussian does; others come back anywhere.
    const double at_home = std::exp(log_q(x, x)), far = std::exp(log_q(x, 39));
    EXPECT_GT(at_home, far * 2.0);
    EXPECT_GT(std::exp(log_q(x, 40)), 0.05);
    EXPECT_LT(at_home, std::exp(log_g(x, x)));
  }
  EXPECT_NEAR(std::exp(log_q(40, 3)), std::exp(log_q(40, 20)), 0.05);
}

TEST(TableSchema, GammaGrowsWithTheDistanceOfTheEnds) {
  std::string low = "x\n", high = "x\n";
  for (int i = 0; i < 400; ++i) {
    low += fmt::format("{}\n", i % 10);
    high += fmt::format("{}\n", 20 + i % 10);
  }
  const double near = fit("", table(low), table(low)).columns[0].gamma,
               far = fit("", table(low), table(high)).columns[0].gamma;
  EXPECT_EQ(near, propose_gamma(kContext, ReferenceKind::kGaussian, 10, 16));
  EXPECT_EQ(far, gamma_of_share(kContext, ReferenceKind::kGaussian, 20, 0.8, 16));
}

TEST(TableSchema, NumbersAreOneValueHoweverTheyAreWritten) {
  const TableSchema schema = fit("", table("flag\n0\n1\n"), table("flag\n1.0\n-0.0\n"));
  EXPECT_EQ(schema.columns[0].kind, ColumnKind::kBinary);
  EXPECT_EQ(schema.columns[0].values, (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(schema.encode(table("flag\n1.0\n+1\n 0\n-0\n")), States(4, 1, {1, 1, 0, 0}));
  contains(error_of<FileError>([&] { schema.encode(table("flag\n1.5\n")); }),
           "line 2: column 'flag' must hold one of its 2 values, got '1.5'");
}

// Quoted and padded digits are names: nothing lies between two postcodes.
TEST(TableSchema, DigitsMayBeNames) {
  const CsvTable padded = table("code\n01067\n10115\n99998\n"),
                 quoted = table("code\n\"1\"\n\"2\"\n\"3\"\n");
  const TableSchema schema = fit("", padded, padded);
  EXPECT_EQ(schema.columns[0].kind, ColumnKind::kUnordered);
  EXPECT_EQ(csv_text(schema.decode(schema.encode(padded), "o")), "code\n01067\n10115\n99998\n");
  EXPECT_EQ(fit("", quoted, quoted).columns[0].kind, ColumnKind::kUnordered);
  const std::string ordered = "[[column]]\nname = \"code\"\nkind = \"ordered\"\n";
  EXPECT_EQ(fit(ordered, quoted, quoted).columns[0].levels, (std::vector<double>{1, 2, 3}));
}

TEST(TableSchema, FileReadsBack) {
  const testing::TempDir temp;
  const TableSchema schema = fit("", table(kBefore), table(kAfter));
  const auto path = temp.path() / "columns.toml";
  testing::put(path, schema_text(schema));
  const TableSchema again = load_schema(path);
  EXPECT_TRUE(same_categories(schema, again));
  EXPECT_TRUE(same_reference(schema.reference(), again.reference()));
  EXPECT_EQ(schema_text(again), schema_text(schema));
  EXPECT_EQ(again.total_steps, 16);
  // What a run keeps can be asked for again.
  EXPECT_TRUE(same_categories(fit(schema_text(schema), table(kBefore), table(kAfter)), schema));
}

TEST(TableSchema, RefusalsNameTheColumnAndTheLine) {
  const CsvTable before = table(kBefore), after = table(kAfter);
  const TableSchema schema = fit("", before, after);
  contains(error_of<FileError>([&] { schema.encode(table("age,city,sex,rank\n1,Ulm,x,low\n")); }),
           "t.csv: line 2: column 'sex' must hold one of its 2 values, got 'x'");
  contains(error_of<FileError>([&] { schema.encode(table("age,city,sex,rank\nold,Ulm,f,low\n")); }),
           "column 'age' must hold a number or nothing, got 'old'");
  contains(error_of<FileError>([&] { schema.encode(table("age,city,sex,rank\n1,Ulm,,low\n")); }),
           "column 'sex' must hold one of its 2 values, got nothing");
  contains(error_of<FileError>([&] { schema.encode(table("age,city,rank\n1,Ulm,low\n")); }),
           "must have a column 'sex'");
  const auto refused = [&](const std::string& text) {
    return error_of<Error>([&] { fit(text, before, after); });
  };
  contains(refused("[[column]]\nname = \"rank\"\nkind = \"ordered\"\n"),
           "column 'rank' must hold numbers or be given its values in their order to be ordered");
  contains(refused("[[column]]\nname = \"rank\"\nkind = \"binary\"\n"),
           "column 'rank' must have two values to be binary, got 3");
  contains(refused("[[column]]\nname = \"height\"\n"), "must have a column 'height'");
  contains(refused("[[column]]\nname = \"age\"\nkind = \"even\"\n"),
           "c.toml: line 3: 'kind' must be ordered, unordered, count or binary, got 'even'");
  contains(refused("[[column]]\nname = \"age\"\nbin = 3\n"), "c.toml");
  contains(refused("[[column]]\nname = \"age\"\n[[column]]\nname = \"age\"\n"), "'age' twice");
  contains(refused("[[column]]\nname = \"city\"\ngamma = 1.5\n"),
           "column 'city': [reference] gamma of a uniform reference must lie in (0, 1), got 1.5");
  contains(refused("[[column]]\nname = \"age\"\nkind = 3\n"), "c.toml: line 3: 'kind' must be");
  contains(refused("[[column]]\nname = \"age\"\nbins = 1\n"), "c.toml: line 3: 'bins' must");
  contains(refused("[[column]]\nname = \"age\"\nmissing = 1\n"), "c.toml: line 3: 'missing'");
  contains(refused("[[column]]\nname = \"age\"\ngamma = \"big\"\n"),
           "c.toml: line 3: 'gamma' must be a number, got");
  contains(refused("[[column]]\nname = \"rank\"\nvalues = \"low\"\n"),
           "c.toml: line 3: 'values' must be a list, got");
  contains(refused("column = 3\n"), "c.toml");
  contains(refused("steps = 3\n"), "c.toml");
  contains(refused("[[column]]\nname = \"age\"\nlevels = [1, 2]\nedges = [3]\n"),
           "column 'age' must have a level within each bin");
}

TEST(TableSchema, RefusesColumnsThatSayNothing) {
  const auto refused = [](const std::string& x0, const std::string& x1,
                          const std::string& columns = "") {
    return error_of<Error>([&] { fit(columns, table(x0), table(x1)); });
  };
  contains(refused("a,b\n1,\n2,NA\n", "a,b\n3,\n"), "column 'b' must hold values, got none");
  contains(refused("a\n1\n1.0\n", "a\n1\n"),
           "column 'a' must have at least two values, got 1; leave it out");
  contains(refused("a\n1\n", "a\n1\n\n", "[[column]]\nname = \"a\"\nkind = \"ordered\"\n"),
           "column 'a' must have at least two values, got 1; leave it out");
  contains(refused("a\n", "a\n1\n"), "t.csv: it must have rows, got none");
  contains(refused("a\n1\n2\n", "a\n"), "t.csv: it must have rows, got none");
  // Numbers with a slip among them: neither a vocabulary of numbers nor bins of texts.
  contains(refused("a\n1\n2\n3\n", "a\n4\n5O\n"),
           "column 'a' must hold numbers or be given its kind, got 4 numbers and '5O' in line 3 of "
           "t.csv");
  contains(refused("a\n1\n2\ninf\n", "a\n4\n5\n"), "got 4 numbers and 'inf' in line 4 of t.csv");
  contains(
      refused("a\n1\n2\n3\n", "a\n4\n-\n", "[[column]]\nname = \"a\"\nkind = \"count\"\n"),
      "column 'a' must hold numbers or be given its values in their order to be count, got '-' "
      "in line 3 of t.csv");
}

// A column whose only value may be missing has two categories.
TEST(TableSchema, OneValueAndMissingFieldsAreTwoCategories) {
  const TableSchema schema = fit("", table("a,b\n7,1\n,2\n"), table("a,b\n7,1\n7,2\n"));
  EXPECT_EQ(schema.columns[0].kind, ColumnKind::kUnordered);
  EXPECT_EQ(schema.columns[0].num_categories(), 2);
}

}  // namespace bridgemark::table_schema_testing
