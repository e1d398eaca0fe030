#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "bridgemark/bridge/chain_bridge.h"
#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/bridge/reversed_bridge.h"
#include "bridgemark/bridge/tree_bridge.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/pair/pair_family.h"
#include "bridgemark/pair/source_distribution.h"

namespace bridgemark {

namespace backend {
class RowSampler;
struct RowSource;
}  // namespace backend

class ReverseTruth;

// What the protocol of the benchmark fixes.
inline constexpr std::string_view kReverseSuffix = "-reverse";  // of a reversed pair's name
inline constexpr std::size_t kTestSetSize = 20000;
inline constexpr std::size_t kConditionalStride = 128;    // every 128th test row: 157 of 20,000
inline constexpr std::size_t kConditionalSamples = 1000;  // draws for each conditional input

// Paired rows x0[i], x1[i] of the truth.
struct PairedStates {
  States x0;
  States x1;
};

// Where a pair comes from; written with it and shown in results.
struct PairIdentity {
  std::string name;
  int version = 1;
  std::uint64_t seed = 0;
  PairFamily family = PairFamily::kSphere;
  double radius = 5.0;         // family sphere: of the sphere its component means were drawn on
  double min_distance = 10.0;  // but family sphere: between two of its means
  double switch_rate = 0.1;    // families chain and tree: of leaving the component at each move
  std::string origin = {};     // family distilled: what it was fitted to and how, a JSON object
};

// Two distributions p0, p1 and the bridge between them that solves their Schrödinger problem. A
// one-sided pair is given by p0 and the bridge; a two-sided one by a potential f of x0 beside the
// bridge's v of x1, q*(x0, x1) in proportion to f(x0) q_ref(x1|x0) v(x1), so that both directions
// are closed forms. A reversed pair asks for p1 -> p0: its x0 is drawn from p1 and its x1 from p0,
// and its truth is the same coupling read backwards.
class BenchmarkPair {
 public:
  // Throws InvalidArgument unless source and bridge live on the same space.
  BenchmarkPair(PairIdentity identity, SourceDistribution source, CpBridge bridge,
                bool reverse = false);
  BenchmarkPair(PairIdentity identity, SourceDistribution source, ChainBridge bridge,
                bool reverse = false);

  BenchmarkPair(PairIdentity identity, SourceDistribution source, TreeBridge bridge,
                bool reverse = false);

  // The two-sided pair of f and the bridge. Throws InvalidArgument unless both live on one space.
  static BenchmarkPair two_sided(PairIdentity identity, CpPotential source_potential,
                                 CpBridge bridge, bool reverse = false);

  // The same of trees: p0 has a state for each pair of theirs at a node. Throws InvalidArgument
  // unless both have one tree.
  static BenchmarkPair two_sided(PairIdentity identity, TreePotential source_potential,
                                 TreeBridge bridge, bool reverse = false);

  // A bridge that has a mixture as law of x0 beside its potential, taken for the truth with that
  // law as p0. Throws InvalidArgument for any other bridge.
  static BenchmarkPair of_bridge(PairIdentity identity, std::shared_ptr<const Bridge> bridge,
                                 bool reverse = false);

  const PairIdentity& identity() const { return identity_; }
  const SourceDistribution& source() const { return source_; }
  const Bridge& bridge() const { return *bridge_; }
  // Throws InvalidArgument for a pair whose potential is no CP one.
  const CpBridge& cp_bridge() const;

  // f of a two-sided pair: one of the two, and none of any other pair.
  const std::optional<CpPotential>& source_potential() const { return source_potential_; }
  const std::optional<TreePotential>& source_tree() const { return source_tree_; }

  bool reverse() const { return reverse_; }
  std::size_t dim() const { return bridge_->dim(); }
  int num_categories() const { return bridge_->num_categories(); }

  // The same truth asked for in the other direction, under the name that says so.
  BenchmarkPair reversed() const;

  // The reference process in the direction of the pair: what a solver may know of it.
  ReferenceProcess reference() const;

  // Unpaired rows of the two ends: what a solver may train on. Rows first_index.. of the endless
  // sequence of a seed, so batches join up to the same rows whatever their size.
  States sample_x0(const Context& context, std::size_t count, std::uint64_t seed,
                   std::uint64_t first_index = 0) const;
  States sample_x1(const Context& context, std::size_t count, std::uint64_t seed,
                   std::uint64_t first_index = 0) const;

