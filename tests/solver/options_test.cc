#include "bridgemark/solver/core/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "bridgemark/core/error.h"
#include "tests/io/io_testing.h"

namespace bridgemark {
namespace {

using testing::error_of;

using ::testing::AllOf;
using ::testing::HasSubstr;

SolverOptions example() {
  return SolverOptions({{"samples", "1000", ""}, {"tolerance", "1e-10", ""}, {"loss", "kl", ""}});
}

TEST(SolverOptions, DefaultsAndAssignments) {
  SolverOptions options = example();
  EXPECT_EQ(options.integer("samples", 1, 10000), 1000);
  EXPECT_EQ(options.real("tolerance", 0.0, 1.0), 1e-10);
  EXPECT_EQ(options.text("loss"), "kl");
  options.set_assignment("samples=5");
  options.set_assignment("loss=a=b");
  options.set("tolerance", "0.25");
  EXPECT_EQ(options.integer("samples", 1, 10000), 5);
  EXPECT_EQ(options.text("loss"), "a=b");
  EXPECT_EQ(options.real("tolerance", 0.0, 1.0), 0.25);
  EXPECT_EQ(options.values().size(), 3u);
}

TEST(SolverOptions, UnknownKeyNamesTheNearest) {
  SolverOptions options = example();
  EXPECT_THAT(error_of<InvalidArgument>([&] { options.set("tolerence", "1"); }),
              AllOf(HasSubstr("'tolerence'"), HasSubstr("did you mean 'tolerance'")));
  EXPECT_THAT(error_of<InvalidArgument>([&] { options.set_assignment("sample=1"); }),
              HasSubstr("did you mean 'samples'"));
  SolverOptions none({});
  EXPECT_THAT(error_of<InvalidArgument>([&] { none.set("samples", "1"); }),
              AllOf(HasSubstr("takes no options"), HasSubstr("samples")));
  EXPECT_EQ(options.values(), example().values());
}

TEST(SolverOptions, AssignmentNeedsKeyAndEquals) {
  SolverOptions options = example();
  for (const char* bad : {"samples", "=5", ""}) {
    EXPECT_THAT(error_of<InvalidArgument>([&] { options.set_assignment(bad); }),
                HasSubstr("key=value"));
  }
}

TEST(SolverOptions, ValuesAreCheckedWhenRead) {
  for (const char* bad : {"", "abc", "1.5", "5x", " 5", "0", "11", "99999999999999999999"}) {
    SolverOptions options = example();
    options.set("samples", bad);
    EXPECT_THAT(error_of<InvalidArgument>([&] { options.integer("samples", 1, 10); }),
                AllOf(HasSubstr("samples"), HasSubstr("1..10"), HasSubstr(bad)));
  }
  for (const char* bad : {"", "abc", "nan", "inf", "1e999", "-0.1", "1.1", "0,5"}) {
    SolverOptions options = example();
    options.set("tolerance", bad);
    EXPECT_THAT(error_of<InvalidArgument>([&] { options.real("tolerance", 0.0, 1.0); }),
                AllOf(HasSubstr("tolerance"), HasSubstr("[0, 1]"), HasSubstr(bad)));
  }
  SolverOptions options = example();
  options.set("samples", "10");
  EXPECT_EQ(options.integer("samples", 1, 10), 10);
  options.set("tolerance", "1");
  EXPECT_EQ(options.real("tolerance", 0.0, 1.0), 1.0);
}

}  // namespace
}  // namespace bridgemark
