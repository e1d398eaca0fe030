#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bridgemark/experiment/experiment.h"
#include "bridgemark/io/disk/claim_folder.h"

namespace bridgemark {

// Which of several workers on one grid this is, counted from 1. Every worker takes any run; where
// it begins to look goes by its number, so that they seldom ask for the same.
struct Shard {
  int number = 1;
  int count = 1;
};

// "I/N" with 1 <= I <= N; throws InvalidArgument that names `argument`.
Shard parse_shard(const std::string& argument, const std::string& text);

// Who makes which run of a grid in a folder that several workers share:
//   claims/ID       by the worker that has it, see claim_folder.h
//   failed/ID.txt   why a run failed, so that no other worker tries it again
// A thread of its own gives the signs of life, whatever the worker is at.
class GridClaims {
 public:
  GridClaims(const std::filesystem::path& grid_folder, const Shard& shard,
             std::chrono::milliseconds stale_after);

  // The runs in the order in which this worker looks at them.
  void reorder(std::vector<const ExperimentRun*>& runs) const;

  bool take(const std::string& id) { return claims_.take(id); }
  // False where another worker has taken this one for dead.
  bool holds(const std::string& id) const { return claims_.holds(id); }
  void release(const std::string& id) { claims_.release(id); }

  // Claims that a worker left which died between the end of a run and letting go of it.
  void remove_settled(const std::function<bool(const std::string&)>& settled) const {
    claims_.remove_settled(settled);
  }

  // How long ago a file of the folder was written, by its file system's clock; 0 where there is
  // none.
  std::chrono::nanoseconds age(const std::filesystem::path& file) const {
    return claims_.silence_of(file);
  }

  void mark_failed(const std::string& id, const std::string& reason) const;
  std::optional<std::string> failure(const std::string& id) const;
  void forget_failures() const;

  // Runs `work` while no other worker does.
  void alone(const std::function<void()>& work) const { claims_.alone(work); }

 private:
  std::filesystem::path failure_file(const std::string& id) const;

  const std::filesystem::path failed_;
  const Shard shard_;
  ClaimFolder claims_;
  std::jthread signs_;  // ends before the claims do
};

}  // namespace bridgemark
