#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/array.h"
#include "bridgemark/process/reference_process.h"

namespace bridgemark {

// A sampler that is compared on data, and what is known of its training.
struct DataContestant {
  std::string name;  // one line, unique among those compared
  std::shared_ptr<const Coupling> coupling;
  std::optional<ReferenceProcess> reference = {};  // that it was fitted over; none: not known

  // Rows of the law that it was trained on; empty where none are known, for the reason in no_rows.
  States training_x0 = {}, training_x1 = {};
  std::string no_rows = "its training rows are not known";
  // They are fresh draws of that law, none of which it has seen: it was trained on endless ones.
  bool trained_on_endless_draws = false;
  // They have all labels, where the rows to answer have one: no ceiling for these.
  bool rows_have_all_labels = false;

  // x0 given x1 by what it learned; null for the reason in no_reverse.
  std::shared_ptr<const Coupling> reverse = nullptr;
  std::string no_reverse = "it answers one direction alone: x1 given x0";
};

}  // namespace bridgemark
