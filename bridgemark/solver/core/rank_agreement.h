#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "bridgemark/core/context.h"

// What ranks decide together, so that none goes on alone. Without ranks each is what the one
// process says.
namespace bridgemark {

// Sets each entry that any rank has set.
void each_of_any_rank(const Context& context, std::span<bool> votes);
bool any_rank(const Context& context, bool vote);

// Whether all ranks say the same number.
bool same_on_all_ranks(const Context& context, double value);

// Whether all ranks say the same text, up to 2^-52.
bool same_on_all_ranks(const Context& context, std::string_view text);

// Calls `check`; where it throws InvalidArgument on any rank, all throw it, with the message of the
// first of them.
void refuse_together(const Context& context, const std::function<void()>& check);

}  // namespace bridgemark
