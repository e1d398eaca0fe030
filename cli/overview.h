#pragma once

#include <string>

#include "bridgemark/experiment/grid/grid_progress.h"
#include "cli/progress.h"

namespace bridgemark::cli {

// "80 s", "12 min", "3.4 h".
std::string duration(double seconds);

// Shows how far an experiment is by the rule of cli/progress.h, with a block of lines on a
// terminal.
class OverviewPrinter {
 public:
  explicit OverviewPrinter(ProgressStyle style);

  void show(const Overview& overview);
  void clear();  // takes the block off the terminal

 private:
  ProgressStyle style_;
  int lines_ = 0;           // of the block that is on the terminal
  double next_line_ = 0.0;  // seconds since the start
  double started_;
};

}  // namespace bridgemark::cli
