#pragma once

#include <cstdint>

#include "bridgemark/backend/plan/reference_power.h"
#include "bridgemark/bridge/chain_potential.h"
#include "bridgemark/bridge/cp_potential.h"
#include "bridgemark/core/array.h"

// Where EM starts from when it fits a law to rows: rough guesses, made of the rows and of what the
// reference makes of them, q over all steps.
namespace bridgemark {

// The law of pseudo-rows: the rows' categories moved by the reference, [D,S].
Matrix<double> moved_counts(const backend::ReferencePower& q, StatesView rows);

// Parts around rows far apart: each next one in proportion to its distance to the nearest so far.
// `start` tells guesses apart.
CpPotential first_parts(const backend::ReferencePower& q, const Matrix<double>& base,
                        StatesView rows, std::size_t parts, std::uint32_t start);

// A chain whose states are the parts of first_parts(), seldom left.
ChainPotential chain_of_parts(const backend::ReferencePower& q, const Matrix<double>& base,
                              StatesView rows, std::size_t states);

// A chain whose states at each coordinate are ranges of categories with about as many rows each,
// and whose moves are counted.
ChainPotential chain_of_ranges(const Matrix<double>& base, StatesView rows, std::size_t states);

}  // namespace bridgemark
