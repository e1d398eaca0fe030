#include "bridgemark/solver/core/training_log.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/io/io_testing.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

class TrainingLog : public ::testing::Test {
 protected:
  std::filesystem::path path() const { return dir_.path() / "log.jsonl"; }
  std::string refusal(const std::string& text) const {
    testing::put(path(), text);
    return testing::error_of([&] { read_training_log(path()); });
  }

  testing::TempDir dir_;
};

const std::string kLine = "{\"loss\":0.5,\"seconds\":2.0,\"update\":10}\n";

TEST_F(TrainingLog, ReadsUpdatesAndLeavesOutTheRest) {
  testing::put(path(),
               "{\"event\":\"fitted\"}\n" + kLine + "\n{\"update\":20,\"loss\":null}\n{\"upd");
  const auto lines = read_training_log(path());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].update, 10);
  EXPECT_EQ(lines[0].loss, 0.5);
  EXPECT_EQ(lines[0].seconds, 2.0);
  EXPECT_EQ(lines[0].text + "\n", kLine);
  EXPECT_TRUE(std::isnan(lines[1].loss));
}

TEST_F(TrainingLog, WhatNoTrainingWritesIsRefusedWithItsLine) {
  testing::contains(refusal(kLine + "{\"update\":\"ten\"}\n"), "log.jsonl: line 2: key 'update'");
  testing::contains(refusal(kLine + "{\"update\":10,\"loss\":[]}\n"), "line 2: key 'loss'");
  testing::contains(refusal(kLine + kLine + "nonsense\n"), "line 3");
  testing::contains(refusal("\n" + std::string(100000, '[') + "\n"), "line 2: nested deeper");
  testing::contains(refusal("{\"update\":1e300}\n"), "line 1: key 'update'");
}

}  // namespace
}  // namespace bridgemark
