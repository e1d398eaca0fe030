#include "cli/overview.h"

#include <fmt/format.h>
#include <sys/ioctl.h>

#include <chrono>
#include <string>

#include "bridgemark/io/printable.h"
#include "cli/output.h"

namespace bridgemark::cli {

namespace {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string headline(const Overview& overview) {
  const std::size_t running = overview.active.size() + overview.more_active;
  const std::size_t left = overview.total - overview.done - overview.failed - running;
  std::string text = fmt::format("{} of {} done", overview.done, overview.total);
  if (overview.skipped > 0) text += fmt::format(" ({} before)", overview.skipped);
  text += fmt::format(", {} running, {} left", running, left);
  if (overview.failed > 0) text += fmt::format(", {} failed", overview.failed);
  if (overview.seconds_left) text += fmt::format(", {} to go", duration(*overview.seconds_left));
  return text;
}

// What a run says of itself, without the name of what it is doing.
std::string detail(const Overview::Active& active) {
  std::string text = fmt::format("  {} {} {}", active.id, active.stage, duration(active.seconds));
  if (!active.last_line.empty()) text += "  " + terminal_text(active.last_line);
  return text;
}

int terminal_columns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

std::string duration(double seconds) {
  if (seconds < 90.0) return fmt::format("{:.0f} s", seconds);
  if (seconds < 5400.0) return fmt::format("{:.0f} min", seconds / 60.0);
  return fmt::format("{:.1f} h", seconds / 3600.0);
}

OverviewPrinter::OverviewPrinter(ProgressStyle style) : style_(style), started_(now_seconds()) {}

void OverviewPrinter::show(const Overview& overview) {
  if (style_ == ProgressStyle::kNone) return;
  if (style_ == ProgressStyle::kLines) {
    const double elapsed = now_seconds() - started_;
    if (elapsed < next_line_) return;
    next_line_ = elapsed + kSecondsPerLine;
    note("{}{}{}\n", headline(overview), overview.queue.empty() ? "" : "; ",
         terminal_text(overview.queue));
    return;
  }
  clear();
  const auto columns = static_cast<std::size_t>(terminal_columns());
  std::string block = headline(overview).substr(0, columns) + "\n";
  lines_ = 1 + static_cast<int>(overview.active.size());
  if (!overview.queue.empty()) {
    block += terminal_text(overview.queue).substr(0, columns) + "\n";
    ++lines_;
  }
  for (const Overview::Active& active : overview.active) {
    block += detail(active).substr(0, columns) + "\n";
  }
  note("{}", block);
}

void OverviewPrinter::clear() {
  if (lines_ > 0) note("\x1b[{}A\x1b[J", lines_);
  lines_ = 0;
}

}  // namespace bridgemark::cli
