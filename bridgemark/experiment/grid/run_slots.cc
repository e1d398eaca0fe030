#include "bridgemark/experiment/grid/run_slots.h"

#include <fmt/format.h>

#include <algorithm>

#include "bridgemark/experiment/make_run.h"

namespace bridgemark {

RunSlots::RunSlots(const Context& context, int jobs, std::size_t runs,
                   const std::function<void(const std::string&)>& note)
    : context_(context), count_(jobs > 0 ? jobs : context.threads()) {
  if (context.device == Device::kCuda) share_device(jobs, runs, note);
}

void RunSlots::share_device(int jobs, std::size_t runs,
                            const std::function<void(const std::string&)>& note) {
  const int wanted =
      std::min<int>(jobs > 0 ? jobs : std::min(kRunsOnOneGpu, count_), static_cast<int>(runs));
  if (wanted > 1) sharing_ = std::make_unique<DeviceSharing>();
  count_ = std::max(1, is_device_shared() || jobs > 0 ? wanted : 1);
  if (!sharing_ || !note) return;
  const std::string how = is_device_shared() ? "which they share by its Multi-Process Service"
                                             : fmt::format("which serves one process at a time: {}",
                                                           sharing_->problem());
  note(fmt::format("{} {} at a time on the GPU, {}", count_, count_ == 1 ? "run" : "runs", how));
}

std::vector<std::string> RunSlots::arguments(std::size_t unfinished) const {
  const int shares = std::max(1, std::min<int>(count_, static_cast<int>(unfinished)));
  return {"--threads",    std::to_string(std::max(1, context_.threads() / shares)),
          "--device",     std::string(device_name(context_.device)),
          kSharersOption, std::to_string(is_device_shared() ? count_ : 1)};
}

std::vector<std::string> RunSlots::environment() const {
  return is_device_shared() ? sharing_->environment() : std::vector<std::string>();
}

}  // namespace bridgemark
