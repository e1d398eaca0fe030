#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/math/philox.h"
#include "bridgemark/pair/pair_spec.h"
#include "tests/io/io_testing.h"
#include "tests/support/context.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using testing::error_of;
using testing::is_near;
using testing::kContext;

// 64-bit FNV-1a.
std::uint64_t fnv1a(const void* data, std::size_t bytes, std::uint64_t hash = 0xcbf29ce484222325u) {
  const auto* at = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ at[i]) * 0x100000001b3u;
  return hash;
}

struct Preset {
  const char* name;
  std::size_t dim;
  ReferenceKind kind;
  double gamma;
  double sigma;
  std::uint64_t cores_hash;  // of log_cores, [D,S,K] little-endian doubles, then log_moves of a
                             // chain; two-sided: then the weights, and both of the other end
  std::uint64_t test_hash;   // of the first 256 test rows, x0 then x1, little-endian int32
};

// The hashes hold on every machine: a pair is the same for everybody.
constexpr Preset kPresets[] = {
    {"d2-gaussian-0.02", 2, ReferenceKind::kGaussian, 0.02, 1.5, 0x6feb86b972ecb474,
     0x3f3f02b136f7c5eb},
    {"d2-gaussian-0.05", 2, ReferenceKind::kGaussian, 0.05, 1.5, 0x2762267c40af5924,
     0x5ee4de49f7759006},
    {"d2-uniform-0.005", 2, ReferenceKind::kUniform, 0.005, 1.5, 0xe570c9f6bac7874c,
     0x578e2f2af9822ad4},
    {"d2-uniform-0.01", 2, ReferenceKind::kUniform, 0.01, 1.5, 0xdfa022691cf679e5,
     0x2b77766b589a0252},
    {"d16-gaussian-0.02", 16, ReferenceKind::kGaussian, 0.02, 1.5, 0xc368b21e1aac922e,
     0x766411efbb1c01c1},
    {"d16-gaussian-0.05", 16, ReferenceKind::kGaussian, 0.05, 1.5, 0xb17fb0abc8c147c4,
     0x748068a3e036a357},
    {"d16-uniform-0.005", 16, ReferenceKind::kUniform, 0.005, 1.5, 0xd028e062c303382d,
     0x90c7149652ccdb1e},
    {"d16-uniform-0.01", 16, ReferenceKind::kUniform, 0.01, 1.5, 0x68615f1a018f104a,
     0x8a6a29451bcb5e1c},
    {"d64-gaussian-0.02", 64, ReferenceKind::kGaussian, 0.02, 2.5, 0xae5a68879837aa2c,
     0x04512f924afb34e1},
    {"d64-gaussian-0.05", 64, ReferenceKind::kGaussian, 0.05, 2.5, 0x9cd18923c2370a3d,
     0x90345c0d4edc115b},
    {"d64-uniform-0.005", 64, ReferenceKind::kUniform, 0.005, 2.5, 0x64668752454c1a79,
     0x874333f86f4a364b},
    {"d64-uniform-0.01", 64, ReferenceKind::kUniform, 0.01, 2.5, 0x5b258824c784973d,
     0x20f8e7d120316d97},
    {"d2-gaussian-0.02-spread", 2, ReferenceKind::kGaussian, 0.02, 1.5, 0x5d1ae2cbfc2f9bad,
     0xe2a1f04ebe8a9781},
    {"d2-gaussian-0.05-spread", 2, ReferenceKind::kGaussian, 0.05, 1.5, 0x39a2ae4cd32f7cab,
     0xa6b6875eab9e44a6},
    {"d2-uniform-0.005-spread", 2, ReferenceKind::kUniform, 0.005, 1.5, 0x6c65dbdab15aeee3,
     0xfb05a155f6a57a7c},
    {"d2-uniform-0.01-spread", 2, ReferenceKind::kUniform, 0.01, 1.5, 0x668477b1c2a9ad2e,
     0x87829a5882ee22f7},
    {"d16-gaussian-0.02-spread", 16, ReferenceKind::kGaussian, 0.02, 1.5, 0x90e763410d98978e,
     0xb173c121042bade1},
    {"d16-gaussian-0.05-spread", 16, ReferenceKind::kGaussian, 0.05, 1.5, 0x7966569c9baefa2f,
     0x465251512c162253},
    {"d16-uniform-0.005-spread", 16, ReferenceKind::kUniform, 0.005, 1.5, 0xb48e58dc2069ff60,
     0xbf4359b4f7d900f3},
    {"d16-uniform-0.01-spread", 16, ReferenceKind::kUniform, 0.01, 1.5, 0xc31bd696ef0daae3,
     0x9a84cd5f3e526a18},
    {"d64-gaussian-0.02-spread", 64, ReferenceKind::kGaussian, 0.02, 2.5, 0x88fa31a948c0743a,
     0xf5c4db1f3f93e295},
    {"d64-gaussian-0.05-spread", 64, ReferenceKind::kGaussian, 0.05, 2.5, 0x9f7eacc6e0e15753,
     0x8a6d6939df690441},
    {"d64-uniform-0.005-spread", 64, ReferenceKind::kUniform, 0.005, 2.5, 0x1f44390a5ea64d7a,
     0xb23b05aecccc1b5c},
    {"d64-uniform-0.01-spread", 64, ReferenceKind::kUniform, 0.01, 2.5, 0x3994bebb154f6015,
     0xf8a841e65b7198ef},
    {"d2-gaussian-0.02-chain", 2, ReferenceKind::kGaussian, 0.02, 1.5, 0xad6591f9517d5372,
     0xeec534bab43a744b},
    {"d2-gaussian-0.05-chain", 2, ReferenceKind::kGaussian, 0.05, 1.5, 0x57a38a43c8729174,
     0x51b6bef134da6b0a},
    {"d2-uniform-0.005-chain", 2, ReferenceKind::kUniform, 0.005, 1.5, 0xaa24932829124432,
     0xf0d69ce3bc1a4cb1},
    {"d2-uniform-0.01-chain", 2, ReferenceKind::kUniform, 0.01, 1.5, 0xf5f9658b54d55872,
     0x740931143f5d3000},
    {"d16-gaussian-0.02-chain", 16, ReferenceKind::kGaussian, 0.02, 1.5, 0xf2be9f62bb2053f8,
     0x023bb605e3e20ec7},
    {"d16-gaussian-0.05-chain", 16, ReferenceKind::kGaussian, 0.05, 1.5, 0xa701392b9afaa5f6,
     0xaa4fc39aa6476832},
    {"d16-uniform-0.005-chain", 16, ReferenceKind::kUniform, 0.005, 1.5, 0xee92a1746b7ea442,
     0x3081cf6ad7167151},
    {"d16-uniform-0.01-chain", 16, ReferenceKind::kUniform, 0.01, 1.5, 0x4754ae2e0d07060d,
     0x0fa6f4bef9cd1730},
    {"d64-gaussian-0.02-chain", 64, ReferenceKind::kGaussian, 0.02, 2.5, 0x690384ab260a2c34,
     0xa774a098a837f0e7},
    {"d64-gaussian-0.05-chain", 64, ReferenceKind::kGaussian, 0.05, 2.5, 0x61b187997927899e,
     0x38d5af811dd149f4},
    {"d64-uniform-0.005-chain", 64, ReferenceKind::kUniform, 0.005, 2.5, 0x8151ac9641d5fbea,
     0x4522617318db0e10},
    {"d64-uniform-0.01-chain", 64, ReferenceKind::kUniform, 0.01, 2.5, 0xd6400308595eff19,
     0xb4cff27c429f3bf1},
    {"d2-gaussian-0.02-twosided", 2, ReferenceKind::kGaussian, 0.02, 1.5, 0x04f09c2a67c6dcf9,
     0x060f5b3a9def40d5},
    {"d2-gaussian-0.05-twosided", 2, ReferenceKind::kGaussian, 0.05, 1.5, 0x36fa02c3e230f178,
     0x57fe9a79871b05b9},
    {"d2-uniform-0.005-twosided", 2, ReferenceKind::kUniform, 0.005, 1.5, 0x5b85dcf40a369d9c,
     0xbde0a033404dcbf9},
    {"d2-uniform-0.01-twosided", 2, ReferenceKind::kUniform, 0.01, 1.5, 0xe9a2127776bd4ed1,
     0x2bf8570e789a60bb},
    {"d16-gaussian-0.02-twosided", 16, ReferenceKind::kGaussian, 0.02, 1.5, 0x10e3e415c07399d2,
     0x5da083991e8e5d3d},
    {"d16-gaussian-0.05-twosided", 16, ReferenceKind::kGaussian, 0.05, 1.5, 0xa57ee530f7967cc6,
     0x842f3654b50f9e5a},
    {"d16-uniform-0.005-twosided", 16, ReferenceKind::kUniform, 0.005, 1.5, 0x25939968ad996066,
     0xae43d0bed2783ee6},
    {"d16-uniform-0.01-twosided", 16, ReferenceKind::kUniform, 0.01, 1.5, 0xe9555cfa464a8cc8,
     0xfee63f187f18d5bc},
    {"d64-gaussian-0.02-twosided", 64, ReferenceKind::kGaussian, 0.02, 2.5, 0x15739729dfd364f6,
     0xdc1b4cd4a690d744},
    {"d64-gaussian-0.05-twosided", 64, ReferenceKind::kGaussian, 0.05, 2.5, 0x213e2f73a04b3a3f,
     0xccb6b04e83ecbc37},
    {"d64-uniform-0.005-twosided", 64, ReferenceKind::kUniform, 0.005, 2.5, 0x8b3a9b79d8bba83e,
     0x379a1e5680afe9d0},
    {"d64-uniform-0.01-twosided", 64, ReferenceKind::kUniform, 0.01, 2.5, 0x1a5972f9362a6fe1,
     0xc81800a6aa49f558},
};

