#pragma once

#include <map>

#include "bridgemark/metric/paired_comparison.h"
#include "bridgemark/report/tables/tables.h"

namespace bridgemark {

// How the trainings of a cell are expected to spread, learnt from the other columns of its row, of
// those that have several trainings of one instance: in units of the distance to the Oracle, since
// a solver that is far from it spreads more. That is a guess, so it weighs as up to four degrees of
// freedom. A cell that has none of this is not in the map.
std::map<const TableCell*, ExpectedSpread> expected_spreads(const Table& table);

}  // namespace bridgemark
