#include "bridgemark/solver/training_data.h"

#include "bridgemark/core/states.h"
#include "bridgemark/io/npy.h"
#include "bridgemark/math/categorical.h"

namespace bridgemark {

namespace {

std::optional<SourceDistribution> load_set(const BenchmarkPair& pair, const std::string& file) {
  if (file.empty()) return std::nullopt;
  States states = load_states(file);
  check_states(file, states, pair.dim(), pair.num_categories());
  return SourceDistribution::empirical(std::move(states), pair.num_categories());
}

backend::RowSource rows_of(const SourceDistribution& source, const DrawKey& key) {
  backend::RowSource rows;
  rows.key = key;
  if (source.kind() == SourceKind::kEmpirical) {
    rows.observed = source.states();
    return rows;
  }
  const Matrix<double>& log_pmf = source.log_pmf();
  rows.cumulative = Matrix<double>(log_pmf.rows(), log_pmf.cols());
  for (std::size_t d = 0; d < log_pmf.rows(); ++d) {
    cumulate_log(log_pmf.row(d), log_pmf.cols(), rows.cumulative.row(d));
  }
  return rows;
}

// Rows of the pair's target: a source row, then the bridge from there.
backend::RowSource target_rows(const Context& context, const BenchmarkPair& pair,
                               std::uint64_t seed) {
  constexpr std::size_t kManyDraws = std::size_t{1} << 40;
  backend::RowSource rows = rows_of(pair.source(), {seed, DrawPurpose::kTargetSource});
  rows.step = pair.bridge().conditional_step(context, kManyDraws);
  rows.step_key = {seed, DrawPurpose::kTargetConditional};
  return rows;
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
  if (!x0_set_) return pair_.sample_x0(context, count, seed_, first_index);
  States rows(count, pair_.dim());
  x0_set_->sample(context, {seed_, DrawPurpose::kSource}, first_index, rows);
  return rows;
}

States TrainingData::x1(const Context& context, std::size_t count,
                        std::uint64_t first_index) const {
  if (!x1_set_) return pair_.sample_x1(context, count, seed_, first_index);
  States rows(count, pair_.dim());
  x1_set_->sample(context, {seed_, DrawPurpose::kTargetConditional}, first_index, rows);
  return rows;
}

backend::RowSource TrainingData::x0_source(const Context& context) const {
  const DrawKey key{seed_, DrawPurpose::kSource};
  if (x0_set_) return rows_of(*x0_set_, key);
  return pair_.reverse() ? target_rows(context, pair_, seed_) : rows_of(pair_.source(), key);
}

backend::RowSource TrainingData::x1_source(const Context& context) const {
  if (x1_set_) return rows_of(*x1_set_, {seed_, DrawPurpose::kTargetConditional});
  return pair_.reverse() ? rows_of(pair_.source(), {seed_, DrawPurpose::kSource})
                         : target_rows(context, pair_, seed_);
}

}  // namespace bridgemark