void PrintTo(const Preset& preset, std::ostream* out) { *out << preset.name; }

class Presets : public ::testing::TestWithParam<Preset> {};

bool is_two_sided(const Preset& preset) {
  return std::string_view(preset.name).ends_with("-twosided");
}

bool is_chain(const Preset& preset) { return std::string_view(preset.name).ends_with("-chain"); }

// Means on whole numbers.
bool is_spread(const Preset& preset) {
  return is_two_sided(preset) || is_chain(preset) ||
         std::string_view(preset.name).ends_with("-spread");
}

TEST_P(Presets, HaveTheNumbersOfThePaper) {
  const Preset& expected = GetParam();
  const auto spec = find_preset(expected.name);
  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ(spec->name, expected.name);
  EXPECT_EQ(spec->version, 1);
  const BenchmarkPair pair = build_pair(*spec);
  EXPECT_EQ(pair.dim(), expected.dim);
  EXPECT_EQ(pair.num_categories(), 50);
  EXPECT_EQ(pair.bridge().process().kind(), expected.kind);
  EXPECT_EQ(pair.bridge().process().gamma(), expected.gamma);
  EXPECT_EQ(pair.bridge().process().total_steps(), 128);
  EXPECT_EQ(pair.identity().family, is_two_sided(expected) ? PairFamily::kTwoSided
                                    : is_chain(expected)   ? PairFamily::kChain
                                    : is_spread(expected)  ? PairFamily::kSpread
                                                           : PairFamily::kSphere);
  EXPECT_EQ(pair.identity().radius, 5.0);
  EXPECT_EQ(pair.identity().min_distance, 10.0);
  EXPECT_FALSE(pair.reverse());
  ASSERT_EQ(pair.bridge().num_components(), 4u);
  EXPECT_EQ(pair.source_potential().has_value(), is_two_sided(expected));
  if (is_two_sided(expected)) {
    EXPECT_EQ(pair.source().kind(), SourceKind::kMixture);
    EXPECT_EQ(pair.source_potential()->num_components(), 4u);
    return;  // the weights are balanced, not even
  }
  EXPECT_EQ(pair.source().kind(), SourceKind::kGaussian);
  EXPECT_EQ(pair.source().low(), -7.0);
  EXPECT_EQ(pair.source().high(), 7.0);
  for (const double log_beta : pair.bridge().log_weights()) {
    EXPECT_TRUE(is_near(log_beta, std::log(0.25), {1e-15, 0.0}));
  }
}

