#include "python/bindings/calls.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

namespace nb = nanobind;

namespace bridgemark::python {

namespace {

using Clock = std::chrono::steady_clock;

// Taking the GIL may wait for another thread, so it is taken only now and then.
constexpr std::chrono::milliseconds kInterval{50};

class SignalCheck {
 public:
  void operator()() const {
    const Clock::time_point now = Clock::now();
    if (now - *last_ < kInterval) return;
    *last_ = now;
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }

 private:
  std::shared_ptr<Clock::time_point> last_ = std::make_shared<Clock::time_point>(Clock::now());
};

}  // namespace

Context interruptible_context() {
  const SignalCheck check;
  Context context;
  context.progress = [check](std::string_view, std::uint64_t, std::uint64_t, std::string_view) {
    check();
  };
  context.stop = [check] {
    check();
    return false;
  };
  return context;
}

}  // namespace bridgemark::python
