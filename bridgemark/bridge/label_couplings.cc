#include "bridgemark/bridge/label_couplings.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/core/states.h"

namespace bridgemark {

LabelCouplings::LabelCouplings(std::vector<LabelCoupling> couplings)
    : couplings_(std::move(couplings)) {
  if (couplings_.empty()) throw_invalid("labels", "there must be a label, got none");
  for (std::size_t i = 1; i < couplings_.size(); ++i) {
    const Coupling &first = *couplings_[0].coupling, &own = *couplings_[i].coupling;
    if (couplings_[i].label <= couplings_[i - 1].label) {
      throw_invalid("labels", "labels must ascend, got {} after {}", couplings_[i].label,
                    couplings_[i - 1].label);
    }
    if (own.dim() != first.dim() || own.num_categories() != first.num_categories()) {
      throw_invalid("labels",
                    "labels must be of one space, got D = {}, S = {} of label {} and D = {}, "
                    "S = {} of label {}",
                    first.dim(), first.num_categories(), couplings_[0].label, own.dim(),
                    own.num_categories(), couplings_[i].label);
    }
  }
}

const Coupling& LabelCouplings::of(Label label) const {
  const auto found = std::ranges::find(couplings_, label, &LabelCoupling::label);
  if (found != couplings_.end()) return *found->coupling;
  Labels known;
  for (const LabelCoupling& each : couplings_) known.push_back(each.label);
  throw_invalid("labels", "label must be one that was trained, {}, got {}", fmt::join(known, ", "),
                label);
}

void LabelCouplings::for_each_label(StatesView x0, std::span<const Label> labels,
                                    const Visit& visit) const {
  check_labels("the condition", labels.size(), "x0", x0.rows);
  check_states("x0", x0, dim(), num_categories());
  const std::vector<LabelGroup> groups = group_by_label(labels);
  for (const LabelGroup& group : groups) of(group.label);  // complains before the work
  std::size_t first_index = 0;
  for (const LabelGroup& group : groups) {
    visit(of(group.label), group, first_index);
    first_index += group.rows.size();
  }
}

States LabelCouplings::sample(const Context& context, StatesView x0, std::span<const Label> labels,
                              std::uint64_t seed) const {
  States x1(x0.rows, dim());
  for_each_label(x0, labels, [&](const Coupling& coupling, const LabelGroup& group, auto first) {
    const States given = take_rows(x0, group.rows);
    States drawn(given.rows(), dim());
    coupling.sample(context, given, {seed, DrawPurpose::kConditional}, first, drawn);
    put_rows(drawn, group.rows, x1);
  });
  return x1;
}

Array3<std::int32_t> LabelCouplings::sample_trajectory(const Context& context, int num_steps,
                                                       StatesView x0, std::span<const Label> labels,
                                                       std::uint64_t seed) const {
  Array3<std::int32_t> paths;
  for_each_label(x0, labels, [&](const Coupling& coupling, const LabelGroup& group, auto first) {
    const Array3<std::int32_t> drawn = sample_markov_trajectory(
        context, coupling, num_steps, take_rows(x0, group.rows), seed, first);
    const std::size_t times = drawn.extent(1);  // as it accepted them
    if (paths.size() == 0) paths = {x0.rows, times, dim()};
    for (std::size_t i = 0; i < group.rows.size(); ++i) {
      std::copy_n(drawn.row(i, 0), times * dim(), paths.row(group.rows[i], 0));
    }
  });
  return paths;
}

std::vector<double> LabelCouplings::log_conditional(const Context& context, StatesView x0,
                                                    StatesView x1,
                                                    std::span<const Label> labels) const {
  check_labels("the condition", labels.size(), "x1", x1.rows);
  check_states("x1", x1, dim(), num_categories());
  std::vector<double> values(x0.rows);
  for_each_label(x0, labels, [&](const Coupling& coupling, const LabelGroup& group, auto) {
    std::vector<double> own(group.rows.size());
    coupling.log_conditional(context, take_rows(x0, group.rows), take_rows(x1, group.rows), own);
    for (std::size_t i = 0; i < own.size(); ++i) values[group.rows[i]] = own[i];
  });
  return values;
}

}  // namespace bridgemark
