#include "bridgemark/solver/table/table_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/error.h"
#include "bridgemark/metric/held_out_objective.h"
#include "bridgemark/metric/own_data/compare_on.h"
#include "bridgemark/process/chain_tables.h"
#include "bridgemark/solver/table/column_loss.h"
#include "tests/io/io_testing.h"
#include "tests/support/context.h"
#include "tests/support/killed_run.h"
#include "tests/support/random_bridge.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tolerance.h"

namespace bridgemark::table_run_testing {

using testing::all_near;
using testing::contains;
using testing::error_of;
using testing::is_near;
using testing::kContext;
using testing::TempDir;

struct LossCase {
  ColumnReference reference;
  std::vector<double> log_beta;
  Matrix<double> log_cores;
  States x0, x1;
};

LossCase make_loss_case(std::vector<ReferenceProcess> columns, std::size_t K, std::uint64_t seed) {
  const ColumnReference reference(std::move(columns));
  std::mt19937_64 generator(seed);
  const auto draw = [&] { return 2.0 * testing::unit(generator) - 1.0; };
  LossCase made{reference,
                std::vector<double>(K),
                {reference.total_categories(), K},
                States(7, reference.dim()),
                States(5, reference.dim())};
  for (double& value : made.log_beta) value = draw();
  for (std::size_t i = 0; i < made.log_cores.size(); ++i) made.log_cores.data()[i] = draw();
  for (States* states : {&made.x0, &made.x1}) {
    for (std::size_t i = 0; i < states->size(); ++i) {
      states->data()[i] =
          static_cast<std::int32_t>(generator() % reference.num_categories(i % reference.dim()));
    }
  }
  return made;
}

std::vector<ReferenceProcess> different_columns() {
  return {ReferenceProcess::uniform(3, 0.05, 8), ReferenceProcess::gaussian(9, 0.2, 8),
          ReferenceProcess::from_matrix(testing::random_stochastic(4, 0.8, 3), 8),
          ReferenceProcess::uniform(2, 0.9, 8)};
}

TEST(ColumnLoss, GradientIsThatOfFiniteDifferences) {
  LossCase item = make_loss_case(different_columns(), 3, 1);
  ColumnLoss loss(item.reference);
  ColumnLoss::Gradient gradient, unused;
  const double value = loss(kContext, item.log_beta, item.log_cores, item.x0, item.x1, gradient);
  // The loss is the mean of log c less that of log v.
  const ColumnBridge bridge(item.reference, item.log_beta, item.log_cores);
  EXPECT_NEAR(value, -held_out_objective(kContext, bridge, item.x0, item.x1).value, 1e-12);
  const auto difference = [&](double& parameter) {
    constexpr double kStep = 1e-5;
    const double at = parameter;
    parameter = at + kStep;
    const double above = loss(kContext, item.log_beta, item.log_cores, item.x0, item.x1, unused);
    parameter = at - kStep;
    const double below = loss(kContext, item.log_beta, item.log_cores, item.x0, item.x1, unused);
    parameter = at;
    return (above - below) / (2.0 * kStep);
  };
  for (std::size_t k = 0; k < item.log_beta.size(); ++k) {
    EXPECT_NEAR(gradient.log_beta[k], difference(item.log_beta[k]), 1e-8) << k;
  }
  for (std::size_t i = 0; i < item.log_cores.size(); ++i) {
    EXPECT_NEAR(gradient.log_cores.data()[i], difference(item.log_cores.data()[i]), 1e-8) << i;
  }
}

TEST(ColumnLoss, OfAlikeColumnsIsTheStaticLoss) {
  const ReferenceProcess process = ReferenceProcess::gaussian(6, 0.3, 8);
  const LossCase item = make_loss_case(std::vector<ReferenceProcess>(3, process), 4, 2);
  ColumnLoss loss(item.reference);
  ColumnLoss::Gradient gradient;
  const States x1(7, 3, std::vector<std::int32_t>(21, 2));
  const double value = loss(kContext, item.log_beta, item.log_cores, item.x0, x1, gradient);
  backend::CpTensors<double> parameters(3, 6, 4), expected(3, 6, 4);
  parameters.log_beta = item.log_beta;
  std::copy_n(item.log_cores.data(), item.log_cores.size(), parameters.log_cores.begin());
  backend::CpWorkspace<double> workspace;
  const auto tables = make_chain_tables<double>(kContext, ReferenceChain(process, 1));
  EXPECT_NEAR(value,
              backend::of(kContext).static_loss(kContext, parameters, tables, item.x0, x1, expected,
                                                workspace),
              1e-12);
  EXPECT_TRUE(all_near(gradient.log_beta, expected.log_beta, {1e-10, 1e-12}));
  EXPECT_TRUE(all_near({gradient.log_cores.data(), gradient.log_cores.size()}, expected.log_cores,
                       {1e-10, 1e-12}));
}

// Two columns that move together: b follows a in x1, which columns on their own cannot say.
CsvTable tied_table(std::size_t rows, std::uint64_t seed, bool tied) {
  std::mt19937_64 generator(seed);
  CsvTable table{"t.csv", {"a", "b", "n"}, {}, {}};
  for (std::size_t i = 0; i < rows; ++i) {
    const auto a = generator() % 2, b = tied ? a : generator() % 2, n = generator() % 12;
    table.rows.push_back({{a ? "yes" : "no"}, {b ? "left" : "right"}, {std::to_string(n)}});
    table.lines.push_back(i + 2);
  }
  return table;
}

struct Tables {
  CsvTable x0 = tied_table(600, 1, false), x1 = tied_table(600, 2, true);
  TableSchema schema = fit_schema(kContext, requests_for_all(x0), x0, x1, 16);
  States from = schema.encode(x0), to = schema.encode(x1);
};

TableRequest request(std::string updates) {
  return {3,
          {{"components", "4"},
           {"updates", std::move(updates)},
           {"batch_size", "64"},
           {"learning_rate", "0.05"}}};
}

TEST(TableRun, LearnsWhatColumnsDoTogetherAndIsJudged) {
  const Tables tables;
  const TableRun run =
      train_table(kContext, request("300"), tables.schema, tables.from, tables.to, "", false);
  States drawn(600, 3);
  run.bridge->sample(kContext, tables.from, {5, DrawPurpose::kConditional}, 0, drawn);
  std::size_t together = 0;
  for (std::size_t i = 0; i < drawn.rows(); ++i) {
    const bool yes = drawn(i, 0) == 1, left = drawn(i, 1) == 0;
    together += yes == left;
  }
  EXPECT_GT(together, 560u);
  // Judged as any bridge is; a training on fewer updates is farther.
  const TableRun less =
      train_table(kContext, request("10"), tables.schema, tables.from, tables.to, "", false);
  const States x0 = tables.schema.encode(tied_table(300, 7, false)),
               x1 = tables.schema.encode(tied_table(300, 8, true));
  const std::vector<DataContestant> contestants = {table_contestant("run", run),
                                                   table_contestant("less", less)};
  const DataComparison found = compare_on(kContext, x0, x1, contestants);
  ASSERT_EQ(found.differences.size(), 1u);
  EXPECT_GT(found.differences[0].difference.mean, 0.1);
  EXPECT_GT(found.contestants[0].score("shape_score").value.mean, 0.8);
  EXPECT_GT(found.contestants[0].score("reference_kl").value.mean, 0.0);
  contains(found.contestants[0].score(kTransportMoved).missing, "its columns differ");
}

TEST(TableRun, AStoppedRunGoesOnToTheSameBridge) {
  const Tables tables;
  const TempDir temp;
  const TableRun whole = train_table(kContext, request("120"), tables.schema, tables.from,
                                     tables.to, temp.path() / "whole", false);
  Context stopping = kContext;
  int asked = 0;
  stopping.stop = [&] { return ++asked > 40; };
  EXPECT_THROW(train_table(stopping, request("120"), tables.schema, tables.from, tables.to,
                           temp.path() / "stopped", false),
               Interrupted);
  contains(error_of<FileError>([&] { load_table_run(temp.path() / "stopped"); }), "not complete");
  train_table(kContext, request("120"), tables.schema, tables.from, tables.to,
              temp.path() / "stopped", true);
  const TableRun loaded = load_table_run(temp.path() / "stopped");
  EXPECT_EQ(loaded.bridge->log_beta(), whole.bridge->log_beta());
  EXPECT_EQ(loaded.bridge->log_cores(), whole.bridge->log_cores());
  EXPECT_EQ(loaded.x0, tables.from);
  EXPECT_TRUE(same_categories(loaded.schema, tables.schema));
  EXPECT_TRUE(is_table_run(temp.path() / "stopped"));
}

// kill -9 at any moment: the folder stays readable, and going on ends in the same parameters.
TEST(TableRun, KilledRunsResume) {
  const Tables tables;
  const TempDir temp;
  TableRequest asked = request("400");
  asked.options["checkpoint_every"] = "0.01";
  const auto train = [&](const Context& context, const char* folder) {
    train_table(context, asked, tables.schema, tables.from, tables.to, temp.path() / folder, true);
  };
  train({.num_threads = 1}, "whole");
  testing::end_through_kills([&](const Context& context) { train(context, "killed"); }, 4);
  EXPECT_EQ(testing::slurp(temp.path() / "killed" / "model.safetensors"),
            testing::slurp(temp.path() / "whole" / "model.safetensors"));
}

TEST(TableRun, RefusesOtherRunsOptionsAndDevices) {
  const Tables tables;
  const TempDir temp;
  const auto train = [&](const Context& context, const TableRequest& asked, const States& from,
                         bool resume) {
    train_table(context, asked, tables.schema, from, tables.to, temp.path() / "run", resume);
  };
  train(kContext, request("10"), tables.from, false);
  contains(error_of<FileError>([&] { train(kContext, request("10"), tables.from, false); }),
           "already holds a run");
  contains(error_of<FileError>([&] { train(kContext, request("20"), tables.from, true); }),
           "another configuration");
  contains(error_of<FileError>([&] { train(kContext, request("10"), tables.to, true); }),
           "other data");
  train(kContext, request("10"), tables.from, true);  // complete: left as it is
  contains(error_of<InvalidArgument>([&] {
             train(kContext, {0, {{"source", "none"}}}, tables.from, false);
           }),
           "source");
  EXPECT_THROW(train({.device = Device::kCuda}, request("10"), tables.from, false), DeviceError);
}

}  // namespace bridgemark::table_run_testing
