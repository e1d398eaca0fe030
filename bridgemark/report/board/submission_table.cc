#include "bridgemark/report/board/submission_table.h"

#include <fmt/format.h>

#include "bridgemark/io/printable.h"
#include "bridgemark/metric/score_spec.h"
#include "bridgemark/report/tables/value_table.h"

namespace bridgemark {

std::string submission_table(const SubmissionCheck& check) {
  const SolverFile& solver = check.solver;
  ValueTable table{{"pair", "training seed", "seconds"}, {}};
  std::vector<const ScoreSpec*> shown = scores_by(&ScoreSpec::headline_place);
  std::erase_if(shown, [](const ScoreSpec* score) { return !score->of_submission_list; });
  for (const ScoreSpec* score : shown) table.columns.emplace_back(score->name);
  for (const RunResult& result : check.results) {
    std::vector<TableValue> row;
    row.emplace_back(result.pair);
    row.emplace_back(static_cast<std::int64_t>(result.seed));
    row.emplace_back(result.train_seconds);
    for (const ScoreSpec* spec : shown) {
      if (const Score* score = result.find(spec->name)) {
        row.emplace_back(score->mean);
      } else {
        row.emplace_back();
      }
    }
    table.rows.push_back(std::move(row));
  }
  std::vector<std::string> authors;
  for (const std::string& author : solver.authors) authors.push_back(terminal_text(author));
  return fmt::format("{} of {}, revision {}: {} of answers as claimed\n{}\n",
                     terminal_text(solver.name), fmt::join(authors, ", "),
                     terminal_text(solver.revision),
                     check.results.size() == 1 ? std::string("one set")
                                               : fmt::format("{} sets", check.results.size()),
                     text_form(table));
}

}  // namespace bridgemark
