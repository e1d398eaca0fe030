#include "bridgemark/report/board/challenge_table.h"

#include <fmt/format.h>

#include "bridgemark/io/printable.h"
#include "bridgemark/metric/record/score_text.h"
#include "bridgemark/metric/score_spec.h"
#include "bridgemark/report/tables/value_table.h"

namespace bridgemark {

namespace {

constexpr int kDistanceDigits = 3;

void add_rows(const std::vector<ChallengeScore>& scores, bool of_truth, ValueTable& table) {
  for (const ChallengeScore& score : scores) {
    std::vector<TableValue> row = {score.pair, score.seconds, score.value,
                                   error_text(score.standard_error, score.value)};
    if (of_truth) row.emplace_back(score.of_truth);
    table.rows.push_back(std::move(row));
  }
}

std::string verdict_line(const PresetVerdict& verdict, std::string_view unit) {
  const auto text = [](double value) { return significant_text(value, kDistanceDigits); };
  return fmt::format(
      "{}: {}{} from the truth on the board, {}{} on the instances: {} times as far, "
      "and instances differ by up to {} times. {}.\n",
      verdict.preset, text(verdict.open), unit, text(verdict.revealed), unit, text(verdict.times),
      text(verdict.may_be),
      verdict.far ? "Far from what the board shows" : "A tie with what the board shows");
}

}  // namespace

std::string challenge_table(const ChallengeCheck& check) {
  const ScoreSpec& spec = *find_score(check.score);
  const bool of_truth = !spec.lower_is_better();
  ValueTable table{{"pair", "seconds", check.score, "error"}, {}};
  if (of_truth) table.columns.emplace_back("Oracle");
  add_rows(check.revealed, of_truth, table);
  add_rows(check.open, of_truth, table);
  std::string out =
      fmt::format("{}, revision {}: as committed to, {} revealed instances\n{}\n",
                  terminal_text(check.solver.name), terminal_text(check.solver.revision),
                  check.revealed.size(), text_form(table));
  const std::string unit = spec.unit.empty() ? "" : fmt::format(" {}", spec.unit);
  for (const PresetVerdict& verdict : check.verdicts) out += verdict_line(verdict, unit);
  return out;
}

}  // namespace bridgemark
