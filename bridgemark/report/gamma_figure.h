#pragma once

#include <string>

#include "bridgemark/solver/gamma/gamma_scan.h"

namespace bridgemark {

// A scan as one drawing, an SVG file: over gamma, what x0 tells of x1, the cost of transport, the
// fit to x1 and how far the reference alone leads, all between 0 and 1. Vertical lines mark the
// proposed gamma and the one at which x0 tells half; hollow points do not fit x1.
std::string gamma_figure(const GammaScan& scan);

}  // namespace bridgemark
