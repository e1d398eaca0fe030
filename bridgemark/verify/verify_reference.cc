#include <vector>

#include "bridgemark/verify/verify_kinds.h"

namespace bridgemark {

Verification verify_reference(const Context& context, const GoldenFile& file) {
  constexpr double kTolerance = 1e-10;
  const ReferenceChain chain = file.chain();
  const auto S = static_cast<std::size_t>(chain.num_categories());
  const auto steps = static_cast<std::size_t>(chain.num_steps());
  file.tensors.expect_shape("log_onestep", std::vector{S, S});
  file.tensors.expect_shape("log_cumulative", std::vector{steps + 1, S, S});

  std::vector<double> cumulative;
  for (int n = 0; n <= chain.num_steps(); ++n) {
    const SharedMatrix power = chain.log_cumulative(context, n);
    cumulative.insert(cumulative.end(), power.data(), power.data() + power.size());
  }
  const SharedMatrix onestep = chain.log_onestep(context);
  Verification result;
  result.checks.push_back(
      {"log_onestep",
       max_error({onestep.data(), onestep.size()}, file.tensors.read_doubles("log_onestep")),
       kTolerance});
  result.checks.push_back({"log_cumulative",
                           max_error(cumulative, file.tensors.read_doubles("log_cumulative")),
                           kTolerance});
  return result;
}

}  // namespace bridgemark
