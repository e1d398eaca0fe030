#include "bridgemark/pair/data_problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/backend/plan/row_source.h"
#include "bridgemark/core/error.h"
#include "bridgemark/process/gamma_proposal.h"
#include "tests/support/small_pair.h"

namespace bridgemark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

DataParts two_sets() {
  DataParts parts;
  parts.x0 = States(3, 2, std::vector<std::int32_t>{0, 1, 2, 0, 1, 1});
  parts.x1 = States(2, 2, std::vector<std::int32_t>{4, 5, 5, 5});
  return parts;
}

std::string refusal(DataParts parts) {
  try {
    make_data_problem({}, std::move(parts));
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(DataProblem, CategoriesAndGammaFollowFromTheData) {
  const DataProblem made = make_data_problem({}, two_sets());
  EXPECT_EQ(made.problem.num_categories(), 6);
  EXPECT_EQ(made.problem.dim(), 2u);
  EXPECT_EQ(made.problem.name(), "data");
  EXPECT_EQ(made.problem.pair(), nullptr);
  EXPECT_EQ(made.problem.reference().gamma(), propose_gamma({}, ReferenceKind::kGaussian, 6));
  EXPECT_THAT(made.note, AllOf(HasSubstr("gamma 0."), HasSubstr("6 categories")));

  DataParts parts = two_sets();
  parts.num_categories = 9;
  parts.gamma = 0.3;
  parts.reference = "uniform";
  parts.total_steps = 16;
  const DataProblem asked = make_data_problem({}, parts);
  EXPECT_EQ(asked.problem.num_categories(), 9);
  EXPECT_EQ(asked.problem.reference().kind(), ReferenceKind::kUniform);
  EXPECT_EQ(asked.problem.reference().gamma(), 0.3);
  EXPECT_EQ(asked.problem.reference().total_steps(), 16);
  EXPECT_EQ(asked.note, "");

  parts = two_sets();
  parts.reference = Matrix<double>(7, 7, 1.0 / 7.0);
  EXPECT_EQ(make_data_problem({}, parts).problem.num_categories(), 7);
}

// Rows are those of the data, and the device's description draws the same ones.
TEST(DataProblem, DrawsRowsOfItsEnds) {
  const FitProblem problem = make_data_problem({}, two_sets()).problem;
  const States x0 = problem.sample_x0({}, 200, 3), x1 = problem.sample_x1({}, 200, 3);
  std::set<std::vector<int>> from, to;
  for (std::size_t i = 0; i < 200; ++i) {
    from.insert({x0(i, 0), x0(i, 1)});
    to.insert({x1(i, 0), x1(i, 1)});
  }
  EXPECT_EQ(from, (std::set<std::vector<int>>{{0, 1}, {1, 1}, {2, 0}}));
  EXPECT_EQ(to, (std::set<std::vector<int>>{{4, 5}, {5, 5}}));
  States rows(200, 2);
  backend::of({}).draw_rows({}, problem.x0_rows({}, 3), 0, rows);
  EXPECT_EQ(rows, x0);
  backend::of({}).draw_rows({}, problem.x1_rows({}, 3), 0, rows);
  EXPECT_EQ(rows, x1);
  EXPECT_EQ(problem.sample_x0({}, 50, 3, 150), [&] {
    States tail(50, 2);
    std::copy_n(x0.row(150), 100, tail.data());
    return tail;
  }());
}

// A pair is a problem of its own samples, in both directions.
TEST(DataProblem, APairIsAProblem) {
  const BenchmarkPair pair = build_pair(testing::small_spec());
  for (const BenchmarkPair& ends : {pair, pair.reversed()}) {
    const FitProblem problem = ends;
    EXPECT_EQ(problem.name(), ends.identity().name);
    const States x0 = ends.sample_x0({}, 64, 5), x1 = ends.sample_x1({}, 64, 5);
    EXPECT_EQ(problem.sample_x0({}, 64, 5), x0);
    EXPECT_EQ(problem.sample_x1({}, 64, 5), x1);
    States rows(64, 2);
    backend::of({}).draw_rows({}, problem.x0_rows({}, 5), 0, rows);
    EXPECT_EQ(rows, x0);
    backend::of({}).draw_rows({}, problem.x1_rows({}, 5), 0, rows);
    EXPECT_EQ(rows, x1);
  }
}

TEST(DataProblem, BadPartsAreNamed) {
  const auto with = [](auto&& change) {
    DataParts parts = two_sets();
    change(parts);
    return refusal(std::move(parts));
  };
  EXPECT_THAT(with([](DataParts& p) { p.num_categories = 5; }),
              HasSubstr("x1 must hold categories 0..4, got 5 at row 0, column 1"));
  EXPECT_THAT(with([](DataParts& p) { p.num_categories = 1; }), HasSubstr("got 1"));
  EXPECT_THAT(with([](DataParts& p) { p.x0(1, 1) = -2; }), HasSubstr("x0 must hold categories"));
  EXPECT_THAT(with([](DataParts& p) { p.x1 = States(2, 3, 1); }),
              AllOf(HasSubstr("x1"), HasSubstr("2 columns")));
  EXPECT_THAT(with([](DataParts& p) { p.x0 = States(0, 2); }),
              HasSubstr("x0 must have at least one row"));
  EXPECT_THAT(
      with([](DataParts& p) { p.reference = "gauss"; }),
      HasSubstr("reference must be gaussian, uniform, birth-death, absorbing, a matrix [S,S], "
                "factors of low rank or a graph, got 'gauss'"));
  EXPECT_THAT(with([](DataParts& p) { p.gamma = -1.0; }), HasSubstr("gamma"));
  EXPECT_THAT(with([](DataParts& p) { p.total_steps = 0; }), HasSubstr("got 0"));
  EXPECT_THAT(with([](DataParts& p) {
                p.reference = Matrix<double>(7, 7, 1.0 / 7.0);
                p.gamma = 0.1;
              }),
              HasSubstr("gamma belongs to any reference but a matrix, got 0.1"));
  EXPECT_THAT(with([](DataParts& p) {
                p.reference = Matrix<double>(7, 7, 1.0 / 7.0);
                p.num_categories = 8;
              }),
              HasSubstr("num_categories must be 7 like the reference's rows, got 8"));
  EXPECT_THAT(with([](DataParts& p) { p.x0(0, 0) = 70000; }), HasSubstr("below 65536, got 70000"));
}

}  // namespace
}  // namespace bridgemark
