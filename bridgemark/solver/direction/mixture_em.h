#pragma once

#include "bridgemark/bridge/cp_potential.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"

namespace bridgemark {

// Rows as a mixture of parts with independent coordinates, made more likely step by step: EM. Each
// part has `pseudo_rows` rows of the law `base` [D,S] beside those of the data, so that no category
// is impossible where base has it. The result does not depend on the number of threads.
class MixtureEm {
 public:
  MixtureEm(StatesView rows, Matrix<double> base, double pseudo_rows);

  // One step from a mixture whose parts are laws: what its rows are then most likely under.
  CpPotential step(const Context& context, const CpPotential& mixture) const;

  // Steps until one adds less than `enough` nats a row, at most `most` of them.
  CpPotential run(const Context& context, CpPotential mixture, int most, double enough) const;

 private:
  CpPotential step(const Context& context, const CpPotential& mixture,
                   double& log_likelihood) const;

  StatesView rows_;
  Matrix<double> base_;
  double pseudo_rows_;
};

// Independent coordinates: the counts of the rows with the same pseudo-rows beside them.
CpPotential independent_rows(StatesView rows, const Matrix<double>& base, double pseudo_rows);

}  // namespace bridgemark