TEST(ChainPresets, TakeAnotherSwitchRate) {
  const auto base = find_preset("d16-uniform-0.01-chain"),
             rare = find_preset("d16-uniform-0.01-chain-0.03"),
             back = find_preset("d16-uniform-0.01-chain-0.03-reverse");
  ASSERT_TRUE(base && rare && back);
  EXPECT_EQ(base->switch_rate, 0.1);
  EXPECT_EQ(rare->switch_rate, 0.03);
  EXPECT_EQ(rare->name, "d16-uniform-0.01-chain-0.03");
  EXPECT_FALSE(rare->reverse);
  EXPECT_EQ(back->switch_rate, 0.03);
  EXPECT_TRUE(back->reverse);
  const BenchmarkPair one = build_pair(*base), other = build_pair(*rare);
  EXPECT_TRUE(std::equal(one.bridge().log_cores().data(),
                         one.bridge().log_cores().data() + one.bridge().log_cores().size(),
                         other.bridge().log_cores().data()));
  EXPECT_TRUE(is_near(other.bridge().log_moves()(0, 1, 1), std::log(0.97), {1e-15, 0.0}));
  for (const char* name : {"d16-uniform-0.01-chain-", "d16-uniform-0.01-chain-1.5",
                           "d16-uniform-0.01-chain--0.1", "d16-uniform-0.01-chain-0.1x",
                           "d16-uniform-0.01-chain-1e-3", "d16-uniform-0.01-spread-0.1"}) {
    EXPECT_FALSE(find_preset(name).has_value()) << name;
  }
}

