#include "bridgemark/verify/verification.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/io/safetensors.h"
#include "tests/io/io_testing.h"
#include "tests/support/context.h"
#include "tests/support/places.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

using nlohmann::json;
using testing::contains;
using testing::error_of;
using testing::kContext;
using testing::TempDir;

const std::filesystem::path kGolden = testing::golden_folder();
const std::set<std::string> kKinds = {"reference", "bridge",   "dlightsb", "dlightsbm", "csbm",
                                      "metrics",   "sinkhorn", "lowrank",  "columns",   "tree"};

// reference_3.safetensors -> reference
std::string kind_of(const std::filesystem::path& path) {
  const std::string stem = path.stem().string();
  return stem.substr(0, stem.rfind('_'));
}

std::vector<std::filesystem::path> golden_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kGolden)) {
    if (entry.path().extension() == ".safetensors" && kKinds.contains(kind_of(entry.path()))) {
      files.push_back(entry.path());
    }
  }
  return files;
}

// The file with its parts apart, so that a test can damage one of them.
struct Parts {
  json header;
  std::string data;

  explicit Parts(const std::filesystem::path& path) {
    const std::string bytes = testing::slurp(path);
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), 8);
    header = json::parse(bytes.substr(8, length));
    data = bytes.substr(8 + length);
  }

  // The last value of a float64 tensor: every kind's later rows depend on the most computation.
  void change(const std::string& tensor, double difference) {
    const auto end = header[tensor]["data_offsets"][1].get<std::size_t>();
    double value = 0.0;
    std::memcpy(&value, data.data() + end - 8, 8);
    value += difference;
    std::memcpy(data.data() + end - 8, &value, 8);
  }

  void write(const std::filesystem::path& path) const {
    const std::string text = header.dump();
    const std::uint64_t length = text.size();
    testing::put(path, std::string(reinterpret_cast<const char*>(&length), 8) + text + data);
  }
};

TEST(Verification, EveryGoldenFileHolds) {
  std::set<std::string> seen;
  for (const auto& path : golden_files()) {
    const Verification result = verify_file(kContext, path);
    EXPECT_EQ(result.kind, kind_of(path)) << path;
    EXPECT_TRUE(result.passed()) << path;
    EXPECT_FALSE(result.checks.empty()) << path;
    for (const TensorCheck& check : result.checks) {
      EXPECT_LE(check.max_error, check.tolerance) << path << " " << check.tensor;
    }
    seen.insert(result.kind);
  }
  EXPECT_EQ(seen, kKinds) << "a kind without a golden file was not verified at all";
}

// Ten times the tolerance in one value of one tensor, for each tensor that is checked.
TEST(Verification, OneChangedValueFails) {
  const TempDir temp;
  // "loss (float32)" is a second, coarser check of the tensor loss.
  const auto is_coarse = [](const TensorCheck& check) { return check.tensor.ends_with(')'); };
  for (const char* name :
       {"reference_0", "reference_3", "bridge_1", "dlightsb_0", "dlightsbm_0", "csbm_1",
        "metrics_0", "sinkhorn_0", "lowrank_0", "columns_0", "tree_0", "tree_1"}) {
    const auto path = kGolden / (std::string(name) + ".safetensors");
    for (const TensorCheck& original : verify_file(kContext, path).checks) {
      if (is_coarse(original)) continue;
      Parts parts(path);
      parts.change(original.tensor, 10.0 * original.tolerance);
      parts.write(temp.path() / "changed.safetensors");
      const Verification result = verify_file(kContext, temp.path() / "changed.safetensors");
      EXPECT_FALSE(result.passed()) << name << " " << original.tensor;
      for (const TensorCheck& check : result.checks) {
        if (is_coarse(check)) continue;
        EXPECT_EQ(check.passed(), check.tensor != original.tensor) << name << " " << check.tensor;
      }
    }
  }
}

TEST(Verification, NanAndInfinityNeverPass) {
  const TempDir temp;
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity()}) {
    Parts parts(kGolden / "reference_5.safetensors");
    parts.change("log_cumulative", bad);
    parts.write(temp.path() / "bad.safetensors");
    EXPECT_FALSE(verify_file(kContext, temp.path() / "bad.safetensors").passed()) << bad;
  }
}

