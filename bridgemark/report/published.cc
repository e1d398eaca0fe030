#include "bridgemark/report/published.h"

#include <algorithm>
#include <charconv>

#include "bridgemark/core/error.h"
#include "bridgemark/metric/score_spec.h"

namespace bridgemark {

extern const char kPublishedCsv[];  // data/published.csv

namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> fields;
  for (std::size_t start = 0;;) {
    const std::size_t end = text.find(separator, start);
    fields.emplace_back(text.substr(start, end - start));
    if (end == text.npos) return fields;
    start = end + 1;
  }
}

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

// The paper's name of a method as that of a solver.
std::string solver_of(const std::string& method) {
  return method == "Feature-wise SB" ? "feature-wise" : lower(method);
}

std::vector<PublishedCell> parse() {
  constexpr std::size_t kFirstPair = 4;  // after table, method, loss, steps
  std::vector<PublishedCell> cells;
  const std::vector<std::string> lines = split(kPublishedCsv, '\n');
  const std::vector<std::string> header = split(lines.at(0), ',');
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const std::vector<std::string> fields = split(lines[i], ',');
    const bool reverse = fields.at(0) == "reverse_c2st";
    for (std::size_t j = kFirstPair; j < header.size(); ++j) {
      PublishedCell cell{fields[0],
                         fields.at(1),
                         reverse ? kC2stScore : fields[0],
                         solver_of(fields.at(1)),
                         lower(fields.at(2)),
                         fields.at(3),
                         header[j],
                         0.0};
      std::replace(cell.pair.begin(), cell.pair.end(), '_', '-');
      cell.pair += reverse ? "-spread-reverse" : "-spread";
      const std::string& number = fields.at(j);
      const auto [end, error] =
          std::from_chars(number.data(), number.data() + number.size(), cell.value);
      if (error != std::errc() || end != number.data() + number.size()) {
        throw Error(fmt::format("[published] line {}: '{}' is no number", i + 1, number));
      }
      cells.push_back(std::move(cell));
    }
  }
  return cells;
}

}  // namespace

const std::vector<PublishedCell>& published_cells() {
  static const std::vector<PublishedCell> cells = parse();
  return cells;
}

std::optional<double> published_value(std::string_view score, std::string_view solver,
                                      std::string_view loss, std::string_view num_steps,
                                      std::string_view pair) {
  for (const PublishedCell& cell : published_cells()) {
    if (cell.score == score && cell.solver == solver && cell.loss == loss &&
        cell.num_steps == num_steps && cell.pair == pair) {
      return cell.value;
    }
  }
  return std::nullopt;
}

}  // namespace bridgemark