TEST(Instances, AreThePresetWithAnotherSeed) {
  const auto preset = find_preset("d2-gaussian-0.02-spread"),
             third = find_preset("d2-gaussian-0.02-spread-i3"),
             fourth = find_preset("d2-gaussian-0.02-spread-i4-reverse"),
             rare = find_preset("d16-uniform-0.01-chain-0.03-i3");
  ASSERT_TRUE(preset && third && fourth && rare);
  EXPECT_EQ(third->name, "d2-gaussian-0.02-spread-i3");
  EXPECT_EQ(third->dim, preset->dim);
  EXPECT_EQ(third->gamma, preset->gamma);
  EXPECT_EQ(third->family, preset->family);
  EXPECT_NE(third->seed, preset->seed);
  EXPECT_NE(third->seed, fourth->seed);
  EXPECT_TRUE(fourth->reverse);
  EXPECT_EQ(rare->switch_rate, 0.03);
  // A name means one pair for good.
  EXPECT_EQ(third->seed, derive_seed(656, (std::uint64_t{1} << 32) + 3));
  const BenchmarkPair one = build_pair(*preset), other = build_pair(*third);
  EXPECT_FALSE(std::equal(one.bridge().log_cores().data(),
                          one.bridge().log_cores().data() + one.bridge().log_cores().size(),
                          other.bridge().log_cores().data()));
  for (const char* name : {"d2-gaussian-0.02-i0", "d2-gaussian-0.02-i03", "d2-gaussian-0.02-i",
                           "d2-gaussian-0.02-i-1", "d2-gaussian-0.02-i1000000", "nothing-i3",
                           "d2-gaussian-0.02-i1-i2", "d2-gaussian-0.02-i2x"}) {
    EXPECT_FALSE(find_preset(name).has_value()) << name;
    EXPECT_EQ(instance_of(name).pair, name);
    EXPECT_EQ(instance_of(name).number, 0);
  }
  for (const char* name : {"d2-gaussian-0.02-i12", "d2-gaussian-0.02-spread-i3-reverse",
                           "d16-uniform-0.01-chain-0.03-i3", "d2-gaussian-0.02-reverse"}) {
    EXPECT_EQ(instance_name(instance_of(name)), name);
  }
  EXPECT_EQ(instance_of("d2-gaussian-0.02-spread-i3-reverse").pair,
            "d2-gaussian-0.02-spread-reverse");
  EXPECT_EQ(instance_of("d2-gaussian-0.02-spread-i3-reverse").number, 3);
}

// The category a core is centred on; checks that it is a normal density of width sigma around it.
std::size_t centre_of_gaussian(const Array3<double>& cores, std::size_t d, std::size_t k,
                               double sigma) {
  const std::size_t S = cores.extent(1);
  std::size_t centre = 0;
  for (std::size_t s = 1; s < S; ++s) {
    if (cores(d, s, k) > cores(d, centre, k)) centre = s;
  }
  const double log_scale = std::log(sigma * std::sqrt(2.0 * std::numbers::pi));
  for (std::size_t s = 0; s < S; ++s) {
    const double z = (static_cast<double>(s) - static_cast<double>(centre)) / sigma;
    EXPECT_TRUE(is_near(cores(d, s, k), -0.5 * z * z - log_scale, {1e-14, 1e-15}));
  }
  return centre;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (std::size_t d = 0; d < a.size(); ++d) sum += (a[d] - b[d]) * (a[d] - b[d]);
  return std::sqrt(sum);
}

