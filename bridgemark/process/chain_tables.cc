#include "bridgemark/process/chain_tables.h"

#include <cmath>
#include <limits>

namespace bridgemark {

template <typename T>
backend::ChainTables<T> make_chain_tables(const Context& context, const ReferenceChain& chain,
                                          const StepDraws& steps) {
  backend::ChainTables<T> tables;
  tables.num_categories = static_cast<std::size_t>(chain.num_categories());
  tables.num_steps = chain.num_steps();
  for (int n = 0; n <= chain.num_steps(); ++n) {
    context.throw_if_interrupted();
    const Matrix<double>& log = chain.log_cumulative(context, n);
    tables.log.insert(tables.log.end(), log.data(), log.data() + log.size());
  }
  tables.linear.reserve(tables.log.size());
  for (const double value : tables.log) {
    // Numbers below the smallest normal one are of no use to a product, and slow on some
    // processors.
    const T linear = static_cast<T>(std::exp(value));
    tables.linear.push_back(linear < std::numeric_limits<T>::min() ? T(0) : linear);
  }
  if (const auto rank_one = chain.process().rank_one_power(chain.process().total_steps())) {
    tables.identity = static_cast<T>(std::exp(rank_one->log_identity));
    tables.uniform = static_cast<T>(std::exp(rank_one->log_uniform));
  }
  for (const double weight : steps.weights) tables.step_weights.push_back(static_cast<T>(weight));
  return tables;
}

template backend::ChainTables<float> make_chain_tables<float>(const Context&, const ReferenceChain&,
                                                              const StepDraws&);
template backend::ChainTables<double> make_chain_tables<double>(const Context&,
                                                                const ReferenceChain&,
                                                                const StepDraws&);

}  // namespace bridgemark
