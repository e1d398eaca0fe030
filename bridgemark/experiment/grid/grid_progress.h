#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace bridgemark {

// How far a grid is.
struct Overview {
  struct Active {
    std::string id;
    std::string stage;      // "train" or "evaluate"
    double seconds;         // since it started
    std::string last_line;  // of what it prints
  };
  std::size_t total = 0;
  std::size_t done = 0;     // those that were complete before included
  std::size_t skipped = 0;  // complete before, or made by another worker
  std::size_t failed = 0;
  std::vector<Active> active;
  std::size_t more_active = 0;         // beyond those
  std::string queue;                   // of a cluster: the state of its queue
  std::optional<double> seconds_left;  // once a run of this call is done
};

struct FailedRun {
  std::string id;
  std::string reason;  // the last line it printed
};

// What became of a grid.
struct GridSummary {
  std::size_t total = 0;
  std::size_t skipped = 0;
  std::vector<FailedRun> failed;
  double seconds = 0.0;
};

}  // namespace bridgemark
