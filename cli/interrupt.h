#pragma once

namespace bridgemark::cli {

// From here on a file that grows beyond the limit of the shell (ulimit -f) is a write that fails,
// with a line as on a full disk, not the end of the program.
void fail_writes_beyond_limit();

// From here on SIGINT, SIGTERM and SIGHUP end the program without leaving temporary files.
void clean_up_on_signals();

// From here on they ask for a stop at the next safe point; a second one ends the program, and so
// does the first where nothing asks stop_requested() within a second.
void stop_on_signals();

bool stop_requested();

}  // namespace bridgemark::cli