TEST(Verification, UnknownKindNamesTheKnownOnes) {
  const TempDir temp;
  const std::vector<double> values{1.0};
  SafetensorsWriter writer;
  writer.add("mystery", {1}, std::span(values));
  writer.write(temp.path() / "mystery.safetensors");
  const std::string message =
      error_of<FileError>([&] { verify_file(kContext, temp.path() / "mystery.safetensors"); });
  contains(message, "unknown kind of reference file (tensors: mystery)");
  for (const std::string& kind : kKinds) contains(message, kind);
}

TEST(Verification, RefusesFilesThatDoNotFollowTheSchema) {
  const TempDir temp;
  const auto path = temp.path() / "broken.safetensors";
  const auto message = [&](const char* name, auto&& change) {
    Parts parts(kGolden / (std::string(name) + ".safetensors"));
    change(parts.header);
    parts.write(path);
    const std::string text = error_of<FileError>([&] { verify_file(kContext, path); });
    contains(text, path.string());
    return text;
  };
  const auto metadata = [](const char* key, const char* value) {
    return [=](json& header) { header["__metadata__"][key] = value; };
  };
  contains(message("reference_5", metadata("gamma", "1.5")), "must lie in (0, 1), got 1.5");
  contains(message("reference_5", metadata("gamma", "abc")),
           "metadata 'gamma' must be a number, got 'abc'");
  contains(message("reference_5", metadata("kind", "absorbing")), "got 'absorbing'");
  contains(message("reference_5", metadata("num_categories", "7")), "log_onestep");
  contains(message("reference_5", metadata("num_categories", "-1")), "num_categories");
  contains(message("reference_5", metadata("num_intermediate", "-1")), "num_intermediate");
  contains(message("reference_5", metadata("skip", "2147483647")), "skip");
  contains(message("reference_5", [](json& h) { h["__metadata__"].erase("skip"); }),
           "metadata 'skip' is missing");
  contains(message("bridge_2", metadata("dim", "4")), "log_cores");
  contains(message("bridge_2", metadata("num_components", "-2")), "log_beta");
  contains(message("bridge_2", [](json& h) { h.erase("__metadata__"); }), "is missing");
  contains(message("csbm_1", metadata("dim", "4")), "net.0.weight");
  contains(message("csbm_1", metadata("dim", "0")), "dim");
  contains(message("csbm_1", metadata("num_intermediate", "6")), "timestep_embedding");
  contains(message("csbm_1", [](json& h) { h["n"]["shape"] = {4, 8}; }), "'n'");
  contains(message("csbm_1",
                   [](json& h) {
                     h["param.net.0.bias"]["shape"] = {8, 4};
                   }),
           "param.net.0.bias");
  contains(message("csbm_1",
                   [](json& h) {
                     h["param.net.2.weight"]["shape"] = {32, 24};
                   }),
           "param.net.2.weight");
  contains(message("sinkhorn_0", metadata("prior_type", "mask")), "got 'mask'");
  contains(message("sinkhorn_0", metadata("num_categories", "9")), "x0");
  contains(message("sinkhorn_0", metadata("total_steps", "0")), "total_steps");
  contains(message("sinkhorn_0", [](json& h) { h["x0"]["shape"] = {60}; }), "'x0'");
  contains(message("sinkhorn_0", [](json& h) { h["x1"]["shape"] = {30, 2}; }), "x1");
  contains(message("sinkhorn_0", [](json& h) { h["log_plan"]["shape"] = {10, 40}; }), "log_plan");
  contains(message("metrics_2", metadata("groups", "0")), "groups");
  contains(message("metrics_2", metadata("groups", "7")), "groups");
  contains(message("metrics_2", metadata("num_categories", "2")), "categories 0..1");
}

#ifndef BRIDGEMARK_TEST_CUDA
// The losses run where the context says, or not at all.
TEST(Verification, ADeviceThatIsNotThereIsRefused) {
  for (const char* name : {"dlightsb_0", "dlightsbm_0", "csbm_0", "sinkhorn_0"}) {
    const std::string file = std::string(name) + ".safetensors";
    EXPECT_THROW(verify_file({.device = Device::kCuda}, kGolden / file), DeviceError) << name;
  }
}
#endif

TEST(Verification, MissingFileIsRefused) {
  contains(error_of<FileError>([] { verify_file(kContext, "/nonexistent/x.safetensors"); }),
           "/nonexistent/x.safetensors");
}

}  // namespace
}  // namespace bridgemark
