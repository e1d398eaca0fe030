#include "python/bindings/calls.h"

#include <nanobind/stl/string.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

#include "bridgemark/backend/backend.h"

namespace nb = nanobind;

namespace bridgemark::python {

namespace {

using Clock = std::chrono::steady_clock;

// Taking the GIL may wait for another thread, so it is taken only now and then.
constexpr std::chrono::milliseconds kInterval{50};

}  // namespace

struct SignalWatch::State {
  nb::handle progress;  // borrowed from the caller
  // Reports have a clock of their own, so that looking for signals takes none of them; the first is
  // shown at once.
  Clock::time_point last_look = Clock::now();
  Clock::time_point last_report{};
  Clock::time_point last_visit{};
  std::exception_ptr found;
  bool reported = false;  // a report came since: training asks whether to stop before the next one
  // The caller's thread alone looks for signals; those that help it see what it found.
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> interrupted = false;

  // Python's own work is done under `visit`, whose exception is kept: the native code in between
  // unwinds by its own rules.
  template <typename Visit>
  void visit_python(Clock::time_point& last, bool at_once, Visit&& visit) {
    const Clock::time_point now = Clock::now();
    if (found || (!at_once && now - last < kInterval)) return;
    last = now;
    const nb::gil_scoped_acquire acquire;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      visit();
    } catch (const nb::python_error&) {
      found = std::current_exception();
      interrupted.store(true, std::memory_order_relaxed);
    }
  }

  void look_for_signals() {
    visit_python(last_look, false, [] {});
  }
};

SignalWatch::SignalWatch(nb::handle progress, Device device) : state_(std::make_shared<State>()) {
  context_.device = device;
  backend::of(context_).require_device();
  state_->progress = progress;
  context_.progress = [state = state_](std::string_view what, std::uint64_t done,
                                       std::uint64_t total, std::string_view detail) {
    if (state->reported) std::rethrow_exception(state->found);
    const bool shown = !state->progress.is_none();
    state->visit_python(state->last_report, shown && done == total, [&] {
      if (!shown) return;
      state->progress(nb::str(what.data(), what.size()), done, total,
                      nb::str(detail.data(), detail.size()));
    });
    state->reported = state->found != nullptr;
  };
  context_.stop = [state = state_] {
    state->look_for_signals();
    return state->found != nullptr;
  };
  context_.interrupt = [state = state_] {
    if (std::this_thread::get_id() == state->caller) state->look_for_signals();
    return state->interrupted.load(std::memory_order_relaxed);
  };
}

void log_info(const std::string& text) {
  const nb::gil_scoped_acquire acquire;
  nb::module_::import_("logging").attr("getLogger")("bridgemark").attr("info")("%s", text);
}

void warn_if_still(const ReferenceProcess& process) {
  constexpr Py_ssize_t kStackLevel = 2;  // the caller of the package's function in front of it
  const auto warning = movement_warning(process);
  if (warning && PyErr_WarnEx(PyExc_UserWarning, warning->c_str(), kStackLevel) != 0) {
    throw nb::python_error();
  }
}

void SignalWatch::visit(const std::function<void()>& work) const {
  state_->visit_python(state_->last_visit, true, work);
}

void SignalWatch::rethrow() const {
  if (state_->found) std::rethrow_exception(state_->found);
}

}  // namespace bridgemark::python
