#pragma once

namespace bridgemark::cli {

// From here on SIGINT and SIGTERM ask for a stop at the next safe point instead of ending the
// program; a second one ends it.
void stop_on_signals();

bool stop_requested();

}  // namespace bridgemark::cli
