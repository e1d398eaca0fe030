#include "bridgemark/pair/pair_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/process/low_rank_step.h"
#include "tests/io/io_testing.h"
#include "tests/support/context.h"
#include "tests/support/random_bridge.h"
#include "tests/support/random_tree.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tolerance.h"

namespace bridgemark {
namespace {

using nlohmann::json;
using testing::all_near;
using testing::contains;
using testing::error_of;
using testing::kContext;
using testing::TempDir;

PairSpec small_spec() {
  PairSpec spec;
  spec.name = "mine";
  spec.version = 3;
  spec.seed = (std::uint64_t{1} << 60) + 17;  // more than a double can hold
  spec.dim = 3;
  spec.num_categories = 6;
  spec.num_components = 2;
  spec.gamma = 0.07;
  spec.total_steps = 24;
  spec.radius = 4.5;
  return spec;
}

// Writes, reads and compares everything a pair is made of.
BenchmarkPair round_trip(const BenchmarkPair& pair) {
  const TempDir temp;
  write_pair_folder(kContext, pair, temp.path() / "pair");
  BenchmarkPair read = read_pair_folder(temp.path() / "pair");
  EXPECT_EQ(read.identity().name, pair.identity().name);
  EXPECT_EQ(read.identity().version, pair.identity().version);
  EXPECT_EQ(read.identity().seed, pair.identity().seed);
  EXPECT_EQ(read.identity().family, pair.identity().family);
  EXPECT_EQ(read.identity().radius, pair.identity().radius);
  EXPECT_EQ(read.identity().min_distance, pair.identity().min_distance);
  EXPECT_EQ(read.reverse(), pair.reverse());
  EXPECT_TRUE(std::ranges::equal(read.bridge().log_weights(), pair.bridge().log_weights()));
  EXPECT_EQ(read.bridge().log_cores(), pair.bridge().log_cores());
  const ReferenceProcess &process = pair.bridge().process(),
                         &read_process = read.bridge().process();
  EXPECT_EQ(read_process.kind(), process.kind());
  EXPECT_EQ(read_process.total_steps(), process.total_steps());
  const SharedMatrix log = process.log_power(kContext, 1);
  const SharedMatrix read_log = read_process.log_power(kContext, 1);
  EXPECT_TRUE(
      all_near({read_log.data(), read_log.size()}, {log.data(), log.size()}, {1e-14, 1e-14}));
  EXPECT_EQ(read.source().kind(), pair.source().kind());
  EXPECT_EQ(read.source().low(), pair.source().low());
  EXPECT_EQ(read.source().high(), pair.source().high());
  const Matrix<double> marginals = pair.source().log_marginals();
  const Matrix<double> read_marginals = read.source().log_marginals();
  EXPECT_TRUE(all_near({read_marginals.data(), read_marginals.size()},
                       {marginals.data(), marginals.size()}, {1e-14, 1e-14}));
  const PairedStates test = pair.test_set(kContext), read_test = read.test_set(kContext);
  EXPECT_EQ(read_test.x0, test.x0);
  EXPECT_EQ(read_test.x1, test.x1);
  return read;
}

TEST(PairFolder, RoundTripOfAPreset) {
  const BenchmarkPair pair = build_pair(*find_preset("d2-uniform-0.01"));
  const BenchmarkPair read = round_trip(pair);
  EXPECT_EQ(read.bridge().process().gamma(), 0.01);
  EXPECT_EQ(read.sample_joint(kContext, 500, 4).x1, pair.sample_joint(kContext, 500, 4).x1);
  round_trip(build_pair(*find_preset("d2-gaussian-0.02-reverse")));
  PairSpec spread = *find_preset("d2-gaussian-0.02-spread");
  spread.min_distance = 5.0;
  round_trip(build_pair(spread));
}

TEST(PairFolder, RoundTripOfEveryKind) {
  PairSpec spec = small_spec();
  round_trip(build_pair(spec));
  spec.reverse = true;
  round_trip(build_pair(spec));
  spec.reference = ReferenceKind::kMatrix;
  spec.reference_matrix = testing::random_stochastic(6, 0.7, 81);
  round_trip(build_pair(spec));
  PairSpec low_rank = spec;
  low_rank.reference = ReferenceKind::kLowRank;
  low_rank.low_rank = testing::random_low_rank(6, 2, 1.0, 84);
  low_rank.gamma = 0.05;
  const BenchmarkPair factored = round_trip(build_pair(low_rank));
  ASSERT_NE(factored.bridge().process().low_rank_step(), nullptr);
  EXPECT_EQ(factored.bridge().process().low_rank_step()->u(), low_rank.low_rank->u);
  EXPECT_EQ(factored.bridge().process().gamma(), 0.05);
  spec.source = SourceDistribution::product(testing::random_stochastic(3, 0.0, 82));
  spec.dim = 3;
  spec.num_categories = 3;
  spec.reference_matrix = testing::random_stochastic(3, 0.7, 83);
  round_trip(build_pair(spec));
  spec.source =
      SourceDistribution::empirical(States(4, 3, {0, 1, 2, 2, 1, 0, 0, 0, 0, 2, 2, 2}), 3);
  const BenchmarkPair read = round_trip(build_pair(spec));
  EXPECT_EQ(read.source().states(), spec.source->states());
  spec.source = SourceDistribution::uniform(3, 3, -2.0, 2.0);
  round_trip(build_pair(spec));
  spec.source.reset();
  PairSpec chain = spec;
  chain.chain_potential =
      ChainPotential({0.5, -1.0}, switching_moves(3, 2, 0.2), Array3<double>(3, 3, 2, 0.25));
  const BenchmarkPair hidden = round_trip(build_pair(chain));
  EXPECT_EQ(hidden.bridge().log_moves(), chain.chain_potential->log_moves());
  EXPECT_EQ(hidden.identity().family, PairFamily::kChain);
  PairSpec tree = spec;
  tree.tree_potential = testing::random_tree({{-1, 0, 0, 1}, {3, 0, 3}}, 3, 2, 2.0, 84);
  const BenchmarkPair nodes = round_trip(build_pair(tree));
  EXPECT_EQ(nodes.bridge().log_moves(), tree.tree_potential->log_moves());
  ASSERT_NE(nodes.bridge().tree(), nullptr);
  EXPECT_EQ(*nodes.bridge().tree(), tree.tree_potential->shape());
  EXPECT_EQ(nodes.identity().family, PairFamily::kTree);
  EXPECT_FALSE(nodes.source_tree().has_value());
  tree.source_tree = testing::random_tree(tree.tree_potential->shape(), 3, 3, 2.0, 85);
  const BenchmarkPair ends = round_trip(build_pair(tree));
  ASSERT_TRUE(ends.source_tree().has_value());
  EXPECT_EQ(ends.source_tree()->log_root(), tree.source_tree->log_root());
  EXPECT_EQ(ends.source_tree()->log_moves(), tree.source_tree->log_moves());
  EXPECT_EQ(ends.source_tree()->log_cores(), tree.source_tree->log_cores());
  EXPECT_EQ(ends.identity().family, PairFamily::kTree);
  spec.source_potential =
      CpPotential({0.5, -1.0},
                  Array3<double>(3, 3, 2,
                                 std::vector<double>{0.0, 1.0, 2.0, -1.0, 0.5, 0.25, 1.0, 1.5, -2.0,
                                                     0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}));
  const BenchmarkPair two_sided = round_trip(build_pair(spec));
  ASSERT_TRUE(two_sided.source_potential().has_value());
  EXPECT_EQ(two_sided.source_potential()->log_beta(), spec.source_potential->log_beta());
  EXPECT_EQ(two_sided.source_potential()->log_cores(), spec.source_potential->log_cores());
  EXPECT_EQ(two_sided.identity().family, PairFamily::kTwoSided);
}

TEST(PairFolder, WritesThePeersKeys) {
  const TempDir temp;
  write_pair_folder(kContext, build_pair(small_spec()), temp.path());
  const json config = json::parse(testing::slurp(temp.path() / "config.json"));
  EXPECT_EQ(config["dim"], 3);
  EXPECT_EQ(config["num_categories"], 6);
  EXPECT_EQ(config["num_potentials"], 2);
  EXPECT_EQ(config["alpha"], 0.07);
  EXPECT_EQ(config["prior_type"], "gaussian");
  EXPECT_EQ(config["reverse"], false);
  EXPECT_EQ(config["input_distribution"], "gaussian");
  EXPECT_EQ((config["num_timesteps"].get<int>() + 1) * config["num_skip_steps"].get<int>(), 24);
  EXPECT_EQ(config["sample_quantize_range"], json::array({-7.0, 7.0}));
  const std::string bytes = testing::slurp(temp.path() / "model.safetensors");
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  const json header = json::parse(bytes.substr(8, length));
  EXPECT_EQ(header["log_alpha"]["shape"], json::array({2}));
  EXPECT_EQ(header["log_cp_cores"]["shape"], json::array({3, 6, 2}));
  for (const char* name : {"input_dataset", "target_dataset"}) {
    EXPECT_EQ(header[name]["shape"], json::array({20000, 3}));
    EXPECT_EQ(header[name]["dtype"], "I64");
  }
}

// A folder as the published package leaves it, written byte by byte.
struct PeerFolder {
  json config = {{"dim", 2},
                 {"num_categories", 3},
                 {"num_potentials", 2},
                 {"alpha", 0.05},
                 {"num_timesteps", 15},
                 {"num_skip_steps", 8},
                 {"prior_type", "gaussian"},
                 {"input_distribution", "gaussian"},
                 {"benchmark_type", "gaussian_mixture"},
                 {"params_dtype", "float32"},
                 {"reverse", false}};
  std::vector<std::size_t> cores_shape{2, 3, 2}, beta_shape{2}, input_shape{4, 2},
      target_shape{4, 2};
  std::vector<std::int64_t> input{0, 1, 2, 0, 1, 1, 2, 2}, target{2, 2, 0, 0, 1, 2, 0, 1};
  std::vector<float> log_alpha{-0.5f, -1.25f};
  std::vector<float> log_cores{0.f,     -1.f, -0.25f, -2.f,  -3.f,  -0.75f,
                               -0.125f, -4.f, -1.5f,  -0.5f, -2.5f, -1.0f};

