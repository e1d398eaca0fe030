#pragma once

#include <string>
#include <vector>

#include "bridgemark/report/tables/tables.h"

namespace bridgemark {

// Puts the cells of each column into groups of ties, and says from which gap on they can be told
// from the best.
//
// Two cells tie where a PairedComparer does not separate them, or where they show the same digits.
// The first group has the best cell and those that tie with it. Nothing beats the truth but by
// noise, so where the best reaches the Oracle's value, above it or tied with it, all cells that do
// are in the first group. The second has the best of the rest and those that tie with it, and so
// on.
//
// An upper bound can show that a method is better than another, not that it is worse. Where it is
// worse by no more than the smallest gap and ten times what half of its effort would add to it
// (Score::bound_change), that is not decided and it has no group. Ten times covers a bound that
// falls as slowly as the seventh root of the effort.
//
// Noise does not make a method good. From a method's distance to the Oracle and the smallest gap
// between the two follows how far from the truth it could be. Where that is more than ten times
// what it is for the surest method of the column, and no comparison tells it from the best, the
// cell has no group: it may be as good, and nobody knows.
//
// Cells without block means, those of older records, tie where they differ by at most two standard
// errors of the difference, taken as independent; an error that is not known counts as the column's
// largest, and where none is known the digits alone decide. Table::unpaired says that there are
// such.
//
// A table of a score that ranks nobody stays without groups and gaps.
void rank(Table& table);

// "a" for the first group of ties, "b" for the second, after "z" "aa"; "" for rank 0.
std::string group_letters(int rank);

// What a cell shows of its group: its letters, "?" for an upper bound or a noisy value that leaves
// open whether it is worse than the best, "" for the Oracle and an infinite mean.
std::string group_mark(const TableCell& cell);

// The rule in words, for a set of tables.
std::string tie_note(const std::vector<Table>& tables);

}  // namespace bridgemark
