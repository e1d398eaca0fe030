#include "bridgemark/process/chain_tables.h"

#include <cmath>
#include <limits>
#include <memory>
#include <utility>

namespace bridgemark {

namespace {

template <typename T>
void set_factors(backend::ChainTables<T>& tables,
                 std::shared_ptr<const backend::FactoredPower> factors) {
  if (!factors) return;
  const backend::ScaledRows& right = *factors->right;
  const std::size_t S = factors->num_categories(), r = factors->rank();
  tables.stay = static_cast<T>(std::exp(factors->log_stay));
  tables.left.resize(S * r);
  for (std::size_t s = 0; s < S; ++s) {
    for (std::size_t j = 0; j < r; ++j) {
      tables.left[s * r + j] = static_cast<T>(std::exp(factors->log_left(s, j) + right.high[j]));
    }
  }
  tables.right.assign(right.linear.data(), right.linear.data() + right.linear.size());
  tables.factors = std::move(factors);
}

}  // namespace

template <typename T>
backend::ChainTables<T> make_chain_tables(const Context& context, const ReferenceChain& chain,
                                          const StepDraws& steps) {
  backend::ChainTables<T> tables;
  tables.num_categories = static_cast<std::size_t>(chain.num_categories());
  tables.num_steps = chain.num_steps();
  const ReferenceProcess& process = chain.process();
  set_factors(tables, process.factored_power(context, process.total_steps()));
  if (const auto rank_one = process.rank_one_power(process.total_steps())) {
    tables.identity = static_cast<T>(std::exp(rank_one->log_identity));
    tables.uniform = static_cast<T>(std::exp(rank_one->log_uniform));
  }
  for (const double weight : steps.weights) tables.step_weights.push_back(static_cast<T>(weight));
  if (!process.has_tables() && chain.num_steps() == 1) return tables;
  for (int n = 0; n <= chain.num_steps(); ++n) {
    context.throw_if_interrupted();
    const SharedMatrix log = chain.log_cumulative(context, n);
    tables.log.insert(tables.log.end(), log.data(), log.data() + log.size());
  }
  tables.linear.reserve(tables.log.size());
  for (const double value : tables.log) {
    // Numbers below the smallest normal one are of no use to a product, and slow on some
    // processors.
    const T linear = static_cast<T>(std::exp(value));
    tables.linear.push_back(linear < std::numeric_limits<T>::min() ? T(0) : linear);
  }
  return tables;
}

template backend::ChainTables<float> make_chain_tables<float>(const Context&, const ReferenceChain&,
                                                              const StepDraws&);
template backend::ChainTables<double> make_chain_tables<double>(const Context&,
                                                                const ReferenceChain&,
                                                                const StepDraws&);

}  // namespace bridgemark
