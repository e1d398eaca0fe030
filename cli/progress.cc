#include "cli/progress.h"

#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>

#include "cli/output.h"

namespace bridgemark::cli {

namespace {

using Clock = std::chrono::steady_clock;

struct State {
  std::string what;
  std::uint64_t last_done = 0;
  Clock::time_point started = Clock::now();
  Clock::time_point printed = Clock::time_point::min();
  bool open_line = false;
};

}  // namespace

ProgressFn make_progress_printer() {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const auto interval = terminal ? std::chrono::milliseconds(200) : std::chrono::seconds(10);
  auto state = std::make_shared<State>();
  return
      [=](std::string_view what, std::uint64_t done, std::uint64_t total, std::string_view detail) {
        const Clock::time_point now = Clock::now();
        if (what != state->what || done < state->last_done) {
          state->what = what;
          state->started = now;
        }
        state->last_done = done;
        const double elapsed = std::chrono::duration<double>(now - state->started).count();
        const bool finished = done >= total;
        if (finished && state->open_line) {
          note("\r\x1b[K");
          state->open_line = false;
        }
        if (elapsed < 2.0 || finished || done == 0) return;
        if (state->printed != Clock::time_point::min() && now - state->printed < interval) return;
        state->printed = now;
        const double share = static_cast<double>(done) / static_cast<double>(total);
        note("{}{}: {} of {} ({:.0f} %){}{}, {:.0f} s left{}", terminal ? "\r\x1b[K" : "", what,
             done, total, 100.0 * share, detail.empty() ? "" : ", ", detail,
             elapsed * (1.0 - share) / share, terminal ? "" : "\n");
        state->open_line = terminal;
      };
}

}  // namespace bridgemark::cli
