#pragma once

#include <Random123/philox.h>

#include <cstdint>

#include "bridgemark/math/host_device.h"

// Counter-based randomness: a draw is a pure function of (seed, stream, index, position), so the
// same states come out for any number of threads or ranks, and on CPU and GPU.
namespace bridgemark {

// What a stream of draws is for. Two purposes never share a counter, so draws made for one are
// independent of draws made for another under the same seed.
enum class DrawPurpose : std::uint32_t {
  kSource = 1,                  // x0 ~ p0
  kConditional = 2,             // x1 ~ q(. | x0)
  kTargetSource = 3,            // the x0 behind an unpaired x1 ~ p1
  kTargetConditional = 4,       // an unpaired x1
  kTransition = 5,              // one step of a Markov trajectory; the step is the detail
  kPinned = 6,                  // one step of a pinned trajectory; the step is the detail
  kPairMeans = 7,               // component means of a pair; the component and try are the detail
  kTestSource = 8,              // x0 of a pair's test set
  kTestConditional = 9,         // x1 of a pair's test set
  kShuffle = 10,                // permutations and splits
  kInitialise = 11,             // initial parameters of trained models
  kTruthSample = 12,            // the truth's draws in the conditional scores
  kPrediction = 13,             // a coupling's answer to the test set
  kConditionalPrediction = 14,  // a coupling's answers to the conditional inputs
  kMatchingTime = 15,           // the step that bridge matching looks at
  kSpreadMeans = 16,            // component means on whole numbers; the try is the detail
  kFirstPairs = 17,             // the ends sampled for the first pairs of D-IMF
  kRowCoupling = 18,            // which rows of a batch become pairs
  kEnvelopeMass = 19,           // proposals that measure the envelope of a reversed bridge
  kReverseMarginals = 20,       // draws behind the marginals of a reversed bridge
  kBootstrap = 21,              // which blocks of test inputs a resample takes
  kHoldout = 22,                // rows kept apart: which of an end (0, 1), pairs of them (above)
  kTrainingSource = 24,         // x0 of a training set; its number is the seed
  kTrainingTargetSource = 25,   // the x0 behind an x1 of a training set
  kTrainingTarget = 26,         // x1 of a training set
  kParticles = 27,              // pinned paths of the joint KL; 2 n: step n, 2 n + 1: resampling
};

// The key of one family of draws: `detail` tells steps, components or epochs apart.
struct DrawKey {
  std::uint64_t seed = 0;
  DrawPurpose purpose = DrawPurpose::kSource;
  std::uint32_t detail = 0;  // below 2^24
};

// A seed for a family of draws inside another's, far from it for every salt (SplitMix64).
BM_HD inline std::uint64_t derive_seed(std::uint64_t seed, std::uint64_t salt) {
  std::uint64_t z = seed + 0x9e3779b97f4a7c15u * (salt + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Two words as a uniform on [0, 1) with 53 random bits.
BM_HD inline double uniform_from_words(std::uint64_t high, std::uint64_t low) {
  return static_cast<double>(((high << 32) | low) >> 11) * 0x1.0p-53;
}

// The draws of one index (a sample's row number) of a key, in order.
class DrawSequence {
 public:
  // `block` starts at draw number 2 * block.
  BM_HD DrawSequence(const DrawKey& key, std::uint64_t index, std::uint32_t block = 0)
      : key_{{static_cast<std::uint32_t>(key.seed), static_cast<std::uint32_t>(key.seed >> 32)}},
        counter_{{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                  (static_cast<std::uint32_t>(key.purpose) << 24) | key.detail, block}} {}

  // Uniform on [0, 1) with 53 random bits.
  BM_HD double uniform() {
    if (used_ == 4) refill();
    const double drawn = uniform_from_words(block_[used_], block_[used_ + 1]);
    used_ += 2;
    return drawn;
  }

 private:
  BM_HD void refill() {
    block_ = r123::Philox4x32()(counter_, key_);
    ++counter_[3];
    used_ = 0;
  }

  r123::Philox4x32::key_type key_;
  r123::Philox4x32::ctr_type counter_;
  r123::Philox4x32::ctr_type block_{};
  unsigned used_ = 4;
};

// Draw number `position` of an index on its own: what uniform() returns at the call of that number.
BM_HD inline double draw_uniform(const DrawKey& key, std::uint64_t index, std::uint64_t position) {
  DrawSequence draws(key, index, static_cast<std::uint32_t>(position / 2));
  const double even = draws.uniform();
  return position % 2 == 0 ? even : draws.uniform();
}

}  // namespace bridgemark
