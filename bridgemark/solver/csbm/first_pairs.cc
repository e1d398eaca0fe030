#include "bridgemark/solver/csbm/first_pairs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "bridgemark/bridge/reference_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/math/log_rows.h"
#include "bridgemark/solver/baseline/feature_wise.h"
#include "bridgemark/solver/csbm/assignment.h"

namespace bridgemark {

namespace {

// Rows far beyond any that training draws.
constexpr std::uint64_t kFirstRow = std::uint64_t{1} << 61;

// Details of DrawPurpose::kFirstPairs: the end sampled for a pair, and the choice among the pairs.
constexpr std::uint32_t kMadeDetail = 0, kChosenDetail = 1;

States answers(const Context& context, const Coupling& coupling, const States& given,
               const DrawKey& key, std::uint64_t first_index) {
  States drawn(given.rows(), given.cols());
  coupling.sample(context, given, key, first_index, drawn);
  return drawn;
}

// Brings x1 into the order that matches x0 at the least total -log q_ref(x1 | x0).
void match_batch(const Context& context, const Matrix<double>& log_q, StatesView x0,
                 MutableStatesView x1) {
  const std::size_t rows = x0.rows, D = x0.cols;
  Matrix<double> cost(rows, rows);
  for (std::size_t i = 0; i < rows; ++i) {
    context.throw_if_interrupted();
    for (std::size_t j = 0; j < rows; ++j) {
      cost(i, j) = -log_of_rows(log_q.data(), log_q.cols(), x0.row(i), x1.row(j), D);
    }
  }
  const std::vector<std::size_t> column = least_cost_assignment(context, cost.view());
  const States drawn(rows, D, {x1.data, x1.data + x1.size()});
  for (std::size_t i = 0; i < rows; ++i) std::copy_n(drawn.row(column[i]), D, x1.row(i));
}

void match_batches(const Context& context, const ReferenceProcess& process, std::size_t batch,
                   PairedStates& pairs) {
  const SharedMatrix log_q = process.log_power(context, process.total_steps());
  const std::size_t rows = pairs.x0.rows(), batches = (rows + batch - 1) / batch;
  const auto threads = static_cast<std::size_t>(std::max(1, context.threads()));
  // As many batches at a time as there are threads, so that progress shows and a stop is heard.
  for (std::size_t first = 0; first < batches; first += threads) {
    if (context.should_stop()) throw Interrupted("[training] stopped before the first update");
    const std::size_t count = std::min(threads, batches - first);
    parallel_blocks(context, count, 1, [&](std::size_t i, std::size_t) {
      const std::size_t from = (first + i) * batch, size = std::min(batch, rows - from);
      match_batch(context, log_q, pairs.x0.view().slice(from, size),
                  pairs.x1.view().slice(from, size));
    });
    context.report("first pairs", first + count, batches);
  }
}

}  // namespace

PairedStates couple_first(const Context& context, const FirstPairsPlan& plan,
                          const ReferenceProcess& process, PairedStates pairs, const DrawKey& key,
                          std::uint64_t first_index) {
  switch (plan.coupling) {
    case FirstCoupling::kIndependent:
      break;
    case FirstCoupling::kReference:
      pairs.x1 =
          answers(context, reference_bridge(process, pairs.x0.cols()), pairs.x0, key, first_index);
      break;
    case FirstCoupling::kFeatureWise: {
      // Read from x1 to x0, so that the ends that the forward network learns are those of p1.
      const CpBridge backward =
          feature_wise_bridge(context, process.time_reversed(), pairs.x1, pairs.x0);
      pairs.x0 = answers(context, backward, pairs.x1, key, first_index);
      break;
    }
    case FirstCoupling::kMinibatchOt:
      match_batches(context, process, plan.batch, pairs);
      break;
  }
  return pairs;
}

FirstPairs::FirstPairs(const Context& context, const FirstPairsPlan& plan,
                       const ReferenceProcess& process, TrainingData data, std::uint64_t seed)
    : data_(std::move(data)), key_{seed, DrawPurpose::kFirstPairs, kChosenDetail} {
  if (plan.coupling == FirstCoupling::kIndependent) return;
  PairedStates pairs = couple_first(
      context, plan, process,
      {data_.x0(context, plan.pairs, kFirstRow), data_.x1(context, plan.pairs, kFirstRow)},
      {seed, DrawPurpose::kFirstPairs, kMadeDetail});
  const int S = process.num_categories();
  made_ = Made{SourceDistribution::empirical(std::move(pairs.x0), S),
               SourceDistribution::empirical(std::move(pairs.x1), S)};
}

backend::RowSource FirstPairs::x0_source(const Context& context) const {
  return made_ ? made_->x0.rows(key_) : data_.x0_source(context);
}

backend::RowSource FirstPairs::x1_source(const Context& context) const {
  return made_ ? made_->x1.rows(key_) : data_.x1_source(context);
}

}  // namespace bridgemark
