#pragma once

#include <memory>
#include <string>

#include "bridgemark/core/rank_group.h"

// Processes that a launcher (mpirun, srun) started together. join_launched_ranks() and
// end_launched_ranks() are defined in mpi_ranks.cc for the program bridgemark-mpi, in
// no_mpi_ranks.cc for bridgemark.
namespace bridgemark::backend {

// How many the launcher says it started, this one among them, by the variables that it sets; 1
// without one.
int launched_ranks();

// Which of them this is, from 0 on, by the same variables.
int launched_rank();

// The group of all of them, for the whole process: MPI is started here and ends with the group.
// Throws InvalidArgument in a program without MPI, and where MPI finds another number of them.
std::shared_ptr<RankGroup> join_launched_ranks();

// What joins them, in words.
std::string ranks_library();

// Ends all of them with this exit status, wherever they are.
[[noreturn]] void end_launched_ranks(int status);

}  // namespace bridgemark::backend
