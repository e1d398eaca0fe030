#include "bridgemark/io/npy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "bridgemark/io/npy_header.h"
#include "tests/io/io_testing.h"
#include "tests/support/temp_dir.h"

namespace bridgemark {
namespace {

using testing::contains;
using testing::error_of;
using testing::loads;
using testing::put;
using testing::slurp;
using testing::TempDir;

constexpr char kDict[] = "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }";

// A file of the given version around a header that need not be valid.
std::string npy_bytes(std::string_view dict, std::string_view data, int major = 1) {
  std::string bytes = "\x93NUMPY";
  bytes.push_back(static_cast<char>(major));
  bytes.push_back('\0');
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) {
    bytes.push_back(static_cast<char>(dict.size() >> (8 * i)));
  }
  return bytes.append(dict).append(data);
}

class NpyFile : public ::testing::Test {
 protected:
  NpyArray load(std::string_view bytes) {
    put(path_, bytes);
    return load_npy(path_);
  }
  std::string refusal(std::string_view bytes) {
    const std::string message = error_of([&] { load(bytes); });
    EXPECT_TRUE(message.starts_with(path_.string() + ": ")) << message;
    return message;
  }
  std::string refused_dict(std::string_view dict) {
    return refusal(npy_bytes(dict, std::string(24, '\0')));
  }

  TempDir dir_;
  std::filesystem::path path_ = dir_.path() / "x.npy";
};

TEST_F(NpyFile, SavesTheBytesThatNumpySaves) {
  const std::vector<std::int32_t> values{0, 1, 2, 3, 4, 5};
  save_npy(path_, {2, 3}, values);
  std::string expected("\x93NUMPY\x01\x00v\x00", 10);
  expected += kDict;
  expected.resize(127, ' ');
  expected.push_back('\n');
  expected.append(reinterpret_cast<const char*>(values.data()), 24);
  EXPECT_EQ(slurp(path_), expected);
}

TEST_F(NpyFile, RoundTripsShapesOfEveryRank) {
  const std::vector<std::vector<std::size_t>> shapes{
      {}, {0}, {7}, {2, 3}, {0, 4}, {2, 3, 4}, std::vector<std::size_t>(64, 1)};
  for (const std::vector<std::size_t>& shape : shapes) {
    std::size_t count = 1;
    for (const std::size_t extent : shape) count *= extent;
    std::vector<double> values(count);
    std::iota(values.begin(), values.end(), -1.25);
    save_npy(path_, shape, values);
    const NpyArray array = load_npy(path_);
    EXPECT_EQ(array.shape, shape);
    EXPECT_EQ(array.dtype, DType::kF64);
    EXPECT_EQ(array.count, count);
    EXPECT_EQ(array.to_doubles(), values);
    EXPECT_EQ(slurp(path_).size() % 64, count * 8 % 64);
  }
}

TEST_F(NpyFile, ReadsEveryDtypeNumpyHas) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    if (dtype == DType::kBF16) continue;
    NpyWriter writer(path_, dtype, {3});
    const std::string zeros(3 * dtype_size(dtype), '\0');
    writer.append(zeros.data(), zeros.size());
    writer.commit();
    const NpyArray array = load_npy(path_);
    EXPECT_EQ(array.dtype, dtype);
    EXPECT_EQ(array.to_doubles(), std::vector<double>(3));
    if (is_floating(dtype)) {
      EXPECT_TRUE(contains(error_of([&] { array.to_int32(); }), "expected an integer dtype"));
    } else {
      EXPECT_EQ(array.to_int32(), std::vector<std::int32_t>(3));
    }
  }
}

