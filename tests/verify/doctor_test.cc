#include "bridgemark/verify/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "bridgemark/core/version.h"

namespace bridgemark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Doctor, SaysWhatABugReportNeeds) {
  const nlohmann::json report = machine_report_json(examine_machine());
  EXPECT_EQ(report["build"]["version"], kVersion);
  for (const char* name : {"processor", "cores allowed", "threads by default", "memory", "glibc"}) {
    EXPECT_FALSE(report["machine"][name].get<std::string>().empty()) << name;
  }
  for (const char* name : {"vectors", "matrix products"}) {
    EXPECT_FALSE(report["cpu"][name].get<std::string>().empty()) << name;
  }
  EXPECT_TRUE(report["cuda"].contains("missing") || report["cuda"].contains("device 0"));
  EXPECT_TRUE(report["passed"]) << report;
  EXPECT_GT(report["checks"].size(), 0u);
  EXPECT_TRUE(report["hints"].is_array());
}

TEST(Doctor, SaysWhatMakesTheMachineSlow) {
  MachineReport report{{}, {}, {"8 threads on 4 cores: set OMP_NUM_THREADS=4"}};
  EXPECT_THAT(machine_report_text(report),
              HasSubstr("what makes this machine slow\n  8 threads on 4 cores: set OMP_"));
  report.hints.clear();
  EXPECT_THAT(machine_report_text(report), Not(HasSubstr("slow")));
}

// Of the environment only what decides about threads and devices, and nothing that acts on a
// terminal.
TEST(Doctor, SaysNothingElse) {
  setenv("BRIDGEMARK_SECRET", "hunter2", 1);
  setenv("OMP_PLACES", "\x1b[31mcores", 1);
  const std::string text = machine_report_text(examine_machine());
  unsetenv("OMP_PLACES");
  EXPECT_THAT(text, AllOf(Not(HasSubstr("hunter2")), Not(HasSubstr("\x1b"))));
  EXPECT_THAT(text, HasSubstr("[31mcores"));
}

TEST(Doctor, AWrongResultFails) {
  MachineReport report{{}, {{"product", 1e-3, 1e-11}}};
  EXPECT_FALSE(report.passed());
  EXPECT_THAT(machine_report_text(report), HasSubstr("FAILED: product: largest error 1.0e-03"));
  report.checks = {{"product", std::numeric_limits<double>::quiet_NaN(), 1e-11}};
  EXPECT_FALSE(report.passed());
  report.checks = {{"product", 0.0, 1e-11, "no device"}};
  EXPECT_FALSE(report.passed());
  EXPECT_EQ(machine_report_json(report)["checks"][0]["failure"], "no device");
  report.checks = {{"product", 1e-12, 1e-11}};
  EXPECT_TRUE(report.passed());
}

}  // namespace
}  // namespace bridgemark
