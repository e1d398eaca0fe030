#pragma once

#include "bridgemark/core/context.h"

// When a command says on standard error how far it is. One rule for all of them:
//   on a terminal   a line that is redrawn in place, once the work has taken two seconds
//   elsewhere       nothing; with --progress a line at once, then one every ten seconds
//   --quiet         nothing anywhere
// So what a command writes to a file or a pipe does not depend on how long it takes.
namespace bridgemark::cli {

enum class ProgressStyle { kNone, kRedrawn, kLines };

// The style for standard error as it is; `asked` is --progress, `quiet` is --quiet.
ProgressStyle progress_style(bool asked, bool quiet);

// Reports of a context in this style; empty where nothing is shown.
ProgressFn make_progress_printer(ProgressStyle style);

// Seconds between two lines of kLines.
inline constexpr double kSecondsPerLine = 10.0;

}  // namespace bridgemark::cli
