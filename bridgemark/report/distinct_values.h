#pragma once

#include <fmt/format.h>

#include <functional>
#include <set>
#include <string>

#include "bridgemark/report/tables/tables.h"

namespace bridgemark {

// "a; b": what the runs of a cell say, a member or a function of a run, without repetitions.
template <typename Say>
std::string distinct_values(const TableCell& cell, Say&& say) {
  std::set<std::string> seen;
  for (const RunResult* run : cell.runs) seen.insert(std::invoke(say, *run));
  return fmt::format("{}", fmt::join(seen, "; "));
}

}  // namespace bridgemark
