#include "cli/interrupt.h"

#include <csignal>

namespace bridgemark::cli {

namespace {

volatile std::sig_atomic_t requested = 0;

void request_stop(int signal) {
  requested = 1;
  std::signal(signal, SIG_DFL);
}

}  // namespace

void stop_on_signals() {
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
}

bool stop_requested() { return requested != 0; }

}  // namespace bridgemark::cli
