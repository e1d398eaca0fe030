#include "bridgemark/pair/reachable_rows.h"

#include <algorithm>
#include <vector>

#include "bridgemark/backend/plan/sparse_power.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark {

namespace {

// Whether all steps of the reference lead from one row to another.
bool leads(const backend::SparsePower& power, const std::int32_t* x0, const std::int32_t* x1,
           std::size_t dim) {
  for (std::size_t d = 0; d < dim; ++d) {
    if (power.log_entry(static_cast<std::size_t>(x0[d]), static_cast<std::size_t>(x1[d])) ==
        kLogZero) {
      return false;
    }
  }
  return true;
}

// The first of `count` rows that meets none of `others`; `count` where each does.
template <typename Meet>
std::size_t first_stranded(const Context& context, std::size_t count, std::size_t others,
                           Meet&& meet) {
  std::vector<char> is_stranded(count);
  parallel_blocks(context, count, 64, [&](std::size_t first, std::size_t last) {
    for (std::size_t row = first; row < last; ++row) {
      std::size_t other = 0;
      while (other < others && !meet(row, other)) ++other;
      is_stranded[row] = other == others;
    }
  });
  return static_cast<std::size_t>(std::ranges::find(is_stranded, 1) - is_stranded.begin());
}

bool are_states_of(const States& x, int num_categories) {
  return std::all_of(x.data(), x.data() + x.size(),
                     [&](std::int32_t value) { return value >= 0 && value < num_categories; });
}

}  // namespace

void require_reachable(const Context& context, const States& x0, const States& x1,
                       const ReferenceProcess& reference) {
  const int S = reference.num_categories(), steps = reference.total_steps();
  const auto power = reference.sparse_power(context.on_host(), steps);
  if (!power || power->is_positive()) return;
  if (x0.cols() != x1.cols() || !are_states_of(x0, S) || !are_states_of(x1, S)) return;
  const auto meet = [&](std::size_t of_x0, std::size_t of_x1) {
    return leads(*power, x0.row(of_x0), x1.row(of_x1), x0.cols());
  };
  const std::size_t to =
      first_stranded(context, x1.rows(), x0.rows(),
                     [&](std::size_t of_x1, std::size_t of_x0) { return meet(of_x0, of_x1); });
  const std::size_t from = first_stranded(context, x0.rows(), x1.rows(), meet);
  const auto refuse = [&](std::size_t row, std::string_view what, std::string_view how) {
    throw_invalid("data", "row {} of {} {} in {} steps of the {} reference", row, what, how, steps,
                  reference_kind_name(reference.kind()));
  };
  if (to < x1.rows()) refuse(to, "x1", "cannot be reached from any row of x0");
  if (from < x0.rows()) refuse(from, "x0", "leads to no row of x1");
}

}  // namespace bridgemark
