#include <algorithm>
#include <map>
#include <set>

#include "bridgemark/metric/score_spec.h"
#include "bridgemark/report/tables/table_writers.h"
#include "bridgemark/report/tables/tables.h"

namespace bridgemark {

namespace {

std::size_t column_of(const Table& table, const std::string& pair) {
  return static_cast<std::size_t>(std::find(table.pairs.begin(), table.pairs.end(), pair) -
                                  table.pairs.begin());
}

std::string name_of(const TableRow& row) { return row.method + " " + row_details(row); }

// The methods of a pair whose cells are as asked, the Oracle apart.
template <typename Asked>
std::set<std::string> methods_of(const Table& table, const std::string& pair, Asked&& asked) {
  std::set<std::string> methods;
  const std::size_t column = column_of(table, pair);
  if (column == table.pairs.size()) return methods;
  for (const TableRow& row : table.rows) {
    if (!row.oracle && asked(row.cells[column])) {
      methods.insert(name_of(row));
    }
  }
  return methods;
}

std::set<std::string> measured_methods(const Table& table, const std::string& pair) {
  return methods_of(table, pair, [](const TableCell& cell) { return cell.measured(); });
}

std::set<std::string> compared_methods(const Table& table, const std::string& pair) {
  return methods_of(table, pair, [](const TableCell& cell) { return cell.compared(); });
}

std::set<std::string> first_methods(const Table& table, const std::string& pair) {
  return methods_of(table, pair, [](const TableCell& cell) { return cell.rank == 1; });
}

// The best by draws where none of them is the best of what decides, and one has not that score: it
// may have overlooked the best method.
std::vector<const TableRow*> overlooked(const Table& decided, const Table& draws,
                                        const std::string& pair) {
  const std::set<std::string> named = first_methods(decided, pair),
                              seen = compared_methods(decided, pair);
  std::vector<const TableRow*> rows;
  for (const TableRow& row : draws.rows) {
    if (row.oracle || row.cells[column_of(draws, pair)].rank != 1) continue;
    if (named.contains(name_of(row))) return {};
    if (!seen.contains(name_of(row))) rows.push_back(&row);
  }
  return rows;
}

// `tables` are of one number of training rows.
PairBest best_of(const std::vector<const Table*>& tables, const std::string& pair) {
  PairBest best;
  best.pair = pair;
  best.samples = tables[0]->samples;
  std::set<std::string> methods;
  for (const Table* table : tables) methods.merge(measured_methods(*table, pair));
  best.methods = methods.size();
  const auto table_of = [&](int place) -> const Table* {
    const auto found = std::ranges::find_if(tables, [&](const Table* table) {
      return table->score->deciding_place == place && column_of(*table, pair) < table->pairs.size();
    });
    return found == tables.end() ? nullptr : *found;
  };
  for (const int place : {1, 2}) {
    const Table* table = table_of(place);
    if (best.table || !table || measured_methods(*table, pair).size() < 2) continue;
    best.table = table;
    best.column = column_of(*table, pair);
    best.compared = compared_methods(*table, pair).size();
  }
  if (!best.table) return best;
  for (const TableRow& row : best.table->rows) {
    if (row.cells[best.column].rank == 1) best.rows.push_back(&row);
  }
  std::stable_sort(best.rows.begin(), best.rows.end(), [&](const TableRow* a, const TableRow* b) {
    const double x = a->cells[best.column].mean, y = b->cells[best.column].mean;
    return best.table->score->lower_is_better() ? x < y : x > y;
  });
  const Table* draws = table_of(2);
  if (draws && draws != best.table) best.ahead_by_draws = overlooked(*best.table, *draws, pair);
  return best;
}

}  // namespace

std::vector<PairBest> best_of_pairs(const std::vector<Table>& tables) {
  std::vector<PairBest> all;
  std::map<std::size_t, std::vector<const Table*>> of_number;
  for (const Table& table : tables) of_number[table.samples].push_back(&table);
  for (const auto& [samples, own] : of_number) {
    std::set<std::string> seen;
    for (const Table* table : own) {
      for (const std::string& pair : table->pairs) {
        if (!seen.insert(pair).second) continue;
        PairBest best = best_of(own, pair);
        if (!best.rows.empty()) all.push_back(std::move(best));
      }
    }
  }
  return all;
}

std::string oracle_beside(const PairBest& best) {
  for (const TableRow& row : best.table->rows) {
    const TableCell& cell = row.cells[best.column];
    if (row.oracle && cell.measured()) return best.table->format(cell.mean);
  }
  return "";
}

}  // namespace bridgemark
