#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "bridgemark/experiment/grid/grid_folder.h"

namespace bridgemark {

// Which of several workers on one grid this is, counted from 1. Every worker takes any run; where
// it begins to look goes by its number, so that they seldom ask for the same.
struct Shard {
  int number = 1;
  int count = 1;
};

// "I/N" with 1 <= I <= N; throws InvalidArgument that names `argument`.
Shard parse_shard(const std::string& argument, const std::string& text);

// What a process does in a grid's folder.
enum class GridRole {
  kAlone,      // makes all runs; no other process may have the folder
  kWorker,     // makes runs beside other workers; any of them may be the first or the last
  kTask,       // makes runs beside other workers, in a grid that a submitter has opened
  kSubmitter,  // makes no run: has tasks make them, and writes the results of all
};

struct GridAccess {
  GridRole role = GridRole::kAlone;
  // Whether the folder may hold an experiment already (workers and tasks may find one in any case)
  // and whether failed runs are tried again.
  bool resume = false;
  Shard shard = {};                              // of a worker
  std::chrono::milliseconds stale_after{60000};  // a worker not heard of for so long is dead
};

// The queue from which a process takes the runs of a grid. There are two: the runs of a process
// that has the folder alone, and those of workers that claim them one by one (claimed_queue.h).
// The folder is this process's, or its workers', for as long as the queue lives.
class RunQueue {
 public:
  virtual ~RunQueue() = default;

  virtual bool is_shared() const = 0;  // with other workers
  virtual Shard shard() const = 0;

  // Whether the run is now this process's to make.
  virtual bool take(const std::string& id) = 0;
  // Whether it is still: other workers take over the runs of one that they take for dead.
  virtual bool holds(const std::string& id) const = 0;
  // Leaves the run to whoever asks for it next.
  virtual void release(const std::string& id) = 0;

  // Why a run failed, which keeps every worker from trying it.
  virtual void mark_failed(const std::string& id, const std::string& reason) = 0;
  virtual std::optional<std::string> failure(const std::string& id) const = 0;

  // False where the results on disk are another process's to write, or were written lately.
  virtual bool wants_results() const = 0;
  // Calls `write` while no other process writes them; never where they are another one's.
  virtual void write_results(const std::function<void()>& write) const = 0;

  // Removes what workers that died have left of runs that are done.
  virtual void forget(const std::function<bool(const std::string&)>& is_done) const = 0;
};

// Opens the folder in a role. Throws FileError where it holds an experiment that this one does not
// go on with, FolderBusy where another process is in the way.
std::unique_ptr<RunQueue> open_queue(const GridFolder& folder, const GridAccess& access);

}  // namespace bridgemark
