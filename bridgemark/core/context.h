#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace bridgemark {

class DeviceQueue;  // backend/device_queue.h
class RankGroup;    // core/rank_group.h

// Where an operation runs.
enum class Device { kCpu, kCuda };

// "cpu" or "cuda".
std::string_view device_name(Device device);

// Parses "cpu" or "cuda"; throws InvalidArgument otherwise.
Device parse_device(std::string_view name);

// Called from the calling thread now and then with what is being done and how far it is.
using ProgressFn = std::function<void(std::string_view what, std::uint64_t done,
                                      std::uint64_t total, std::string_view detail)>;

// Asked now and then by long work that keeps what it did; true makes it stop at the next safe
// point.
using StopFn = std::function<bool()>;

// Asked between pieces of work that take milliseconds, on any of its threads; true leaves the work
// undone.
using InterruptFn = std::function<bool()>;

// Where and how an operation runs. A result never depends on num_threads or device_sharers. A
// process that was forked after threads were used has one, whatever num_threads says.
struct Context {
  Device device = Device::kCpu;
  int num_threads = 0;         // 0: as many as the machine has
  ProgressFn progress = {};    // may be empty
  StopFn stop = {};            // may be empty
  InterruptFn interrupt = {};  // may be empty
  int device_sharers = 1;      // processes that work on the device at once, this one among them
  // The device's queue for work on arrays that lie there; empty: its default.
  std::shared_ptr<const DeviceQueue> queue = {};
  std::shared_ptr<RankGroup> ranks = {};  // that train one model with this process; may be empty

  int threads() const;
  // Processes that train one model: 1 without ranks.
  int rank_count() const;
  // Whether this process writes the files that the ranks have in common: true without ranks.
  bool is_first_rank() const;
  void report(std::string_view what, std::uint64_t done, std::uint64_t total,
              std::string_view detail = {}) const {
    if (progress) progress(what, done, total, detail);
  }
  bool should_stop() const { return stop && stop(); }
  void throw_if_interrupted() const;

  // For a part of work that is the host's on every device.
  Context on_host() const;

  // For a part of work that is spread over the threads already.
  Context on_one_thread() const;
};

}  // namespace bridgemark
