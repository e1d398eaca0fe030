#include "bridgemark/core/labels.h"

#include <algorithm>
#include <map>
#include <utility>

#include "bridgemark/core/error.h"

namespace bridgemark {

std::vector<LabelGroup> group_by_label(std::span<const Label> labels) {
  std::map<Label, std::vector<std::size_t>> rows;
  for (std::size_t i = 0; i < labels.size(); ++i) rows[labels[i]].push_back(i);
  std::vector<LabelGroup> groups;
  for (auto& [label, of_label] : rows) groups.push_back({label, std::move(of_label)});
  return groups;
}

void check_labels(std::string_view labels_name, std::size_t labels, std::string_view rows_name,
                  std::size_t rows) {
  if (labels == rows) return;
  throw_invalid("labels", "{} must have a label for each of the {} rows of {}, got {}", labels_name,
                rows, rows_name, labels);
}

States take_rows(StatesView states, std::span<const std::size_t> rows) {
  States taken(rows.size(), states.cols);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(states.row(rows[i]), states.cols, taken.row(i));
  }
  return taken;
}

void put_rows(StatesView from, std::span<const std::size_t> rows, MutableStatesView to) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(from.row(i), from.cols, to.row(rows[i]));
  }
}

}  // namespace bridgemark
