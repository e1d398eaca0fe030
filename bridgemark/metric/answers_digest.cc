#include "bridgemark/metric/answers_digest.h"

#include <algorithm>

#include "bridgemark/io/sha256.h"

namespace bridgemark {

std::uint64_t answers_digest(const Context& context, const Coupling& coupling, StatesView test_x0,
                             StatesView conditional_inputs, std::size_t conditional_samples) {
  Sha256 hash;
  const auto add = [&](const States& answers) {
    hash.add(
        {reinterpret_cast<const char*>(answers.data()), answers.size() * sizeof(std::int32_t)});
  };
  States answers(test_x0.rows, test_x0.cols);
  coupling.sample(context, test_x0, {0, DrawPurpose::kPrediction}, 0, answers);
  add(answers);
  const std::size_t N = conditional_samples;
  States repeated(N, test_x0.cols), drawn(N, test_x0.cols);
  for (std::size_t i = 0; i < conditional_inputs.rows; ++i) {
    for (std::size_t j = 0; j < N; ++j) {
      std::copy_n(conditional_inputs.row(i), test_x0.cols, repeated.row(j));
    }
    coupling.sample(context, repeated, {0, DrawPurpose::kConditionalPrediction}, i * N, drawn);
    add(drawn);
  }
  const Sha256::Digest digest = hash.finish();
  std::uint64_t bits = 0;
  for (int i = 0; i < 8; ++i) bits = (bits << 8) | digest[static_cast<std::size_t>(i)];
  return bits;
}

}  // namespace bridgemark
