#include <fmt/format.h>

#include <set>

#include "bridgemark/experiment/csv_field.h"
#include "bridgemark/report/distinct_values.h"
#include "bridgemark/report/tables/table_writers.h"

namespace bridgemark {

namespace {

// "0; 1": the training sets of its runs; nothing where draws are endless.
std::string sets_of(const TableCell& cell) {
  std::set<std::uint64_t> sets;
  for (const RunResult* run : cell.runs) {
    if (run->rows.samples > 0) sets.insert(run->rows.training_set);
  }
  return fmt::format("{}", fmt::join(sets, "; "));
}

}  // namespace

std::string csv_tables(const std::vector<Table>& tables) {
  std::string out =
      "score,method,solver,loss,num_steps,pair,mean,standard_error,runs,evaluation_seeds,"
      "published,rank,smallest_gap,band,experiment,run,version,device,machine";
  const bool instances = has_instances(tables), sets = has_training_sets(tables);
  if (instances) out += ",instances,instance_spread,seed_spread";
  out += sets ? ",samples,training_sets\n" : "\n";
  for (const Table& table : tables) {
    for (const TableRow& row : table.rows) {
      for (std::size_t j = 0; j < table.pairs.size(); ++j) {
        const TableCell& cell = row.cells[j];
        if (!cell.measured()) continue;
        out += fmt::format(
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", table.score->name,
            csv_field(row.method), csv_field(row.solver), csv_field(row.loss),
            csv_field(row.num_steps), csv_field(table.pairs[j]), csv_number(cell.mean),
            csv_number(cell.standard_error), cell.runs.size(), cell.runs[0]->evaluation_seeds,
            cell.published ? csv_number(*cell.published) : "",
            cell.rank == 0 ? "" : std::to_string(cell.rank), csv_rounded(cell.smallest_gap),
            band_name(cell.band), csv_field(distinct_values(cell, &RunResult::experiment)),
            csv_field(distinct_values(cell, &RunResult::run)),
            csv_field(distinct_values(cell, &RunResult::version)),
            csv_field(distinct_values(cell, &RunResult::device)),
            csv_field(distinct_values(cell, &RunResult::machine)));
        if (instances) {
          out += fmt::format(",{},{},{}", cell.instances, csv_number(cell.instance_spread),
                             csv_number(cell.seed_spread));
        }
        if (sets) out += fmt::format(",{},{}", table.samples, csv_field(sets_of(cell)));
        out += "\n";
      }
    }
  }
  return out;
}

}  // namespace bridgemark
