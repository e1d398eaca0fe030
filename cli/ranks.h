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

// Before an error is printed. All ranks may have it: others than the first wait for that one to end
// them, and go on where it does not, since then the error is theirs alone.
void let_first_rank_speak();

// The last call of the program. A failure ends all ranks, which would wait for this one.
int leave_ranks(int status);

}  // namespace bridgemark::cli
