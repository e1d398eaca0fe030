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

// The methods of a pair whose cells are as asked, the Oracle apart.
template <typename Asked>
std::set<std::string> methods_of(const Table& table, const std::string& pair, Asked&& asked) {
  std::set<std::string> methods;
  const std::size_t column = column_of(table, pair);
  if (column == table.pairs.size()) return methods;
  for (const TableRow& row : table.rows) {
    if (!row.oracle && asked(row.cells[column])) {
      methods.insert(row.method + " " + row_details(row));
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

// Whether `draws` has other best methods than `decided`, and one of them has no score in `decided`:
// then the deciding score may have overlooked the best method.
bool overlooks_the_best(const Table& decided, const Table& draws, const std::string& pair) {
  const std::set<std::string> named = first_methods(decided, pair),
                              seen = compared_methods(decided, pair),
                              best = first_methods(draws, pair);
  const auto is_in = [](const std::set<std::string>& set) {
    return [&set](const std::string& method) { return set.contains(method); };
  };
  return std::none_of(best.begin(), best.end(), is_in(named)) &&
         !std::all_of(best.begin(), best.end(), is_in(seen));
}

// `tables` are of one number of training rows.
PairBest best_of(const std::vector<const Table*>& tables, const std::string& pair) {
  PairBest best;
  best.pair = pair;
  best.samples = tables[0]->samples;
  std::set<std::string> methods;
  for (const Table* table : tables) methods.merge(measured_methods(*table, pair));
  best.methods = methods.size();
  const auto decide_by = [&](const ScoreSpec* score) {
    for (const Table* table : tables) {
      const std::size_t compared = compared_methods(*table, pair).size();
      if (table->score != score || compared < 2 || compared <= best.compared) continue;
      best.table = table;
      best.column = column_of(*table, pair);
      best.compared = compared;
    }
  };
  for (const ScoreSpec* score : scores_by(&ScoreSpec::deciding_place)) decide_by(score);
  // What every solver has decides where most have none of these, or where the best has none.
  const auto draws = std::find_if(tables.begin(), tables.end(), [&](const Table* table) {
    return table->score->decides_otherwise && column_of(*table, pair) < table->pairs.size();
  });
  if (draws != tables.end() && (!best.table || 2 * best.compared < best.methods ||
                                overlooks_the_best(*best.table, **draws, pair))) {
    decide_by((*draws)->score);
  }
  if (!best.table) return best;
  for (const TableRow& row : best.table->rows) {
    if (row.cells[best.column].rank == 1) best.rows.push_back(&row);
  }
  std::stable_sort(best.rows.begin(), best.rows.end(), [&](const TableRow* a, const TableRow* b) {
    const double x = a->cells[best.column].mean, y = b->cells[best.column].mean;
    return best.table->score->lower_is_better() ? x < y : x > y;
  });
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
