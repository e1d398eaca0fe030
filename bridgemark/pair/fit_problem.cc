#include "bridgemark/pair/fit_problem.h"

#include <utility>

#include "bridgemark/backend/plan/row_source.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/states.h"

namespace bridgemark {

namespace {

// Keys of the two ends are those of a pair's, so that no two uses of a seed share draws.
DrawKey x0_key(std::uint64_t seed) { return {seed, DrawPurpose::kSource}; }
DrawKey x1_key(std::uint64_t seed) { return {seed, DrawPurpose::kTargetConditional}; }

DataEnds make_ends(States x0, States x1, ReferenceProcess reference, std::string name) {
  const int S = reference.num_categories();
  const auto check = [&](const char* end, const States& states) {
    if (states.rows() == 0 || states.cols() == 0) {
      throw_invalid("data", "{} must have at least one row and one column, got shape [{}, {}]", end,
                    states.rows(), states.cols());
    }
    check_states(end, states, x0.cols(), S);
  };
  check("x0", x0);
  check("x1", x1);
  return {SourceDistribution::empirical(std::move(x0), S),
          SourceDistribution::empirical(std::move(x1), S), std::move(reference), std::move(name)};
}

States draw(const Context& context, const SourceDistribution& source, const DrawKey& key,
            std::size_t count, std::uint64_t first_index) {
  States rows(count, source.dim());
  source.sample(context, key, first_index, rows);
  return rows;
}

}  // namespace

FitProblem::FitProblem(BenchmarkPair pair) : ends_(std::move(pair)) {}

FitProblem::FitProblem(States x0, States x1, ReferenceProcess reference, std::string name)
    : ends_(make_ends(std::move(x0), std::move(x1), std::move(reference), std::move(name))) {}

std::size_t FitProblem::dim() const { return pair() ? pair()->dim() : data()->x0.dim(); }

int FitProblem::num_categories() const {
  return pair() ? pair()->num_categories() : data()->reference.num_categories();
}

ReferenceProcess FitProblem::reference() const {
  return pair() ? pair()->reference() : data()->reference;
}

std::string_view FitProblem::name() const {
  return pair() ? pair()->identity().name : data()->name;
}

States FitProblem::sample_x0(const Context& context, std::size_t count, std::uint64_t seed,
                             std::uint64_t first_index) const {
  return pair() ? pair()->sample_x0(context, count, seed, first_index)
                : draw(context, data()->x0, x0_key(seed), count, first_index);
}

States FitProblem::sample_x1(const Context& context, std::size_t count, std::uint64_t seed,
                             std::uint64_t first_index) const {
  return pair() ? pair()->sample_x1(context, count, seed, first_index)
                : draw(context, data()->x1, x1_key(seed), count, first_index);
}

backend::RowSource FitProblem::x0_rows(const Context& context, std::uint64_t seed) const {
  if (const DataEnds* ends = data()) return ends->x0.rows(x0_key(seed));
  return pair()->reverse() ? pair()->target_rows(context, seed)
                           : pair()->source().rows(x0_key(seed));
}

backend::RowSource FitProblem::x1_rows(const Context& context, std::uint64_t seed) const {
  if (const DataEnds* ends = data()) return ends->x1.rows(x1_key(seed));
  return pair()->reverse() ? pair()->source().rows(x0_key(seed))
                           : pair()->target_rows(context, seed);
}

}  // namespace bridgemark
