#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/pair/pair_family.h"
#include "bridgemark/pair/source_distribution.h"

namespace bridgemark {

namespace backend {
class PairSampler;
struct RowSource;
}  // namespace backend

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
  double min_distance = 10.0;  // family spread: between two of its component means
};

// Two distributions p0, p1 and the bridge between them that solves their Schrödinger problem.
// A reversed pair asks for p1 -> p0: its x0 is drawn from p1 and its x1 from p0, and its truth is
// the same coupling read backwards.
class BenchmarkPair {
 public:
  // Throws InvalidArgument unless source and bridge live on the same space.
  BenchmarkPair(PairIdentity identity, SourceDistribution source, CpBridge bridge,
                bool reverse = false);

  const PairIdentity& identity() const { return identity_; }
  const SourceDistribution& source() const { return source_; }
  const CpBridge& bridge() const { return bridge_; }
  bool reverse() const { return reverse_; }
  std::size_t dim() const { return bridge_.dim(); }
  int num_categories() const { return bridge_.num_categories(); }

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

  // The rows of the bridge's end p1, described for a device.
  backend::RowSource target_rows(const Context& context, std::uint64_t seed) const;

  // The bridge's joint draws on the context's device, kept there for the next call.
  backend::PairSampler& device_sampler(const Context& context) const;

  // The truth as a coupling: the bridge; for a reversed pair its enumeration where the space is
  // small enough to list, else null: it has no closed form.
  std::shared_ptr<const Coupling> truth(const Context& context) const;

  // x1 given each row of x0, by the truth. Throws InvalidArgument where there is none.
  States sample_conditional(const Context& context, StatesView x0, std::uint64_t seed,
                            std::uint64_t first_index = 0) const;

  // The held-out rows of the protocol: those stored with the pair, else kTestSetSize drawn ones.
  PairedStates test_set(const Context& context) const;
  void store_test_set(PairedStates test_set);

 private:
  std::shared_ptr<const Coupling> enumerate_reverse(const Context& context) const;

  // (x0, x1) along the bridge, whatever the direction of the pair.
  PairedStates draw_forward(const Context& context, std::size_t count, const DrawKey& source_key,
                            const DrawKey& conditional_key, std::uint64_t first_index) const;
  States draw_source(const Context& context, std::size_t count, std::uint64_t seed,
                     std::uint64_t first_index) const;
  States draw_target(const Context& context, std::size_t count, std::uint64_t seed,
                     std::uint64_t first_index) const;

  struct Made;  // shared by copies, made on first use

  PairIdentity identity_;
  SourceDistribution source_;
  CpBridge bridge_;
  bool reverse_;
  std::shared_ptr<const PairedStates> stored_test_set_;
  std::shared_ptr<Made> made_;
};

// Rows 0, 128, 256, ... of a test set's x0: the inputs of the conditional scores.
States conditional_inputs(StatesView test_x0);

}  // namespace bridgemark
