#pragma once

#include <string>

#include "bridgemark/submission/challenge/check_challenge.h"

namespace bridgemark {

// What the check of a good entry found, for people: a line for each set of answers, and for each
// preset whether the solver is as good on its instances as on the board.
std::string challenge_table(const ChallengeCheck& check);

}  // namespace bridgemark
