#include "bridgemark/solver/run/labelled_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "bridgemark/bridge/label_couplings.h"
#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/solver/run/compare_runs.h"
#include "tests/io/io_testing.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::TempDir;

std::set<std::string> files_below(const std::filesystem::path& folder) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    files.insert(entry.path().string());
  }
  return files;
}

// Label 2 has 4 of 10 rows of x0 and 8 of 20 of x1, label 5 the others.
struct RowsWithLabels {
  FitProblem data;
  Labels labels0, labels1;
};

RowsWithLabels labelled_rows() {
  const BenchmarkPair pair = build_pair(testing::small_spec());
  RowsWithLabels rows{
      {pair.sample_x0({}, 10, 1), pair.sample_x1({}, 20, 2), pair.reference()}, {}, {}};
  for (int i = 0; i < 10; ++i) rows.labels0.push_back(i % 5 < 2 ? 2 : 5);
  for (int i = 0; i < 20; ++i) rows.labels1.push_back(i % 5 < 3 ? 5 : 2);
  return rows;
}

std::vector<LabelProblem> problems_of(const RowsWithLabels& rows) {
  return problems_by_label(rows.data, rows.labels0, rows.labels1);
}

// log q_ref(x1_j | x0_i) for all rows, -inf where the label would have to move.
Matrix<double> extended_kernel(const RowsWithLabels& rows) {
  const ReferenceProcess reference = rows.data.reference();
  const SharedMatrix log_q = reference.log_power({}, reference.total_steps());
  const States &x0 = rows.data.data()->x0.states(), &x1 = rows.data.data()->x1.states();
  Matrix<double> kernel(x0.rows(), x1.rows(), -testing::kInfinity);
  for (std::size_t i = 0; i < x0.rows(); ++i) {
    for (std::size_t j = 0; j < x1.rows(); ++j) {
      if (rows.labels0[i] != rows.labels1[j]) continue;
      kernel(i, j) = 0.0;
      for (std::size_t d = 0; d < x0.cols(); ++d) {
        kernel(i, j) +=
            log_q(static_cast<std::size_t>(x0(i, d)), static_cast<std::size_t>(x1(j, d)));
      }
    }
  }
  return kernel;
}

// The Schrödinger bridge between rows with labels, by plain iterations: P(x1_j | x0_i).
Matrix<double> extended_bridge(const RowsWithLabels& rows) {
  Matrix<double> plan = extended_kernel(rows);
  for (std::size_t i = 0; i < plan.size(); ++i) plan.data()[i] = std::exp(plan.data()[i]);
  const auto n0 = static_cast<double>(plan.rows()), n1 = static_cast<double>(plan.cols());
  for (int iteration = 0; iteration < 3000; ++iteration) {
    for (std::size_t j = 0; j < plan.cols(); ++j) {
      double sum = 0.0;
      for (std::size_t i = 0; i < plan.rows(); ++i) sum += plan(i, j);
      for (std::size_t i = 0; i < plan.rows(); ++i) plan(i, j) /= n1 * sum;
    }
    for (std::size_t i = 0; i < plan.rows(); ++i) {
      double sum = 0.0;
      for (std::size_t j = 0; j < plan.cols(); ++j) sum += plan(i, j);
      for (std::size_t j = 0; j < plan.cols(); ++j) plan(i, j) /= n0 * sum;
    }
  }
  for (std::size_t i = 0; i < plan.size(); ++i) plan.data()[i] *= n0;
  return plan;
}

constexpr testing::Tolerance kConverged{1e-6, 1e-9};

RunConfig sinkhorn() { return {"sinkhorn", "", 0, {{"smoothing", "0"}, {"tolerance", "1e-12"}}}; }

// One bridge a label is the bridge of states with a label that the reference never moves.
TEST(LabelledRun, IsTheBridgeWithALabelThatStays) {
  const RowsWithLabels rows = labelled_rows();
  const Matrix<double> expected = extended_bridge(rows);
  const States &x0 = rows.data.data()->x0.states(), &x1 = rows.data.data()->x1.states();
  for (const LabelFit& fit : fit_by_label({}, sinkhorn(), problems_of(rows))) {
    Array3<double> log_marginals(x0.rows(), 2, 6);
    fit.fitted.coupling->log_marginals({}, x0, log_marginals);
    for (std::size_t i = 0; i < x0.rows(); ++i) {
      if (rows.labels0[i] != fit.label) continue;
      Matrix<double> marginals(2, 6, 0.0);
      for (std::size_t j = 0; j < x1.rows(); ++j) {
        for (std::size_t d = 0; d < 2; ++d) {
          marginals(d, static_cast<std::size_t>(x1(j, d))) += expected(i, j);
        }
      }
      for (std::size_t d = 0; d < 2; ++d) {
        for (std::size_t s = 0; s < 6; ++s) {
          EXPECT_TRUE(
              testing::is_near(std::exp(log_marginals(i, d, s)), marginals(d, s), kConverged))
              << "label " << fit.label << ", row " << i;
        }
      }
    }
  }
}

RunConfig rows_config() { return {"independent", "", 4, {}}; }

