#include "bridgemark/pair/table/table_column.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/process/elementary_step.h"
#include "bridgemark/process/gamma_proposal.h"

namespace bridgemark {

namespace {

constexpr std::pair<ColumnKind, std::string_view> kKinds[] = {{ColumnKind::kOrdered, "ordered"},
                                                              {ColumnKind::kUnordered, "unordered"},
                                                              {ColumnKind::kCount, "count"},
                                                              {ColumnKind::kBinary, "binary"}};

// A matrix must be positive, and a Gaussian step underflows far from its diagonal. What this adds
// is nothing beside the paths that lead there by smaller steps.
constexpr double kLeastStep = 1e-290;

// Gaussian on the values, and a last category that all of them exchange with.
Matrix<double> step_with_missing(int num_values, double gamma, double exchange) {
  const auto V = static_cast<std::size_t>(num_values);
  const Matrix<double> log_step = log_gaussian_step(num_values, gamma);
  Matrix<double> step(V + 1, V + 1, exchange / num_values);
  for (std::size_t x = 0; x < V; ++x) {
    for (std::size_t y = 0; y < V; ++y) {
      step(x, y) = std::max((1.0 - exchange) * std::exp(log_step(x, y)), kLeastStep);
    }
    step(x, V) = exchange;
  }
  step(V, V) = 1.0 - exchange;
  return step;
}

}  // namespace

std::string_view column_kind_name(ColumnKind kind) {
  for (const auto& [known, name] : kKinds) {
    if (known == kind) return name;
  }
  return "";
}

std::optional<ColumnKind> column_kind_of(std::string_view name) {
  for (const auto& [kind, known] : kKinds) {
    if (known == name) return kind;
  }
  return std::nullopt;
}

bool has_order(ColumnKind kind) {
  return kind == ColumnKind::kOrdered || kind == ColumnKind::kCount;
}

int TableColumn::num_values() const {
  return static_cast<int>(is_numeric() ? levels.size() : values.size());
}

void TableColumn::check() const {
  const auto refuse = [&](std::string_view what) {
    throw_invalid("columns", "column '{}' {}", name, what);
  };
  if (num_values() < 2 && (has_order(kind) || num_categories() < 2)) {
    refuse(fmt::format("must have at least two values, got {}; leave it out", num_values()));
  }
  const int most = has_order(kind) ? kMaxFactoredTable : kMaxCategories;
  if (num_categories() > most) {
    refuse(fmt::format("must have at most {} categories, got {}", most, num_categories()));
  }
  if (kind == ColumnKind::kBinary && num_values() != 2) {
    refuse(fmt::format("must have two values to be binary, got {}", num_values()));
  }
  std::vector<std::string> sorted = values;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end()) {
    refuse(fmt::format("must have different values, got '{}' twice", *twice));
  }
  if (!is_numeric()) {
    if (!edges.empty() || !levels.empty()) refuse("must have values or levels, got both");
    return;
  }
  if (!has_order(kind)) refuse("must have values, got levels");
  if (edges.size() + 1 != levels.size()) {
    refuse(fmt::format("must have one level more than edges, got {} and {}", levels.size(),
                       edges.size()));
  }
  const auto rises = [](const std::vector<double>& numbers) {
    return std::ranges::all_of(numbers, [](double x) { return std::isfinite(x); }) &&
           std::ranges::adjacent_find(numbers, std::greater_equal<>()) == numbers.end();
  };
  if (!rises(edges)) refuse("must have edges that rise");
  if (!rises(levels)) refuse("must have levels that rise");
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (levels[i] < edges[i] && edges[i] <= levels[i + 1]) continue;
    refuse(fmt::format("must have a level within each bin, got {} and {} around the edge {}",
                       levels[i], levels[i + 1], edges[i]));
  }
}

std::optional<std::int32_t> TableColumn::category_of(const CsvField& field) const {
  if (field.is_missing()) {
    if (has_missing) return num_values();
    return std::nullopt;
  }
  if (!is_numeric()) {
    auto found = std::ranges::find(values, field.text);
    if (found == values.end() && !field.quoted) {
      if (const std::optional<double> number = number_of(field.text)) {
        found = std::ranges::find(values, number_text(*number));
      }
    }
    if (found == values.end()) return std::nullopt;
    return static_cast<std::int32_t>(found - values.begin());
  }
  const std::optional<double> number = number_of(field.text);
  if (!number) return std::nullopt;
  return static_cast<std::int32_t>(std::ranges::upper_bound(edges, *number) - edges.begin());
}

CsvField TableColumn::field_of(std::int32_t category) const {
  const auto s = static_cast<std::size_t>(category);
  if (category == num_values()) return {};
  if (is_numeric()) return {number_text(levels[s]), false};
  CsvField field{values[s], false};
  field.quoted = field.is_missing();
  return field;
}

std::string TableColumn::allowed() const {
  const std::string_view or_missing = has_missing ? " or nothing" : "";
  if (is_numeric()) return fmt::format("a number{}", or_missing);
  return fmt::format("one of its {} values{}", values.size(), or_missing);
}

ReferenceProcess TableColumn::reference(int total_steps) const {
  if (!has_order(kind)) return ReferenceProcess::uniform(num_categories(), gamma, total_steps);
  if (!has_missing) return ReferenceProcess::gaussian(num_categories(), gamma, total_steps);
  const double exchange = propose_gamma({}, ReferenceKind::kUniform, 2, total_steps);
  return ReferenceProcess::from_matrix(step_with_missing(num_values(), gamma, exchange),
                                       total_steps);
}

std::optional<double> number_of(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value + 0.0;  // no -0
}

std::string number_text(double number) { return fmt::format("{}", number); }

}  // namespace bridgemark
