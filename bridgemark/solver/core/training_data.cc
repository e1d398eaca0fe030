#include "bridgemark/solver/core/training_data.h"

#include "bridgemark/core/states.h"
#include "bridgemark/io/npy.h"

namespace bridgemark {

namespace {

std::optional<SourceDistribution> load_set(const BenchmarkPair& pair, const std::string& file) {
  if (file.empty()) return std::nullopt;
  States states = load_states(file);
  check_states(file, states, pair.dim(), pair.num_categories());
  return SourceDistribution::empirical(std::move(states), pair.num_categories());
}

}  // namespace

TrainingData::TrainingData(const BenchmarkPair& pair, const std::string& x0_file,
                           const std::string& x1_file, std::uint64_t seed)
    : pair_(pair),
      x0_set_(load_set(pair, x0_file)),
      x1_set_(load_set(pair, x1_file)),
      seed_(seed) {}

States TrainingData::x0(const Context& context, std::size_t count,
                        std::uint64_t first_index) const {
  States rows(count, pair_.dim());
  backend::draw_rows(context, x0_source(context), first_index, rows);
  return rows;
}

States TrainingData::x1(const Context& context, std::size_t count,
                        std::uint64_t first_index) const {
  States rows(count, pair_.dim());
  backend::draw_rows(context, x1_source(context), first_index, rows);
  return rows;
}

backend::RowSource TrainingData::x0_source(const Context& context) const {
  const DrawKey key{seed_, DrawPurpose::kSource};
  if (x0_set_) return x0_set_->rows(key);
  return pair_.reverse() ? pair_.target_rows(context, seed_) : pair_.source().rows(key);
}

backend::RowSource TrainingData::x1_source(const Context& context) const {
  if (x1_set_) return x1_set_->rows({seed_, DrawPurpose::kTargetConditional});
  return pair_.reverse() ? pair_.source().rows({seed_, DrawPurpose::kSource})
                         : pair_.target_rows(context, seed_);
}

}  // namespace bridgemark