// Sphere: the centres are the quantised means, on the sphere of radius 5 and 2.5 sigma apart. A
// category is 10 / 48 wide, so each coordinate of a mean is known to half of that.
// Spread: the centres are the means, on 5..44 and 10 categories apart.
void check_means(const Preset& expected, const Array3<double>& cores) {
  const double cell = 10.0 / 48.0, blur = 0.5 * cell * std::sqrt(static_cast<double>(expected.dim));
  std::vector<std::vector<double>> means(4);
  for (std::size_t k = 0; k < 4; ++k) {
    for (std::size_t d = 0; d < expected.dim; ++d) {
      const std::size_t centre = centre_of_gaussian(cores, d, k, expected.sigma);
      if (is_spread(expected)) {
        EXPECT_GE(centre, 5u);
        EXPECT_LE(centre, 44u);
        means[k].push_back(static_cast<double>(centre));
      } else {
        // A mean beyond [-5, 5] would land in an outer category of no width.
        EXPECT_GT(centre, 0u);
        EXPECT_LT(centre, 49u);
        means[k].push_back(-5.0 + (static_cast<double>(centre) - 0.5) * cell);
      }
    }
    if (!is_spread(expected)) {
      EXPECT_NEAR(distance(means[k], std::vector<double>(expected.dim, 0.0)), 5.0, blur + 1e-9)
          << "component " << k;
    }
    const double least = is_spread(expected) ? 10.0 : 2.5 * expected.sigma - 2.0 * blur;
    for (std::size_t earlier = 0; earlier < k; ++earlier) {
      EXPECT_GE(distance(means[k], means[earlier]), least)
          << "components " << earlier << " and " << k;
    }
  }
}

TEST_P(Presets, CoresAreGaussiansAroundSeparatedMeans) {
  const Preset& expected = GetParam();
  const BenchmarkPair pair = build_pair(*find_preset(expected.name));
  check_means(expected, pair.bridge().log_cores());
  if (is_two_sided(expected)) check_means(expected, pair.source_potential()->log_cores());
}

TEST_P(Presets, RegenerateBitForBit) {
  const Preset& expected = GetParam();
  const BenchmarkPair pair = build_pair(*find_preset(expected.name));
  const Array3<double>& cores = pair.bridge().log_cores();
  std::uint64_t cores_hash = fnv1a(cores.data(), cores.size() * sizeof(double));
  const Array3<double>& moves = pair.bridge().log_moves();
  cores_hash = fnv1a(moves.data(), moves.size() * sizeof(double), cores_hash);
  if (const auto& source = pair.source_potential()) {
    const auto add = [&](const double* data, std::size_t count) {
      cores_hash = fnv1a(data, count * sizeof(double), cores_hash);
    };
    add(pair.bridge().log_weights().data(), 4);
    add(source->log_cores().data(), source->log_cores().size());
    add(source->log_beta().data(), 4);
  }
  const PairedStates test = pair.test_set(kContext);
  ASSERT_EQ(test.x0.rows(), 20000u);
  ASSERT_EQ(test.x1.rows(), 20000u);
  const std::size_t bytes = 256 * expected.dim * sizeof(std::int32_t);
  const std::uint64_t test_hash = fnv1a(test.x1.data(), bytes, fnv1a(test.x0.data(), bytes));
  EXPECT_EQ(cores_hash, expected.cores_hash) << fmt::format("0x{:016x}", cores_hash);
  EXPECT_EQ(test_hash, expected.test_hash) << fmt::format("0x{:016x}", test_hash);
}

INSTANTIATE_TEST_SUITE_P(All, Presets, ::testing::ValuesIn(kPresets), [](const auto& preset) {
  std::string name = preset.param.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
});

TEST(PresetList, HoldsTheFamiliesInOrder) {
  ASSERT_GE(preset_specs().size(), 48u);
  for (std::size_t i = 0; i < 48; ++i) EXPECT_EQ(preset_specs()[i].name, kPresets[i].name);
}

TEST(PresetList, ReverseIsTheSamePairBackwards) {
  const auto reverse = find_preset("d2-uniform-0.01-reverse");
  ASSERT_TRUE(reverse.has_value());
  EXPECT_TRUE(reverse->reverse);
  EXPECT_EQ(reverse->name, "d2-uniform-0.01-reverse");
  EXPECT_EQ(reverse->seed, find_preset("d2-uniform-0.01")->seed);
  const auto spread = find_preset("d16-uniform-0.01-spread-reverse");
  ASSERT_TRUE(spread.has_value());
  EXPECT_TRUE(spread->reverse);
  EXPECT_EQ(spread->family, PairFamily::kSpread);
  EXPECT_EQ(spread->seed, find_preset("d16-uniform-0.01-spread")->seed);
  EXPECT_FALSE(find_preset("reverse").has_value());
  EXPECT_FALSE(find_preset("-reverse").has_value());
  EXPECT_FALSE(find_preset("").has_value());
}

