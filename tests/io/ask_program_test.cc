#include "bridgemark/io/program/ask_program.h"

#include <gtest/gtest.h>

#include "bridgemark/core/error.h"
#include "bridgemark/io/program/child_process.h"

namespace bridgemark {
namespace {

TEST(AskProgram, SaysWhatACommandPrintedAndHowItEnded) {
  const ProgramAnswer answer =
      ask_program({"sh", "-c", "echo one; echo two; echo first >&2; echo last >&2; exit 3"});
  EXPECT_EQ(answer.status, 3);
  EXPECT_EQ(answer.out, "one\ntwo\n");
  EXPECT_EQ(answer.complaint, "last");
}

TEST(AskProgram, OneThatIsNotThereEndsAsShellsSayIt) {
  const ProgramAnswer answer = ask_program({"no-such-program"});
  EXPECT_EQ(answer.status, 127);
  EXPECT_NE(answer.complaint.find("no-such-program"), std::string::npos);
}

TEST(AskProgram, ASignalIsTold) {
  const int status = ask_program({"sh", "-c", "kill -9 $$"}).status;
  EXPECT_EQ(status, kSignalStatus + 9);
  EXPECT_EQ(status_text(status), "ended by signal 9");
  EXPECT_EQ(status_text(3), "ended with status 3");
}

TEST(AskProgram, StopEndsIt) {
  int asked = 0;
  EXPECT_THROW(ask_program({"sleep", "600"}, [&] { return ++asked > 3; }), Interrupted);
}

}  // namespace
}  // namespace bridgemark