  // Rows of the true coupling.
  PairedStates sample_joint(const Context& context, std::size_t count, std::uint64_t seed,
                            std::uint64_t first_index = 0) const;

  // The same rows to where the caller wants them, which may be the memory of the context's device.
  void write_x0(const Context& context, std::uint64_t seed, std::uint64_t first_index,
                MutableStatesView out) const;
  void write_x1(const Context& context, std::uint64_t seed, std::uint64_t first_index,
                MutableStatesView out) const;
  void write_joint(const Context& context, std::uint64_t seed, std::uint64_t first_index,
                   MutableStatesView x0, MutableStatesView x1) const;

  // The rows of the bridge's end p1, described for a device.
  backend::RowSource target_rows(const Context& context, std::uint64_t seed) const;

  // The bridge's joint draws on the context's device, kept there for the next call.
  const backend::RowSampler& device_sampler(const Context& context) const;

  // The truth as a coupling: the bridge; for a reversed pair what ReverseTruth says. Null where
  // that has none; then missing_truth says what it would need.
  std::shared_ptr<const Coupling> truth(const Context& context) const;
  std::string missing_truth(const Context& context) const;

  // The same, or InvalidArgument where there is none.
  std::shared_ptr<const Coupling> require_truth(const Context& context) const;

  // log p0(x[b]), log p1(x[b]) of the pair's own two ends. The end that the bridge leads to is a
  // closed form where the reverse is one, else an estimate with the draws of `seed`.
  LogEstimates log_p0(const Context& context, StatesView x, std::uint64_t seed = 0) const;
  LogEstimates log_p1(const Context& context, StatesView x, std::uint64_t seed = 0) const;

  // q*(x1^d = s | x0[b]): the closed form where the truth has it, else the estimate of
  // ReversedBridge from num_draws draws.
  MarginalEstimates estimate_marginals(const Context& context, StatesView x0, std::size_t num_draws,
                                       std::uint64_t seed = 0) const;

  // Trajectories [rows, num_steps+1, D] of the truth from x0, all of one law.
  enum class Through {
    kAny,     // step by step where the truth has transitions, else pinned
    kMarkov,  // step by step
    kPinned,  // the end first, the inside from the pinned reference
  };
  Array3<std::int32_t> sample_trajectory(const Context& context, int num_steps, StatesView x0,
                                         std::uint64_t seed, std::uint64_t first_index = 0,
                                         Through through = Through::kAny) const;

  // x1 given each row of x0, by the truth.
  States sample_conditional(const Context& context, StatesView x0, std::uint64_t seed,
                            std::uint64_t first_index = 0) const;

  // The held-out rows of the protocol: those stored with the pair, else kTestSetSize drawn ones.
  PairedStates test_set(const Context& context) const;
  void store_test_set(PairedStates test_set);

 private:
  BenchmarkPair(PairIdentity identity, SourceDistribution source,
                std::shared_ptr<const Bridge> bridge, bool reverse);

  const ReverseTruth& reverse_truth(const Context& context) const;
  LogEstimates log_source(const Context& context, StatesView x) const;

  // (x0, x1) along the bridge, whatever the direction of the pair.
  void draw_forward(const Context& context, const DrawKey& source_key,
                    const DrawKey& conditional_key, std::uint64_t first_index, MutableStatesView x0,
                    MutableStatesView x1) const;
  void write_source(const Context& context, std::uint64_t seed, std::uint64_t first_index,
                    MutableStatesView out) const;
  void write_target(const Context& context, std::uint64_t seed, std::uint64_t first_index,
                    MutableStatesView out) const;

  struct Made;  // shared by copies, made on first use

  PairIdentity identity_;
  SourceDistribution source_;
  std::shared_ptr<const Bridge> bridge_;
  bool reverse_;
  std::optional<CpPotential> source_potential_;
  std::optional<TreePotential> source_tree_;
  std::shared_ptr<const PairedStates> stored_test_set_;
  std::shared_ptr<Made> made_;
};

// Rows 0, 128, 256, ... of a test set's x0: the inputs of the conditional scores.
States conditional_inputs(StatesView test_x0);

}  // namespace bridgemark
