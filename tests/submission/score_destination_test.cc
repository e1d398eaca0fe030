#include "bridgemark/submission/score_destination.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "bridgemark/core/error.h"

namespace bridgemark {
namespace {

using ::testing::HasSubstr;

constexpr DestinationWords kSpelled = {.add_to = "ADD",
                                       .submission = "SUBMIT",
                                       .answer = "ANSWER",
                                       .label = "LABEL",
                                       .training_seconds = "SECONDS",
                                       .rows_are_known = "ROWS are known",
                                       .none = "NOTHING"};

std::string refusal(const ScoreDestination& destination, const KnownTraining& known = {}) {
  try {
    check_destination(destination, known, kSpelled);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "none";
}

TEST(ScoreDestinationTest, SaysInTheCallersWordsWhatIsMissing) {
  EXPECT_EQ(refusal({}), "none");
  EXPECT_EQ(refusal({.add_to = "a"}),
            "[evaluate] ADD needs LABEL, what tables call the solver, got NOTHING");
  EXPECT_EQ(refusal({.add_to = "a", .label = "x"}), "none");
  EXPECT_EQ(refusal({.submission = "s"}), "[evaluate] SUBMIT needs SECONDS, got NOTHING");
  EXPECT_EQ(refusal({.submission = "s", .training_seconds = 0.0}), "none");
  EXPECT_EQ(refusal({.add_to = "a", .submission = "s", .label = "x", .training_seconds = 1.0}),
            "[evaluate] give one of ADD and SUBMIT, got both");
}

TEST(ScoreDestinationTest, WhatIsKnownIsNotTheCallersToSay) {
  EXPECT_EQ(refusal({.submission = "s"}, {.rows = true, .seconds = true}), "none");
  EXPECT_EQ(refusal({.submission = "s", .training_seconds = 1.0}, {.seconds = true}),
            "[evaluate] SUBMIT needs SECONDS, got both");
  EXPECT_EQ(refusal({.rows = {100, 2}}), "none");
  EXPECT_EQ(refusal({.rows = {100, 2}}, {.rows = true}), "[evaluate] ROWS are known, got 100");
  EXPECT_THAT(refusal({.rows = {0, 2}}), HasSubstr("training_set"));
}

}  // namespace
}  // namespace bridgemark
