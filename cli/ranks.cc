#include "cli/ranks.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "bridgemark/backend/ranks/launched_ranks.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/rank_group.h"
#include "cli/command.h"
#include "cli/interrupt.h"

namespace bridgemark::cli {

namespace {

std::shared_ptr<RankGroup> joined;  // of the process, as MPI is

}  // namespace

void join_ranks(Context& context) {
  if (backend::launched_ranks() == 1) return;
  joined = backend::join_launched_ranks();
  context.ranks = joined;
  if (joined->rank() > 0) context.progress = {};
  if (context.num_threads == 0) {
    const auto machine = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    context.num_threads =
        std::max(1, std::min(context.threads(), machine / joined->count_on_machine()));
  }
}

void require_no_ranks(std::string_view command) {
  const int ranks = backend::launched_ranks();
  if (ranks == 1) return;
  throw_invalid("ranks", "{} must run as one process, got {}; of all commands train takes several",
                command, ranks);
}

bool speaks_for_ranks() { return !joined || joined->rank() == 0; }

void let_first_rank_speak() {
  if (backend::launched_rank() == 0) return;
  clean_up_on_signals();  // the launcher's ends this process at once
  std::this_thread::sleep_for(std::chrono::seconds(5));
}

int leave_ranks(int status) {
  if (!joined) return status;
  if (status != 0 && status != kInterrupted) backend::end_launched_ranks(status);
  joined.reset();
  return status;
}

}  // namespace bridgemark::cli
