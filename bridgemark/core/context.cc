#include "bridgemark/core/context.h"

#include <omp.h>
#include <pthread.h>

#include <atomic>

#include "bridgemark/core/error.h"
#include "bridgemark/core/rank_group.h"

namespace bridgemark {

std::string_view device_name(Device device) { return device == Device::kCpu ? "cpu" : "cuda"; }

Device parse_device(std::string_view name) {
  if (name == "cpu") return Device::kCpu;
  if (name == "cuda") return Device::kCuda;
  throw_invalid("context", "device must be cpu or cuda, got '{}'", name);
}

namespace {

std::atomic<bool> used_threads = false;
std::atomic<bool> forked = false;

// OpenMP's threads do not follow into a forked process, which would wait for them for ever.
void note_fork() {
  if (used_threads) forked = true;
}

}  // namespace

int Context::threads() const {
  static const int watched = pthread_atfork(nullptr, nullptr, note_fork);
  if (forked || watched != 0) return 1;
  const int threads = num_threads > 0 ? num_threads : omp_get_max_threads();
  if (threads > 1) used_threads = true;
  return threads;
}

int Context::rank_count() const { return ranks ? ranks->count() : 1; }

bool Context::is_first_rank() const { return !ranks || ranks->rank() == 0; }

Context Context::on_host() const {
  Context host = *this;
  host.device = Device::kCpu;
  return host;
}

Context Context::on_one_thread() const {
  return {.device = Device::kCpu, .num_threads = 1, .interrupt = interrupt};
}

void Context::throw_if_interrupted() const {
  if (interrupt && interrupt()) throw Interrupted("interrupted before it was done");
}

}  // namespace bridgemark
