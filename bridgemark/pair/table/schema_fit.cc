#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/pair/table/table_schema.h"
#include "bridgemark/process/gamma_proposal.h"

namespace bridgemark {

namespace {

constexpr double kMostShare = 0.8;  // beyond it the reference forgets x0

// Whether a text of digits is a name rather than a number, as in 007.
bool is_padded(std::string_view text) {
  return text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

// A column's fields in both tables.
struct ColumnData {
  std::string name;
  std::vector<std::string> texts;  // of those that are there
  std::vector<double> numbers;     // the texts that are some, sorted
  std::string first_other;         // where the first one is that is not: "'x' in line 3 of a.csv"
  bool has_missing = false;
  bool has_names = false;  // some text is quoted or padded, and so no number for who writes it

  ColumnData(std::string column, const CsvTable& x0, const CsvTable& x1) : name(std::move(column)) {
    for (const CsvTable* table : {&x0, &x1}) {
      const std::size_t place = table->column(name);
      for (std::size_t i = 0; i < table->rows.size(); ++i) {
        const CsvField& field = table->rows[i][place];
        if (field.is_missing()) {
          has_missing = true;
          continue;
        }
        texts.push_back(field.text);
        has_names |= field.quoted || is_padded(field.text);
        if (const std::optional<double> number = number_of(field.text)) {
          numbers.push_back(*number);
        } else if (first_other.empty()) {
          first_other =
              fmt::format("'{}' in line {} of {}", field.text, table->lines[i], table->file);
        }
      }
    }
    if (texts.empty()) throw_invalid("columns", "column '{}' must hold values, got none", name);
    std::ranges::sort(numbers);
  }

  bool all_numbers() const { return numbers.size() == texts.size(); }

  // In their order; numbers as they are written, so that 1 and 1.0 are one value.
  std::vector<std::string> distinct() const {
    std::vector<std::string> found;
    if (all_numbers() && !has_names) {
      for (const double number : numbers) found.push_back(number_text(number));
    } else {
      found = texts;
      std::ranges::sort(found);
    }
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }
};

ColumnKind kind_of(const ColumnRequest& request, const ColumnData& data) {
  if (request.kind) return *request.kind;
  if (!request.edges.empty() || !request.levels.empty()) return ColumnKind::kOrdered;
  const bool is_given = !request.values.empty();
  const std::size_t values = is_given ? request.values.size() : data.distinct().size();
  if (values == 2) return ColumnKind::kBinary;
  if (values == 1 || is_given || data.has_names) return ColumnKind::kUnordered;
  if (data.all_numbers()) return ColumnKind::kOrdered;
  if (2 * data.numbers.size() <= data.texts.size()) return ColumnKind::kUnordered;
  throw_invalid("columns",
                "column '{}' must hold numbers or be given its kind, got {} numbers and {}",
                data.name, data.numbers.size(), data.first_other);
}

// Between all numbers where they are few, else so that bins have equally many rows.
std::vector<double> edges_of(const std::vector<double>& sorted, int bins) {
  std::vector<double> distinct = sorted, edges;
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  if (distinct.size() <= static_cast<std::size_t>(bins)) {
    for (std::size_t i = 0; i + 1 < distinct.size(); ++i) {
      const double middle = distinct[i] + 0.5 * (distinct[i + 1] - distinct[i]);
      edges.push_back(middle > distinct[i] ? middle : distinct[i + 1]);
    }
    return edges;
  }
  const auto n = sorted.size();
  for (std::size_t i = 1; i < static_cast<std::size_t>(bins); ++i) {
    const double edge = sorted[i * n / static_cast<std::size_t>(bins)];
    if (edge > (edges.empty() ? sorted.front() : edges.back())) edges.push_back(edge);
  }
  return edges;
}

// Each bin is written as the median of its numbers.
void fill_levels(const std::vector<double>& sorted, TableColumn& column) {
  auto first = sorted.begin();
  for (std::size_t i = 0; i <= column.edges.size(); ++i) {
    const bool is_last = i == column.edges.size();
    const auto last =
        is_last ? sorted.end() : std::lower_bound(first, sorted.end(), column.edges[i]);
    if (first == last) {
      throw_invalid("columns", "column '{}' must hold numbers in each of its bins, got none {} {}",
                    column.name, is_last ? "from the edge" : "in the one below the edge",
                    column.edges[is_last ? i - 1 : i]);
    }
    column.levels.push_back(*(first + (last - first) / 2));
    first = last;
  }
}

// A category for each count from 0; the last one has all that are larger where they are many.
void fill_counts(const std::vector<double>& sorted, int bins, TableColumn& column) {
  for (const double count : sorted) {
    if (count >= 0.0 && count == std::floor(count)) continue;
    throw_invalid("columns", "column '{}' must hold whole numbers from 0 to count, got {}",
                  column.name, count);
  }
  const int own = static_cast<int>(std::min(sorted.back(), bins - 1.0));
  for (int count = 0; count <= own; ++count) column.levels.push_back(count);
  for (int count = 1; count <= own; ++count) column.edges.push_back(count - 0.5);
  const auto larger = std::lower_bound(sorted.begin(), sorted.end(), own);
  column.levels.back() = *(larger + (sorted.end() - larger) / 2);
}

// How far apart two laws of a column lie, as a share of how far independent draws of them do.
double distance_share(const std::vector<double>& p, const std::vector<double>& q, bool ordered) {
  double least = 0.0, independent = 0.0, below_p = 0.0, below_q = 0.0, same = 0.0;
  for (std::size_t s = 0; s < p.size(); ++s) {
    below_p += p[s];
    below_q += q[s];
    same += p[s] * q[s];
    if (ordered) {
      least += std::abs(below_p - below_q);
      independent += below_p * (1.0 - below_q) + below_q * (1.0 - below_p);
    } else {
      least += 0.5 * std::abs(p[s] - q[s]);
    }
  }
  if (!ordered) independent = 1.0 - same;
  return independent > 0.0 ? least / independent : 0.0;
}

// Of the values of a column; missing fields are not among them.
std::vector<double> shares_of(const TableColumn& column, const CsvTable& table) {
  std::vector<double> shares(static_cast<std::size_t>(column.num_values()), 0.0);
  double total = 0.0;
  const std::size_t place = table.column(column.name);
  for (const auto& row : table.rows) {
    const std::optional<std::int32_t> category = column.category_of(row[place]);
    if (!category || *category == column.num_values()) continue;
    shares[static_cast<std::size_t>(*category)] += 1.0;
    total += 1.0;
  }
  for (double& share : shares) share /= std::max(total, 1.0);
  return shares;
}

double proposed_gamma(const Context& context, const TableColumn& column, const CsvTable& x0,
                      const CsvTable& x1, int total_steps) {
  const bool ordered = has_order(column.kind);
  const double apart = distance_share(shares_of(column, x0), shares_of(column, x1), ordered);
  return gamma_of_share(context, ordered ? ReferenceKind::kGaussian : ReferenceKind::kUniform,
                        ordered ? column.num_values() : column.num_categories(),
                        std::clamp(apart, kProposedShare, kMostShare), total_steps);
}

TableColumn fit_column(const Context& context, const ColumnRequest& request, const CsvTable& x0,
                       const CsvTable& x1, int total_steps) {
  const ColumnData data(request.name, x0, x1);
  TableColumn column;
  column.name = request.name;
  column.kind = kind_of(request, data);
  column.values = request.values;
  column.edges = request.edges;
  column.levels = request.levels;
  column.has_missing = request.has_missing.value_or(data.has_missing);
  const bool is_binned = has_order(column.kind) && column.values.empty() && column.edges.empty() &&
                         column.levels.empty();
  if (request.bins && !is_binned) {
    throw_invalid("columns",
                  "bins go with ordered columns and counts without values, edges and levels of "
                  "their own, got {} for column '{}'",
                  *request.bins, column.name);
  }
  if (column.values.empty() && column.levels.empty()) {
    if (!has_order(column.kind)) {
      column.values = data.distinct();
    } else if (!data.all_numbers()) {
      throw_invalid("columns",
                    "column '{}' must hold numbers or be given its values in their order to be "
                    "{}, got {}",
                    column.name, column_kind_name(column.kind), data.first_other);
    } else if (column.kind == ColumnKind::kCount && column.edges.empty()) {
      fill_counts(data.numbers, request.bins.value_or(kDefaultBins), column);
    } else {
      if (column.edges.empty()) {
        column.edges = edges_of(data.numbers, request.bins.value_or(kDefaultBins));
      }
      fill_levels(data.numbers, column);
    }
  }
  column.gamma = 1.0;  // until it is chosen
  column.check();
  column.gamma =
      request.gamma ? *request.gamma : proposed_gamma(context, column, x0, x1, total_steps);
  return column;
}

}  // namespace

std::vector<ColumnRequest> requests_for_all(const CsvTable& table) {
  std::vector<ColumnRequest> requests;
  for (const std::string& name : table.names) requests.push_back({.name = name});
  return requests;
}

TableSchema fit_schema(const Context& context, const std::vector<ColumnRequest>& requests,
                       const CsvTable& x0, const CsvTable& x1, int total_steps) {
  for (const CsvTable* table : {&x0, &x1}) {
    if (table->rows.empty()) throw_file(table->file, "it must have rows, got none");
  }
  TableSchema schema{{}, total_steps};
  for (const ColumnRequest& request : requests) {
    schema.columns.push_back(fit_column(context, request, x0, x1, total_steps));
  }
  schema.reference();  // refuses a gamma
  return schema;
}

}  // namespace bridgemark
