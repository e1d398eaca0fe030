#include "bridgemark/io/archive/npz.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "bridgemark/io/archive/inflate.h"
#include "bridgemark/process/graph_file.h"
#include "tests/io/io_testing.h"
#include "tests/support/places.h"
#include "tests/support/sparse_steps.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

using testing::contains;
using testing::error_of;
using testing::put;
using testing::slurp;
using testing::TempDir;

const std::string kGolden = testing::golden_folder();

// Written by zlib 1.3 with a fixed code.
constexpr std::string_view kFixed(
    "\xcb\xcf\x4b\x55\x28\x2e\x49\x2d\x50\x28\x2d\xd0\x51\xc8\x87\x71\x52\xf2\xcb\xf3\x90\xb8"
    "\xa3\x72\xa3\x72\x50\x39\x00",
    29);

std::string walked() {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "one step up, one step down, ";
  return text;
}

TEST(Inflate, ReadsWhatZlibWrote) {
  const std::string text = walked();
  EXPECT_EQ(inflate(kFixed, text.size(), "x"), text);
  EXPECT_EQ(inflate(std::string("\1\3\0\374\377abc", 8), 3, "x"), "abc");
}

TEST(Inflate, RefusesBrokenStreams) {
  const std::size_t size = walked().size();
  const auto message = [](std::string_view stream, std::size_t count) {
    return error_of([&] { inflate(stream, count, "x"); });
  };
  EXPECT_TRUE(contains(message(kFixed, size - 1), "more bytes than its header says"));
  EXPECT_TRUE(contains(message(kFixed, size + 1), "fewer bytes than its header says"));
  EXPECT_TRUE(contains(message(kFixed.substr(0, 20), size), "they end too early"));
  EXPECT_TRUE(contains(message("", 0), "they end too early"));
  EXPECT_TRUE(contains(message("\7", 3), "a block of an unknown kind"));
  EXPECT_TRUE(contains(message(std::string("\1\3\0\0\0abc", 8), 3), "length of a stored block"));
  EXPECT_TRUE(contains(message("\3\2\0", 5), "a distance before the first byte"));
  // Any byte changed, any part missing: an error or other text, nothing worse.
  for (std::size_t at = 0; at < kFixed.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string broken(kFixed);
      broken[at] = static_cast<char>(broken[at] ^ 1 << bit);
      testing::loads([&] { inflate(broken, size, "x"); });
    }
  }
}

// Both files by scipy.sparse.save_npz of scipy 1.17.
TEST(Npz, ReadsSparseMatricesOfScipy) {
  for (const auto& [name, S] :
       {std::pair("ring_compressed.npz", 64), std::pair("ring_stored.npz", 6)}) {
    const GraphWeights read = load_graph(kGolden + "/" + name);
    const GraphWeights ring = testing::uneven_ring(static_cast<std::size_t>(S));
    EXPECT_EQ(read.first, ring.first);
    EXPECT_EQ(read.to, ring.to);
    EXPECT_EQ(read.weight, ring.weight);
  }
}

TEST(Npz, RefusesBrokenFiles) {
  const TempDir dir;
  const std::filesystem::path path = dir.path() / "x.npz";
  const std::string whole = slurp(kGolden + "/ring_stored.npz");
  const auto message = [&](std::string_view bytes) {
    put(path, bytes);
    return error_of([&] { load_graph(path); });
  };
  EXPECT_TRUE(contains(message("PK"), "not a .npz file"));
  EXPECT_TRUE(contains(message(whole.substr(0, whole.size() / 2)), "not a .npz file"));
  std::string other = whole;
  other.replace(other.find("csr"), 3, "csc");
  EXPECT_TRUE(contains(message(other), "'format' is not what was written"));
  other = whole;
  for (std::size_t at; (at = other.find("indptr.npy")) != std::string::npos;) other[at] = 'x';
  EXPECT_TRUE(contains(message(other), "array 'indptr' is missing"));
  for (std::size_t at = 0; at < whole.size(); at += 31) {
    std::string broken = whole;
    broken[at] = static_cast<char>(broken[at] ^ 0x55);
    put(path, broken);
    testing::loads([&] { load_graph(path); });
  }
}

}  // namespace
}  // namespace bridgemark
