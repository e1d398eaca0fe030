#pragma once

namespace bridgemark::cli {

// From here on SIGINT, SIGTERM and SIGHUP end the program without leaving temporary files.
void clean_up_on_signals();

// From here on they ask for a stop at the next safe point; a second one ends the program, and so
// does the first where nothing asks stop_requested() within a second.
void stop_on_signals();

bool stop_requested();

}  // namespace bridgemark::cli
