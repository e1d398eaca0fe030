#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bridgemark/solver/core/option_spec.h"

// Options that several solvers have, each declared once. A solver takes them into its list, with
// defaults of its own; those of rows held out are in holdout.h.
namespace bridgemark {

OptionSpec recipe_option();
OptionSpec updates_option(std::string key, OptionDefault tuned, OptionDefault paper,
                          std::string help);
OptionSpec batch_size_option(OptionDefault value, std::optional<OptionDefault> paper,
                             std::string help);
OptionSpec learning_rate_option(OptionDefault tuned, OptionDefault paper);
OptionSpec weight_decay_option(OptionDefault value, std::optional<OptionDefault> paper = {});
OptionSpec num_steps_option();
OptionSpec loss_option();

// x0_data and x1_data.
std::vector<OptionSpec> data_options();

// How often a training writes: checkpoint_every, log_every and validate_every.
std::vector<OptionSpec> writing_options();

// Adds options behind those of a list.
void append(std::vector<OptionSpec>& specs, std::vector<OptionSpec> more);

// The one of this key, which is in the list, for a solver that has it otherwise than another.
OptionSpec& spec_of(std::vector<OptionSpec>& specs, std::string_view key);

}  // namespace bridgemark