  void write(const std::filesystem::path& folder) const {
    std::filesystem::create_directories(folder);
    testing::put(folder / "config.json", config.dump());
    json header;
    std::string data;
    const auto add = [&](const char* name, const char* dtype, const std::vector<std::size_t>& shape,
                         const auto& values) {
      const std::size_t begin = data.size();
      data.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
      header[name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {begin, data.size()}}};
    };
    add("input_dataset", "I64", input_shape, input);
    add("log_alpha", "F32", beta_shape, log_alpha);
    add("log_cp_cores", "F32", cores_shape, log_cores);
    add("target_dataset", "I64", target_shape, target);
    const std::string text = header.dump();
    const std::uint64_t length = text.size();
    std::string bytes(reinterpret_cast<const char*>(&length), 8);
    testing::put(folder / "model.safetensors", bytes + text + data);
  }
};

TEST(PairFolder, ReadsThePeersLayout) {
  const TempDir temp;
  const PeerFolder peer;
  peer.write(temp.path() / "their-pair");
  const BenchmarkPair pair = load_pair((temp.path() / "their-pair").string());
  EXPECT_EQ(pair.identity().name, "their-pair");
  EXPECT_EQ(pair.dim(), 2u);
  EXPECT_EQ(pair.num_categories(), 3);
  EXPECT_EQ(pair.bridge().process().kind(), ReferenceKind::kGaussian);
  EXPECT_EQ(pair.bridge().process().gamma(), 0.05);
  EXPECT_EQ(pair.bridge().process().total_steps(), 128);
  EXPECT_EQ(pair.identity().family, PairFamily::kSphere) << "where the key is missing";
  EXPECT_EQ(pair.cp_bridge().potential().log_beta(), (std::vector<double>{-0.5, -1.25}));
  EXPECT_EQ(pair.cp_bridge().potential().log_cores()(1, 0, 0), -0.125);
  EXPECT_EQ(pair.cp_bridge().potential().log_cores()(1, 2, 1), -1.0);
  const PairedStates test = pair.test_set(kContext);
  EXPECT_EQ(test.x0, States(4, 2, {0, 1, 2, 0, 1, 1, 2, 2}));
  EXPECT_EQ(test.x1, States(4, 2, {2, 2, 0, 0, 1, 2, 0, 1}));
  EXPECT_EQ(load_pair((temp.path() / "their-pair" / "").string()).identity().name, "their-pair")
      << "a slash at the end";
}

// The published package quantises p0 on [-7, 7] and writes the range only where it is another.
TEST(PairFolder, SourceLiesOnSevenWhereNoRangeIsSaid) {
  for (const char* source : {"gaussian", "uniform"}) {
    const TempDir temp;
    PeerFolder peer;
    peer.config["input_distribution"] = source;
    peer.write(temp.path());
    const BenchmarkPair pair = read_pair_folder(temp.path());
    EXPECT_EQ(pair.source().low(), -7.0) << source;
    EXPECT_EQ(pair.source().high(), 7.0) << source;
  }
}

TEST(PairFolder, DatasetsOfFurtherAxesAreFlattened) {
  const TempDir temp;
  PeerFolder peer;
  peer.input_shape = peer.target_shape = {4, 1, 2};
  peer.write(temp.path());
  EXPECT_EQ(read_pair_folder(temp.path()).test_set(kContext).x0.rows(), 4u);
}

struct BadFolder {
  const char* what;
  std::function<void(PeerFolder&)> change;
  const char* message;
};

TEST(PairFolder, RefusesBadFolders) {
  const std::vector<BadFolder> table = {
      {"reference", [](PeerFolder& f) { f.config["prior_type"] = "tokenizer"; },
       "prior_type must be uniform, gaussian, matrix or lowrank, got 'tokenizer'"},
      {"source", [](PeerFolder& f) { f.config["input_distribution"] = "swiss"; }, "'swiss'"},
      {"gamma 0", [](PeerFolder& f) { f.config["alpha"] = 0.0; },
       "gamma of a gaussian reference must be positive and finite, got 0"},
      {"gamma 1.5",
       [](PeerFolder& f) {
         f.config["alpha"] = 1.5;
         f.config["prior_type"] = "uniform";
       },
       "gamma of a uniform reference must lie in (0, 1), got 1.5"},
      {"family", [](PeerFolder& f) { f.config["family"] = "cube"; },
       "family must be sphere, spread, chain, twosided or tree, got 'cube'"},
      {"gamma text", [](PeerFolder& f) { f.config["alpha"] = "x"; }, "alpha"},
      {"no gamma", [](PeerFolder& f) { f.config.erase("alpha"); }, "alpha"},
      {"dim 0", [](PeerFolder& f) { f.config["dim"] = 0; }, "dim must be at least 1, got 0"},
      {"one category", [](PeerFolder& f) { f.config["num_categories"] = 1; }, "num_categories"},
      {"steps", [](PeerFolder& f) { f.config["num_timesteps"] = -1; }, "num_timesteps"},
      {"too many steps", [](PeerFolder& f) { f.config["num_skip_steps"] = 1 << 30; },
       "must be at most 1048576"},
      {"range", [](PeerFolder& f) { f.config["sample_quantize_range"] = {1.0}; },
       "sample_quantize_range must be two numbers, got [1.0]"},
      {"range backwards",
       [](PeerFolder& f) {
         f.config["sample_quantize_range"] = {3.0, -3.0};
       },
       "range must be finite and increasing"},
      {"cores",
       [](PeerFolder& f) {
         f.cores_shape = {3, 2, 2};
       },
       "log_cp_cores"},
      {"cores of another dim", [](PeerFolder& f) { f.config["dim"] = 4; }, "log_cp_cores"},
      {"weights", [](PeerFolder& f) { f.config["num_potentials"] = 3; }, "log_alpha"},
      {"NaN core", [](PeerFolder& f) { f.log_cores[3] = std::nanf(""); }, "log_cores"},
      {"dataset shape",
       [](PeerFolder& f) {
         f.input_shape = {2, 4};
       },
       "tensor 'input_dataset' must have shape [n, 2], got [2, 4]"},
      {"dataset category", [](PeerFolder& f) { f.target[3] = 3; },
       "test x1 must hold categories 0..2, got 3 at row 1, column 1"},
      {"dataset below", [](PeerFolder& f) { f.input[0] = -1; }, "got -1 at row 0, column 0"},
      {"dataset huge", [](PeerFolder& f) { f.input[0] = std::int64_t{1} << 40; }, "input_dataset"},
      {"datasets differ",
       [](PeerFolder& f) {
         f.target.resize(6);
         f.target_shape = {3, 2};
       },
       "got 4 and 3"},
      {"no matrix", [](PeerFolder& f) { f.config["prior_type"] = "matrix"; }, "reference_matrix"},
      {"no pmf", [](PeerFolder& f) { f.config["input_distribution"] = "product"; }, "source_pmf"},
      {"no states", [](PeerFolder& f) { f.config["input_distribution"] = "empirical"; },
       "source_states"},
      {"no f", [](PeerFolder& f) { f.config["input_distribution"] = "mixture"; },
       "log_source_alpha"},
  };
  for (const BadFolder& bad : table) {
    SCOPED_TRACE(bad.what);
    const TempDir temp;
    PeerFolder peer;
    bad.change(peer);
    peer.write(temp.path());
    const std::string message = error_of<FileError>([&] { read_pair_folder(temp.path()); });
    contains(message, temp.path().string());
    contains(message, bad.message);
  }
}

TEST(PairFolder, RefusesMissingAndBrokenFiles) {
  for (const char* missing : {"config.json", "model.safetensors"}) {
    const TempDir temp;
    PeerFolder().write(temp.path());
    std::filesystem::remove(temp.path() / missing);
    contains(error_of<FileError>([&] { read_pair_folder(temp.path()); }), missing);
  }
  const TempDir temp;
  PeerFolder().write(temp.path());
  testing::put(temp.path() / "config.json", "{\"dim\": 2,");
  contains(error_of<FileError>([&] { read_pair_folder(temp.path()); }), "config.json");
  PeerFolder().write(temp.path());
  const std::string whole = testing::slurp(temp.path() / "model.safetensors");
  testing::put(temp.path() / "model.safetensors", whole.substr(0, whole.size() - 5));
  contains(error_of<FileError>([&] { read_pair_folder(temp.path()); }), "model.safetensors");
}

TEST(PairFolder, UnwritableFolderLeavesNothing) {
  const TempDir temp;
  testing::put(temp.path() / "file", "x");
  const BenchmarkPair pair = build_pair(small_spec());
  error_of<FileError>([&] { write_pair_folder(kContext, pair, temp.path() / "file" / "pair"); });
  EXPECT_EQ(testing::slurp(temp.path() / "file"), "x");
}

}  // namespace
}  // namespace bridgemark
