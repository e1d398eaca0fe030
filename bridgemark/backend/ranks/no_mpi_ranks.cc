#include <cstdlib>

#include "bridgemark/backend/ranks/launched_ranks.h"
#include "bridgemark/core/error.h"

namespace bridgemark::backend {

std::shared_ptr<RankGroup> join_launched_ranks() {
  throw_invalid("ranks",
                "ranks must be 1 in this program, got {}; bridgemark-mpi takes several: make "
                "build-mpi builds it",
                launched_ranks());
}

std::string ranks_library() { return "none; bridgemark-mpi joins ranks"; }

void end_launched_ranks(int status) { std::exit(status); }

}  // namespace bridgemark::backend
