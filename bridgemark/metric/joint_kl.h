#pragma once

#include <string>
#include <vector>

#include "bridgemark/metric/evaluation.h"
#include "bridgemark/metric/particle_kl.h"

namespace bridgemark {

// log q*(x1|x0) - log q(x1|x0) of the first test rows.
struct JointKl {
  std::vector<double> rows = {};
  JointKlDetail detail = {};
  std::string missing = {};  // why there are no rows
};

// Of rows that have a closed form.
JointKl exact_joint_kl(std::vector<double> rows);

// Where one is wanted by particles, and of what error.
struct ParticlePlan {
  ParticleOptions particles;
  std::size_t rows = kParticleRows;               // to begin with
  std::size_t fewest_rows = kFewestParticleRows;  // whatever max_seconds says
  // Rows are doubled, up to all, while the standard error is above this share of the value.
  double relative_error = 0.05;
  double max_seconds = kParticleSeconds;
};

// By particles (particle_kl.h). The clock is looked at after fewest_rows rows, then every half
// second or so.
JointKl particle_joint_kl(const Context& context, const ReferenceProcess& process,
                          const Coupling& truth, const Coupling& coupling, const ParticlePlan& plan,
                          const ParticleRows& test);

// In words: the bound, its particles and rows, and what carries it. Empty where there is none.
std::string joint_kl_text(const JointKlDetail& detail);

}  // namespace bridgemark