TEST(LabelledRun, IsKeptAndReadBack) {
  const TempDir temp;
  const auto folder = temp.path() / "run";
  const auto problems = problems_of(labelled_rows());
  const auto fits = train_by_label({}, rows_config(), problems, folder, false);
  EXPECT_EQ(load_run_labels(folder), (Labels{2, 5}));
  const auto runs = load_labelled_run({}, folder);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[1].label, 5);
  EXPECT_EQ(runs[1].run.config.seed, 4u);
  EXPECT_EQ(runs[0].run.problem.data()->x1.states(), problems[0].problem.data()->x1.states());
  EXPECT_EQ(load_whole_run({}, label_folder(folder, 2)).config.solver, "independent");
  save_by_label({}, rows_config(), fits, temp.path() / "saved");
  EXPECT_EQ(load_labelled_run({}, temp.path() / "saved").size(), 2u);
  // Draws of a label are rows of x1 that have it.
  const States drawn =
      LabelCouplings({{2, runs[0].run.coupling}, {5, runs[1].run.coupling}})
          .sample({}, labelled_rows().data.data()->x0.states(), labelled_rows().labels0, 3);
  const auto has = [](const States& rows, const std::int32_t* row) {
    for (std::size_t j = 0; j < rows.rows(); ++j) {
      if (std::equal(row, row + rows.cols(), rows.row(j))) return true;
    }
    return false;
  };
  for (std::size_t i = 0; i < drawn.rows(); ++i) {
    const std::size_t of = labelled_rows().labels0[i] == 2 ? 0 : 1;
    EXPECT_TRUE(has(problems[of].problem.data()->x1.states(), drawn.row(i))) << i;
  }
}

TEST(LabelledRun, GoesOnWithTheSameLabelsAlone) {
  const TempDir temp;
  const auto folder = temp.path() / "run";
  const auto problems = problems_of(labelled_rows());
  train_by_label({}, rows_config(), problems, folder, false);
  const auto before = files_below(temp.path());
  const auto refused = [&](std::span<const LabelProblem> of, bool resume) {
    return error_of<FileError>([&] { train_by_label({}, rows_config(), of, folder, resume); });
  };
  EXPECT_THAT(refused(problems, false), HasSubstr("already holds a run"));
  EXPECT_THAT(refused({problems.data(), 1}, true), HasSubstr("holds a run with other labels"));
  EXPECT_THAT(error_of<FileError>(
                  [&] { train_run({}, rows_config(), labelled_rows().data, folder, true); }),
              HasSubstr("already holds a run"));
  EXPECT_EQ(files_below(temp.path()), before);
  std::filesystem::remove_all(label_folder(folder, 5));  // as if it had been stopped before
  EXPECT_THAT(error_of<FileError>([&] { load_labelled_run({}, folder); }), HasSubstr("label-5"));
  train_by_label({}, rows_config(), problems, folder, true);
  EXPECT_EQ(load_labelled_run({}, folder).size(), 2u);
}

TEST(LabelledRun, RefusesInOneLineAndLeavesNothing) {
  const TempDir temp;
  const RowsWithLabels rows = labelled_rows();
  const auto split = [&](Labels labels0, Labels labels1) {
    return error_of<InvalidArgument>([&] { problems_by_label(rows.data, labels0, labels1); });
  };
  EXPECT_THAT(split({1}, rows.labels1),
              HasSubstr("the condition of x0 must have a label for each of the 10 rows of x0"));
  Labels other = rows.labels0;
  other[3] = 9;
  EXPECT_THAT(split(other, rows.labels1),
              HasSubstr("a label must be one of both ends, got 9 of x0 and no row of x1"));
  EXPECT_THAT(split(Labels(10, 5), rows.labels1), HasSubstr("got 2 of x1 and no row of x0"));
  EXPECT_THAT(
      error_of<InvalidArgument>([&] {
        train_by_label({}, {"oracle", "", 0, {}}, problems_of(rows), temp.path() / "run", false);
      }),
      HasSubstr("label 2: "));
  EXPECT_TRUE(files_below(temp.path()).empty());

  train_by_label({}, rows_config(), problems_of(rows), temp.path() / "run", false);
  EXPECT_THAT(error_of<FileError>([&] { load_whole_run({}, temp.path() / "run"); }),
              HasSubstr("holds a run for each label"));
  const ComparedRun run{"run", {}, load_labelled_run({}, temp.path() / "run"), nullptr};
  const States &x0 = rows.data.data()->x0.states(), &x1 = rows.data.data()->x1.states();
  const auto compared = [&](const std::optional<Condition>& condition) {
    return error_of<InvalidArgument>(
        [&] { compare_runs({}, std::span(&run, 1), x0, x1, condition); });
  };
  EXPECT_THAT(compared(Condition{Labels(10, 3), Labels(20, 3)}),
              HasSubstr("label must be one that run was trained on, 2, 5, got 3"));
  EXPECT_THAT(compared(std::nullopt), HasSubstr("run was trained with labels and needs"));
  for (const char* text : {"{}", R"({"labels": []})", R"({"labels": [2, 2]})",
                           R"({"labels": [4294967296]})", R"({"labels": ["2"]})"}) {
    write_file_atomically(temp.path() / "run" / "labels.json", text);
    EXPECT_THAT(error_of<FileError>([&] { load_run_labels(temp.path() / "run"); }),
                HasSubstr("labels"))
        << text;
  }
}

}  // namespace
}  // namespace bridgemark
