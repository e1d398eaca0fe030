// Draws from a preset pair, and scores the Oracle and a coupling of its own: what a program outside
// of the library does with bridgemark.h alone.
#include <bridgemark/bridgemark.h>

#include <cstdio>

#ifdef NLOHMANN_JSON_VERSION_MAJOR
#error "bridgemark.h brings JSON along"
#endif
static_assert(BRIDGEMARK_VERSION_MAJOR >= 0 && BRIDGEMARK_VERSION_MINOR >= 0);

namespace bm = bridgemark;

// Every state alike, whatever x0 is.
class AnyState : public bm::Coupling {
 public:
  explicit AnyState(const bm::BenchmarkPair& pair) : pair_(pair) {}
  std::size_t dim() const override { return pair_.dim(); }
  int num_categories() const override { return pair_.num_categories(); }
  void sample(const bm::Context&, bm::StatesView x0, const bm::DrawKey& key,
              std::uint64_t first_index, bm::MutableStatesView x1) const override {
    for (std::size_t i = 0; i < x0.rows; ++i) {
      bm::DrawSequence draws(key, first_index + i);
      for (std::int32_t& x : x1.row_span(i)) {
        x = static_cast<std::int32_t>(draws.uniform() * num_categories());
      }
    }
  }

 private:
  const bm::BenchmarkPair& pair_;
};

int main() {
  const bm::Context context;
  const bm::BenchmarkPair pair = bm::load_pair("d2-gaussian-0.05-spread");
  const bm::PairedStates drawn = pair.sample_joint(context, 1000, /*seed=*/1);
  const bm::Solver& solver = bm::find_solver("oracle");
  const bm::Fitted oracle = solver.fit(context, pair, bm::SolverOptions(solver.options()), 0);
  const auto score = [&](const bm::Coupling& coupling) {
    return bm::evaluate(context, pair, coupling, {}).mean("conditional_shape_score");
  };
  const double ceiling = score(*oracle.coupling), floor = score(AnyState(pair));
  std::printf("bridgemark %s: %zu pairs drawn; conditional shape %.3f of the Oracle, %.3f of any\n",
              BRIDGEMARK_VERSION, drawn.x0.rows(), ceiling, floor);
  // docs/reproduce.md has 0.922 for the Oracle.
  return drawn.x1.rows() == 1000 && ceiling > 0.91 && ceiling < 0.93 && floor < 0.5 ? 0 : 1;
}
