#include "bridgemark/solver/core/training_data.h"

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/states.h"
#include "bridgemark/io/npy.h"

namespace bridgemark {

namespace {

std::optional<SourceDistribution> load_set(const FitProblem& problem, const std::string& file) {
  if (file.empty()) return std::nullopt;
  if (problem.data()) {
    throw_invalid("options", "x0_data and x1_data must be empty where data is fitted, got '{}'",
                  file);
  }
  States states = load_states(file);
  check_states(file, states, problem.dim(), problem.num_categories());
  return SourceDistribution::empirical(std::move(states), problem.num_categories());
}

}  // namespace

TrainingData::TrainingData(const FitProblem& problem, const std::string& x0_file,
                           const std::string& x1_file, std::uint64_t seed)
    : problem_(problem),
      x0_set_(load_set(problem, x0_file)),
      x1_set_(load_set(problem, x1_file)),
      seed_(seed) {}

const States* TrainingData::x0_set() const {
  if (x0_set_) return &x0_set_->states();
  return problem_.data() ? &problem_.data()->x0.states() : nullptr;
}

const States* TrainingData::x1_set() const {
  if (x1_set_) return &x1_set_->states();
  return problem_.data() ? &problem_.data()->x1.states() : nullptr;
}

States TrainingData::x0(const Context& context, std::size_t count,
                        std::uint64_t first_index) const {
  States rows(count, problem_.dim());
  const Context host = context.on_host();
  backend::of(host).draw_rows(host, x0_source(host), first_index, rows);
  return rows;
}

States TrainingData::x1(const Context& context, std::size_t count,
                        std::uint64_t first_index) const {
  States rows(count, problem_.dim());
  const Context host = context.on_host();
  backend::of(host).draw_rows(host, x1_source(host), first_index, rows);
  return rows;
}

backend::RowSource TrainingData::x0_source(const Context& context) const {
  return x0_set_ ? x0_set_->rows({seed_, DrawPurpose::kSource}) : problem_.x0_rows(context, seed_);
}

backend::RowSource TrainingData::x1_source(const Context& context) const {
  return x1_set_ ? x1_set_->rows({seed_, DrawPurpose::kTargetConditional})
                 : problem_.x1_rows(context, seed_);
}

}  // namespace bridgemark
