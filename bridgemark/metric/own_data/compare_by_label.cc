#include "bridgemark/metric/own_data/compare_by_label.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "bridgemark/math/philox.h"
#include "bridgemark/pair/label_problems.h"

namespace bridgemark {

namespace {

constexpr std::uint64_t kLabelSalt = std::uint64_t{0x6c6162} << 32;  // labels count from here

std::uint64_t label_seed(std::uint64_t seed, Label label) {
  return derive_seed(seed, kLabelSalt + static_cast<std::uint32_t>(label));
}

// Estimates of independent rows, each with its share.
class ShareMean {
 public:
  void add(const MeanEstimate& estimate, double share) {
    mean_ += share * estimate.mean;
    variance_ += std::pow(share * estimate.standard_error, 2);
  }
  MeanEstimate estimate() const { return {mean_, std::sqrt(variance_)}; }

 private:
  double mean_ = 0.0, variance_ = 0.0;
};

// Means over labels, from the comparison of each.
class LabelMeans {
 public:
  LabelMeans(const std::vector<LabelComparison>& labels, std::size_t x0_rows) : labels_(labels) {
    for (const LabelComparison& each : labels) {
      shares_.push_back(static_cast<double>(each.comparison.x0_rows) /
                        static_cast<double>(x0_rows));
    }
  }

  DataScore score(std::size_t contestant, std::string_view name) const {
    DataScore mean{std::string(name), {std::nan(""), std::nan("")}};
    mean.missing = why_missing(contestant, name);
    if (!mean.missing.empty()) return mean;
    ShareMean value, beside;
    bool have_beside = true;
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      const DataScore& own = labels_[i].comparison.contestants[contestant].score(name);
      value.add(own.value, shares_[i]);
      if (own.beside) beside.add(*own.beside, shares_[i]);
      have_beside = have_beside && own.beside;
      if (i == 0) mean.note = own.note;
      if (own.note != mean.note) mean.note.clear();
    }
    mean.value = value.estimate();
    if (have_beside) mean.beside = beside.estimate();
    return mean;
  }

  ContestantDifference difference(std::size_t number) const {
    ContestantDifference mean = labels_[0].comparison.differences[number];
    ShareMean value;
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      value.add(labels_[i].comparison.differences[number].difference, shares_[i]);
    }
    mean.difference = value.estimate();
    return mean;
  }

  std::optional<RowOverlap> overlap(std::size_t contestant,
                                    std::optional<RowOverlap> ContestantScores::*of_end) const {
    RowOverlap sum;
    sum.same_rows = true;
    double by_chance = 0.0;
    for (const LabelComparison& each : labels_) {
      const std::optional<RowOverlap>& own = each.comparison.contestants[contestant].*of_end;
      if (!own) return std::nullopt;
      sum.rows += own->rows;
      sum.known += own->known;
      by_chance += own->share_by_chance * static_cast<double>(own->rows);
      sum.same_rows = sum.same_rows && own->same_rows;
      sum.trained_on = sum.trained_on || own->trained_on;
    }
    sum.share_by_chance = by_chance / static_cast<double>(sum.rows);
    return sum;
  }

 private:
  // The reason of all labels, or the first label that has one and its reason; empty for none.
  std::string why_missing(std::size_t contestant, std::string_view name) const {
    const auto reason = [&](const LabelComparison& each) -> const std::string& {
      return each.comparison.contestants[contestant].score(name).missing;
    };
    const std::string& first = reason(labels_[0]);
    const auto is_first = [&](const LabelComparison& each) { return reason(each) == first; };
    if (std::ranges::all_of(labels_, is_first)) return first;
    const auto without = std::ranges::find_if(
        labels_, [&](const LabelComparison& each) { return !reason(each).empty(); });
    return fmt::format("label {}: {}", without->label, reason(*without));
  }

  const std::vector<LabelComparison>& labels_;
  std::vector<double> shares_;
};

// Training rows of all labels; a sampler that does not know labels has the same for each.
void sum_training_rows(const std::vector<LabelComparison>& labels, std::size_t contestant,
                       ContestantScores& scores) {
  for (const LabelComparison& each : labels) {
    const ContestantScores& own = each.comparison.contestants[contestant];
    scores.training_x0_rows += own.training_x0_rows;
    scores.training_x1_rows += own.training_x1_rows;
    scores.rows_have_all_labels = own.rows_have_all_labels;
    if (own.rows_have_all_labels) break;
  }
}

ContestantScores mean_scores(const DataComparison& whole, std::size_t contestant,
                             const std::vector<LabelGroup>& groups0) {
  const LabelMeans means(whole.labels, whole.x0_rows);
  const ContestantScores& first = whole.labels[0].comparison.contestants[contestant];
  ContestantScores scores;
  scores.name = first.name;
  scores.reference = first.reference;
  scores.trained_on_endless_draws = first.trained_on_endless_draws;
  sum_training_rows(whole.labels, contestant, scores);
  scores.x0_overlap = means.overlap(contestant, &ContestantScores::x0_overlap);
  scores.x1_overlap = means.overlap(contestant, &ContestantScores::x1_overlap);
  for (const DataScoreSpec& spec : data_score_specs()) {
    scores.scores.push_back(means.score(contestant, spec.name));
  }
  scores.draws = States(whole.x0_rows, whole.dim);
  for (std::size_t i = 0; i < groups0.size(); ++i) {
    put_rows(whole.labels[i].comparison.contestants[contestant].draws, groups0[i].rows,
             scores.draws);
  }
  return scores;
}

}  // namespace

DataComparison compare_by_label(const Context& context, const LabelledRows& rows,
                                const LabelContestants& contestants,
                                const DataComparisonOptions& options) {
  check_labels("the condition of x0", rows.labels0.size(), "x0", rows.x0.rows);
  check_labels("the condition of x1", rows.labels1.size(), "x1", rows.x1.rows);
  const std::vector<LabelGroup> groups0 = group_by_label(rows.labels0),
                                groups1 = group_by_label(rows.labels1);
  check_same_labels(groups0, groups1);
  std::vector<std::vector<DataContestant>> answering;  // complains before the work
  for (const LabelGroup& group : groups0) {
    answering.push_back(contestants(group.label, group.rows.size()));
  }

  DataComparison whole;
  for (std::size_t i = 0; i < groups0.size(); ++i) {
    const Label label = groups0[i].label;
    whole.labels.push_back({label, compare_on(context, take_rows(rows.x0, groups0[i].rows),
                                              take_rows(rows.x1, groups1[i].rows), answering[i],
                                              {label_seed(options.seed, label)})});
    const DataComparison& own = whole.labels.back().comparison;
    whole.compared_rows += own.compared_rows;
    for (const std::string& warning : own.warnings) {
      whole.warnings.push_back(fmt::format("label {}: {}", label, warning));
    }
  }
  const DataComparison& first = whole.labels.at(0).comparison;
  whole.x0_rows = rows.x0.rows;
  whole.x1_rows = rows.x1.rows;
  whole.dim = first.dim;
  whole.num_categories = first.num_categories;
  whole.seed = options.seed;
  for (std::size_t i = 0; i < first.contestants.size(); ++i) {
    whole.contestants.push_back(mean_scores(whole, i, groups0));
  }
  const LabelMeans means(whole.labels, whole.x0_rows);
  for (std::size_t i = 0; i < first.differences.size(); ++i) {
    whole.differences.push_back(means.difference(i));
  }
  return whole;
}

}  // namespace bridgemark
