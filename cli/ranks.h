#pragma once

#include <string_view>

#include "bridgemark/core/context.h"

// The program as one of several ranks that a launcher started for one training.
namespace bridgemark::cli {

// Makes the context that of a rank where a launcher started several: the first rank alone reports,
// and ranks on a machine divide its CPUs where no number of threads was asked for.
void join_ranks(Context& context);

// Throws InvalidArgument where a launcher started several processes of a command that would do the
// same in each of them.
void require_no_ranks(std::string_view command);

// Whether this process prints results and notes: true without ranks.
bool speaks_for_ranks();

// Called before an error is printed. If all ranks have the same error, the first prints it and ends
// the others, so every other rank waits here for that. A rank that is not ended within some seconds
// returns: the error is its own, and it may print it.
void let_first_rank_speak();

// The last call of the program. A failure ends all ranks, which would wait for this one.
int leave_ranks(int status);

}  // namespace bridgemark::cli
