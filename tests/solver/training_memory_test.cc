#include "bridgemark/solver/core/training_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "tests/io/io_testing.h"
#include "tests/support/small_pair.h"

// Trainings of hundreds of GiB are refused before anything of that size is made.
namespace bridgemark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string refusal(const std::string& solver, const std::vector<std::string>& assignments,
                    const PairSpec& spec = testing::small_spec()) {
  return testing::error_of<InvalidArgument>(
      [&] { testing::fit_solver(solver, build_pair(spec), assignments); });
}

void expect_refusal(const std::string& message, const std::string& lower) {
  EXPECT_THAT(message, AllOf(StartsWith("[memory] a training of "), HasSubstr(" GiB are free"),
                             ::testing::EndsWith("; lower " + lower)));
}

TEST(TrainingMemory, NetworksTablesAndFirstPairsAreRefused) {
  for (const char* solver : {"csbm", "alpha-csbm"}) {
    expect_refusal(refusal(solver, {"num_steps=16", "hidden=65536,65536,65536,65536"}), "hidden");
    expect_refusal(refusal(solver, {"num_steps=16", "batch_size=1048576", "points=1024"}),
                   "batch_size");
  }
  PairSpec spec = testing::small_spec();
  spec.num_categories = 500;
  spec.total_steps = 1 << 20;
  expect_refusal(refusal("csbm", {"num_steps=1048576"}, spec), "num_steps");
  expect_refusal(refusal("dlightsb-m", {"num_steps=1048576"}, spec), "num_steps");
}

TEST(TrainingMemory, ChainsAreRefused) {
  PairSpec spec = testing::small_spec();
  spec.dim = 64;
  expect_refusal(refusal("dlightsb-chain", {"states=1024", "batch_size=1048576"}, spec),
                 "batch_size");
}

TEST(TrainingMemory, ComponentsAreRefused) {
  PairSpec spec = testing::small_spec();
  spec.num_categories = 10000;
  spec.dim = 10;
  expect_refusal(refusal("dlightsb", {"components=1048576"}, spec), "components");
}

}  // namespace
}  // namespace bridgemark
