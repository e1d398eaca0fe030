#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/pair/table/table_schema.h"
#include "bridgemark/process/gamma_proposal.h"

namespace bridgemark {

namespace {

constexpr double kMostShare = 0.8;  // beyond it the reference forgets x0

// A column's fields in both tables.
struct ColumnData {
  std::string name;
  std::vector<std::string> texts;  // of those that are there
  bool has_missing = false;
  std::optional<std::vector<double>> numbers;  // sorted, where all texts are numbers

  ColumnData(std::string column, const CsvTable& x0, const CsvTable& x1) : name(std::move(column)) {
    for (const CsvTable* table : {&x0, &x1}) {
      const std::size_t place = table->column(name);
      for (const auto& row : table->rows) {
        if (row[place].is_missing()) {
          has_missing = true;
        } else {
          texts.push_back(row[place].text);
        }
      }
    }
    if (texts.empty()) throw_invalid("columns", "column '{}' must hold values, got none", name);
    std::vector<double> found;
    for (const std::string& text : texts) {
      const std::optional<double> number = number_of(text);
      if (!number) return;
      found.push_back(*number);
    }
    std::ranges::sort(found);
    numbers = std::move(found);
  }

  std::vector<std::string> distinct() const {
    const std::set<std::string> sorted(texts.begin(), texts.end());
    return {sorted.begin(), sorted.end()};
  }
};

ColumnKind guessed_kind(const ColumnData& data) {
  if (data.distinct().size() == 2) return ColumnKind::kBinary;
  return data.numbers ? ColumnKind::kOrdered : ColumnKind::kUnordered;
}

// A bin for each number where there are few, else bins of equally many rows, each written as its
// median.
void fill_bins(const std::vector<double>& sorted, int bins, TableColumn& column) {
  std::vector<double> distinct = sorted;
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  if (distinct.size() <= static_cast<std::size_t>(bins)) {
    column.levels = distinct;
    for (std::size_t i = 0; i + 1 < distinct.size(); ++i) {
      const double middle = distinct[i] + 0.5 * (distinct[i + 1] - distinct[i]);
      column.edges.push_back(middle > distinct[i] ? middle : distinct[i + 1]);
    }
    return;
  }
  const auto n = sorted.size();
  for (std::size_t i = 1; i < static_cast<std::size_t>(bins); ++i) {
    const double edge = sorted[i * n / static_cast<std::size_t>(bins)];
    if (edge > (column.edges.empty() ? sorted.front() : column.edges.back())) {
      column.edges.push_back(edge);
    }
  }
  auto first = sorted.begin();
  for (std::size_t i = 0; i <= column.edges.size(); ++i) {
    const auto last = i < column.edges.size()
                          ? std::lower_bound(first, sorted.end(), column.edges[i])
                          : sorted.end();
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
  column.kind = request.kind.value_or(guessed_kind(data));
  column.values = request.values;
  column.edges = request.edges;
  column.levels = request.levels;
  column.has_missing = request.has_missing.value_or(data.has_missing);
  if (column.values.empty() && column.levels.empty()) {
    if (!has_order(column.kind)) {
      column.values = data.distinct();
    } else if (!data.numbers) {
      throw_invalid("columns",
                    "column '{}' must hold numbers or be given its values in their order to be "
                    "{}, got '{}'",
                    column.name, column_kind_name(column.kind), data.texts.front());
    } else if (column.kind == ColumnKind::kCount) {
      fill_counts(*data.numbers, request.bins, column);
    } else {
      fill_bins(*data.numbers, request.bins, column);
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
  TableSchema schema{{}, total_steps};
  for (const ColumnRequest& request : requests) {
    schema.columns.push_back(fit_column(context, request, x0, x1, total_steps));
  }
  schema.reference();  // refuses a gamma
  return schema;
}

}  // namespace bridgemark
