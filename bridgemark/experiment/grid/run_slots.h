#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bridgemark/core/context.h"
#include "bridgemark/experiment/grid/device_sharing.h"

namespace bridgemark {

// Runs that a GPU has at once where none are asked for and processes can share it.
inline constexpr int kRunsOnOneGpu = 8;

// How many runs go side by side on this machine, and what of it a run's process gets.
class RunSlots {
 public:
  // As many as `jobs`; where that is 0 one for each thread, and on a GPU kRunsOnOneGpu if processes
  // can share it, else one. On a GPU never more than `runs`. `note`, which may be empty, hears how
  // they share a GPU.
  RunSlots(const Context& context, int jobs, std::size_t runs,
           const std::function<void(const std::string&)>& note);

  int count() const { return count_; }

  // The options by which a run's process learns its threads and its device. The threads are shared
  // out among `unfinished` runs, at most one share a slot.
  std::vector<std::string> arguments(std::size_t unfinished) const;
  // What the process has in its environment, as NAME=value.
  std::vector<std::string> environment() const;

 private:
  void share_device(int jobs, std::size_t runs,
                    const std::function<void(const std::string&)>& note);
  bool is_device_shared() const { return sharing_ && sharing_->works(); }

  const Context& context_;
  int count_;
  std::unique_ptr<DeviceSharing> sharing_;
};

}  // namespace bridgemark
