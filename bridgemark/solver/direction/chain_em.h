#pragma once

#include "bridgemark/bridge/chain_potential.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"

namespace bridgemark {

// Rows as what a hidden chain along the coordinates emits, made more likely step by step: EM, which
// is the Baum-Welch algorithm for it. At each coordinate each state has `pseudo_rows` rows of the
// law `base` [D,S] beside those of the data, which go on to all states alike, so that no category
// and no move is impossible where base has it. The result does not depend on the number of threads.
class ChainEm {
 public:
  ChainEm(StatesView rows, Matrix<double> base, double pseudo_rows);

  // One step from a chain whose start, moves and cores are laws: the likeliest by what its rows
  // then tell of the states.
  ChainPotential step(const Context& context, const ChainPotential& chain) const;

  // Steps until one adds less than `enough` nats a row, at most `most` of them.
  ChainPotential run(const Context& context, ChainPotential chain, int most, double enough) const;

 private:
  ChainPotential step(const Context& context, const ChainPotential& chain,
                      double& log_likelihood) const;

  StatesView rows_;
  Matrix<double> base_;
  double pseudo_rows_;
};

}  // namespace bridgemark
