#include "bridgemark/metric/own_data/comparison_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "bridgemark/metric/record/score_text.h"

namespace bridgemark {

namespace {

constexpr int kErrorDigits = 2;
constexpr int kValueDigits = 4;  // where no error is known
constexpr int kMostDecimals = 8;

std::string fixed(double value, int decimals) {
  const std::string text = fmt::format("{:.{}f}", value, decimals);
  return text.find_first_not_of("-0.") == text.npos ? fmt::format("{:.{}f}", 0.0, decimals) : text;
}

std::string rows_text(const ContestantScores& contestant) {
  if (contestant.trained_on_endless_draws) return "trained on endless draws of a pair";
  if (!contestant.x0_overlap || !contestant.x1_overlap) return "its training rows are not known";
  const auto known = [](const RowOverlap& overlap) {
    return fmt::format("{:.3g} % (by chance {:.3g} %)", 100.0 * overlap.share(),
                       100.0 * overlap.share_by_chance);
  };
  return fmt::format(
      "trained on {} rows of x0 and {} of x1; among the given rows, training rows are {} of x0 and "
      "{} of x1",
      contestant.training_x0_rows, contestant.training_x1_rows, known(*contestant.x0_overlap),
      known(*contestant.x1_overlap));
}

std::size_t longest_name(const DataComparison& comparison) {
  std::size_t longest = 0;
  for (const ContestantScores& contestant : comparison.contestants) {
    longest = std::max(longest, contestant.name.size());
  }
  return longest;
}

std::string labels_text(const DataComparison& comparison, std::size_t width) {
  std::string text = "\n\nLabel by label.";
  for (const LabelComparison& each : comparison.labels) {
    text += "\n  " + label_heading(each);
    for (const ContestantScores& contestant : each.comparison.contestants) {
      text += fmt::format("\n    {:<{}}", contestant.name, width);
      for (const char* name : kLabelScores) {
        text += fmt::format("  {}: {}", find_data_score(name)->title,
                            label_score_text(contestant.score(name)));
      }
    }
  }
  return text;
}

std::string score_line(const ContestantScores& contestant, const DataScoreSpec& spec,
                       std::size_t width) {
  const DataScore& score = contestant.score(spec.name);
  const std::string name = fmt::format("\n  {:<{}}  ", contestant.name, width);
  if (!score.missing.empty()) return name + "-  " + score.missing;
  std::string line = name + estimate_text(score.value);
  if (score.beside) line += fmt::format("   {}: {}", spec.beside, estimate_text(*score.beside));
  if (!score.note.empty()) line += "   " + score.note;
  return line;
}

// Why no contestant has a score; empty where one has it, or where the reasons differ.
std::string why_nobody_has(const DataComparison& comparison, std::string_view name) {
  const std::string& reason = comparison.contestants.front().score(name).missing;
  const bool is_shared = std::ranges::all_of(
      comparison.contestants,
      [&](const ContestantScores& contestant) { return contestant.score(name).missing == reason; });
  return is_shared ? reason : std::string();
}

// Titles of scores that nobody has, by the reason, in the order in which the reasons come.
using LeftOut = std::vector<std::pair<std::string, std::vector<std::string_view>>>;

void leave_out(const std::string& reason, std::string_view title, LeftOut& all) {
  auto found = std::ranges::find(all, reason, &LeftOut::value_type::first);
  if (found == all.end()) found = all.insert(all.end(), {reason, {}});
  found->second.push_back(title);
}

std::string left_out_text(const LeftOut& all, bool is_of_several) {
  std::string text;
  if (!all.empty()) {
    text = fmt::format("\n\nLeft out, for {}:", is_of_several ? "every run" : "this run");
  }
  for (const auto& [reason, titles] : all) {
    text += fmt::format("\n  {}: {}", reason, fmt::join(titles, "; "));
  }
  return text;
}

}  // namespace

std::string estimate_text(const MeanEstimate& estimate) {
  const double error = estimate.standard_error;
  if (!(error > 0.0) || std::isinf(error) || !std::isfinite(estimate.mean)) {
    std::string text = significant_text(estimate.mean, kValueDigits);
    if (std::isinf(error)) text += " ± inf";
    return text.empty() ? "-" : text;
  }
  const int decimals = std::clamp(
      kErrorDigits - 1 - static_cast<int>(std::floor(std::log10(error))), 0, kMostDecimals);
  return fixed(estimate.mean, decimals) + " ± " + fixed(error, decimals);
}

std::string difference_text(const ContestantDifference& difference) {
  if (!difference.missing.empty()) {
    return fmt::format("{} and {}: {}", difference.first, difference.second, difference.missing);
  }
  const bool first_is_nearer = difference.difference.mean > 0.0;
  const MeanEstimate size{std::abs(difference.difference.mean),
                          difference.difference.standard_error};
  if (!difference.told_apart()) {
    return fmt::format("{} and {} are not told apart: {} nats", difference.first, difference.second,
                       estimate_text(difference.difference));
  }
  return fmt::format("{} is nearer to the bridge than {} by {} nats",
                     first_is_nearer ? difference.first : difference.second,
                     first_is_nearer ? difference.second : difference.first, estimate_text(size));
}

std::string label_heading(const LabelComparison& label) {
  return fmt::format("label {}, {} rows of x0 and {} of x1", label.label, label.comparison.x0_rows,
                     label.comparison.x1_rows);
}

std::string label_score_text(const DataScore& score) {
  if (!score.missing.empty()) return "-";
  const std::string text = estimate_text(score.value);
  if (!score.beside) return text;
  return fmt::format("{} ({}: {})", text, find_data_score(score.name)->beside,
                     estimate_text(*score.beside));
}

std::string comparison_heading(const DataComparison& comparison) {
  std::string text = fmt::format(
      "{} rows of x0 and {} of x1, D = {}, S = {}; {} draws and training rows of each run are "
      "compared with them",
      comparison.x0_rows, comparison.x1_rows, comparison.dim, comparison.num_categories,
      comparison.compared_rows);
  if (!comparison.labels.empty()) {
    text += fmt::format(
        "; of {} labels, each by itself: numbers are means over labels, by their shares of x0",
        comparison.labels.size());
  }
  for (const ContestantScores& contestant : comparison.contestants) {
    text += fmt::format(
        "\n  {}: {}; {}", contestant.name,
        contestant.reference.empty() ? "its reference is not known" : contestant.reference,
        rows_text(contestant));
  }
  return text;
}

std::string comparison_text(const DataComparison& comparison) {
  std::string text = comparison_heading(comparison);
  const std::size_t width = longest_name(comparison);
  LeftOut left_out;
  for (const DataScoreSpec& spec : data_score_specs()) {
    if (const std::string reason = why_nobody_has(comparison, spec.name); !reason.empty()) {
      leave_out(reason, spec.title, left_out);
      continue;
    }
    text += fmt::format("\n\n{}{}. {} {}", spec.title,
                        spec.unit.empty() ? "" : fmt::format(", {}", spec.unit), spec.meaning,
                        spec.belief);
    for (const ContestantScores& contestant : comparison.contestants) {
      text += score_line(contestant, spec, width);
    }
    if (spec.name != kHeldOutObjective) continue;
    for (const ContestantDifference& difference : comparison.differences) {
      text += "\n  " + difference_text(difference);
    }
  }
  text += left_out_text(left_out, comparison.contestants.size() > 1);
  if (!comparison.labels.empty()) text += labels_text(comparison, width);
  return text;
}

}  // namespace bridgemark
