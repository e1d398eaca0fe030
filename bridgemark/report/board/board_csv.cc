#include <fmt/format.h>

#include "bridgemark/experiment/csv_field.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/report/board/board.h"
#include "bridgemark/report/distinct_values.h"
#include "bridgemark/report/ranking.h"

namespace bridgemark {

namespace {

std::string cell_line(const Board& board, const Table& table, const TableRow& row,
                      std::size_t column) {
  const TableCell& cell = row.cells[column];
  const std::optional<PairSpec> spec = find_preset(table.pairs[column]);
  const RunResult& first = *cell.runs[0];
  const auto source_of = [&](const RunResult& run) -> const BoardSource& {
    return board.sources[board.source_of[static_cast<std::size_t>(&run - board.results.data())]];
  };
  const auto each = [&](auto say) { return csv_field(distinct_values(cell, say)); };
  double seconds = 0.0;
  for (const RunResult* run : cell.runs) seconds += run->train_seconds;
  return fmt::format(
      "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
      spec ? pair_family_name(spec->family) : "own", first.dim, csv_field(table.pairs[column]),
      csv_field(row.method), csv_field(row.loss), csv_field(row.num_steps), table.score->name,
      csv_number(cell.mean), csv_number(cell.standard_error),
      cell.rank == 0 ? "" : std::to_string(cell.rank), group_letters(cell.rank),
      each([](const RunResult& run) { return std::to_string(run.seed); }), first.evaluation_seed,
      first.evaluation_seeds, seconds / static_cast<double>(cell.runs.size()),
      each(&RunResult::device), each(&RunResult::machine), each(&RunResult::version),
      each([&](const RunResult& run) { return source_of(run).revision; }),
      each([&](const RunResult& run) { return source_of(run).date; }),
      each([&](const RunResult& run) { return source_of(run).record; }), each(&RunResult::run),
      table.samples, each([](const RunResult& run) {
        return run.rows.samples > 0 ? std::to_string(run.rows.training_set) : "";
      }));
}

}  // namespace

std::string board_csv(const Board& board) {
  std::string out =
      "family,dim,pair,method,loss,num_steps,score,mean,standard_error,rank,group,training_seeds,"
      "evaluation_seed,evaluation_seeds,train_seconds,device,machine,version,revision,date,record,"
      "run,samples,training_sets\n";
  for (const Table& table : board.tables) {
    for (const TableRow& row : table.rows) {
      for (std::size_t column = 0; column < table.pairs.size(); ++column) {
        if (row.cells[column].measured()) out += cell_line(board, table, row, column);
      }
    }
  }
  return out;
}

}  // namespace bridgemark
