// Builds a preset pair, draws from its truth, and scores a coupling of one's own against it.
#include <bridgemark/bridgemark.h>
#include <fmt/format.h>

#include <algorithm>

namespace {

// A solver of one's own is any class that draws x1 given x0. This one leaves every state as it is.
class StayPut : public bridgemark::Coupling {
 public:
  explicit StayPut(const bridgemark::BenchmarkPair& pair)
      : dim_(pair.dim()), num_categories_(pair.num_categories()) {}

  std::size_t dim() const override { return dim_; }
  int num_categories() const override { return num_categories_; }
  void sample(const bridgemark::Context&, bridgemark::StatesView x0, const bridgemark::DrawKey&,
              std::uint64_t, bridgemark::MutableStatesView x1) const override {
    std::copy_n(x0.data, x0.size(), x1.data);
  }

 private:
  std::size_t dim_;
  int num_categories_;
};

}  // namespace

int main() {
  const bridgemark::Context context;
  const bridgemark::BenchmarkPair pair = bridgemark::load_pair("d2-gaussian-0.02");
  const bridgemark::PairedStates drawn = pair.sample_joint(context, 3, /*seed=*/1);
  for (std::size_t i = 0; i < 3; ++i) {
    fmt::print("x0 = ({}, {})  x1 = ({}, {})\n", drawn.x0(i, 0), drawn.x0(i, 1), drawn.x1(i, 0),
               drawn.x1(i, 1));
  }
  const bridgemark::Evaluation scores =
      bridgemark::evaluate(context, pair, StayPut(pair), bridgemark::EvaluationOptions{});
  fmt::print("conditional shape of staying put: {:.3f}; of the truth against itself: {:.3f}\n",
             scores.mean("conditional_shape_score"),
             bridgemark::evaluate(context, pair, pair.bridge(), bridgemark::EvaluationOptions{})
                 .mean("conditional_shape_score"));
}
