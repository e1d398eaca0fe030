#include "cli/interrupt.h"

#include <csignal>

#include "bridgemark/io/temporaries.h"

namespace bridgemark::cli {

namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t requested = 0;

void end_program(int signal) {
  remove_temporaries();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void request_stop(int signal) {
  requested = 1;
  std::signal(signal, end_program);
}

// A signal that whoever started the program had ignored (nohup) stays so.
void handle_signals(void (*handler)(int)) {
  for (const int signal : kSignals) {
    if (std::signal(signal, handler) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
}

}  // namespace

void clean_up_on_signals() { handle_signals(end_program); }

void stop_on_signals() { handle_signals(request_stop); }

bool stop_requested() { return requested != 0; }

}  // namespace bridgemark::cli
