#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>

#include "cli/output.h"

namespace bridgemark::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kFirstRedraw{2};
constexpr std::chrono::milliseconds kRedrawEvery{200};

struct State {
  std::string what;
  std::uint64_t last_done = 0;
  Clock::time_point started = Clock::now();
  Clock::time_point next = {};  // no line is shown before
  bool open_line = false;
};

}  // namespace

ProgressStyle progress_style(bool asked, bool quiet) {
  if (quiet) return ProgressStyle::kNone;
  if (isatty(STDERR_FILENO) != 0) return ProgressStyle::kRedrawn;
  return asked ? ProgressStyle::kLines : ProgressStyle::kNone;
}

ProgressFn make_progress_printer(ProgressStyle style) {
  if (style == ProgressStyle::kNone) return {};
  const bool redrawn = style == ProgressStyle::kRedrawn;
  auto state = std::make_shared<State>();
  return
      [=](std::string_view what, std::uint64_t done, std::uint64_t total, std::string_view detail) {
        const Clock::time_point now = Clock::now();
        if (what != state->what || done < state->last_done) {
          state->what = what;
          state->started = now;
          if (redrawn) state->next = std::max(state->next, now + kFirstRedraw);
        }
        state->last_done = done;
        const bool finished = done >= total;
        if (finished && state->open_line) {
          note("\r\x1b[K");
          state->open_line = false;
        }
        if (finished || done == 0 || now < state->next) return;
        state->next = now + (redrawn ? Clock::duration(kRedrawEvery)
                                     : std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(kSecondsPerLine)));
        const double elapsed = std::chrono::duration<double>(now - state->started).count();
        const double share = static_cast<double>(done) / static_cast<double>(total);
        note("{}{}: {} of {} ({:.0f} %){}{}, {:.0f} s left{}", redrawn ? "\r\x1b[K" : "", what,
             done, total, 100.0 * share, detail.empty() ? "" : ", ", detail,
             elapsed * (1.0 - share) / share, redrawn ? "" : "\n");
        state->open_line = redrawn;
      };
}

}  // namespace bridgemark::cli