TEST_F(NpyFile, ReadsVersions2And3AndLooseHeaders) {
  const std::string data(24, '\1');
  for (const int major : {1, 2, 3}) {
    EXPECT_EQ(load(npy_bytes(kDict, data, major)).to_int32(),
              std::vector<std::int32_t>(6, 0x01010101));
  }
  load(npy_bytes("{\"shape\":(2,3,),\"fortran_order\":False,\"descr\":\"<i4\"}", data));
  load(npy_bytes("{ 'shape' : ( 6 , ) , 'descr': '<i4', 'fortran_order': False } \n", data));
  EXPECT_EQ(load(npy_bytes("{'descr': '<i4', 'fortran_order': False, 'shape': ()}", "abcd")).count,
            1u);
}

TEST_F(NpyFile, SaysWhatItDoesNotRead) {
  const auto with_descr = [&](const std::string& descr) {
    return refused_dict("{'descr': " + descr + ", 'fortran_order': False, 'shape': (2, 3), }");
  };
  EXPECT_TRUE(contains(with_descr("'>i4'"), "big-endian dtype '>i4', expected little-endian"));
  EXPECT_TRUE(contains(with_descr("'|O'"), "object dtype '|O'"));
  EXPECT_TRUE(contains(with_descr("[('a', '<i4')]"), "structured dtype"));
  EXPECT_TRUE(contains(with_descr("'<c8'"), "dtype '<c8', expected booleans"));
  EXPECT_TRUE(contains(with_descr("'<U\n1'"), "'<U\\x0a1'"));
  EXPECT_TRUE(contains(refused_dict("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }"),
                       "Fortran order"));
  EXPECT_TRUE(contains(refusal("PK\x03\x04 an archive"), "not a .npy file"));
  EXPECT_TRUE(contains(refusal(npy_bytes(kDict, "", 4)), "got 4.0"));
  EXPECT_TRUE(contains(refusal(npy_bytes(kDict, "", 0)), "got 0.0"));
}

TEST_F(NpyFile, MalformedHeaders) {
  for (const char* dict :
       {"",
        " ",
        "{",
        "{}",
        "[]",
        "{'descr': '<i4'}",
        "{'descr': '<i4', 'shape': (2, 3)}",
        "{'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<i4', 'fortran_order': False}",
        "{'descr': '<i4', 'descr': '<i4', 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), 'x': 1}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (6)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (-2, -3)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (+2, 3)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2.0, 3)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2 3)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2,, 3)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': [2, 3]}",
        "{'descr': '<i4', 'fortran_order': 0, 'shape': (2, 3)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3)} x",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3)",
        "{'descr': '<i4, 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<i4' 'fortran_order': False, 'shape': (2, 3)}",
        "{,'descr': '<i4', 'fortran_order': False, 'shape': (2, 3)}"}) {
    SCOPED_TRACE(dict);
    refused_dict(dict);
  }
  refused_dict(std::string(60000, '('));
  refused_dict(std::string(60000, '{'));
}

TEST_F(NpyFile, ClaimedSizesAllocateNothing) {
  const auto with_shape = [&](const std::string& shape) {
    return refused_dict("{'descr': '<i4', 'fortran_order': False, 'shape': " + shape + "}");
  };
  EXPECT_TRUE(contains(with_shape("(1000000000000,)"), "truncated"));
  EXPECT_TRUE(contains(with_shape("(4294967296, 4294967296)"), "too large"));
  EXPECT_TRUE(contains(with_shape("(9223372036854775807, 2, 3)"), "too large"));
  EXPECT_TRUE(contains(with_shape("(0, 4294967296, 4294967296)"), "too large"));
  EXPECT_TRUE(contains(with_shape("(99999999999999999999,)"), "below 2^64"));
  // 2^62 + 6 elements of 4 bytes: the product wraps to the 24 bytes that are there.
  EXPECT_TRUE(contains(with_shape("(4611686018427387910,)"), "too large"));
  std::string ones = "(";
  for (int i = 0; i < 65; ++i) ones += "1,";
  EXPECT_TRUE(contains(with_shape(ones + ")"), "more than 64 axes"));

  std::string huge = npy_bytes(kDict, std::string(24, '\0'), 2);
  for (std::size_t i = 8; i < 12; ++i) huge[i] = '\xff';
  EXPECT_TRUE(contains(refusal(huge), "claims 4294967295 bytes"));
}

