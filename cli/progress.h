#pragma once

#include "bridgemark/core/context.h"

namespace bridgemark::cli {

// Shows how far a long operation is, on standard error, from its third second on: a line redrawn in
// place on a terminal, a line every ten seconds elsewhere.
ProgressFn make_progress_printer();

}  // namespace bridgemark::cli
