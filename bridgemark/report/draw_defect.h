#pragma once

#include <string>

#include "bridgemark/core/array.h"

namespace bridgemark {

// What a solver's draws given one input look like beside the truth's, in a clause for people: "it
// misses 40 % of what the truth draws". In this order:
//   a coordinate stays at x0 more often than the truth's does,
//   the draws are nearer to x1 of anywhere than to the truth's given x0,
//   a share of the truth's draws has no draw of the solver near it, or the other way round, where
//     near is as near as all but a twentieth of the truth's draws are to each other,
//   the draws are narrower or wider than the truth's.
// Else single draws look alike, and what is wrong is how coordinates go together or rarer than the
// draws. Each sign is called where it is beyond what draws of the truth show of it by chance, by a
// margin: it is a hint at where to look, not a test.
//
// `x0` has one row, `solver` and `truth` draws given it, `anywhere` x1 of the pair whatever x0.
std::string draw_defect(StatesView x0, StatesView solver, StatesView truth, StatesView anywhere);

}  // namespace bridgemark