TEST_F(NpyFile, EveryTruncationAndTrailingBytesAreErrors) {
  for (const int major : {1, 2}) {
    const std::string bytes = npy_bytes(kDict, std::string(24, '\0'), major);
    for (std::size_t size = 0; size < bytes.size(); ++size) refusal(bytes.substr(0, size));
    EXPECT_TRUE(contains(refusal(bytes + "x"), "trailing bytes"));
  }
}

TEST_F(NpyFile, EveryCorruptionLoadsOrThrows) {
  const std::string bytes = npy_bytes(kDict, std::string(24, '\0'));
  int refused = 0;
  for (std::size_t i = 0; i < bytes.size() - 24; ++i) {
    for (const int byte : {0, 10, 32, 39, 40, 41, 44, 48, 57, 62, 123, 128, 255}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(byte);
      refused += loads([&] { load(damaged).to_doubles(); }) ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 500);
}

TEST(NpyHeader, EveryCorruptionOfEveryByteParsesOrThrows) {
  const std::string text = kDict;
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string damaged = text;
      damaged[i] = static_cast<char>(byte);
      loads([&] { parse_npy_header(damaged, "f"); });
    }
  }
}

TEST_F(NpyFile, IntegersOutsideInt32AreNamed) {
  std::vector<std::int64_t> values(100'000, 5);
  values[70'000] = -3'000'000'000;
  NpyWriter writer(path_, DType::kI64, {100, 1000});
  writer.append(values.data(), values.size() * sizeof(std::int64_t));
  writer.commit();
  EXPECT_EQ(error_of([&] { load_states(path_); }),
            path_.string() + ": array holds -3000000000 at index 70000, which does not fit I32");
  EXPECT_EQ(load_npy(path_).to_doubles()[70'000], -3e9);
}

TEST_F(NpyFile, StatesOfRank2And3) {
  std::vector<std::int32_t> values(24);
  std::iota(values.begin(), values.end(), 0);
  save_npy(path_, {4, 6}, values);
  EXPECT_EQ(load_states(path_), States(4, 6, values));
  EXPECT_TRUE(contains(error_of([&] { load_states3(path_); }), "shape [4, 6], expected 3 axes"));
  save_npy(path_, {2, 3, 4}, values);
  EXPECT_EQ(load_states3(path_)(1, 2, 3), 23);
  EXPECT_TRUE(contains(error_of([&] { load_states(path_); }), "shape [2, 3, 4], expected 2 axes"));
}

TEST_F(NpyFile, FileThatShrinksAfterLoading) {
  save_npy(path_, {1000}, std::vector<double>(1000));
  const NpyArray array = load_npy(path_);
  std::filesystem::resize_file(path_, 200);
  EXPECT_TRUE(contains(error_of([&] { array.to_doubles(); }), "truncated"));
}

TEST_F(NpyFile, WriterChecksTheByteCount) {
  const std::vector<std::int32_t> values(5);
  error_of<InvalidArgument>([&] { save_npy(path_, {2, 3}, values); });
  error_of<InvalidArgument>([&] { save_npy(path_, {4}, values); });
  error_of<InvalidArgument>([&] { NpyWriter(path_, DType::kBF16, {4}); });
  error_of<InvalidArgument>([&] { NpyWriter(path_, DType::kI32, {std::size_t{1} << 62, 4}); });
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
}

TEST_F(NpyFile, WriterStreams) {
  NpyWriter writer(path_, DType::kI32, {1000, 3});
  for (std::int32_t i = 0; i < 1000; ++i) {
    const std::int32_t row[3] = {i, i + 1, i + 2};
    writer.append(row, sizeof(row));
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
  writer.commit();
  EXPECT_EQ(load_states(path_)(999, 2), 1001);
}

}  // namespace
}  // namespace bridgemark
