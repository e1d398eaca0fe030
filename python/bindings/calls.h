#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "bridgemark/core/context.h"
#include "bridgemark/core/error.h"
#include "bridgemark/process/reference_process.h"

namespace bridgemark::python {

// Watches for Ctrl-C during one call. Training asks its context whether to stop, keeps a checkpoint
// and ends; other work is interrupted, or ends at its next report of progress. Only Python's main
// thread is told of signals.
class SignalWatch {
 public:
  // `progress`, called now and then with (what, done, total, detail), may be None. Throws where the
  // device is not available in this build or on this machine.
  SignalWatch(nanobind::handle progress, Device device);

  const Context& context() const { return context_; }

  // Python's own work in between, done at once with the GIL. What it raises makes the context say
  // stop, as Ctrl-C does.
  void visit(const std::function<void()>& work) const;

  // Throws the KeyboardInterrupt that was found, if any, or what a visit raised.
  void rethrow() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
  Context context_;
};

// A UserWarning in the caller's code where the reference of a pair hardly moves. Between the caller
// and what is native lies one function of the package (bridgemark/_signatures.py, or its own).
void warn_if_still(const ReferenceProcess& process);

// To Python's logger "bridgemark", whether this thread holds the GIL or not.
void log_info(const std::string& text);

// Runs `work(context)`, or `work(context, watch)`, while other Python threads go on. It must not
// touch Python objects but in a visit of the watch.
template <typename Work>
auto interruptible(Work&& work, nanobind::handle progress = nanobind::none(),
                   Device device = Device::kCpu) {
  const SignalWatch watch(progress, device);
  const nanobind::gil_scoped_release release;
  try {
    auto result = [&] {
      if constexpr (std::is_invocable_v<Work, const Context&, const SignalWatch&>) {
        return std::forward<Work>(work)(watch.context(), watch);
      } else {
        return std::forward<Work>(work)(watch.context());
      }
    }();
    watch.rethrow();
    return result;
  } catch (const Interrupted&) {
    watch.rethrow();
    throw;
  }
}

}  // namespace bridgemark::python
