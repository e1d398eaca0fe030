#pragma once

#include "bridgemark/core/context.h"
#include "bridgemark/process/reference_process.h"

namespace bridgemark {

// The reference that is proposed for a number of categories leads this far: the mean of |x1 - x0|,
// from a uniform x0, over that of two independent uniform categories. 0 would leave x0 where it is,
// 1 forgets it. The presets of the paper lie at 0.09 to 0.73.
inline constexpr double kProposedShare = 0.4;

// That share for a process.
double movement_share(const Context& context, const ReferenceProcess& process);

// The same of a uniform or Gaussian process of so many categories, quickly where they are very
// many.
double movement_share(const Context& context, ReferenceKind kind, int num_categories, double gamma,
                      int total_steps);

// The gamma of a uniform or Gaussian process on S categories whose share is at least `share`, to
// two significant digits. A process of few steps may reach it for no gamma: then the largest there
// is.
double gamma_of_share(const Context& context, ReferenceKind kind, int num_categories, double share,
                      int total_steps = kDefaultTotalSteps);

// That of kProposedShare.
double propose_gamma(const Context& context, ReferenceKind kind, int num_categories,
                     int total_steps = kDefaultTotalSteps);

}  // namespace bridgemark
