#pragma once

#include <functional>
#include <string>
#include <vector>

namespace bridgemark {

// What a program printed and how it ended.
struct ProgramAnswer {
  int status = 0;  // 128 + the signal where one ended it
  std::string out;
  std::string complaint;  // the last line of standard error
};

// Runs a command of the search path to its end. Throws FileError where it printed more than 256
// MiB, Interrupted once `stop` says so; an empty one never does.
ProgramAnswer ask_program(const std::vector<std::string>& command,
                          const std::function<bool()>& stop = {});

// The last line that is not empty; empty where there is none.
std::string last_line(const std::string& text);

}  // namespace bridgemark