TEST(PresetList, UnknownNameSuggestsTheNearest) {
  EXPECT_EQ(error_of<InvalidArgument>([] { load_pair("d16-gausian-0.02"); }),
            "[pair] pair must be a preset or a pair folder, got 'd16-gausian-0.02'; the nearest "
            "preset is d16-gaussian-0.02");
}

TEST(PairSpec, SeedsGiveDifferentPairsAndSpecsTheSame) {
  PairSpec spec;
  spec.dim = 5;
  spec.num_categories = 12;
  spec.num_components = 3;
  const auto cores = [](const PairSpec& s) {
    return build_pair(s).cp_bridge().potential().log_cores();
  };
  const Array3<double> base = cores(spec);
  EXPECT_EQ(base.extent(0), 5u);
  EXPECT_EQ(base.extent(1), 12u);
  EXPECT_EQ(base.extent(2), 3u);
  EXPECT_EQ(cores(spec), base);
  spec.seed = 1;
  EXPECT_NE(cores(spec), base);
}

TEST(PairSpec, TakesAPotentialOfOnesOwn) {
  PairSpec spec;
  spec.dim = 1;
  spec.num_categories = 3;
  spec.potential = CpPotential({0.0}, Array3<double>(1, 3, 1, {0.0, -1.0, -2.0}));
  const BenchmarkPair pair = build_pair(spec);
  EXPECT_EQ(pair.cp_bridge().potential().num_components(), 1u);
  EXPECT_EQ(pair.bridge().log_cores()(0, 2, 0), -2.0);
  spec.dim = 2;  // p0 lives elsewhere
  EXPECT_THROW(build_pair(spec), InvalidArgument);
}

TEST(PairSpec, RefusesBadInput) {
  const auto with = [](auto&& change) {
    PairSpec spec;
    change(spec);
    return error_of<InvalidArgument>([&] { build_pair(spec); });
  };
  EXPECT_EQ(with([](PairSpec& s) { s.dim = 0; }), "[pair] dim must lie in 1..1048576, got 0");
  EXPECT_EQ(with([](PairSpec& s) { s.num_components = 0; }),
            "[pair] num_components must lie in 1..131072, got 0");
  EXPECT_EQ(with([](PairSpec& s) { s.num_categories = 1; }),
            "[reference] num_categories of a gaussian reference must lie in 2..16384, got 1");
  EXPECT_EQ(with([](PairSpec& s) { s.sigma = 0.0; }),
            "[pair] sigma must be positive and finite, got 0");
  EXPECT_EQ(with([](PairSpec& s) { s.radius = -1.0; }),
            "[pair] radius must be positive and finite, got -1");
  EXPECT_EQ(with([](PairSpec& s) { s.min_distance = -1.0; }),
            "[pair] min_distance must be at least 0 and finite, got -1");
  EXPECT_EQ(with([](PairSpec& s) {
              s.family = PairFamily::kSpread;
              s.num_categories = 10;
            }),
            "[pair] num_categories must be at least 11 for family spread, got 10");
  EXPECT_EQ(with([](PairSpec& s) { s.gamma = -1.5; }),
            "[reference] gamma of a gaussian reference must be positive and finite, got -1.5");
  testing::contains(with([](PairSpec& s) { s.reference = ReferenceKind::kMatrix; }),
                    "needs reference_matrix");
  testing::contains(with([](PairSpec& s) {
                      s.reference = ReferenceKind::kMatrix;
                      s.reference_matrix = Matrix<double>(2, 2, 0.5);
                    }),
                    "must be 50 x 50 for num_categories 50, got 2 x 2");
  testing::contains(
      with([](PairSpec& s) { s.source = SourceDistribution::gaussian(3, 50, -1.0, 1.0); }),
      "p0 must live on");
}

TEST(Presets, ANameTooLongForAFolderIsNoPreset) {
  try {
    load_pair(std::string(300, 'a'));
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("[pair] pair must be a preset"))
        << error.what();
  }
}

}  // namespace
}  // namespace bridgemark
