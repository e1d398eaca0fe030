#include "cli/interrupt.h"

#include <unistd.h>

#include <csignal>

#include "bridgemark/io/disk/temporaries.h"

namespace bridgemark::cli {

namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t requested = 0;
volatile std::sig_atomic_t asked_by = 0;

void end_program(int signal) {
  remove_temporaries();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// Work that does not ask within a second is ended: what it kept before is on disk.
void end_if_unasked(int) { end_program(asked_by); }

void request_stop(int signal) {
  requested = 1;
  asked_by = signal;
  std::signal(signal, end_program);
  std::signal(SIGALRM, end_if_unasked);
  ::alarm(1);
}

// A signal that whoever started the program had ignored (nohup) stays so.
void handle_signals(void (*handler)(int)) {
  for (const int signal : kSignals) {
    if (std::signal(signal, handler) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
}

}  // namespace

void fail_writes_beyond_limit() { std::signal(SIGXFSZ, SIG_IGN); }

void clean_up_on_signals() { handle_signals(end_program); }

void stop_on_signals() { handle_signals(request_stop); }

bool stop_requested() {
  if (requested == 0) return false;
  ::alarm(0);
  return true;
}

}  // namespace bridgemark::cli
