#pragma once

#include <string>

#include "bridgemark/experiment/grid_runner.h"

namespace bridgemark::cli {

// "80 s", "12 min", "3.4 h".
std::string duration(double seconds);

// Shows how far an experiment is, on standard error: a block redrawn in place on a terminal, a line
// every ten seconds elsewhere.
class OverviewPrinter {
 public:
  OverviewPrinter();

  void show(const Overview& overview);
  void clear();  // takes the block off the terminal

 private:
  bool terminal_;
  int lines_ = 0;  // of the block that stands on the terminal
  double next_line_ = 10.0;
  double started_;
};

}  // namespace bridgemark::cli
