#include "bridgemark/report/board/submission_table.h"

#include <fmt/format.h>

#include <array>

#include "bridgemark/io/printable.h"
#include "bridgemark/report/tables/value_table.h"

namespace bridgemark {

namespace {

constexpr std::array kShownScores = {"joint_kl", "exact_conditional_shape_score",
                                     "conditional_shape_score"};

}  // namespace

std::string submission_table(const SubmissionCheck& check) {
  const SolverFile& solver = check.solver;
  ValueTable table{{"pair", "training seed", "seconds"}, {}};
  table.columns.insert(table.columns.end(), kShownScores.begin(), kShownScores.end());
  for (const RunResult& result : check.results) {
    std::vector<TableValue> row;
    row.emplace_back(result.pair);
    row.emplace_back(static_cast<std::int64_t>(result.seed));
    row.emplace_back(result.train_seconds);
    for (const char* name : kShownScores) {
      if (const Score* score = result.find(name)) {
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
